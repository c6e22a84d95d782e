"""One neuron's switch on the page of a trace: the address holds it, and it is shown beside a random one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.dashboards.live.answers import CONTINUATION
from neurothek.dashboards.live.switch import OFF, ON, OTHER, USUAL_ON, on_value, ticks_caption
from neurothek.dashboards.widgets.html import prose
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.xdist_group("live_pages")

Opener = Callable[..., AppTest]
PROMPT = "one two three"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("switch")
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for name, kind in {"tiny": "opt", "masked": "bert", "other": "opt350"}.items():
        build(folder / name, kind, d_ffn=32)  # type: ignore[arg-type]  # kinds that there are
        ingests.measure(warehouse, folder / name, ingests.request((), jobs=("projections",)))
    return folder / "w.duckdb"


def said(page: AppTest) -> str:
    """What stands on the page, with the marks of Markdown taken out."""
    return "\n".join(str(part.value) for part in (*page.markdown, *page.caption, *page.error)).replace("\\", "")


def plain(text: str) -> str:
    """A text as `said` has it."""
    return prose(text).replace("\\", "")


def drawn_rows(page: AppTest) -> list[pl.DataFrame]:
    """The rows of each chart of a page."""
    protos = [one.proto for one in page.get("vega_lite_chart")]
    return [pl.read_ipc_stream(one.data.data) for proto in protos for one in proto.datasets]


def press(page: AppTest) -> AppTest:
    (button,) = [one for one in page.button if one.label == "Run"]
    return button.click().run()


def picker(page: AppTest) -> Any:  # noqa: ANN401 - a select box
    (found,) = [one for one in page.selectbox if str(one.key).startswith("switch-")]
    return found


def test_a_neuron_of_the_chosen_cell_is_switched_at_its_position(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, position="2", layer="1")
    assert "Switch a neuron off" in [one.value for one in opened.header]
    traced = neurothek.open(path).trace("tiny", PROMPT, position=2).neurons.filter(layer=1)
    # Those that are 0 there would change nothing.
    acting = [row for row in traced.to_dicts() if row["coefficient"] != 0]
    dominant = [row["address"] for row in sorted(acting, key=lambda row: -row["direct_final"])]
    assert (picker(opened).options, picker(opened).value) == (dominant, dominant[0])
    assert "percentile" not in said(opened)
    picker(opened).set_value(dominant[3])
    press(opened)
    assert not opened.exception
    assert (opened.query_params["switch"], opened.query_params["set"]) == (dominant[3], "0")
    expected = neurothek.open(path).switch("tiny", PROMPT, dominant[3], position=2)
    assert plain(expected.summary) in said(opened)
    assert "position 2 (0 to 3)" in expected.summary
    shown = said(opened)
    for address in (expected.address, f"{expected.median_address}, a random neuron"):
        assert f"With {address}" in shown
    again = page(path, "trace", **dict(opened.query_params))
    assert plain(expected.summary) in said(again)


def test_several_neurons_are_switched_together(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, position="2", switch="L0N3", also="L1N2,L1N4", set="3")
    assert not opened.exception
    assert not opened.error
    expected = neurothek.open(path).switch_together(
        "tiny", PROMPT, "L0N3", "L1N2", "L1N4", set=3, position=2, continuation=CONTINUATION
    )
    assert plain(expected.summary) in said(opened)
    (changes,) = [rows for rows in drawn_rows(opened) if "points" in rows.columns]
    assert changes["probability_after"].to_list() == expected.changes["probability_after"].to_list()
    assert "What the model writes" in said(opened)
    for chosen in (["L1N4"], []):
        (more,) = [one for one in opened.multiselect if str(one.key).startswith("also-")]
        assert more.value
        more.set_value(chosen)
        press(opened)
        assert opened.query_params.get("also") in ((["L1N4"], "L1N4") if chosen else (None,))
    twice = page(path, "trace", model="tiny", prompt=PROMPT, switch="L0N3", also="nonsense", set="3")
    assert not twice.exception
    assert len(twice.error) == 1


def test_the_charts_hold_what_changes_of_both(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch="L1N3", set="3")
    expected = neurothek.open(path).switch("tiny", PROMPT, "L1N3", set=3)
    tables = drawn_rows(opened)
    changes = [rows for rows in tables if "points" in rows.columns]
    assert len(changes) == 2
    for rows, address in zip(changes, (expected.address, expected.median_address), strict=True):
        wanted = expected.changes.filter(address=address)
        assert rows["probability_after"].to_list() == wanted["probability_after"].to_list()
    n_idle = sum(row["is_random"] and row["kl"] == 0 for row in expected.neurons.to_dicts())
    assert (f"{n_idle} of these 20 change nothing" in said(opened)) == (n_idle > 0)
    (divergences,) = [rows for rows in tables if "kl" in rows.columns]
    assert divergences["kl"].to_list() == expected.neurons["kl"].to_list()


def test_the_grid_is_drawn_again_with_the_neuron_switched(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch="L0N3", set="9")
    door = neurothek.open(path)
    before, after = door.trace_grid("tiny", PROMPT), door.trace_grid("tiny", PROMPT, neuron="L0N3", set=9)
    untouched, switched = (json.loads(one.proto.json) for one in opened.get("bidi_component"))
    assert (untouched["is_fixed"], switched["is_fixed"]) == (False, True)
    shown = [cell for row in switched["rows"] for cell in row["cells"]]
    expected = [after.cell(layer, place) for layer in (1, 0) for place in range(4)]
    assert [cell["probability"] for cell in shown] == [cell["probability"] for cell in expected]
    n_other = sum(now != was for now, was in zip(after.cells["predicted"], before.cells["predicted"], strict=True))
    assert f"the first token differs from that without the switch, {n_other} of 8 cells." in said(opened)


def test_neurons_of_two_models_can_be_switched(page: Opener, path: Path) -> None:
    asked = {"model": "tiny", "model2": "other", "prompt": PROMPT, "position": "2", "position2": "1"}
    opened = page(path, "trace", **asked, switch="other/L0N5", set="0")
    assert not opened.exception
    assert {address.partition("/")[0] for address in picker(opened).options} == {"tiny", "other"}
    expected = neurothek.open(path).switch("other", PROMPT, "L0N5", position=1)
    assert plain(expected.summary) in said(opened)


def test_any_neuron_may_be_named(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch="L0N7", set="0")
    assert not opened.exception
    assert picker(opened).value == "L0N7"
    assert "tiny/L0N7 set to 0 at every position" in said(opened)


def test_a_neuron_that_changes_nothing_is_said_to(page: Opener, path: Path) -> None:
    door = neurothek.open(path)
    off = (door.switch("tiny", PROMPT, f"L1N{neuron}", n_random=1) for neuron in range(32))
    idle = next(found.address for found in off if not found.neurons["kl"][0])
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch=idle, set="0")
    assert "Nothing changes." in [one.value for one in opened.caption]
    assert "Nothing changes: percentile" in said(opened)
    before, after = door.trace_grid("tiny", PROMPT), door.trace_grid("tiny", PROMPT, neuron=idle, set=0)
    assert before.cells["predicted"].to_list() == after.cells["predicted"].to_list()
    # A grid that is the same is not drawn twice.
    assert len(opened.get("bidi_component")) == 1
    assert "no first token of the 8 cells of the grid differs." in said(opened)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"switch": "L9N0", "set": "0"}, "layers 0 to 1"),
        ({"switch": "17", "set": "0"}, "is not the address of a neuron"),
        ({"switch": "masked/L0N0", "set": "0"}, "not a neuron of tiny"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    page: Opener, path: Path, asked: dict[str, str], sentence: str
) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, **asked)
    assert not opened.exception
    (error,) = opened.error
    assert sentence in str(error.value).replace("\\", "")


@pytest.mark.parametrize("value", ["much", "nan", "inf"])
def test_an_address_with_no_number_is_said(page: Opener, path: Path, value: str) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch="L0N7", set=value)
    assert not opened.exception
    assert [one.value for one in opened.warning] == [rf"The address has an unknown value\: {value}\."]
    (control,) = opened.segmented_control
    assert control.value == OFF


def test_random_neurons_that_change_nothing_are_counted() -> None:
    neurons = pl.DataFrame({"kl": [0.5, 0.0, 0.25, 0.0], "is_random": [False, True, True, True]})
    idle = " 2 of these 3 change nothing, as any does that has this value anyway."
    page = Mock(neurons=neurons, drawn_from="3 neurons")
    assert ticks_caption(page) == f"Ticks: 3 neurons, set likewise; spot: this neuron.{idle}"
    page = Mock(neurons=neurons.filter(pl.col("kl") > 0), drawn_from="1 neuron")
    assert ticks_caption(page).endswith("spot: this neuron.")


@pytest.mark.parametrize(
    ("largest", "least", "pole", "along", "value"),
    [
        (2.3456, -0.17, None, (), 2.35),
        (0.0, 0.0, None, (1.5, 4.0), 4.0),
        # Without a gate what lies below 0 is the end of a non-linearity.
        (-0.01, -0.17, None, (-0.1,), USUAL_ON),
        (12.0, -34.56, "negative", (), -34.6),
        # On a prompt the sign is the one that it has there.
        (52.0, -70.4, "negative", (24.58, -3.0), 52.0),
        (52.0, -70.4, "positive", (-24.58, 3.0), -70.4),
        (52.0, -70.4, "negative", (0.0,), -70.4),
        (12.0, -3.0, "positive", (), 12.0),
        (None, None, "positive", (0.5, -2.0), -2.0),
        (None, None, None, (), USUAL_ON),
    ],
)
def test_a_neuron_is_turned_on_by_its_own_size(
    largest: float | None, least: float | None, pole: str | None, along: tuple[float, ...], value: float
) -> None:
    assert on_value({"activation_max": largest, "activation_min": least, "pole": pole}, along) == value


def test_the_form_and_the_pane_offer_that_value_in_their_labels(page: Opener, path: Path) -> None:
    # What was measured of these neurons is their weights alone: the prompt tells how large they are.
    grid = neurothek.open(path).trace_grid("tiny", PROMPT, dominant=10)
    address = grid.neurons.filter(pl.col("coefficient") > 0).row(0, named=True)["address"]
    expected: float = max(grid.neurons.filter(address=address)["coefficient"].to_list())
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch=address, set="3")
    assert not opened.exception
    (control,) = opened.segmented_control
    assert f"on ({expected:.3g})" in control.options
    # An address that was sent before the value was the neuron's own still sets it to 3.
    assert control.value == OTHER
    assert opened.number_input(key="value").value == 3
    assert f"{address} set to 3 at every position" in said(opened)
    own = page(path, "trace", model="tiny", prompt=PROMPT, switch=address, set=f"{expected:.3g}")
    assert own.segmented_control[0].value == ON
