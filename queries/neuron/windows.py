"""What one neuron does at every token around its places, and how large its activations are."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.statements import framed
from neurothek.queries.names.tokens import Row

WINDOW_COLUMNS: Mapping[str, pl.DataType] = {
    "band": TEXT,
    "part": TEXT,
    "rank": SMALL,
    "activation": DOUBLE,
    "domain": TEXT,
    "tokens": pl.List(TEXT),
    "activations": pl.List(DOUBLE),
    "place": INTEGER,
    "writes": pl.List(TEXT),
    "sequence_id": INTEGER,
    "position": INTEGER,
}
HISTOGRAM_COLUMNS: Mapping[str, pl.DataType] = {
    "bin": SMALL,
    "low": DOUBLE,
    "high": DOUBLE,
    "n_tokens": BIG,
    "n_tokens_counted": BIG,
}

BANDS = ("strongest", "quantile", "random")
PARTS = ("upper", "middle", "lower")
"""Thirds of the sample in the band quantile, by the sequences' largest |m|."""

_STEPS = 127
_LAST_BIN = 34
_N_LINES = 3
_BEFORE, _AFTER = 12, 6


def written_at(activation: float, facts: Mapping[str, Any]) -> list[str] | None:
    """The first tokens that a neuron promotes at an activation: below 0 those at the bottom of its list, at 0 none.

    Args:
        activation: its coefficient.
        facts: what is known of it, with `top_tokens` and `bottom_tokens`.
    """
    tokens: list[str] | None = facts["bottom_tokens" if activation < 0 else "top_tokens"]
    return tokens if activation else None


def windows_frame(rows: Sequence[Row], texts: Mapping[int, str], facts: Mapping[str, Any]) -> pl.DataFrame:
    """The windows in the order of bands and ranks, with the columns of `WINDOW_COLUMNS`.

    Args:
        rows: those of the statement `neuron_contexts` that have a band, with the ids around their places.
        texts: texts of these ids.
        facts: what is known of the neuron, with the tokens of its lists.
    """
    ordered = sorted(rows, key=lambda row: (BANDS.index(row["band"]), row["rank"]))
    n_sampled = sum(row["band"] == "quantile" for row in ordered)
    windows = [_window(row, texts, n_sampled) for row in ordered]
    return framed([row | {"writes": written_at(row["activation"], facts)} for row in windows], WINDOW_COLUMNS)


def histogram_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The bins that have any, the lowest first, with the columns of `HISTOGRAM_COLUMNS`; the rows are the same ones."""
    histogram = next((row for row in rows if row["counts"] is not None), None)
    if histogram is None:
        return framed([], HISTOGRAM_COLUMNS)
    bins = enumerate(histogram["counts"], start=histogram["first_bin"])
    return framed([_bin(number, n, histogram["n_positions"]) for number, n in bins if n], HISTOGRAM_COLUMNS)


def sections(windows: pl.DataFrame, corpus: str, *, is_signed: bool = False) -> list[Section]:
    """A few lines of the sampled and of the random places; the strongest are told as contexts."""
    lines = [_line(row) | ({"writes": (row["writes"] or [])[:_N_LINES]} if is_signed else {}) for row in _few(windows)]
    if not lines:
        return []
    remark = (
        "upper, middle, lower: thirds of a random sample of the sequences in which it fires, by their largest"
        " activation; random: places drawn from all tokens"
    )
    return [Section(f"sampled contexts in {corpus}", pl.DataFrame(lines), remark)]


def _window(row: Row, texts: Mapping[int, str], n_sampled: int) -> Row:
    ids = [*row["ids_before"], row["token_id"], *row["ids_after"]]
    integers, place = iter(row["activations"]), len(row["ids_before"])
    activations = [
        (next(integers) if row["nonzero"] >> at & 1 else 0) * row["activation"] / _STEPS for at in range(len(ids))
    ]
    return {
        **row,
        "part": PARTS[3 * (row["rank"] - 1) // n_sampled] if row["band"] == "quantile" else None,
        "activation": activations[place],
        "tokens": [texts.get(token_id, "") for token_id in ids],
        "activations": activations,
        "place": place,
    }


def _bin(number: int, n: int, n_counted: int) -> Row:
    size = abs(number)
    edges = (_edge(size), 0.0 if not size else None if size == _LAST_BIN else _edge(size + 1))
    low, high = edges if number >= 0 else (None if edges[1] is None else -edges[1], -edges[0])
    return {"bin": number, "low": low, "high": high, "n_tokens": n, "n_tokens_counted": n_counted}


def _edge(size: int) -> float:
    """The least |m| of a bin, or what it comes next to."""
    half_steps, is_half = divmod(size, 2)
    return float(2.0 ** (half_steps - 9) * (1.5 if is_half else 1.0)) if size > 1 else 0.0


def _few(windows: pl.DataFrame) -> list[Row]:
    """Of the sample the first of each third, and the first random ones."""
    rows = windows.to_dicts()
    sampled = [next((row for row in rows if row["part"] == part), None) for part in PARTS]
    return [row for row in sampled if row] + [row for row in rows if row["band"] == "random"][:_N_LINES]


def _line(row: Row) -> Row:
    place, tokens = row["place"], row["tokens"]
    return {
        "part": row["part"] or row["band"],
        "activation": row["activation"],
        "domain": row["domain"],
        "before": "".join(tokens[max(0, place - _BEFORE) : place]),
        "token": tokens[place],
        "after": "".join(tokens[place + 1 : place + 1 + _AFTER]),
    }
