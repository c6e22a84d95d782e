"""The answer `trace_grid`: cells with their tokens' texts, where a prediction settles, and the whole as a table."""

import json
from dataclasses import replace

import polars as pl
import pytest

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import Invalid, NeurothekError, NotFound, NotMeasured
from neurothek.catalog.spelling import visible
from neurothek.queries.trace.grid import CELL_COLUMNS, CELL_NEURON_COLUMNS, GridPage
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

# One worker measures the warehouse.
pytestmark = pytest.mark.xdist_group("trace")

PROMPT = "one two three"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    """`tiny` has shortcuts, `bare` has not."""
    folder = tmp_path_factory.mktemp("grid")
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    for name, seed in {"tiny": 0, "bare": 1}.items():
        build(folder / name, "opt", d_ffn=32, n_layers=3, seed=seed)
    asked = ingests.request((write_sentences(folder, n=60),), jobs=("projections", "shortcuts"))
    ingests.measure(warehouse, folder / "tiny", asked)
    ingests.measure(warehouse, folder / "bare", ingests.request((), jobs=("projections",)))
    return neurothek.open(folder / "w.duckdb")


@pytest.fixture(scope="module")
def page(door: Neurothek) -> GridPage:
    return door.trace_grid("tiny", PROMPT)


def test_cells_say_what_traces_of_each_position_say(door: Neurothek, page: GridPage) -> None:
    assert dict(page.cells.schema) == dict(CELL_COLUMNS)
    assert page.n_layers == 3
    for position in range(len(page.tokens)):
        traced = door.trace("tiny", PROMPT, position=position)
        assert traced.traced.tokens == page.tokens
        assert traced.traced.saturation_layer == page.settled(position)
        for layer in traced.layers.to_dicts():
            cell = page.cell(layer["layer"], position)
            assert cell["token"] == page.tokens[position]
            assert cell["tokens"] == layer["after"]
            assert cell["probabilities"] == pytest.approx(layer["after_probabilities"], rel=1e-4)
            assert (cell["predicted"], cell["probability"]) == (cell["tokens"][0], cell["probabilities"][0])
            assert (cell["before"], cell["final"]) == (layer["before"][0], traced.final)
            assert cell["final_rank"] == layer["final_rank_after"]


def test_neurons_of_cells_are_the_dominant_ones_of_traces(door: Neurothek, page: GridPage) -> None:
    assert page.neurons.is_empty()
    assert "neurons" not in page.data()
    found = door.trace_grid("tiny", PROMPT, dominant=10, most=3)
    assert dict(found.neurons.schema) == dict(CELL_NEURON_COLUMNS)
    assert found.cells.equals(page.cells.filter(pl.col("position") >= found.first))
    exact = ["layer", "rank", "neuron", "address", "writes", "frequency", "kind", "n_tokens_seen", "corpus"]
    for position in range(found.first, len(page.tokens)):
        listed, traced = found.neurons.filter(position=position), door.trace("tiny", PROMPT, position=position).neurons
        assert listed.select(exact).equals(traced.select(exact))
        for name in ("coefficient", "share", "centred_final", "direct_final"):
            assert listed[name].to_list() == pytest.approx(traced[name].to_list(), rel=1e-3, abs=1e-5)
    assert found.data()["neurons"].equals(found.neurons)
    few = door.trace_grid("tiny", PROMPT, dominant=2, most=3).neurons
    assert few.equals(found.neurons.filter(pl.col("rank") <= 2))
    # A layer has no more than all.
    assert door.trace_grid("tiny", PROMPT, dominant=99, most=1).neurons.height == 3 * 32
    with pytest.raises(Invalid, match="give 0 or more"):
        door.trace_grid("tiny", PROMPT, dominant=-1)


def test_where_a_prediction_settles_is_counted_from_the_end(page: GridPage) -> None:
    ranks = {0: [3, 1, 1], 1: [1, 2, 1], 2: [1, 1, 1], 3: [9, 9, 1]}
    made_up = page.cells.with_columns(
        pl.struct("layer", "position")
        .map_elements(lambda one: ranks[one["position"]][one["layer"]], return_dtype=pl.Int32)
        .alias("final_rank")
    )
    of_ranks = replace(page, lens="id", first=0, cells=made_up)
    assert [of_ranks.settled(position) for position in range(4)] == [1, 2, 0, 2]


def test_it_shows_itself_with_the_last_layer_first(page: GridPage) -> None:
    (section,) = page.sections()
    assert section.frame["layer"].to_list() == [2, 1, 0]
    assert section.frame.columns == ["layer", *(f"{i} {visible(token)}" for i, token in enumerate(page.tokens))]
    last = page.cell(2, 3)
    assert (
        section.frame[f"3 {visible(page.tokens[3])}"][0] == f"{visible(last['final'])} {100 * last['probability']:.0f}"
    )
    for shown in (page.summary, repr(page), page._repr_html_()):
        assert visible(last["final"]) in shown
        assert f"at the top from layer {page.settled(3)} on" in shown
    said = page.data()
    assert json.loads(json.dumps(said["grid"])) == {
        "model": "tiny",
        "lens": "id",
        "tokens": list(page.tokens),
        "first": 0,
        "setting": "",
    }
    assert said["cells"].equals(page.cells)
    assert "from store.tokens" in page.sql.replace("inner join", "from")


def test_a_long_prompt_is_read_from_its_end(door: Neurothek) -> None:
    page = door.trace_grid("tiny", "one two three four five", most=2, top=1)
    assert page.cells["position"].unique(maintain_order=True).to_list() == [page.first, page.first + 1]
    assert page.first == len(page.tokens) - 2
    assert page.sections()[0].frame.width == 3
    assert page.cells["tokens"].list.len().unique().to_list() == [1]


def test_states_are_read_through_the_kept_matrices(door: Neurothek, page: GridPage) -> None:
    through = door.trace_grid("tiny", PROMPT, lens="mat")
    assert through.lens == "mat"
    assert through.cells["before"].null_count() == through.cells.height
    traced = door.trace("tiny", PROMPT, lens="mat").states.filter(method="mat").sort("state")
    for layer in range(3):
        # What leaves block l is state l + 1.
        state = traced.row(layer + 1, named=True)
        cell = through.cell(layer, len(page.tokens) - 1)
        assert (cell["tokens"], cell["final_rank"]) == (state["tokens"], state["final_rank"])
    with pytest.raises(NotMeasured):
        door.trace_grid("bare", PROMPT, lens="mat")


def test_with_a_neuron_switched_it_predicts_what_the_switch_says(door: Neurothek, page: GridPage) -> None:
    changed = door.trace_grid("tiny", PROMPT, neuron="L1N3", set=9)
    assert changed.setting == "L1N3 set to 9"
    assert "tiny with L1N3 set to 9 predicts" in changed.summary
    assert changed.data()["grid"]["setting"] == "L1N3 set to 9"
    for position in range(len(page.tokens)):
        said = door.switch("tiny", PROMPT, "L1N3", set=9, position=position, n_random=1).neurons
        cell = changed.cell(2, position)
        assert (cell["predicted"], cell["probability"]) == (
            said["token"][0],
            pytest.approx(said["probability"][0], 1e-4),
        )
    # The layers before it know nothing of it.
    assert changed.cells.filter(layer=0)["predicted"].equals(page.cells.filter(layer=0)["predicted"])
    with pytest.raises(Invalid):
        door.trace_grid("tiny", PROMPT, neuron="bare/L1N3")
    with pytest.raises(Invalid, match="set=nan"):
        door.trace_grid("tiny", PROMPT, neuron="L1N3", set=float("nan"))


def test_what_makes_no_sense_is_refused(door: Neurothek) -> None:
    with pytest.raises(NotFound):
        door.trace_grid("tinny", PROMPT)
    for options in ({"top": 0}, {"most": 0}):
        with pytest.raises(Invalid, match="give 1 or more"):
            door.trace_grid("tiny", PROMPT, **options)  # type: ignore[arg-type]  # of either kind
    with pytest.raises(NeurothekError, match="lens"):
        door.trace_grid("tiny", PROMPT, lens="other")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(NeurothekError, match="not usable at '/nowhere/at/all'"):
        door.trace_grid("tiny", PROMPT, weights="/nowhere/at/all")
