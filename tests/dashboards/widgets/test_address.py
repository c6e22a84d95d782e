"""The page's address: what it names among what there is, bounded numbers, and what it is told to remember."""

from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurothek.dashboards.widgets import address
from neurothek.dashboards.widgets.address import (
    address_parts,
    address_value,
    asked_among,
    asked_models,
    asked_number,
    asked_place,
    own_key,
    remember,
    start_afresh,
)


class Browser:
    """What a page knows of its address, and the warnings that it shows."""

    def __init__(self) -> None:
        self.query_params: dict[str, str] = {}
        self.warnings: list[str] = []


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Browser:
    browser = Browser()
    shown = SimpleNamespace(query_params=browser.query_params, warning=browser.warnings.append)
    monkeypatch.setattr(address, "st", shown)
    return browser


def test_an_empty_value_is_none(browser: Browser) -> None:
    browser.query_params.update(neuron="", model="m")
    assert (address_value("neuron"), address_value("model"), address_value("other")) == (None, "m", None)


def test_a_value_is_one_of_those_there_are_or_is_warned_of(browser: Browser) -> None:
    browser.query_params.update(corpus="long", layer="3", model="<b>stranger")
    assert asked_among("corpus", ["builtin", "long"]) == "long"
    assert asked_among("layer", range(5)) == 3
    assert asked_among("missing", ["a"]) is None
    assert browser.warnings == []
    assert asked_among("layer", range(3)) is None
    assert asked_among("model", ["m"], is_silent=True) is None
    assert len(browser.warnings) == 1
    assert asked_among("model", ["m"]) is None
    # As text, whatever the address holds.
    assert "stranger" in browser.warnings[1]
    assert "<b>" not in browser.warnings[1]


def test_zeros_before_a_number_make_it_another_text(browser: Browser) -> None:
    browser.query_params.update(layer="03")
    assert asked_among("layer", range(5)) is None


def test_models_are_listed_in_the_order_of_the_address(browser: Browser) -> None:
    browser.query_params.update(models="b,,a,stranger,b,")
    assert asked_models(["a", "b", "c"]) == ["b", "a", "b"]
    assert len(browser.warnings) == 1
    assert "stranger" in browser.warnings[0]
    browser.query_params.clear()
    assert asked_models(["a"]) == []
    assert len(browser.warnings) == 1


@pytest.mark.parametrize(
    ("typed", "number"),
    [
        *(("0", 0), ("7", 7), ("10", 9), ("", None), ("-1", None), ("1.5", None), ("1e3", None), (" 1", None)),
        *(("007", 7), ("0" * 5000, 0), ("9" * 5000, 9), ("\u0663", 3), ("\u00b2", None)),
    ],
)
def test_a_number_is_brought_between_its_bounds(browser: Browser, typed: str, number: int | None) -> None:
    browser.query_params.update(rank=typed)
    assert asked_number("rank", most=9) == number
    assert asked_number("missing") is None
    if number is not None:
        assert asked_number("rank", least=5, most=9) == max(5, number)


@pytest.mark.parametrize("typed", ["999", "-5", "1.5", "two", "3", "9" * 5000])
def test_a_place_that_there_is_not_is_warned_of(browser: Browser, typed: str) -> None:
    browser.query_params.update(layer2=typed)
    assert asked_place("layer2", range(3), what="layer") is None
    (told,) = browser.warnings
    assert told.replace("\\", "") == f"The address has an unknown layer: {typed}."


def test_a_place_that_there_is_is_taken(browser: Browser) -> None:
    browser.query_params.update(position="2")
    assert asked_place("position", range(1, 3)) == 2
    assert asked_place("layer", range(3)) is None
    assert browser.warnings == []


def test_a_number_is_no_larger_than_a_browser_counts_to(browser: Browser) -> None:
    """JavaScript has no whole numbers beyond: 2^53 and 2^53 + 1 are one to it."""
    for typed, number in ((2**53 - 2, 2**53 - 2), (2**53 - 1, 2**53 - 1), (2**53, 2**53 - 1), (2**60, 2**53 - 1)):
        browser.query_params["n"] = str(typed)
        assert asked_number("n") == number


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(typed=st.text(max_size=12))
def test_any_text_is_a_number_or_none(browser: Browser, typed: str) -> None:
    browser.query_params["n"] = typed
    number = asked_number("n", least=1, most=20)
    assert number is None or 1 <= number <= 20


def test_what_is_remembered_is_put_in_and_taken_out(browser: Browser) -> None:
    browser.query_params.update(model="m", layer="3")
    remember(layer="4", corpus="long", model=None, other=None)
    assert browser.query_params == {"layer": "4", "corpus": "long"}
    remember(layer="")
    assert browser.query_params == {"corpus": "long"}


def test_what_is_there_already_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each write is sent to the browser, which would add a step to its way back."""
    written: list[str] = []

    class Noting(dict[str, str]):
        def __setitem__(self, key: str, value: str) -> None:
            written.append(key)
            super().__setitem__(key, value)

    monkeypatch.setattr(address, "st", SimpleNamespace(query_params=Noting(layer="4")))
    remember(layer="4")
    assert written == []
    remember(layer="5")
    assert written == ["layer"]


def test_fields_have_another_key_each_time_they_start_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "st", SimpleNamespace(session_state={}))
    keys = [own_key("layer")]
    for _ in range(3):
        start_afresh()
        keys.append(own_key("layer"))
    assert keys == ["layer", "layer-1", "layer-2", "layer-3"]


@pytest.mark.parametrize(
    ("asked", "parts"),
    [
        ({"neuron": "m/L3N17", "model": "other", "layer": "9"}, ("m", "3", "17")),
        ({"neuron": "L3N17", "model": "m", "layer": "9"}, ("m", "9", None)),
        ({"neuron": "m/nothing", "layer": ""}, (None, None, None)),
        ({}, (None, None, None)),
    ],
)
def test_a_place_is_that_of_the_neuron_or_what_is_named_beside_it(
    asked: dict[str, str], parts: tuple[str | None, ...]
) -> None:
    assert address_parts(asked) == parts
