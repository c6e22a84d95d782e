"""Answers of a model are given from memory where the same was asked of the same warehouse."""

import pytest

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.live import answers
from neurothek.dashboards.live.answers import MOST_POSITIONS, activations_of, grid_of, switch_of, trace_of
from neurothek.dashboards.session import set_backend
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.xdist_group("live_pages")

PROMPT = "one two three"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Neurothek:
    folder = tmp_path_factory.mktemp("answers")
    build(folder / "tiny", "opt", d_ffn=32)
    ingests.measure(
        ingests.open_warehouse(folder / "w.duckdb"), folder / "tiny", ingests.request((), jobs=("projections",))
    )
    return neurothek.open(folder / "w.duckdb")


@pytest.fixture(autouse=True)
def _handed_over(door: Neurothek) -> None:
    set_backend(door)


def test_answers_are_those_of_the_backend(door: Neurothek) -> None:
    grid = grid_of("tiny", PROMPT, lens="id", corpus=None)
    assert grid.cells.equals(door.trace_grid("tiny", PROMPT, most=MOST_POSITIONS).cells)
    traced = trace_of("tiny", PROMPT, position=2, lens="id", corpus=None)
    assert traced.neurons.equals(door.trace("tiny", PROMPT, position=2).neurons)
    switched = switch_of("tiny", "L1N3", PROMPT, value=3, position=1)
    assert switched.changes.equals(door.switch("tiny", PROMPT, "L1N3", set=3, position=1).changes)
    assert activations_of("tiny/L1N3", PROMPT).tokens.equals(door.activations("tiny/L1N3", PROMPT).tokens)


def test_the_same_question_runs_no_model_again(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [grid_of("tiny", "five six", lens="id", corpus=None) for _ in range(2)]
    assert told[0].cells.equals(told[1].cells)

    def refuse() -> Neurothek:
        raise NeurothekError("asked again")

    monkeypatch.setattr(answers, "backend", refuse)
    assert grid_of("tiny", "five six", lens="id", corpus=None).cells.equals(told[0].cells)
    with pytest.raises(NeurothekError, match="asked again"):
        grid_of("tiny", "five six seven", lens="id", corpus=None)
