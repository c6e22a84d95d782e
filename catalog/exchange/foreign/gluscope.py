"""Datasets of GLUScope (Gerstner and Schuetze 2026): Parquet files with a row per neuron of a gated model.

Columns as in the datasets `sjgerstner/MODEL_neuron-activations` and the script that writes them: for each of the four
signs of gate and up projection `gate+_in-_freq`, the share of tokens, and `gate+_in-_hook_post_max_values`, the largest
activations, in any order. The model's signs may have been turned before, so that gate and up projection point the same
way.
"""

import math
from collections.abc import Iterator

import duckdb

from neurothek.catalog.exchange.foreign.forms import About, ForeignNeuron, Form
from neurothek.catalog.exchange.foreign.stranger import Strange, in_short
from neurothek.catalog.store.connections import beside, literal_path
from neurothek.catalog.tables.foreign import ALL_POSITIONS

_CASES = ("gate+_in+", "gate+_in-", "gate-_in+", "gate-_in-")
_OPEN = ("gate+_in+", "gate+_in-")
_NAME = "_neuron-activations"
_MOST_SHARES = 1 + 1e-6  # of four that were rounded to 32 bits
_ROWS = 4_096
_MEMORY = "1GB"
_METHOD = (
    "Shares of tokens by the signs of gate and up projection; the frequency is that of an open gate, and the largest"
    " activation the one of the largest size at either sign. Every token but padding counts, the first included. The"
    " signs of neurons may have been turned beforehand. Tokens that a neuron promotes are not among the data."
)


def _about(folder: Strange) -> About:
    """What is said of the data where they are published; the model is that of the dataset's name."""
    name = folder.root.name
    _files(folder)
    return About(
        their_model=name.removesuffix(_NAME) if name.endswith(_NAME) and name != _NAME else None,
        method=_METHOD,
        active_when="gate > 0",
        positions=ALL_POSITIONS,
    )


def _records(folder: Strange, about: About) -> Iterator[ForeignNeuron]:
    """Every row of every file, in their order."""
    names = _files(folder)
    with beside(folder.root, {"memory_limit": _MEMORY, "threads": "1"}) as connection:
        for name in names:
            yield from _rows(folder, connection, name)


def _files(folder: Strange) -> list[str]:
    within = ["data"] if folder.has("data") else []
    names = [name for name in folder.names(*within, folders=False) if name.endswith(".parquet")]
    if not names:
        raise folder.invalid("", "it has no Parquet files, neither itself nor in a folder data")
    return ["/".join([*within, name]) for name in names]


def _rows(folder: Strange, connection: duckdb.DuckDBPyConnection, name: str) -> Iterator[ForeignNeuron]:
    folder.take(name)
    path = literal_path(folder.root / name)
    try:
        described = connection.execute("describe select * from read_parquet(?)", [path]).fetchall()
        columns = {str(column): str(kind) for column, kind, *_ in described}
        _require_columns(folder, name, columns)
        rows = connection.execute(f"select {_selected(columns)} from read_parquet(?)", [path])
        number = 0
        while batch := rows.fetchmany(_ROWS):
            for row in batch:
                number += 1
                yield _neuron(folder, f"{name}, row {number}", row)
    except duckdb.Error as error:
        raise folder.invalid(name, "is no Parquet file that can be read in 1 GB of memory") from error


def _require_columns(folder: Strange, name: str, columns: dict[str, str]) -> None:
    kinds = {"layer": ("BIGINT", "INTEGER"), "neuron": ("BIGINT", "INTEGER")}
    kinds |= {f"{case}_freq": ("FLOAT", "DOUBLE") for case in _CASES}
    for column, allowed in kinds.items():
        if columns.get(column) not in allowed:
            raise folder.invalid(name, f"has no column {column} of numbers")


def _selected(columns: dict[str, str]) -> str:
    """Layer, neuron and shares, and of each list its two extremes: one of them has the largest size."""
    frequencies = [f'"{case}_freq"' for case in _CASES]
    names = [f"{case}_hook_post_max_values" for case in _CASES]
    held = [f'[x for x in "{name}" if isfinite(x)]' for name in names if columns.get(name) in ("FLOAT[]", "DOUBLE[]")]
    extremes = [f"{extreme}({values})" for values in held for extreme in ("list_max", "list_min")]
    return ", ".join(["layer", "neuron", *frequencies, *extremes])


def _neuron(folder: Strange, where: str, row: tuple[object, ...]) -> ForeignNeuron:
    layer, neuron = (
        folder.index(where, {name: value}, name) for name, value in zip(("layer", "neuron"), row, strict=False)
    )
    n_first = 2 + len(_CASES)
    shares = _shares(folder, where, row[2:n_first])
    values = (folder.number(where, {"value": value}, "value") for value in row[n_first:])
    largest = (one for one in values if one is not None)
    is_open = [share for case, share in zip(_CASES, shares, strict=True) if case in _OPEN]
    frequency = sum(is_open) if None not in is_open else None  # type: ignore[arg-type] # none of them is None
    return ForeignNeuron(where, layer, neuron, frequency, max(largest, key=abs, default=None))


def _shares(folder: Strange, where: str, values: tuple[object, ...]) -> list[float | None]:
    """Parts of all tokens: each a share, and together no more than the whole; None where one is missing."""
    shares: list[float | None] = []
    for case, value in zip(_CASES, values, strict=True):
        name = f"{case}_freq"
        share = folder.number(where, {name: value}, name)
        if value is not None and (share is None or not 0 <= share <= 1):
            raise folder.invalid(where, f"has {in_short(value)} as {name}, which is no share")
        shares.append(share)
    total = math.fsum(share for share in shares if share is not None)
    if total > _MOST_SHARES:
        raise folder.invalid(where, f"has shares that add up to {total:g}, which is more than 1")
    return shares


GLUSCOPE = Form(_about, _records)
