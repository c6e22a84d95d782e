"""Which kept matrix leads from one state to another, and what is told where there is none."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.queries.trace.shortcut import stored_lens, stored_shortcut
from tests.support.tiny import MODELS

LONG, BUILTIN = 1, 0
"""Corpora of tiny-2m, which shows the first."""

RUN = """
    insert into store.runs by name
    select * replace (? as run_id, ? as run_key, 'shortcuts' as job, ? as corpus_id, 1 as model_id)
    from store.runs limit 1
"""


def keep(connection: duckdb.DuckDBPyConnection, corpus_id: int, pairs: list[tuple[int, int]]) -> None:
    """Note that tiny-2m has matrices between these states, fitted on a corpus."""
    connection.execute(RUN, [900 + corpus_id, str(corpus_id) * 64, corpus_id])
    for pair in pairs:
        values = [corpus_id, *pair, 900 + corpus_id]
        connection.execute("insert into store.shortcut_maps values (1, ?, ?, ?, 'f', 9, ?)", values)
    connection.execute("update store.corpora set recipe = '{\"sequence_length\": 49}'")


@pytest.fixture(scope="module")
def connection(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse with matrices of tiny-2m: all of them on one text, those to the last state on another."""
    path = Path(shutil.copy(full_path, tmp_path_factory.mktemp("kept") / "w.duckdb"))
    last = MODELS[1].n_layers
    pairs = [(source, target) for source in range(last) for target in range(source + 1, last + 1)]
    with duckdb.connect(str(path)) as connection:
        keep(connection, LONG, pairs)
        keep(connection, BUILTIN, [pair for pair in pairs if pair[1] == last])
        yield connection


@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_matrix_leads_to_the_last_state_unless_another_is_named(
    connection: duckdb.DuckDBPyConnection, state: int
) -> None:
    for corpus, corpus_id in ((None, LONG), ("long", LONG), ("builtin", BUILTIN)):
        one = stored_shortcut(connection, "tiny-2m", state=state, corpus=corpus)
        assert (one.source_state, one.target_state, one.corpus_id) == (state, 3, corpus_id)
        assert one == stored_shortcut(connection, "tiny-2m", state=state, target=3, corpus=corpus)


def test_the_lens_is_a_matrix_from_every_state_in_order(connection: duckdb.DuckDBPyConnection) -> None:
    for corpus in (None, "builtin"):
        lens = stored_lens(connection, "tiny-2m", corpus=corpus)
        assert [(one.source_state, one.target_state) for one in lens] == [(0, 3), (1, 3), (2, 3)]


def test_a_matrix_between_two_states_is_there_where_all_were_kept(connection: duckdb.DuckDBPyConnection) -> None:
    one = stored_shortcut(connection, "tiny-2m", state=0, target=2)
    assert (one.source_state, one.target_state, one.corpus) == (0, 2, "long")
    with pytest.raises(NotMeasured) as refused:
        stored_shortcut(connection, "tiny-2m", state=0, target=2, corpus="builtin")
    command = shlex.split(str(refused.value).split("`")[1])
    assert command[:5] == ["neurothek", "ingest", "tiny-2m", "--job", "shortcuts"]
    assert command[-3:] == ["--keep", "all", "--force"]


@pytest.mark.parametrize(("state", "target"), [(-1, None), (3, None), (4, 5), (0, 4), (1, 1), (2, 1), (0, 0)])
def test_states_that_there_are_not_are_told(
    connection: duckdb.DuckDBPyConnection, state: int, target: int | None
) -> None:
    with pytest.raises(NotFound, match="states are 0 to 3"):
        stored_shortcut(connection, "tiny-2m", state=state, target=target)


@pytest.mark.parametrize("model", ["tiny-1m", "weights-only"])
def test_a_model_without_matrices_is_told_with_the_command(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    said = f"`neurothek ingest {model} --job shortcuts`"
    with pytest.raises(NotMeasured, match=said):
        stored_lens(connection, model)
    with pytest.raises(NotMeasured, match=said):
        stored_shortcut(connection, model, state=0)


def test_a_corpus_on_which_none_were_made_names_those_on_which_some_were(full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        keep(connection, BUILTIN, [(0, 3)])
        with pytest.raises(NotMeasured) as refused:
            stored_lens(connection, "tiny-2m", corpus="long")
    said = str(refused.value)
    assert "measured on builtin" in said
    assert "--job shortcuts --corpus long" in said


def test_what_is_not_there_at_all_is_told(
    connection: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(NotFound):
        stored_lens(connection, "tiny-9m")
    with pytest.raises(NotFound):
        stored_lens(connection, "tiny-2m", corpus="lang")
    with pytest.raises(NotMeasured):
        stored_lens(empty, "tiny-2m")
