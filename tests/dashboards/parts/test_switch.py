"""One neuron's switch on the pages of a neuron and of a trace: what was asked stands in the address and is shown."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from dashboards.parts.switch import OFF, ON, OTHER
from tests.dashboards.widgets.test_figures import charts
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
    return text.replace("\\", "")


def tables(page: AppTest) -> str:
    return "".join(str(one.proto.body) for one in page.get("html"))


def press(page: AppTest) -> AppTest:
    (button,) = [one for one in page.button if one.label == "Run"]
    return button.click().run()


def test_nothing_is_run_before_somebody_asks(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON)
    assert not opened.exception
    assert "Try it" in [one.value for one in opened.subheader]
    assert "Runs the model on the prompt, on this machine" in said(opened)
    # A prompt that came along from another page waits.
    waits = page(path, "neuron", neuron=NEURON, prompt=PROMPT)
    assert waits.text_input(key="prompt").value == PROMPT
    assert "percentile" not in said(waits)


def test_a_neuron_is_turned_on_and_the_address_tells_of_it(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON)
    opened.text_input(key="prompt").set_value(PROMPT)
    opened.segmented_control(key="set").set_value(ON)
    press(opened)
    assert not opened.exception
    assert not opened.error
    assert (opened.query_params["prompt"], opened.query_params["set"]) == (PROMPT, "3")
    expected = neurothek.open(path).switch("tiny", PROMPT, NEURON, set=3)
    assert plain(expected.summary) in said(opened)
    shown = tables(opened)
    # The neuron, and the random one of median divergence, each with its table.
    for title in (f"What changes most with {NEURON}", f"random neuron of median divergence, {expected.median_address}"):
        assert title in shown
    for row in expected.changes.to_dicts():
        assert f"{row['probability_after']:.4f}" in shown
    again = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set="3")
    assert plain(expected.summary) in said(again)
    assert again.segmented_control(key="set").value == ON


def test_another_value_is_the_number_beside_the_choice(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set="1.5")
    assert opened.segmented_control(key="set").value == OTHER
    assert opened.number_input(key="value").value == 1.5
    assert f"{NEURON} set to 1.5 at every position" in said(opened)
    opened.number_input(key="value").set_value(-2.0)
    press(opened)
    assert opened.query_params["set"] == "-2"
    assert f"{NEURON} set to -2 at every position" in said(opened)
    opened.segmented_control(key="set").set_value(OFF)
    press(opened)
    assert opened.query_params["set"] == "0"
    assert f"{NEURON} set to 0 at every position" in said(opened)


def test_a_neuron_of_a_trace_is_switched_where_was_traced(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, position="2")
    assert [one.value for one in opened.subheader] == ["Layers", "Dominant neurons", "Turn a neuron off or on"]
    dominant = neurothek.open(path).trace("tiny", PROMPT, position=2).neurons.get_column("address").to_list()
    (picker,) = [one for one in opened.selectbox if one.key == "switch"]
    assert picker.options == dominant
    picker.set_value(dominant[3])
    press(opened)
    assert not opened.exception
    assert (opened.query_params["switch"], opened.query_params["set"]) == (dominant[3], "0")
    expected = neurothek.open(path).switch("tiny", PROMPT, dominant[3], position=2)
    assert plain(expected.summary) in said(opened)
    assert "position 2 (0 to 3)" in expected.summary
    downloads = [str(button.proto.label) for button in opened.get("download_button")]
    assert downloads == ["CSV", "Parquet"] * 4
    assert charts(opened) == []


def test_any_neuron_may_be_named(page: Opener, path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt=PROMPT, switch="L0N7", set="0")
    assert not opened.exception
    assert opened.selectbox(key="switch").value == "L0N7"
    assert "tiny/L0N7 set to 0 at every position" in said(opened)


def test_without_a_neuron_nothing_is_run(page: Opener, path: Path) -> None:
    opened = press(page(path, "trace", model="tiny", prompt=PROMPT))
    assert not opened.exception
    assert "set" not in opened.query_params
    assert "percentile:" not in said(opened)


def test_a_neuron_that_changes_nothing_is_said_to(page: Opener, path: Path) -> None:
    door = neurothek.open(path)
    off = (door.switch("tiny", PROMPT, f"L1N{neuron}", n_random=1) for neuron in range(32))
    idle = next(found.address for found in off if not found.neurons["kl"][0])
    opened = page(path, "neuron", neuron=idle, prompt=PROMPT, set="0")
    assert f"With {idle} nothing changes." in said(opened)
    assert "Nothing changes: percentile" in said(opened)
    assert f"What changes most with {idle}" not in tables(opened)


@pytest.mark.parametrize(
    ("name", "asked", "sentence"),
    [
        ("neuron", {"neuron": NEURON, "prompt": "one " * 90, "set": "0"}, "but the model reads at most 64"),
        ("neuron", {"neuron": NEURON, "prompt": PROMPT, "set": "1e35"}, "set=1e+35 is not valid"),
        ("neuron", {"neuron": "masked/L0N0", "prompt": PROMPT, "set": "0"}, "bert models are masked ones"),
        ("trace", {"model": "tiny", "prompt": PROMPT, "switch": "L9N0", "set": "0"}, "layers 0 to 1"),
        ("trace", {"model": "tiny", "prompt": PROMPT, "switch": "17", "set": "0"}, "is not the address of a neuron"),
        ("trace", {"model": "tiny", "prompt": PROMPT, "switch": "masked/L0N0", "set": "0"}, "not a neuron of tiny"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    page: Opener, path: Path, name: str, asked: dict[str, str], sentence: str
) -> None:
    opened = page(path, name, **asked)
    assert not opened.exception
    (error,) = opened.error
    assert sentence in str(error.value).replace("\\", "")


@pytest.mark.parametrize("value", ["much", "nan", "inf"])
def test_an_address_with_no_number_is_said(page: Opener, path: Path, value: str) -> None:
    opened = page(path, "neuron", neuron=NEURON, prompt=PROMPT, set=value)
    assert not opened.exception
    assert [one.value for one in opened.warning] == [rf"The address asks for an unknown value\: {value}\."]
    assert opened.segmented_control(key="set").value == OFF


def test_of_a_neuron_that_there_is_not_nothing_can_be_tried(page: Opener, path: Path) -> None:
    opened = page(path, "neuron", neuron="tiny/L9N9", prompt=PROMPT, set="0")
    assert len(opened.error) == 1
    assert "Try it" not in [one.value for one in opened.subheader]
