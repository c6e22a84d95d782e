"""One neuron of a chosen cell: its contexts and lists, and what the model writes with it switched."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import one_line, visible
from neurothek.dashboards.live.switch import on_value
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.links import href, token_question
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.queries.neuron.headline import headline
from neurothek.queries.neuron.near_copies import one_of_each
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from neurothek.queries.trace.switch import SwitchPage

MOST_CONTEXTS, MOST_WORDS = 4, 10
"""What is shown beside a grid."""

WRITERS = ("Untouched", "With it switched", "With a random neuron switched")
"""Of the texts that a model writes, in their order."""

_BEFORE, _AFTER = 10, 5
"""Tokens of a context around its strongest."""


def inspected_data(
    address: str, *, coefficient: float, corpus: str | None, switched: SwitchPage | None
) -> Mapping[str, Any]:
    """What the browser draws of a neuron below the list that it was chosen from.

    Args:
        address: the neuron.
        coefficient: its activation in the cell.
        corpus: the corpus of its contexts; None: the shown one.
        switched: what switching it changes; None where that was not asked.
    """
    with backend().warehouse.reader() as connection:
        page = cached_answer(connection, _page, address, corpus)
    return {
        "place": address.rpartition("/")[2],
        "href": href("neuron", neuron=address),
        "sentence": headline(page),
        "lists": [
            [title, [{"token": visible(token), "href": href("search", **token_question(token))} for token in tokens]]
            for title, tokens in _lists(page, coefficient)
        ],
        "contexts": _contexts(page, coefficient),
        "switches": _switches(coefficient, on_value(page.facts), is_switched=switched is not None),
        "switched": None
        if switched is None
        else {
            "sentence": switched.summary,
            "texts": list(zip(WRITERS, map(one_line, switched.texts.get_column("text")), strict=False)),
        },
    }


def _page(connection: duckdb.DuckDBPyConnection, address: str, corpus: str | None) -> NeuronPage:
    return neuron_page(connection, address, corpus=corpus)


def _switches(coefficient: float, on: float, *, is_switched: bool) -> list[Sequence[object]]:
    """What can be done to the neuron, and the value that does it; none leaves it as it is."""
    if is_switched:
        return [("Leave it as it is", None)]
    return [("Switch it off", 0.0)] if coefficient else [(f"Switch it on ({on:g})", on)]


def _lists(page: NeuronPage, coefficient: float) -> list[tuple[str, list[str]]]:
    """What it promotes, and what it suppresses; of both signs first the one at hand."""
    lists = [
        (title, page.tokens.filter(pl.col("side") == side).sort("rank").get_column("token").head(MOST_WORDS).to_list())
        for side, title in page.sides.items()
    ]
    return lists[::-1] if page.is_signed and coefficient < 0 else lists


def strongest_at(
    windows: pl.DataFrame, places: pl.DataFrame, coefficient: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The strongest contexts of a coefficient's sign: those with all their activations, and without any, the places.

    At the other sign a neuron writes the other end of its list, and is strong on other texts.

    Args:
        windows: the strongest ones of either sign, with activation.
        places: the strongest of each pole, with pole.
        coefficient: that of the cell; at 0 no sign is asked for.
    """
    if not coefficient:
        return windows.to_dicts(), []
    pole = "negative" if coefficient < 0 else "positive"
    return windows.filter((pl.col("activation") < 0) == (coefficient < 0)).to_dicts(), places.filter(
        pole=pole
    ).to_dicts()


def _contexts(page: NeuronPage, coefficient: float) -> list[Mapping[str, Any]]:
    """Its strongest contexts, of near-copies one; each token with how strong the neuron is on it, from -1 to 1."""
    strongest_windows, places = page.windows.filter(band="strongest").to_dicts(), page.contexts.to_dicts()
    if page.is_signed and not page.poles.contexts.is_empty():
        strongest_windows, places = strongest_at(
            page.windows.filter(band="strongest"), page.poles.contexts, coefficient
        )
    windows = one_of_each(strongest_windows)[:MOST_CONTEXTS]
    strongest = max((abs(m) for row in windows for m in row["activations"]), default=0.0) or 1.0
    return [
        {
            "activation": f"{row['activation']:.3g}",
            "copies": row.get("n_copies") or 0,
            "tokens": [
                [one_line(token), round(m / strongest, 3), at == row["place"]]
                for at, (token, m) in enumerate(zip(row["tokens"], row["activations"], strict=True))
                if -_BEFORE <= at - row["place"] <= _AFTER
            ],
        }
        for row in windows
    ] or [_place(row) for row in one_of_each(places)[:MOST_CONTEXTS]]


def _place(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A context of which only its token's activation is stored."""
    before, after = one_line(row["before"])[-40:], one_line(row["after"])[:20]
    sign = -1.0 if row["activation"] < 0 else 1.0
    return {
        "activation": f"{row['activation']:.3g}",
        "copies": row.get("n_copies") or 0,
        "tokens": [[before, 0.0, False], [visible(row["token"]), sign, True], [after, 0.0, False]],
    }
