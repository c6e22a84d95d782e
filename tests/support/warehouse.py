"""A small warehouse made by hand: five models, two tokenizers, three corpora, every number known to plain Python.

Scores and coefficients are drawn from a seed as multiples of 1/8, so that sums and float32 columns are exact; what is
derived from them (lists, moments, counts, facts) is computed here by loops that share nothing with the product.
"""

import random
from collections import defaultdict
from functools import cache
from pathlib import Path

import duckdb

from neurothek.catalog.publishing.summaries import add_neurons
from neurothek.catalog.store import schema
from neurothek.catalog.tables import versions
from neurothek.catalog.tables.registry import ALL
from neurothek.queries.views import install
from tests.support.activity_rows import add_activity
from tests.support.annotations import annotation_rows
from tests.support.dimension_rows import add_corpora, add_model, add_tokens, choose_corpus
from tests.support.fact_rows import add_facts
from tests.support.measurements import Measurements
from tests.support.position_rows import add_positions
from tests.support.projection_rows import add_projections
from tests.support.relative_rows import add_counterparts, add_relatives
from tests.support.templates import copy_of
from tests.support.tiny import COMPARED, MODELS, Row

OF_SETS = {
    (table.name, f"{other}model_id"): f"{other}set_id"
    for table in ALL
    for other in ("", "other_")
    if f"{other}set_id" in table.columns and table.name not in ("unit_sets", "unit_layers")
}
"""(Table, the number of a model) -> the column that it is in."""


@cache
def hand_made() -> Measurements:
    """The warehouse's content; the same at every call."""
    draw = random.Random(20)
    data = Measurements(rows=defaultdict(list), scores={}, coefficients={})
    add_tokens(data)
    add_corpora(data, draw)
    for model_id, plan in enumerate(MODELS):
        add_model(data, model_id, plan)
        add_projections(data, model_id, plan, draw)
        for corpus_id in plan.corpora:
            add_activity(data, model_id, plan, corpus_id, draw)
            add_positions(data, model_id, plan, corpus_id)
        add_relatives(data, model_id, plan)
        choose_corpus(data, model_id, plan)
    for model_id, other_id in COMPARED:
        add_counterparts(data, model_id, other_id)
        add_counterparts(data, other_id, model_id)
    for model_id, plan in enumerate(MODELS):
        add_facts(data, model_id, plan)
    # Of all but the last model.
    judged = [row for row in data.rows["projections"] if row["model_id"] < len(MODELS) - 1]
    data.rows["annotations"] = list(annotation_rows(judged, data.rows["controls"]))
    data.rows["postings"].sort(
        key=lambda row: (row["model_id"], row["side"], row["token_id"], row["rank"], row["layer"], row["neuron"])
    )
    return data


def create_empty(path: Path) -> None:
    """A warehouse with all tables and views and without a row."""
    copy_of("empty", _create_empty, path)


def _create_empty(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        create_schema(connection)
        install.install(connection)


def create(path: Path, *, tables: frozenset[str] | None = None) -> None:
    """The warehouse made by hand; `tables` keeps only some of the facts."""
    name = "by-hand" if tables is None else f"by-hand-{'-'.join(sorted(tables))}"
    copy_of(name, lambda template: _create(template, tables), path)


def _create(path: Path, tables: frozenset[str] | None) -> None:
    with duckdb.connect(str(path)) as connection:
        create_schema(connection)
        for table, rows in hand_made().rows.items():
            if tables is None or table in tables:
                insert(connection, table, rows)
        install.install(connection)


def create_schema(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the tables."""
    schema.create(connection)


def insert(connection: duckdb.DuckDBPyConnection, table: str, rows: list[Row]) -> None:
    """Insert rows with plain statements."""
    if not rows:
        return
    columns = list(rows[0])
    # Rows made by hand name the model; what is measured of its neurons is kept under their set, which has its number.
    stored = [OF_SETS.get((table, column), column) for column in columns]
    line = "(" + ", ".join("?" * len(columns)) + ")"
    for start in range(0, len(rows), 500):
        part = rows[start : start + 500]
        values = [row[column] for row in part for column in columns]
        lines = ", ".join([line] * len(part))
        connection.execute(f"insert into store.{table} ({', '.join(stored)}) values {lines}", values)
    if table == "models" and schema.version_of(connection) == versions.VERSION:
        add_neurons(connection)
