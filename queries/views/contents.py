"""What the warehouse holds: models, corpora, runs, views, tables and their columns."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, INTEGER, TEXT, TIME
from neurothek.queries.ask.parse_tree import known_relations
from neurothek.queries.ask.statements import conform, frame_of
from neurothek.queries.errors.unknown_subjects import unknown_relation
from neurothek.queries.names.models import SIZE
from neurothek.queries.views.install import all_views, view

_RELATIONS = """\
-- Every view and table of the warehouse with its comment: views as people query them, tables of the store after them.
-- Tables that hold the rows of views are left out.
select view_name as name, 'view' as kind, comment, 1 as place,
from duckdb_views()
where not internal and schema_name = 'main' and database_name = current_database()
union all
select 'store.' || table_name as name, 'table' as kind, comment, 2 as place,
from (
    select table_name, comment, schema_name, database_name, internal from duckdb_tables()
    union all
    -- Those of a published catalog are views of its files.
    select view_name, comment, schema_name, database_name, internal from duckdb_views()
) as stored
where
    not internal
    and schema_name = 'store'
    and database_name = current_database()
    and not starts_with(table_name, 'kept_')
order by place, name
"""

_COLUMNS = """\
-- The columns of a view or a table of the store with their types and comments, in order.
select column_name as column, lower(data_type) as type, comment as description,
from duckdb_columns()
where
    database_name = current_database()
    and case schema_name when 'main' then table_name else schema_name || '.' || table_name end = $name
order by column_index
"""

_LISTED_MODELS = """\
-- The view models as people list it: smallest first, a plain model before its variants, steps in the order of training.
select *,
from models
order by
    size,
    regexp_extract(variant, '^\\D+') nulls first, try_cast(regexp_extract(variant, '\\d+$') as bigint) nulls first,
    model
"""

RUN_COLUMNS: Mapping[str, pl.DataType] = {
    "run_id": INTEGER,
    "model": TEXT,
    "job": TEXT,
    "corpus": TEXT,
    "other_model": TEXT,
    "state": TEXT,
    "started_at": TIME,
    "finished_at": TIME,
    "n_rows": BIG,
    "dtype": TEXT,
    "job_version": INTEGER,
    "parameters": TEXT,
    "versions": TEXT,
    "run_key": TEXT,
    "problem": TEXT,
}

MODELS_TABLE = ("model", "size", "variant", "n_layers", "n_neurons", "corpus", "n_tokens_seen", "jobs")
CORPORA_TABLE = ("corpus", "n_tokens", "n_sequences", "sequence_length", "domains", "models", "tokenizer")
RUNS_TABLE = ("model", "job", "other_model", "corpus", "state", "finished_at", "n_rows", "dtype")


def models_frame(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The view `models`, smallest model first, its variants after it, steps in the order of training."""
    return frame_of(connection, _LISTED_MODELS)


def models_table(models_frame: pl.DataFrame) -> pl.DataFrame:
    """The columns that people read: variants only where there are some."""
    has_variants = models_frame.get_column("variant").null_count() < models_frame.height
    table = models_frame.select(name for name in MODELS_TABLE if name != "variant" or has_variants)
    return table.rename({"size": SIZE})


def models_of_shared_ids(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Models that an earlier release measured on the same ids as others, having compared vocabularies alone."""
    query = """
        with shared as (
            select corpus_id from store.runs where corpus_id is not null
            group by corpus_id having count(distinct model_id) > 1
        )
        select distinct models.name, models.model_id
        from store.runs as runs
        inner join store.models as models on models.model_id = runs.model_id
        where runs.tokenizer_identity is null and runs.corpus_id in (select corpus_id from shared)
        order by models.model_id
    """
    return [str(name) for name, _ in connection.execute(query).fetchall()]


def corpora_frame(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """The view `corpora`, by name."""
    return frame_of(connection, "select * from corpora order by corpus, corpus_id")


def runs(connection: duckdb.DuckDBPyConnection | None, staged: Iterable[Mapping[str, Any]] = ()) -> pl.DataFrame:
    """Published runs, newest first, after those that lie in staging: running, failed, interrupted or only measured.

    Args:
        connection: the warehouse, or None where there is none yet.
        staged: what the staging manifests say, see `neurothek.catalog.publishing.staging`.
    """
    waiting = pl.DataFrame([_staged_row(manifest) for manifest in staged], schema=dict(RUN_COLUMNS))
    if connection is None:
        return waiting
    published = frame_of(
        connection, "select *, null::varchar as problem from runs order by finished_at desc, run_id desc"
    )
    return pl.concat([waiting.sort("started_at", descending=True), conform(published, RUN_COLUMNS)])


def runs_table(runs: pl.DataFrame) -> list[str]:
    """The columns that people read: the other model only where some run has one."""
    has_pairs = runs.get_column("other_model").null_count() < runs.height
    return [name for name in RUNS_TABLE if name != "other_model" or has_pairs]


def views() -> pl.DataFrame:
    """Every view with what one row of it is, by name."""
    rows = [(one.name, one.grain, ", ".join(one.key)) for one in all_views().values()]
    return pl.DataFrame(sorted(rows), schema={"view": TEXT, "one_row": TEXT, "key": TEXT}, orient="row")


def relations(connection: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Every view and table with its comment."""
    ours = pl.col("name").is_in(known_relations())
    return frame_of(connection, _RELATIONS).filter(ours).select("name", "kind", pl.col("comment").alias("description"))


def columns(connection: duckdb.DuckDBPyConnection, name: str) -> pl.DataFrame:
    """The columns of a view, or of a table as `store.NAME` or just `NAME`."""
    for one in (name, f"store.{name}"):
        rows = frame_of(connection, _COLUMNS, {"name": one if one in known_relations() else None})
        if not rows.is_empty():
            return rows
    raise unknown_relation(name, known_relations())


def _staged_row(manifest: Mapping[str, Any]) -> dict[str, Any]:
    copied: Sequence[str] = (
        *("model", "job", "corpus", "other_model", "state", "dtype", "job_version", "run_key", "problem"),
    )
    return {
        **dict.fromkeys(RUN_COLUMNS),
        **{name: manifest.get(name) for name in copied},
        "started_at": datetime.fromisoformat(manifest["started_at"]).replace(tzinfo=None),
        "parameters": json.dumps(manifest["parameters"], sort_keys=True),
    }


def view_columns(name: str) -> pl.DataFrame:
    """The columns of a view as this release describes them."""
    described = view(name).columns.items()
    return pl.DataFrame(list(described), schema={"column": TEXT, "description": TEXT}, orient="row")


# Constants stand one per line: `cast(0.95 as double) as least_recall,` or `3 as oscillating_switches,`.
_BLOCK = re.compile(r"^with thresholds as \((.*?)^\)", re.DOTALL | re.MULTILINE)
_CONSTANT = re.compile(r"(?:cast\((-?[\d.]+) as \w+\)|\b(-?[\d.]+)) as (\w+),")


@cache
def thresholds(name: str) -> Mapping[str, float]:
    """The named constants of a view; empty where it compares with none."""
    block = _BLOCK.search(view(name).text)
    if block is None:
        return {}
    return {name: float(cast or plain) for cast, plain, name in _CONSTANT.findall(block[1])}
