"""What a query is made of: the views and tables it reads, what its columns are computed from, the runs behind them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
import sqlglot
from sqlglot import exp
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify

from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.parse_tree import EXPLAIN, MARK
from neurothek.queries.ask.statements import frame_of
from neurothek.queries.errors.refused_sql import failed_query
from neurothek.queries.views.install import all_views

_STORE_COLUMNS = """\
-- Columns of the tables of measurements, with their types.
select table_name, column_name, data_type
from duckdb_columns()
where schema_name = 'store' and not internal
order by table_name, column_index
"""

_RUNS_OF_JOBS = """\
-- Published runs of some jobs, newest first.
select
    runs.run_id,
    runs.job,
    models.name as model,
    corpora.name as corpus,
    runs.finished_at,
    runs.parameters,
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
where list_contains($jobs::varchar[], runs.job)
order by runs.run_id desc
"""

_PURPOSE_CHARACTERS = 100


@dataclass(frozen=True)
class Provenance:
    """Provenance of the answer of a query.

    Attributes:
        relations: one row per view or table, the query's own first: relation, kind, depth, reads, holds.
        columns: one row per column of the answer: column, made_of; empty where sqlglot cannot follow the query.
        runs: one row per run that wrote rows of these tables.
    """

    relations: pl.DataFrame
    columns: pl.DataFrame
    runs: pl.DataFrame

    def sections(self) -> list[Section]:
        """The three tables with their titles."""
        unknown = "sqlglot cannot follow the columns of this query" if self.columns.is_empty() else ""
        return [
            Section("views and tables that it reads", self.relations),
            Section("origin of its columns", self.columns, unknown),
            Section("runs that wrote the tables", self.runs),
        ]

    def data(self) -> dict[str, pl.DataFrame]:
        """The three tables for programs."""
        return {"relations": self.relations, "columns": self.columns, "runs": self.runs}


def provenance(connection: duckdb.DuckDBPyConnection, query: str) -> Provenance:
    """Follow a query, which has been admitted, through the views down to tables and runs."""
    query = query.removeprefix(MARK)
    tree = None if EXPLAIN.match(query) else sqlglot.parse_one(query, read="duckdb")
    if not isinstance(tree, exp.Query):
        raise failed_query("only a SELECT can be explained")
    _fold(tree)
    relations = _relations(tree)
    tables = {row["relation"].removeprefix("store.") for row in relations if row["kind"] == "table"}
    jobs = [job for job, written in JOB_TABLES.items() if tables & {table.name for table in written}]
    if "neuron_facts" in tables:
        jobs = list(JOB_TABLES)
    return Provenance(
        relations=pl.DataFrame(
            relations,
            schema={
                "relation": pl.String,
                "kind": pl.String,
                "depth": pl.Int64,
                "reads": pl.List(pl.String),
                "holds": pl.String,
            },
        ),
        columns=_columns(connection, tree, [row["relation"] for row in relations if row["kind"] == "view"]),
        runs=frame_of(connection, _RUNS_OF_JOBS, {"jobs": jobs}),
    )


def _fold(tree: exp.Expr) -> None:
    """Write views and tables as they are called: DuckDB finds `NEURONS` and `main.neurons` too."""
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            continue
        is_stored = table.db.casefold() == "store"
        name = table.name.casefold()
        if is_stored or name in all_views():
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(name))
            table.set("db", exp.to_identifier("store") if is_stored else None)
            table.set("catalog", None)


def _relations(tree: exp.Expr) -> list[dict[str, Any]]:
    """Views and tables by breadth: what the query names, then what these read."""
    relations: dict[str, dict[str, Any]] = {}
    level = _read_by(tree)
    depth = 1
    while level:
        following: list[str] = []
        for name in level:
            if name not in relations:
                reads = _read_by(_parsed(name)) if name in all_views() else []
                relations[name] = _described(name, depth, reads)
                following += reads
        level, depth = following, depth + 1
    return list(relations.values())


def _described(name: str, depth: int, reads: list[str]) -> dict[str, Any]:
    view = all_views().get(name)
    holds = view.grain if view else ""
    kind = "view" if view else "table"
    return {"relation": name, "kind": kind, "depth": depth, "reads": reads, "holds": holds[:_PURPOSE_CHARACTERS]}


def _read_by(tree: exp.Expr) -> list[str]:
    """Names of the views and tables that a query reads, without the ones it defines itself."""
    ctes = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    names = [f"store.{table.name}" if table.db == "store" else table.name for table in tables]
    return sorted({name for name in names if name.startswith("store.") or name in all_views().keys() - ctes})


def _parsed(view: str) -> exp.Expr:
    return sqlglot.parse_one(all_views()[view].text, read="duckdb")


def _columns(connection: duckdb.DuckDBPyConnection, tree: exp.Query, views: Sequence[str]) -> pl.DataFrame:
    try:
        rows = list(_sources(tree, views, _schema(connection)))
    except sqlglot.errors.SqlglotError:
        rows = []
    return pl.DataFrame(rows, schema={"column": pl.String, "made_of": pl.List(pl.String)})


def _sources(
    tree: exp.Query, views: Sequence[str], schema: Mapping[str, Mapping[str, Mapping[str, str]]]
) -> Iterable[dict[str, Any]]:
    parsed = {name: _parsed(name) for name in views}
    whole = exp.expand(tree, parsed, dialect="duckdb")  # type: ignore[arg-type]  # queries, all of them
    qualified = qualify(whole, schema=dict(schema), dialect="duckdb", validate_qualify_columns=False)
    assert isinstance(qualified, exp.Query)
    for column in qualified.selects:
        name = column.alias_or_name
        ends = [
            (f"{node.expression.db}.{node.expression.name}", node.name.rpartition(".")[2].strip('"'))
            for node in lineage(name, qualified, schema=dict(schema), dialect="duckdb").walk()
            if isinstance(node.expression, exp.Table)
        ]
        yield {"column": name, "made_of": sorted({f"{table}.{end}" for table, end in ends})}


def _schema(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[str, str]]]:
    tables: dict[str, dict[str, str]] = {}
    for row in frame_of(connection, _STORE_COLUMNS).to_dicts():
        tables.setdefault(row["table_name"], {})[row["column_name"]] = row["data_type"]
    return {"store": tables}
