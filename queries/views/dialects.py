"""The views as SQL of other engines, so that an export can be asked where it lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialects

from neurothek.catalog.problems import NotFound
from neurothek.catalog.spelling import one_line
from neurothek.queries.views.install import View, all_views

if TYPE_CHECKING:
    from neurothek.catalog.exchange.manifest import ExportedTable
    from neurothek.catalog.hub.catalog import Catalog
    from neurothek.catalog.hub.published import Published

SPARK = "spark"
"""The dialect that is always exported, and the only one that tests run."""

_SPARKS = frozenset({"spark", "spark2", "databricks"})

_IN_SPARK = {
    "list_intersect": "f_array_intersect()",
    "list_position": "f_array_position()",
    # From the first place on, the last place is the length.
    "list_slice": "f_slice()",
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
    query = _parsed(view.text).transform(_portable, dialect=dialect)
    create = exp.Create(this=exp.to_table(view.name), kind="VIEW", expression=query, replace=True)
    # What a dialect cannot say is written as near as sqlglot comes: only Spark's is held to the same rows by tests.
    written = create.sql(dialect=dialect, pretty=True, comments=False, unsupported_level=sqlglot.ErrorLevel.IGNORE)
    return f"{header}\n{written}\n"


@cache
def _parsed(text: str) -> exp.Expr:
    """A view's statement, which nobody changes: parsing is half of what writing it in a dialect takes."""
    return sqlglot.parse_one(text, read="duckdb")


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
        f"views/{dialect}/{number:03d}-{view.name}.sql": in_dialect(view, dialect)
        for number, view in enumerate(all_views().values(), start=1)
    }


@cache
def spark_tables() -> str:
    """A script for Spark that names the export's files as tables; `${folder}` is where the export lies."""
    read = {
        table.name
        for view in all_views().values()
        for table in _parsed(view.text).find_all(exp.Table)
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


_ABOUT_SCRIPT = """\
-- The tables and views of this catalog for DuckDB alone, as neurothek {version} has them: no function of ours.
-- In its folder: `duckdb -init views.sql`. Of a catalog that is elsewhere, say first where:
-- `set variable catalog = 'hf://datasets/ORG/NAME';`
"""


def duckdb_script(published: Published, _: Catalog) -> str:
    """A script for DuckDB that names the files of a catalog as tables, and creates every view over them."""
    lines = [_ABOUT_SCRIPT.format(version=one_line(published.neurothek)) + "create schema if not exists store;"]
    for name, table in published.manifest.tables.items():
        lines.append(f'create or replace view store."{name}" as\n{_rows_of(table)};')
    for name, view in all_views().items():
        rows = published.views.get(name)
        query = view.query.strip() if rows is None else _rows_of(rows)
        lines.append(f"-- {view.grain}\ncreate or replace view {name} as\n{query};")
    return "\n\n".join(lines) + "\n"


def _rows_of(table: ExportedTable) -> str:
    if not table.files:
        blank = ", ".join(f'cast(null as {column.type}) as "{name}"' for name, column in table.columns.items())
        return f"select {blank} where false"
    columns = ", ".join(f'"{name}"' for name in table.columns)
    (file,) = table.files
    return f"select {columns}\nfrom read_parquet(coalesce(getvariable('catalog'), '.') || '/{file.path}')"
