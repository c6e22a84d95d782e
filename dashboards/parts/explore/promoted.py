"""What some neurons of a model promote, read where their rows lie: to join lists of tokens takes longer than a page."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from dashboards.widgets.memory import kept
from dashboards.widgets.reading import Reader, Reading
from queries.names.models import KnownModel
from queries.views.rows import with_facts

_SCHEMA: Mapping[str, pl.DataType | type[pl.DataType]] = {
    "layer": pl.Int64,
    "neuron": pl.Int64,
    "top_tokens": pl.List(pl.String),
    "bottom_tokens": pl.List(pl.String),
}


def with_promoted(reader: Reader, model: KnownModel, neurons: pl.DataFrame) -> pl.DataFrame:
    """The neurons with `top_tokens`, the first ten tokens that each promotes at a coefficient above 0, `bottom_tokens`.

    Args:
        reader: what the page reads; what a neuron promotes is the same on every corpus.
        model: theirs.
        neurons: rows with layer and neuron.
    """
    shown = reader.shown if isinstance(reader, Reading) else reader
    return _beside(neurons, kept(shown, promoted, model.name, model.model_id, _places(neurons)))


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
        rows = _beside(rows, kept(reader, poles, model.name, model.model_id, _places(neurons), is_elsewhere))
    else:
        rows = rows.with_columns(pl.lit(None, pl.String).alias("pole"))
    promotes = pl.when(pl.col("pole") == "negative").then("bottom_tokens").otherwise("top_tokens")
    return rows.with_columns(promotes.alias("top_tokens")).drop("bottom_tokens")


def promoted(
    connection: duckdb.DuckDBPyConnection, model: str, model_id: int, places: Sequence[tuple[int, int]]
) -> pl.DataFrame:
    """Rows with layer, neuron, top_tokens and bottom_tokens.

    Args:
        connection: a reader.
        model: name of the model.
        model_id: its number.
        places: layer and neuron of each.
    """
    rows = with_facts(connection, _distinct(model, model_id, places), ("top_tokens", "bottom_tokens"))
    return pl.DataFrame([{name: row[name] for name in _SCHEMA} for row in rows], schema=dict(_SCHEMA))


def poles(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    model_id: int,
    places: Sequence[tuple[int, int]],
    is_elsewhere: bool,
) -> pl.DataFrame:
    """Rows with layer, neuron and pole.

    Args:
        connection: a reader.
        model: name of the model.
        model_id: its number.
        places: layer and neuron of each.
        is_elsewhere: whether the reader shows another corpus than the shown ones.
    """
    rows = with_facts(connection, _distinct(model, model_id, places), ("pole",), is_elsewhere=is_elsewhere)
    schema = {"layer": pl.Int64, "neuron": pl.Int64, "pole": pl.String}
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def _places(neurons: pl.DataFrame) -> list[tuple[int, int]]:
    return list(neurons.select("layer", "neuron").iter_rows())


def _distinct(model: str, model_id: int, places: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
    """Each place once: a neuron may stand out in more than one way."""
    return [
        {"model": model, "model_id": model_id, "layer": layer, "neuron": neuron}
        for layer, neuron in dict.fromkeys(places)
    ]


def _beside(neurons: pl.DataFrame, told: pl.DataFrame) -> pl.DataFrame:
    """The neurons in their order, each with what is told of its place."""
    keys = [pl.col(name).cast(neurons.schema[name]) for name in ("layer", "neuron")]
    return neurons.join(told.with_columns(keys), on=["layer", "neuron"], how="left", maintain_order="left")
