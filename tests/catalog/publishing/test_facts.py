"""The flat rows that publishing rebuilds, against the loops that made the warehouse."""

from collections.abc import Collection
from pathlib import Path

import duckdb
import pytest
import sqlglot
from polars.testing import assert_frame_equal

from neurothek.catalog.publishing import publish, summaries
from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.catalog.tables.flat_rows import flat_rows_script
from neurothek.queries.views.contents import thresholds
from tests.support import ingests, tiny
from tests.support import warehouse as made
from tests.support.models import build

QUERY = "select * from store.neuron_facts order by set_id, layer, neuron"


@pytest.mark.long
def test_rebuilt_facts_are_those_computed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "full.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        by_hand = connection.sql(QUERY).pl()
        for model_id in range(len(tiny.MODELS)):
            rebuild_facts(connection, model_id)
        # Sums of a few dozen doubles in another order.
        assert_frame_equal(connection.sql(QUERY).pl(), by_hand, rel_tol=1e-12)


@pytest.mark.long
def test_what_no_run_touched_is_what_would_be_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After every publish of models measured job by job, on one text and on another, again and by force."""
    compute, computed, spared = summaries._compute, [], []

    def count(
        connection: duckdb.DuckDBPyConnection, view: summaries.MaterializedView, model_id: int, name: str
    ) -> None:
        computed.append(view.name)
        compute(connection, view, model_id, name)

    def compared(connection: duckdb.DuckDBPyConnection, model_id: int, written: Collection[str] | None = None) -> None:
        computed.clear()
        rebuild_facts(connection, model_id, written)
        sparing, n_computed = {table: lying(connection, table) for table in tables_of(connection)}, len(computed)
        computed.clear()
        rebuild_facts(connection, model_id)
        assert {table: lying(connection, table) for table in tables_of(connection)} == sparing
        spared.append(len(computed) - n_computed)

    monkeypatch.setattr(publish, "rebuild_facts", compared)
    monkeypatch.setattr(summaries, "_compute", count)
    long, short = ingests.write_corpus(tmp_path)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for kind in ("opt", "gpt2"):
        model = build(tmp_path / kind, kind, d_ffn=24, seed=2)
        for corpora, jobs in (
            ((long,), ("activity",)),
            ((), ("projections", "clusters")),
            ((long,), ("ngrams", "positions", "contexts")),
            ((short,), ("positions",)),
            ((short, long), ("events", "controls")),
            ((short,), ("activity",)),
            ((long,), ("ngrams", "events")),
        ):
            ingests.measure(warehouse, model, ingests.request(corpora, jobs=jobs))
        ingests.measure(warehouse, model, ingests.request((long,), jobs=("activity",), force=True))
    assert len(spared) == 18
    assert sum(n > 5 for n in spared) > 2


def lying(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """Rows of a table, but for the last digits of sums."""
    rows = connection.execute(f"from store.{table}").fetchall()
    return sorted(str([f"{one:.9g}" if isinstance(one, float) else one for one in row]) for row in rows)


def tables_of(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables that publishing fills from others."""
    found = connection.execute("select table_name from duckdb_tables() where schema_name = 'store'").fetchall()
    return [name for (name,) in found if name == "neuron_facts" or name.startswith("kept_")]


def test_the_constants_are_those_of_the_views() -> None:
    """What is decided while publishing cannot be moved in `neurons`: it must be what the views of detectors say."""
    script = flat_rows_script()
    (constants,) = [
        cte.this
        for cte in sqlglot.parse_one(script, dialect="duckdb").find_all(sqlglot.exp.CTE)
        if cte.alias == "thresholds"
    ]
    (values,) = duckdb.execute(constants.sql(dialect="duckdb")).fetchall()
    ngrams = thresholds("corpus_ngrams")["min_occurrences"], thresholds("detected_ngrams")["least_recall"]
    traits = thresholds("entropy_by_layer")["above_all"], thresholds("selectivity")["largest_p"]
    massive = thresholds("massive_activations")["massive_ratio"], thresholds("massive_activations")["half"]
    rest = (*traits, *massive, thresholds("input_scores")["listed_tokens"])
    assert tuple(map(float, values)) == (*ngrams, thresholds("neuron_effects")["least_sets"], *rest)
