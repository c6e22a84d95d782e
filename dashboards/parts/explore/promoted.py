"""What some neurons of a model promote, read where their rows lie: to join lists of tokens takes longer than a page."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import polars as pl

from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.parts.token_cards import STYLE, tokens_html
from neurothek.dashboards.widgets.html import SHEET
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.reading import Reader, Reading
from neurothek.queries.names.models import KnownModel
from neurothek.queries.views.rows import with_facts

PROMOTED = ("top_tokens", "bottom_tokens")
"""What a neuron promotes at a coefficient above 0, and below it."""

_TYPES: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "layer": pl.Int64,
    "neuron": pl.Int64,
    "top_tokens": pl.List(pl.String),
    "bottom_tokens": pl.List(pl.String),
    "pole": pl.String,
}


def with_promoted(reader: Reader, model: KnownModel, neurons: pl.DataFrame) -> pl.DataFrame:
    """The neurons with `top_tokens`, the first ten tokens that each promotes at a coefficient above 0, `bottom_tokens`.

    Args:
        reader: what the page reads; what a neuron promotes is the same on every corpus.
        model: theirs.
        neurons: rows with layer and neuron.
    """
    connection = reader.shown_connection if isinstance(reader, Reading) else reader
    return _beside(neurons, cached_answer(connection, columns_of, model, packed_places(neurons), PROMOTED))


def with_promoted_at_pole(reader: Reader, model: KnownModel, neurons: pl.DataFrame) -> pl.DataFrame:
    """The neurons with `pole`, at which each is strongest, and with `top_tokens`, the ten that it promotes there.

    Args:
        reader: what the page reads; which pole that is hangs on its corpus.
        model: theirs; in one without gates a neuron has no pole.
        neurons: rows with layer and neuron.
    """
    rows = with_promoted(reader, model, neurons)
    if model.is_signed:
        is_elsewhere = isinstance(reader, Reading) and reader.corpus is not None
        rows = _beside(rows, cached_answer(reader, columns_of, model, packed_places(neurons), ("pole",), is_elsewhere))
    else:
        rows = rows.with_columns(pl.lit(None, pl.String).alias("pole"))
    promotes = pl.when(pl.col("pole") == "negative").then("bottom_tokens").otherwise("top_tokens")
    return rows.with_columns(promotes.alias("top_tokens")).drop("bottom_tokens")


def columns_of(
    connection: duckdb.DuckDBPyConnection,
    model: KnownModel,
    places: bytes,
    names: Sequence[str],
    is_elsewhere: bool = False,
) -> pl.DataFrame:
    """Rows with layer, neuron and some columns of the view `neurons`.

    Args:
        connection: a reader.
        model: theirs.
        places: layer and neuron of each, as `packed_places` packs them.
        names: the columns, of `PROMOTED` or pole.
        is_elsewhere: whether the reader shows another corpus than the shown ones.
    """
    rows = with_facts(connection, _distinct(model, places), names, is_elsewhere=is_elsewhere)
    schema = {name: _TYPES[name] for name in ("layer", "neuron", *names)}
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def packed_places(neurons: pl.DataFrame) -> bytes:
    """Layer and neuron of each as 64-bit numbers: hashing a list of thousands takes longer than the answer."""
    return neurons.select(pl.col("layer", "neuron").cast(pl.Int64)).to_numpy().tobytes()


def _distinct(model: KnownModel, places: bytes) -> list[dict[str, Any]]:
    """Each place once: a neuron may stand out in more than one way."""
    pairs = np.frombuffer(places, dtype=np.int64).reshape(-1, 2).tolist()
    return [
        {"model": model.name, "model_id": model.model_id, "layer": layer, "neuron": neuron}
        for layer, neuron in dict.fromkeys(map(tuple, pairs))
    ]


def _beside(neurons: pl.DataFrame, columns: pl.DataFrame) -> pl.DataFrame:
    """The neurons in their order, each with what is told of its place."""
    keys = [pl.col(name).cast(neurons.schema[name]) for name in ("layer", "neuron")]
    return neurons.join(columns.with_columns(keys), on=["layer", "neuron"], how="left", maintain_order="left")


_SHEET = """
<style>
.nt-rows { max-height: 30rem; overflow: auto; }
.nt-rows table { width: 100%; }
.nt-rows thead th { position: sticky; top: 0; background: var(--background-color, Canvas); opacity: 1; }
.nt-rows td, .nt-rows th { white-space: nowrap; vertical-align: baseline; }
.nt-rows td:last-child { white-space: normal; width: 50%; }
</style>
"""
_TOKENS = "top_tokens"


def rows_html(neurons: pl.DataFrame, columns: Mapping[str, tuple[str, str]], muted: Muted) -> str:
    """The neurons in their order: address, numbers, and the tokens that each promotes.

    Args:
        neurons: rows with address and top_tokens, all of one model.
        columns: name of a column -> its label, and the format of its numbers; those that are unknown of all are left
            out.
        muted: tokens to show pale.
    """
    filled = [name for name in columns if neurons.get_column(name).null_count() < neurons.height]
    head = "".join(f"<th{_right(columns[name][1])}>{html.escape(columns[name][0])}</th>" for name in filled)
    rows = []
    for row in neurons.to_dicts():
        address = row["address"]
        cells = (f"<td{_right(columns[name][1])}>{_cell(row[name], columns[name][1])}</td>" for name in filled)
        tokens = tokens_html(row[_TOKENS] or [], muted=muted)
        link = link_html(address, "neuron", css="nt-row", neuron=address)
        rows.append(f"<tr><td>{link}</td>{''.join(cells)}<td>{tokens}</td></tr>")
    table = f"<thead><tr><th>neuron</th>{head}<th>promotes</th></tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'{SHEET}{STYLE}{_SHEET}<div class="nt-rows"><table class="nt-table">{table}</table></div>'


def muted_caption(neurons: pl.DataFrame, muted: Muted) -> str:
    """How many of the tokens that the rows show are muted, and why; nothing where none is."""
    lists: Sequence[Sequence[str] | None] = neurons.get_column(_TOKENS).to_list()
    return muted.caption(token for tokens in lists for token in tokens or [])


def _cell(value: object, form: str) -> str:
    return "" if value is None else html.escape(format(value, form))


def _right(form: str) -> str:
    return ' class="nt-right"' if form else ""
