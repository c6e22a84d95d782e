"""The lists to judge: of the same sentences for every state and method, each once, under names that tell nothing."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.queries.annotate.lists import PER_STATE, draw_lists, lists_left
from tests.support import plausible_rows, shortcut_rows, tiny
from tests.support import warehouse as made

MODEL, MEASURED = "tiny-1m", ((0, 0), (0, 1))
SENTENCES, TOPS = shortcut_rows.sentences(MEASURED), shortcut_rows.tops(MEASURED)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path = tmp_path_factory.mktemp("lists") / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as writing:
        made.insert(writing, "shortcut_sentences", SENTENCES)
        made.insert(writing, "shortcut_tops", TOPS)
        made.insert(writing, "plausibility_judgements", plausible_rows.judgements(SENTENCES, TOPS))
        yield writing


def test_every_list_of_the_shown_corpus_is_drawn_once(connection: duckdb.DuckDBPyConnection) -> None:
    # Three validation sentences are fewer than are drawn: all of their lists are.
    assert shortcut_rows.N_VALIDATION < PER_STATE
    sample = draw_lists(connection, MODEL)
    shown = [row for row in SENTENCES if row["corpus_id"] == 0], [row for row in TOPS if row["corpus_id"] == 0]
    expected = {(text, ids) for _, text, ids in plausible_rows.lists_of(*shown)}
    assert {(one.text, one.token_ids) for one in sample.lists} == expected
    assert len(sample.lists) == len(sample.by_handle) == len(expected)
    for one in sample.lists:
        assert one.tokens == tuple(tiny.ENGLISH[token] for token in one.token_ids)


def test_the_sentences_of_a_sample_are_the_same_for_all_shortcuts(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neurothek.queries.annotate.lists.PER_STATE", 1)
    texts = set()
    given = plausible_rows.lists_of(SENTENCES, TOPS)
    for seed in range(8):
        sample = draw_lists(connection, MODEL, seed=seed)
        (text,) = {one.text for one in sample.lists}
        texts.add(text)
        shortcuts = {
            (method, state)
            for one in sample.lists
            for corpus_id, _, method, state in given[0, one.text, one.token_ids]
            if corpus_id == 0
        }
        assert shortcuts == {(method, state) for method in ("id", "mat") for state in range(3)}
    assert len(texts) > 1


def test_names_and_order_tell_nothing_and_stay(connection: duckdb.DuckDBPyConnection) -> None:
    one, again, other = (draw_lists(connection, MODEL, seed=seed) for seed in (0, 0, 7))
    assert one == again
    assert {item.handle for item in one.lists}.isdisjoint(item.handle for item in other.lists)
    assert all(re.fullmatch(r"0-[0-9a-f]{12}", item.handle) for item in one.lists)
    for shown in (one.frame(), one.sheet("anna")):
        assert not {"method", "state", "sentence_id", "layer"} & set(shown.columns)
    (row, *_) = one.sheet("anna").to_dicts()
    assert (row["annotator"], row["plausible"], row["1"].split(" ")[0]) == ("anna", None, "1")
    assert row["text"] == f"... {one.lists[0].text}"


def test_what_somebody_judged_is_left_out(connection: duckdb.DuckDBPyConnection) -> None:
    sample = draw_lists(connection, MODEL)
    rows = plausible_rows.judgements(SENTENCES, TOPS)
    for annotator in ("anna", "ben", "carl"):
        done = {(row["text"], tuple(row["shown_token_ids"])) for row in rows if row["annotator"] == annotator}
        left = lists_left(connection, sample, annotator)
        assert left.lists == tuple(one for one in sample.lists if (one.text, one.token_ids) not in done)
    assert len(lists_left(connection, sample, "anna").lists) < len(sample.lists)


def test_a_model_without_shortcuts_names_the_command(connection: duckdb.DuckDBPyConnection, full_path: Path) -> None:
    with pytest.raises(NotMeasured, match="--job shortcuts"):
        draw_lists(connection, "tiny-2m")
    with pytest.raises(NotFound):
        draw_lists(connection, "tiny-9m")
    assert full_path.exists()
