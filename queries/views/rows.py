"""Where rows of single neurons lie: counted from their model's first row, so that millions are not looked through."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import duckdb

from neurothek.queries.ask.statements import records
from neurothek.queries.views.install import view
from neurothek.queries.views.labels import LABEL_COLUMNS, activity, label_of

_FIRST_ROWS = """\
-- Where each layer's first neuron lies in a table that holds a row per neuron, in the order of layers and neurons.
select
    firsts.set_id as model_id,
    list(firsts.rowid + layers.first_unit order by layers.layer) as first_rows,
from store.TABLE as firsts
inner join store.unit_layers as layers on layers.set_id = firsts.set_id
where firsts.layer = 0 and firsts.neuron = 0
group by firsts.set_id
"""

_NEURONS_AT_ROWS = """\
-- Which neurons lie in some rows of a table that holds a row per neuron.
select set_id as model_id, layer, neuron,
from store.TABLE
where rowid in (select unnest($rows::bigint[]))
"""

_FOUND_ROWS = """\
-- Where some neurons lie in the tables that hold a row per neuron, looked for in all rows.
with asked as (
    select
        unnest($model_ids::integer[]) as model_id,
        unnest($layers::integer[]) as layer,
        unnest($neurons::integer[]) as neuron,
)
select 'neuron_facts' as name, facts.rowid as row_number,
from store.neuron_facts as facts
inner join asked on asked.model_id = facts.set_id and asked.layer = facts.layer and asked.neuron = facts.neuron
union all
select 'projections' as name, projections.rowid as row_number,
from store.projections as projections
inner join asked
    on asked.model_id = projections.set_id and asked.layer = projections.layer and asked.neuron = projections.neuron
"""

_LINES = """\
-- What stands beside some neurons in lists, of a catalog: one narrow file has it, sorted by `unit`.
select
    unit, layer, neuron, depth, corpus_id, corpus, n_active, n_positions, activation_min, activation_max, pole, label,
    from_json(top_tokens, '["VARCHAR"]')[1:10] as top_tokens,
    from_json(bottom_tokens, '["VARCHAR"]')[1:10] as bottom_tokens,
from numbered.neuron_lines
where unit in (select unnest($units::bigint[]))
"""

_OF_LINES = (
    *("address", "depth", "corpus", "frequency", "never_active", "n_tokens_seen", "activation_min", "activation_max"),
    *("pole", "top_tokens", "bottom_tokens", "label"),
)
"""Columns of the view `neurons`, and the label, that follow from a neuron's line."""

TABLES = ("neuron_facts", "projections")
"""The tables that hold a row per neuron, a model's together in the order of layers and neurons."""

Neuron = tuple[int, int, int]
"""model_id, layer, neuron."""

FirstRows = Mapping[tuple[str, int], Sequence[int]]
"""(Table, model_id) -> number of the row of each layer's first neuron."""

_ALL = "from store.neuron_facts as facts"
_AT_ROWS = "from (from store.neuron_facts where rowid in (select unnest($rows::bigint[]))) as facts"


def rows_of(
    connection: duckdb.DuckDBPyConnection, neurons: Sequence[Neuron], tables: Sequence[str] = TABLES
) -> dict[str, list[int]]:
    """Table -> numbers of the rows of the neurons (model_id, layer, neuron), as far as it has them.

    Where rows do not lie as they are published, they are looked for.
    """
    firsts = first_rows(connection, tables)
    counted = {name: _counted(firsts, name, neurons) for name in tables}
    for name in tables:
        query = numbered(connection, _NEURONS_AT_ROWS.replace("TABLE", name))
        lying = {
            (row["model_id"], row["layer"], row["neuron"])
            for row in records(connection, query, {"rows": counted[name]})
        }
        if lying != set(neurons):
            return _looked_for(connection, neurons)
    return counted


_DATABASE = "select current_database()"
_HAS_NUMBERED = "select 1 from duckdb_schemas() where schema_name = 'numbered' and not internal"
_NUMBERED = re.compile(r"\bstore\.(neuron_facts|projections)\b")


def numbered(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """A statement about rows by their numbers: of a catalog, they are columns of other relations of the same rows."""
    return _NUMBERED.sub(r"numbered.\1", text) if is_catalog(connection) else text


def is_catalog(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a connection shows a published catalog, of which a byte costs more than what is computed from it."""
    # Nobody asked this: it is not among the statements of an answer.
    if connection.execute(_DATABASE).fetchall() != [(_CATALOG,)]:
        return False
    # A file may be called so, too.
    return bool(connection.execute(_HAS_NUMBERED).fetchall())


_CATALOG = "catalog"


def lines_of(connection: duckdb.DuckDBPyConnection, neurons: Sequence[Neuron]) -> dict[Neuron, dict[str, Any]] | None:
    """Neuron -> its line of a catalog; None of a warehouse, and where a catalog lacks one of them."""
    if not is_catalog(connection):
        return None
    by_unit = {
        (model_id * 65536 + layer) * 4294967296 + neuron: (model_id, layer, neuron)
        for model_id, layer, neuron in neurons
    }
    lines = {by_unit[row["unit"]]: row for row in records(connection, _LINES, {"units": list(by_unit)})}
    return lines if lines.keys() == set(neurons) else None


def at_rows(
    connection: duckdb.DuckDBPyConnection,
    query: str,
    table: str,
    neurons: Sequence[Neuron],
    firsts: FirstRows,
) -> dict[Neuron, dict[str, Any]]:
    """Neuron -> its row of a query, which reads rows of `table` by their numbers.

    Args:
        connection: a reader.
        query: text of a statement that yields model_id, layer and neuron of the rows numbered $rows.
        table: the table that it reads.
        neurons: whose rows.
        firsts: as `first_rows` says; where rows do not lie as they are published, they are looked for.
    """
    query = numbered(connection, query)
    by_neuron = _by_neuron(records(connection, query, {"rows": _counted(firsts, table, neurons)}))
    if by_neuron.keys() == set(neurons):
        return by_neuron
    return _by_neuron(records(connection, query, {"rows": _looked_for(connection, neurons)[table]}))


def with_facts(
    connection: duckdb.DuckDBPyConnection,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    is_elsewhere: bool = False,
) -> list[dict[str, Any]]:
    """Rows of neurons with these columns of the view `neurons`, which is read at their rows alone.

    Args:
        connection: a reader.
        rows: rows with model, model_id, layer and neuron.
        columns: names of the columns; `label` is that of the view `neuron_labels`.
        is_elsewhere: whether `on_corpus` leased the connection for another corpus than the shown ones.
    """
    if not rows:
        return []
    of_view = [name for name in columns if name != "label"]
    has_label = "label" in columns
    read = dict.fromkeys([*of_view, *(LABEL_COLUMNS if has_label else ())])
    names = f"model, layer, neuron, {', '.join(read)}"
    neurons = [(row["model_id"], row["layer"], row["neuron"]) for row in rows]
    lines = None if is_elsewhere or not set(columns).issubset(_OF_LINES) else lines_of(connection, neurons)
    if lines is not None:
        return [{**row, **_of_line(row, lines[neuron], columns)} for row, neuron in zip(rows, neurons, strict=True)]
    if is_elsewhere:
        addresses = [f"{row['model']}/L{row['layer']}N{row['neuron']}" for row in rows]
        query = f"select {names} from neurons where address in (select unnest($addresses::varchar[]))"
        rows_there = records(connection, query, {"addresses": addresses})
    else:
        numbers = rows_of(connection, neurons, ("neuron_facts",))["neuron_facts"]
        rows_there = records(connection, numbered(connection, _view_of(_AT_ROWS, names)), {"rows": numbers})
    facts = {
        (row["model"], row["layer"], row["neuron"]): {name: row[name] for name in of_view}
        | ({"label": label_of(row)} if has_label else {})
        for row in rows_there
    }
    places = [(row["model"], row["layer"], row["neuron"]) for row in rows]
    return [{**row, **facts[place]} for row, place in zip(rows, places, strict=True) if place in facts]


def _of_line(row: Mapping[str, Any], line: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    address = f"{row['model']}/L{row['layer']}N{row['neuron']}"
    values = {**line, **activity(line), "address": address}
    return {name: values[name] for name in columns}


@cache
def _view_of(rows: str, columns: str) -> str:
    """The view `neurons` over some rows alone."""
    text = view("neurons").text
    assert text.count(_ALL) == 1
    return f"select {columns} from (\n{text.replace(_ALL, rows)}\n)"


def first_rows(connection: duckdb.DuckDBPyConnection, tables: Sequence[str] = TABLES) -> FirstRows:
    """Where the rows of each layer begin in each of the tables, for the models that it has rows of."""
    return {
        (name, row["model_id"]): row["first_rows"]
        for name in tables
        for row in records(connection, numbered(connection, _FIRST_ROWS.replace("TABLE", name)))
    }


def _counted(firsts: FirstRows, table: str, neurons: Sequence[Neuron]) -> list[int]:
    """Numbers of the rows at which the neurons lie if all rows lie as they are published."""
    rows = [(firsts.get((table, model_id), ()), layer, neuron) for model_id, layer, neuron in neurons]
    return [layers[layer] + neuron for layers, layer, neuron in rows if layer < len(layers)]


def _looked_for(connection: duckdb.DuckDBPyConnection, neurons: Sequence[Neuron]) -> dict[str, list[int]]:
    parameters = {
        "model_ids": [model_id for model_id, _, _ in neurons],
        "layers": [layer for _, layer, _ in neurons],
        "neurons": [neuron for _, _, neuron in neurons],
    }
    numbers: dict[str, list[int]] = {name: [] for name in TABLES}
    for row in records(connection, numbered(connection, _FOUND_ROWS), parameters):
        numbers[row["name"]].append(row["row_number"])
    return numbers


def _by_neuron(rows: Sequence[dict[str, Any]]) -> dict[Neuron, dict[str, Any]]:
    return {(row["model_id"], row["layer"], row["neuron"]): row for row in rows}
