"""Pages that read weights: Trace, with states where they are read through kept matrices, and Search by exact score."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from queries.search.question import Question
from tests.dashboards.widgets.test_figures import charts
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

pytestmark = pytest.mark.xdist_group("live_pages")

SWITCH = "Turn a neuron off or on"
"""What is below the tables, and waits to be asked; see `parts/test_switch.py`."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    build(folder / "tiny", "opt", d_ffn=32)
    asked = ingests.request((write_sentences(folder, n=60),), jobs=("projections", "shortcuts"))
    ingests.measure(ingests.open_warehouse(folder / "w.duckdb"), folder / "tiny", asked)
    return folder / "w.duckdb"


def said(text: object) -> str:
    """What stands on the page, with the marks of Markdown taken out."""
    return str(text).replace("\\", "")


def test_states_are_shown_where_they_are_asked_for(page: Callable[..., AppTest], path: Path) -> None:
    plain = page(path, "trace", model="tiny", prompt="one two three")
    assert [found.value for found in plain.subheader] == ["Layers", "Dominant neurons", SWITCH]
    through = plain.toggle[0].set_value(True).run()
    assert [found.value for found in through.subheader] == ["Layers", "States", "Dominant neurons", SWITCH]
    assert "mat" in through.query_params["lens"]
    next(path.parent.rglob("0001-*.safetensors")).unlink()
    (error,) = page(path, "trace", model="tiny", prompt="one two three", lens="mat").error
    assert "make it again with" in said(error.value)


def test_a_trace_is_tables_alone_each_with_what_it_shows_and_its_rows(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt="one two", lens="id")
    assert not opened.exception
    assert not opened.error
    # Of no statement: the model ran for it, so that there is no SQL behind it either.
    assert charts(opened) == []
    assert [str(button.proto.label) for button in opened.get("download_button")] == ["CSV", "Parquet"] * 2
    assert any("share: of the ten dominant neurons" in said(caption.value) for caption in opened.caption)
    (neurons,) = [table.value for table in opened.dataframe]
    traced = neurothek.open(path).trace("tiny", "one two").neurons
    assert list(neurons["address"]) == traced.get_column("address").to_list()
    assert list(neurons["share_percent"]) == pytest.approx([100 * share for share in traced.get_column("share")])


@pytest.mark.parametrize("side", ["promoted", "suppressed"])
def test_exact_scores_of_a_word_are_those_of_the_command(page: Callable[..., AppTest], path: Path, side: str) -> None:
    door = neurothek.open(path)
    token = door.sql("select token from promotions group by token order by count(*), token limit 1").item()
    opened = page(path, "search", words=f"'{token}'", exact="yes", score="yes", side=side, limit="7")
    assert not opened.exception
    assert not opened.error
    expected = door.score(Question(words=(token,), exact=True, side=side, limit=7))  # type: ignore[arg-type]
    (found,) = [table.value for table in opened.dataframe]
    assert list(found["address"]) == expected.neurons.get_column("address").to_list()
    assert list(found["score"]) == pytest.approx(expected.neurons.get_column("score").to_list())
    assert list(found["rank"]) == expected.neurons.get_column("rank").to_list()
    assert f"scored {token!r} in tiny" in "".join(said(note.value) for note in opened.caption)


def test_exact_scores_of_two_words_are_refused_in_a_sentence(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "search", words="one two", score="yes")
    assert not opened.exception
    (error,) = opened.error
    assert "one word" in error.value
