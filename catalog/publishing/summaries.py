"""Materialized views: views that sum up whole models, stored as tables and computed when measurements change."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import duckdb

from neurothek.catalog.publishing import summaries
from neurothek.catalog.tables.flat_rows import flat_rows_script, write_flat_rows

PREFIX = "kept_"
"""Begins the names of tables that hold what other tables yield."""

_TOLERANCE = 1e-9
"""Sums of doubles by several threads differ in their last digits from one computation to the next."""


@dataclass(frozen=True)
class MaterializedView:
    """A view whose rows are stored in the table `store.kept_NAME`."""

    name: str  # its name
    key: tuple[str, ...]  # the columns that identify a row; `model`, the model's name, is one of them
    source: str  # a table of the store without whose rows a model has none in the view
    query: str  # one SELECT that computes its rows, from tables of the store and views that are installed
    query_of_model: str  # the same for the model `$model_id`, called `$model`

    @property
    def table(self) -> str:
        """Where its rows lie, in the schema `store`."""
        return f"{PREFIX}{self.name}"

    @cached_property
    def reads(self) -> frozenset[str]:
        """Tables of the store from which a model's rows are computed, of other views too."""
        return tables_read(self.query_of_model)


Definitions = Callable[[], Sequence[MaterializedView]]
"""The materialized views of the program, each after those it reads."""

_TABLE = re.compile(r"\bstore\.(\w+)")


def tables_read(query: str) -> frozenset[str]:
    """Tables of the store that a query of ours names."""
    return frozenset(_TABLE.findall(query))


_DEFINITIONS: list[Definitions] = []


def provide(definitions: Definitions) -> None:
    """Register the function that defines the materialized views: they come from the program, never from the file."""
    _DEFINITIONS[:] = [definitions]


def clear(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop all materialized views, also those of an earlier release."""
    for table in sorted(_materialized_tables(connection)):
        connection.execute(f"drop table store.{_quoted(table)}")


def materialize(connection: duckdb.DuckDBPyConnection, view: MaterializedView) -> None:
    """Compute the rows of a view for every model and store them; one model at a time, which bounds the memory."""
    connection.execute(f"create table store.{view.table} as from (\n{view.query}\n) limit 0")
    measured = f"where model_id in (select {_owner(view.source)} from store.{view.source})"
    query = f"select model_id, name from store.models {measured} order by model_id"
    for model_id, name in connection.execute(query).fetchall():
        _compute(connection, view, model_id, name)


def refresh(connection: duckdb.DuckDBPyConnection, model_id: int, changed: set[str] | None = None) -> None:
    """Compute the rows of one model anew, and drop those of models that are gone.

    Args:
        connection: a writer.
        model_id: the model.
        changed: the tables of the store, views' among them, in which rows of the model are others: what reads none of
            them stays, and a view's own table is added when its rows are computed. None: any may be.
    """
    names = connection.execute("select name from store.models where model_id = ?", [model_id]).fetchall()
    name = names[0][0] if names else None
    views = stored_views(connection)
    filled = _filled(connection, {view.source for view in views}, model_id)
    for view in views:
        if changed is not None and view.reads.isdisjoint(changed):
            continue
        before = None if changed is None else _rows(connection, view, name)
        gone = f"delete from store.{view.table} where model = $model or model not in (select name from store.models)"
        connection.execute(gone, {"model": name})
        if view.source in filled:
            _compute(connection, view, model_id, str(name))
        if changed is not None and (before is None or before != _rows(connection, view, name)):
            changed.add(view.table)


def stale(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[str, str]]:
    """Every materialized view with a query for the places where its rows are not those that the view computes now."""
    for view in stored_views(connection):
        columns = connection.execute(
            "select column_name, data_type from duckdb_columns()"
            " where schema_name = 'store' and database_name = current_database() and table_name = ?",
            [view.table],
        ).fetchall()
        differ = " or ".join(_differ(column, kind) for column, kind in columns)
        same_row = " and ".join(f"kept.{column} is not distinct from now.{column}" for column in view.key)
        yield (
            view.name,
            f"""
            select 'model ' || coalesce(kept.model, now.model) as place
            from store.{view.table} as kept
            full join (\n{view.query}\n) as now on {same_row}
            where kept.model is null or now.model is null or {differ}
            """,
        )


def _rows(
    connection: duckdb.DuckDBPyConnection, view: MaterializedView, name: str | None
) -> list[tuple[object, ...]] | None:
    """The rows of a model in a view of few, None of one that may have many: every run changes what reads runs."""
    if "runs" not in view.reads:
        return None
    query = f"from store.{view.table} where model = ? order by {', '.join(view.key)}"
    return connection.execute(query, [name]).fetchall()


def _compute(connection: duckdb.DuckDBPyConnection, view: MaterializedView, model_id: int, name: str) -> None:
    query = f"insert into store.{view.table} from (\n{view.query_of_model}\n) order by {', '.join(view.key)}"
    (statement,) = connection.extract_statements(query)
    values = {"model_id": model_id, "model": name}
    connection.execute(statement, {key: values[key] for key in statement.named_parameters})


def _filled(connection: duckdb.DuckDBPyConnection, tables: Collection[str], model_id: int) -> set[str]:
    """Those of the tables that have rows of the model."""
    query = " union all ".join(
        f"select '{table}' where exists (from store.{table} where {_owner(table)} = $model_id)"
        for table in sorted(tables)
    )
    rows = connection.execute(query, {"model_id": model_id}).fetchall() if tables else []
    return {str(table) for (table,) in rows}


def _owner(table: str) -> str:
    """The column that says of which model, or set of units, a row of a table is."""
    # Types of frames come with the declarations, and whoever only reads does without.
    from neurothek.catalog.tables.registry import OWNERS  # noqa: PLC0415

    return OWNERS[table]


def stored_views(connection: duckdb.DuckDBPyConnection) -> list[MaterializedView]:
    """Those that are stored in the file: none before somebody has installed the views."""
    tables = _materialized_tables(connection)
    return [view for define in _DEFINITIONS for view in define() if view.table in tables]


def _materialized_tables(connection: duckdb.DuckDBPyConnection) -> set[str]:
    query = """
        select table_name from duckdb_tables()
        where schema_name = 'store' and database_name = current_database() and starts_with(table_name, $prefix)
    """
    return {str(name) for (name,) in connection.execute(query, {"prefix": PREFIX}).fetchall()}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _differ(column: str, kind: str) -> str:
    if kind != "DOUBLE":
        return f"kept.{column} is distinct from now.{column}"
    allowed = f"{_TOLERANCE} * greatest(1, abs(kept.{column}))"
    return f"(kept.{column} is null) <> (now.{column} is null) or abs(kept.{column} - now.{column}) > {allowed}"


def add_neurons(connection: duckdb.DuckDBPyConnection) -> None:
    """Say of every model which neurons it has, where that is not said yet: their set of units, and its layers."""
    # Frames come with the declarations, and whoever only reads does without.
    from neurothek.catalog.tables.units import SETS  # noqa: PLC0415

    for table in SETS:
        assert table.filling is not None
        connection.execute(table.filling)


_FACTS, _RUNS = "neuron_facts", "runs"
_MEASURED = f"{summaries.PREFIX}measured_corpora"


def rebuild_facts(connection: duckdb.DuckDBPyConnection, model_id: int, written: Collection[str] | None = None) -> None:
    """Rebuild the flat rows of one model and what is kept of it: after a publish, a pin, a rename or a removal.

    Args:
        connection: a writer.
        model_id: the model.
        written: the tables, besides `runs`, in which rows of a model that was there were written, of a text that was;
            what reads none of them stays. None: any may have been.
    """
    changed: set[str] | None = None
    if written is not None and _MEASURED in {view.table for view in summaries.stored_views(connection)}:
        changed = {_RUNS}
        summaries.refresh(connection, model_id, changed)
        changed = changed.union(written) - {_RUNS}
    if changed is None or not _read_by_facts().isdisjoint(changed):
        connection.execute("delete from store.neuron_facts where set_id = ?", [model_id])
        write_flat_rows(connection, model_id)
        if changed is not None:
            changed.add(_FACTS)
    summaries.refresh(connection, model_id, changed)


def facts_elsewhere(connection: duckdb.DuckDBPyConnection, table: str, corpora: Mapping[int, int]) -> None:
    """Create a temporary table with the flat rows of models as they are on other corpora than the shown ones.

    Args:
        connection: a reader will do.
        table: its name.
        corpora: model_id -> corpus_id; a model that was not measured there has rows that tell nothing of text.
    """
    connection.execute(f"create temp table {table} as from store.neuron_facts limit 0")
    for model_id, corpus_id in corpora.items():
        write_flat_rows(connection, model_id, corpus_id=corpus_id, table=table)


@cache
def _read_by_facts() -> frozenset[str]:
    """Of runs they read which corpora were measured, which a view tells, too."""
    return summaries.tables_read(flat_rows_script()).difference((_FACTS, _RUNS)).union((_MEASURED,))
