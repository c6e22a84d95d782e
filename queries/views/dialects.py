"""The views as SQL of other engines, so that an export can be asked where it lies."""

from collections.abc import Mapping, Sequence
from functools import cache

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialects

from neurothek.catalog.problems import NotFound
from neurothek.queries.views.install import View, all_views

SPARK = "spark"
"""The dialect that is always exported, and the only one that tests run."""

_SPARKS = frozenset({"spark", "spark2", "databricks"})

_IN_SPARK = {
    "list_intersect": "f_array_intersect()",
    "list_position": "f_array_position()",
    "list_sum": "f_aggregate(cast(0 as double), lambda total, one: total + one)",
}
"""DuckDB's function -> Spark's behind a mark, under which no function is known, with what it takes beside the list."""


_WITHOUT_NULL_ORDER = frozenset({"bigquery", "doris", "fabric", "mysql", "starrocks", "tsql"})


def require_dialect(name: str) -> str:
    """The dialect's name as sqlglot knows it."""
    dialects = sorted(one.value for one in Dialects if one.value)
    dialect = name.casefold()
    if dialect not in dialects:
        raise NotFound.among("dialect", name, dialects)
    return dialect


def in_dialect(view: View, dialect: str) -> str:
    """A statement of the dialect that creates the view, under its header."""
    header = "\n".join(line for line in view.text.splitlines() if line.startswith("--"))
    query = sqlglot.parse_one(view.text, read="duckdb").transform(_portable, dialect=dialect)
    create = exp.Create(this=exp.to_table(view.name), kind="VIEW", expression=query, replace=True)
    # What a dialect cannot say is written as near as sqlglot comes: only Spark's is held to the same rows by tests.
    written = create.sql(dialect=dialect, pretty=True, comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE)
    return f"{header}\n{written}\n"


def exported_views(dialects: Sequence[str] = ()) -> dict[str, str]:
    """Path below an export -> text: every view for Spark and in further dialects, numbered in the order of creation.

    Args:
        dialects: names that `require_dialect` takes.
    """
    texts = {f"views/{SPARK}/00-tables.sql": spark_tables()}
    for dialect in dict.fromkeys((SPARK, *dialects)):
        texts |= _views_in(dialect)
    return texts


@cache
def _views_in(dialect: str) -> Mapping[str, str]:
    return {
        f"views/{dialect}/{number:02d}-{view.name}.sql": in_dialect(view, dialect)
        for number, view in enumerate(all_views().values(), start=1)
    }


@cache
def spark_tables() -> str:
    """A script for Spark that names the export's files as tables; `${folder}` is where the export lies."""
    read = {
        table.name
        for view in all_views().values()
        for table in sqlglot.parse_one(view.text, read="duckdb").find_all(exp.Table)
        if table.db == "store"
    }
    lines = [
        "-- Run first, after `set folder=/path/of/the/export`; then the other scripts in their order.",
        "create database if not exists store;",
    ]
    for name in sorted(read):
        lines += [
            f"drop table if exists store.{name};",
            f"create table store.{name} using parquet location '${{folder}}/tables/{name}';",
        ]
    return "\n".join(lines) + "\n"


def _portable(node: exp.Expression, dialect: str) -> exp.Expression:
    """What sqlglot leaves as DuckDB writes it."""
    if isinstance(node, exp.Anonymous) and node.name.casefold() in _IN_SPARK and dialect in _SPARKS:
        # The node itself, whose arguments are looked at as well.
        call = sqlglot.parse_one(_IN_SPARK[node.name.casefold()], read="duckdb")
        node.set("this", call.name.removeprefix("f_"))
        node.set("expressions", [*node.expressions, *call.expressions])
        return node
    if isinstance(node, exp.Anonymous) and node.name.casefold() == "list_extract":
        items, place = node.expressions
        return exp.Bracket(this=items, expressions=[place], offset=1, safe=True)
    if dialect in _WITHOUT_NULL_ORDER and isinstance(node, exp.Ordered) and node.find_ancestor(exp.Window):
        # Their own order of nulls: sqlglot 30 trips over saying that they have no other.
        node.set("nulls_first", not node.args.get("desc"))
    if isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.PercentileCont) and dialect in _SPARKS:
        # sqlglot writes percentile_approx, which says another number.
        share, ordered = node.this.this, node.expression.expressions[0].this
        return exp.Anonymous(this="PERCENTILE", expressions=[ordered, share])
    return node
