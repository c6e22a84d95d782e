"""Every view: documented, unique in its key, and answering on any warehouse, under any name."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from neurothek.catalog.problems import NotFound
from neurothek.queries.views import install
from neurothek.queries.views.install import all_views, parse_view
from tests.support import warehouse as made
from tests.support.values import is_same

CONTRACT = (
    *("models", "tokens", "corpora", "runs", "neurons", "neurons_by_corpus", "promotions", "neuron_tokens"),
    *("contexts_text", "layer_activity", "dead_by_tokens", "scaling", "scaling_long"),
    *("positional_neurons", "positions_by_layer", "position_teams"),
    *("clusters_summary", "clusterings", "neighbours", "norm_overlap", "concept_share", "concepts_by_layer"),
    *("saturation_by_layer", "event_scores", "top_candidate_scores", "dominant_share", "pushers", "extreme_clusters"),
    *("early_exits", "exit_tradeoff"),
)
MADE_ELSEWHERE = {
    *("coverage_bins", "token_detectors", "ngram_detectors", "detectors_by_layer", "detected_by_layer"),
    *("suppression", "suppression_by_model", "corpus_ngrams", "detected_ngrams", "detectors_by_minimum"),
    *("saturation_by_layer", "event_scores", "top_candidate_scores", "dominant_share", "pushers", "extreme_clusters"),
    *("extreme_updates", "shortcut_fit", "shortcut_quality", "shortcut_readings", "plausibility", "early_exits"),
    "exit_tradeoff",
    *("neuron_poles", "gate_cases", "pole_contexts"),
    *("interventions", "steering", "worth_of_kinds", "continuations", "attribute_shares", "neuron_effects"),
    "neuron_effects_by_domain",
    *("read_agreement", "read_agreement_by_layer", "input_output", "input_output_by_layer"),
    *("contrasts", "contrasts_summary", "explanations", "explanation_scores"),
    *("foreign_agreement", "foreign_catalogs", "foreign_explanations", "foreign_neurons"),
    *("entropy_neurons", "entropy_by_layer", "selectivity", "selectivity_by_layer", "massive_activations"),
    "traits_by_model",
    *("universality", "universality_by_layer"),
    *("output_scores", "readers_and_writers_by_layer"),
}
"""Detectors need more text than the hand-made warehouse has: test_ngram_views makes one, test_event_views events,
test_shortcut_views shortcuts, test_exit_views exits, test_pole_views poles, test_read_agreement reads,
test_input_output classes, tests/queries/steering interventions, tests/ingest/jobs/contrasts contrasts,
tests/queries/explain explanations,
and the folders beside it entropy, selectivity, massive activations, universality and output scores."""


NEEDS_TEXT = {
    *("contexts_by_corpus", "contexts_text", "dead_by_tokens", "layer_activity", "neurons_by_corpus"),
    *("positional_neurons", "positions_by_layer", "position_teams", "positional_values"),
    *("neuron_activity", "neuron_poles", "gate_cases", "pole_contexts", "poles_by_layer"),
}


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def test_the_views_that_people_rely_on_are_there() -> None:
    assert set(CONTRACT) <= set(all_views())


def test_header_describes_the_view(full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for name, view in all_views().items():
        with subtests.test(name):
            columns = [column for column, *_ in full.execute(f"describe {name}").fetchall()]
            assert list(view.columns) == columns
            assert view.key
            assert set(view.key) <= set(columns)
            assert view.purpose.startswith("One row per ")
            for word in ("From:", "Source"):
                assert word in view.purpose
            assert all(text.endswith(".") for text in view.columns.values())


def test_key_is_unique(full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for name, view in all_views().items():
        with subtests.test(name):
            key = ", ".join(view.key)
            ((n_rows, n_keys),) = rows(full, f"select count(*), count(distinct ({key})) from {name}")
            assert n_rows == n_keys
            assert n_rows > 0 or name in MADE_ELSEWHERE


def test_comments_are_in_the_database(full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for name, view in all_views().items():
        with subtests.test(name):
            ((comment,),) = rows(
                full, f"select comment from duckdb_views() where view_name = '{name}' and not internal"
            )
            columns = dict(
                rows(
                    full,
                    "select column_name, comment from duckdb_columns()"
                    f" where table_name = '{name}' and schema_name = 'main'",
                )
            )
            assert comment == view.purpose
            assert columns == dict(view.columns)


def test_empty_warehouse_has_no_rows(empty: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for name in all_views():
        with subtests.test(name):
            assert rows(empty, f"select * from {name}") == []


def test_warehouse_of_projections_only(weights: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for name in all_views():
        with subtests.test(name):
            found = rows(weights, f"select count(*) from {name}")
            assert found == [(0,)] or name not in NEEDS_TEXT


def test_attached_under_another_name(
    full_path: Path, tmp_path: Path, full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests
) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(full_path.read_bytes())
    with duckdb.connect() as connection:
        connection.execute(f"attach '{copy}' as someone_elses (read_only)")
        for name, view in all_views().items():
            with subtests.test(name):
                order = f"order by {', '.join(view.key)}"
                expected = rows(full, f"select * from {name} {order}")
                assert is_same(rows(connection, f"select * from someone_elses.main.{name} {order}"), expected)


def test_view_keeps_to_the_portable_subset(subtests: pytest.Subtests) -> None:
    """What Spark would silently read otherwise: ordered lists, bare quantiles, indices by variable, float literals."""
    for name, view in all_views().items():
        with subtests.test(name):
            tree = sqlglot.parse_one(view.text, read="duckdb")
            assert isinstance(tree, exp.Query)
            for aggregate in tree.find_all(exp.ArrayAgg, exp.GroupConcat):
                assert not aggregate.find(exp.Order)
            assert not list(tree.find_all(exp.Bracket, exp.Quantile, exp.Qualify))
            # A lambda is read alike by Spark in a transformed list, and there alone.
            assert all(isinstance(one.parent, exp.Transform) for one in tree.find_all(exp.Lambda))
            for compared in tree.find_all(exp.LT, exp.LTE, exp.GT, exp.GTE):
                assert not [
                    number for number in compared.find_all(exp.Literal) if number.is_number and "." in number.name
                ]
            sqlglot.transpile(view.text, read="duckdb", write="spark", unsupported_level=sqlglot.ErrorLevel.RAISE)


def test_install_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.duckdb"
    made.create_empty(path)
    with duckdb.connect(str(path)) as connection:
        before = rows(connection, "select view_name, sql, comment from duckdb_views() where not internal order by 1")
        install.install(connection)
        after = rows(connection, "select view_name, sql, comment from duckdb_views() where not internal order by 1")
        assert after == before
        assert rows(connection, "select count(*) from store.installed_views") == [(len(all_views()),)]


def test_an_older_releases_views_are_replaced_and_dropped(tmp_path: Path) -> None:
    path = tmp_path / "one.duckdb"
    made.create_empty(path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create or replace view main.models as select 1 as old")
        connection.execute("update store.installed_views set sha256 = 'older' where name = 'models'")
        connection.execute("create view main.retired as select 1 as x")
        connection.execute("insert into store.installed_views values ('retired', 'older')")
        connection.execute("create view main.mine as select 2 as x")
        install.install(connection)
        names = {name for (name,) in rows(connection, "select view_name from duckdb_views() where not internal")}
        assert rows(connection, "select * from models") == []
    # A view that a person made is theirs.
    assert names == {*all_views(), "mine"}


def test_each_view_comes_after_those_it_reads() -> None:
    seen: set[str] = set()
    for name, view in all_views().items():
        tables = sqlglot.parse_one(view.text, read="duckdb").find_all(exp.Table)
        assert {table.name for table in tables if not table.db} & set(all_views()) <= seen
        seen.add(name)


def test_views_that_read_a_relation_are_those_that_reach_it() -> None:
    reads = {}
    for name, view in all_views().items():
        tables = sqlglot.parse_one(view.text, read="duckdb").find_all(exp.Table)
        reads[name] = {f"{table.db}.{table.name}" if table.db else table.name for table in tables}
    for relations in (("store.activity",), ("models",), ("store.runs", "neurons"), ("store.nothing",)):
        reached, before = {*relations}, 0
        while before != len(reached):
            before = len(reached)
            reached |= {name for name, read in reads.items() if read & reached}
        found = [view.name for view in install.views_that_read(*relations)]
        assert found == [name for name in all_views() if name in reached.difference(relations)]


def test_parse_view() -> None:
    header = (
        "-- One row per x. Why: it's\n-- two lines.\n-- key: a, b\n-- columns:\n--   a: First.\n--   b: Second: more.\n"
    )
    text = f"{header}select 1\n"
    view = parse_view("x", text)
    assert view.purpose == "One row per x. Why: it's two lines."
    assert view.grain == "One row per x."
    assert view.key == ("a", "b")
    assert view.stored is None
    assert view.query == "select 1"
    assert parse_view("x", text.replace("-- columns", "-- kept: runs\n-- columns")).stored == "runs"
    assert dict(view.columns) == {"a": "First.", "b": "Second: more."}


def test_unknown_view_names_the_nearest() -> None:
    with pytest.raises(NotFound, match="there is no view promotion; nearest: promotions"):
        install.view("promotion")
