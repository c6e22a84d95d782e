"""Try it on the page of a neuron: a text shaded by its activation, and its switch; the address holds what was asked."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.dashboards.live.switch import OFF, ON, OTHER
from neurothek.dashboards.live.try_neuron import EXAMPLES, along_html, strongest_text
from neurothek.dashboards.widgets.html import prose
from neurothek.queries.trace.grid import ALONG_COLUMNS, AlongPage
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.xdist_group("live_pages")

Opener = Callable[..., AppTest]
PROMPT = "one two three"
NEURON = "tiny/L1N3"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("switch")
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for name, kind in {"tiny": "opt", "masked": "bert"}.items():
        build(folder / name, kind, d_ffn=32)  # type: ignore[arg-type]  # kinds that there are
        ingests.measure(warehouse, folder / name, ingests.request((), jobs=("projections",)))
    return folder / "w.duckdb"


def said(page: AppTest) -> str:
    """What stands on the page, with the marks of Markdown taken out."""
    return "\n".join(str(part.value) for part in (*page.markdown, *page.caption, *page.error)).replace("\\", "")


def plain(text: str) -> str:
    """A text as `said` has it."""
    return prose(text).replace("\\", "")


def tables(page: AppTest) -> str:
    return "".join(str(one.proto.body) for one in page.get("html"))


def press(page: AppTest) -> AppTest:
    (button,) = [one for one in page.button if one.label == "Run"]
    return button.click().run()


def test_nothing_is_run_before_somebody_asks(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON)
    assert not opened.exception
    assert "Try it" in [one.value for one in opened.header]
    assert "Runs the model on the text, on this machine" in said(opened)
    assert opened.text_input(key=f"prompt-{NEURON}").value == EXAMPLES[0]
    # A prompt that came along from another page waits.
    waits = page(path, "neuron", neuron=NEURON, prompt=PROMPT)
    assert waits.text_input(key=f"prompt-{NEURON}").value == PROMPT
    assert "percentile" not in said(waits)


def test_a_neuron_is_turned_on_and_the_address_tells_of_it(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON)
    opened.text_input(key=f"prompt-{NEURON}").set_value(PROMPT)
    opened.segmented_control(key="set-3").set_value(ON)
    press(opened)
    assert not opened.exception
    assert not opened.error
    assert (opened.query_params["prompt"], opened.query_params["set"]) == (PROMPT, "3")
    expected = neurothek.open(path).switch("tiny", PROMPT, NEURON, set=3)
    assert plain(expected.summary) in said(opened)
    for address in (NEURON, f"{expected.median_address}, a random neuron"):
        assert f"With {address}" in said(opened)
    along = neurothek.open(path).activations(NEURON, PROMPT)
    shaded = tables(opened)
    assert 'href="/trace?model=tiny&amp;prompt=one%20two%20three"' in shaded
    for row in along.tokens.to_dicts():
        assert f"(position {row['position']}): {row['activation']:.4g}" in shaded
    again = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set="3")
    assert plain(expected.summary) in said(again)
    assert again.segmented_control(key="set-3").value == ON


def test_another_value_is_the_number_beside_the_choice(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set="1.5")
    assert opened.segmented_control(key="set-3").value == OTHER
    assert opened.number_input(key="value").value == 1.5
    assert f"{NEURON} set to 1.5 at every position" in said(opened)
    opened.number_input(key="value").set_value(-2.0)
    press(opened)
    assert opened.query_params["set"] == "-2"
    assert f"{NEURON} set to -2 at every position" in said(opened)
    opened.segmented_control(key="set-3").set_value(OFF)
    press(opened)
    assert opened.query_params["set"] == "0"
    assert f"{NEURON} set to 0 at every position" in said(opened)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"neuron": NEURON, "prompt": "one " * 90, "set": "0"}, "but the model reads at most 64"),
        ({"neuron": NEURON, "prompt": PROMPT, "set": "1e35"}, "set=1e+35 is not valid"),
        ({"neuron": "masked/L0N0", "prompt": PROMPT, "set": "0"}, "bert models are masked ones"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    page: Opener, path: Path, asked: dict[str, str], sentence: str
) -> None:
    opened = page(path, "neuron", **asked)
    assert not opened.exception
    (error,) = opened.error
    assert sentence in str(error.value).replace("\\", "")


@pytest.mark.parametrize("value", ["much", "nan", "inf"])
def test_an_address_with_no_number_is_said(page: Opener, path: Path, value: str) -> None:
    opened = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set=value)
    assert not opened.exception
    assert [one.value for one in opened.warning] == [rf"The address has an unknown value\: {value}\."]
    assert opened.segmented_control(key="set-3").value == OFF


def test_of_a_neuron_that_there_is_not_nothing_can_be_tried(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron="tiny/L9N9", prompt=PROMPT, set="0")
    assert len(opened.error) == 1
    assert "Try it" not in [one.value for one in opened.header]


def test_weights_that_are_gone_are_one_sentence(page: Opener, path: Path, tmp_path: Path) -> None:
    away = tmp_path / "away"
    shutil.move(path.parent / "tiny", away)
    try:
        for asked in ({"name": "neuron", "neuron": NEURON}, {"name": "trace", "model": "tiny"}):
            opened = page(path, **asked, prompt="one two three four", set="0")
            assert not opened.exception
            assert not opened.error
            told = "".join(str(info.value) for info in opened.info).replace("\\", "")
            assert "this answer needs the weights of tiny" in told
            assert "with others: `neurothek trace tiny PROMPT --weights PATH --warehouse" in told
    finally:
        shutil.move(away, path.parent / "tiny")


def test_tokens_are_shaded_by_their_activation_and_shown_as_themselves() -> None:
    rows = [(0, "<script>", 2.0), (1, " a", -1.0), (2, "\n", 0.0)]
    page = AlongPage("tiny/L0N1", pl.DataFrame(rows, schema=dict(ALONG_COLUMNS), orient="row"))
    shown = along_html(page, above="#112233", below="#445566")
    spans = re.findall(r"<span.*?</span>", shown)
    assert len(spans) == 3
    # 200 of 255 at the strongest, half of that at half of it.
    assert "#112233c8" in spans[0]
    assert "#44556664" in spans[1]
    assert "background" not in spans[2]
    assert "&lt;script&gt; (position 0): 2" in spans[0]
    assert "·a (position 1): -1" in spans[1]
    assert "<script" not in shown


def test_the_text_to_try_is_the_line_up_to_the_strongest_place() -> None:
    def text(*places: tuple[str, str]) -> str | None:
        return strongest_text(pl.DataFrame(places, schema=["before", "token"], orient="row"))

    assert text(("one\nthe school is near the", " river")) == "the school is near the river"
    # A field of one line holds no line end, and a few letters tell nothing.
    assert (
        text(("the school is near", "\n"), ("one", " two"), (" the old house near", " it")) == "the old house near it"
    )
    assert text(("one", " two")) is None
    places = pl.DataFrame({"before": ["a long enough text", "</s>The school</s> is near"], "token": ["</s>", " the"]})
    assert strongest_text(places, ["</s>", "<pad>"]) == "The school is near the"
    assert text() is None
