"""A view that holds rows of two kinds has the kind as a column, and says in its header which column that is."""

import re

import duckdb
import pytest

from neurothek.queries.ask.statements import records
from neurothek.queries.views.install import View, all_views
from tests.support.tiny import Row

WHAT_A_ROW_IS_OF = {
    *("model", "other_model", "corpus_id", "layer", "neuron", "unit", "rank", "token_id", "tokenizer_id", "run_id"),
    *("annotation_id", "clustering_id", "cluster_id", "control_id", "number", "shown_token_ids", "bin", "n_tokens"),
    *("position", "state", "source_state", "target_state", "parameter", "metric", "other_annotator"),
    *("intervention", "contrast", "catalog", "position_from", "set_number", "prompt_number", "sentence_id"),
}
"""Columns of keys that name things of one kind; every other column of a key tells kinds of rows apart."""

MARKS = {"is_shown", "is_latest", "is_beyond_null"}
"""Columns outside keys that set some rows of a view apart from the others."""

ELSE = {
    "positional_neurons": {"position_kind"},
    "annotations": {"condition", "concept"},
    "neuron_effects": {"is_control"},
    "neuron_effects_by_domain": {"is_control"},
}
"""What tells kinds of rows in one view only: neurons that cannot be labelled, what was judged and found, and neurons
that were drawn to be compared with."""

NAMES_PEOPLE = {"judgements": {"annotator"}, "annotator_agreement": {"annotator"}}
"""Where a column tells kinds in other views: of these two every row is one person's, or two people's."""

every_view = pytest.mark.parametrize("view", list(all_views().values()), ids=list(all_views()))


def kinds_told(view: View) -> list[str]:
    """The columns that the header names as those that tell kinds of rows."""
    said = re.search(r"Kinds of rows: ([^.]+)\.", view.purpose)
    return [] if said is None else [clause.split(",")[0].strip() for clause in said[1].split(";")]


def kinds_held(view: View) -> set[str]:
    """The columns that do, by the key and by what marks rows."""
    return (set(view.key) - WHAT_A_ROW_IS_OF - NAMES_PEOPLE.get(view.name, set())) | (set(view.columns) & MARKS)


@every_view
def test_the_header_names_the_columns_that_tell_kinds(view: View) -> None:
    advice = 'of a column of the key, write "-- Kinds of rows: COLUMN." in the header, or add it to WHAT_A_ROW_IS_OF'
    assert set(kinds_told(view)) == kinds_held(view) | ELSE.get(view.name, set()), advice
    assert set(kinds_told(view)) <= set(view.columns)


@every_view
def test_rows_of_several_texts_or_clusterings_are_marked(view: View) -> None:
    if {"corpus_id", "clustering_id"} & set(view.key) and view.name != "corpora":
        assert "is_shown" in view.columns


@every_view
def test_where_a_key_may_be_null_another_column_says_why(view: View, full: duckdb.DuckDBPyConnection) -> None:
    rows = records(full, f"select {', '.join(view.key)} from {view.name}")
    for column in view.key:
        if any(row[column] is None for row in rows):
            assert [kind for kind in kinds_told(view) if is_told(rows, column, by=kind)]


def is_told(rows: list[Row], column: str, *, by: str) -> bool:
    """Whether the value of one column decides if the other is null."""
    found: dict[object, set[bool]] = {}
    for row in rows:
        found.setdefault(row[by], set()).add(row[column] is None)
    return all(len(nullness) == 1 for nullness in found.values())


def test_the_rows_of_whole_models_are_the_sums_over_layers(full: duckdb.DuckDBPyConnection) -> None:
    sums: dict[tuple[object, ...], list[int]] = {}
    rows = records(full, "select * from dead_by_tokens")
    for row in rows:
        assert (row["region"] == "model") == (row["layer"] is None)
        if row["region"] == "layer":
            of_model = sums.setdefault((row["model"], row["domain"], row["n_tokens"]), [0, 0])
            of_model[0] += row["n_neurons"]
            of_model[1] += row["n_never_active"]
    wholes = [row for row in rows if row["region"] == "model"]
    assert len(wholes) == len(sums) > 0
    for row in wholes:
        assert sums[row["model"], row["domain"], row["n_tokens"]] == [row["n_neurons"], row["n_never_active"]]


def test_members_of_the_shown_clustering_are_the_neurons(full: duckdb.DuckDBPyConnection) -> None:
    shown = records(full, "select address, cluster_id from cluster_members where is_shown")
    expected = records(full, "select address, cluster_id from neurons where cluster_id is not null")
    assert sorted(map(str, shown)) == sorted(map(str, expected))
    ((n_members,),) = full.execute("select count(*) from cluster_members").fetchall()
    assert n_members > len(shown)
