"""What chance makes of a neuron: how many random vectors list a word, and how near the nearest random direction is."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.terminal.cells import percent
from neurothek.dashboards.widgets.figures import data_of_query
from neurothek.dashboards.widgets.html import plain
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.search.by_word import SearchResult
from neurothek.queries.search.question import Question

RANDOM_LISTS = """\
-- How many random vectors like the value vectors of a model list any of some tokens, and the largest z-score they give
-- one. A neuron of a gated model writes either end of its list, and so may they.
with counted as (
    select model, count(*) as n_vectors,
    from control_tokens
    where kind = 'random' and side = 'promoted' and rank = 1 and list_contains($models::varchar[], model)
    group by model
),
listing as (
    select model, count(distinct (layer, control_id)) as n_listing, max(abs(z_score)) as largest_z,
    from control_tokens
    where
        kind = 'random'
        and list_contains($models::varchar[], model)
        and list_contains($tokens::varchar[], token)
        and (list_contains($sides::varchar[], side) or list_contains($signed::varchar[], model))
    group by model
)
select counted.model, counted.n_vectors, coalesce(listing.n_listing, 0) as n_listing, listing.largest_z,
from counted
left join listing on listing.model = counted.model
order by list_position($models::varchar[], counted.model)"""

SURE = 0.99
"""How often the nearest of as many random directions stays below what is called chance."""

LIKE = "Like value vectors: coordinates with the mean and spread of the layer's. Geva et al. 2022, section 4.1."


@cache
def chance_cosine(n_others: int, width: int) -> float:
    """The |cosine| that the nearest of `n_others` independent random directions stays below, 99 times of 100.

    A cosine with a direction drawn evenly has a density proportional to (1 - x^2)^((width - 3) / 2).

    Args:
        n_others: how many directions there are besides one.
        width: dimensions, at least 3.
    """
    most_beyond = -math.expm1(math.log(SURE) / n_others)
    # With x = sin(a) the density is cos(a)^(width - 2), which has no pole at any width.
    angles = [step * math.pi / 2 / _STEPS for step in range(_STEPS + 1)]
    heights = [math.cos(angle) ** (width - 2) for angle in angles]
    beyond = list(accumulate((low + high) / 2 for low, high in pairwise(reversed(heights))))
    place = bisect_left(beyond, most_beyond * beyond[-1])
    return math.sin(angles[_STEPS - 1 - place])


_STEPS = 20_000
"""A step is a cosine of at most 1e-4, and two digits are told."""


def is_of_one_word(question: Question, words: Iterable[str]) -> bool:
    """Whether an answer is in order of the z-score of one word, which random vectors can be asked for.

    Args:
        question: what was asked.
        words: what its terms stand for.
    """
    others = question.suppresses or question.without or question.triggered_by or question.concept
    return len(set(words)) == 1 and not others


def show_chance(connection: duckdb.DuckDBPyConnection, result: SearchResult) -> None:
    """How far the neurons that were found are beyond random vectors; nothing of several words, or without these."""
    terms = result.terms
    if result.neurons.is_empty() or not is_of_one_word(result.question, [term.word for term in terms]):
        return
    if any(term.is_split for term in terms):
        return
    names = result.neurons.get_column("model").unique(maintain_order=True).to_list()
    models = [model for model in choose_models(connection) if model.name in names]
    tokens = sorted({token for term in terms for token in term.tokens})
    rows = random_lists(connection, models, tokens, side=result.question.side)
    if sentences := [beyond(row, result.neurons) for row in rows.to_dicts()]:
        st.caption("  \n".join(map(plain, ("Chance. " + sentences[0], *sentences[1:]))), help=plain(LIKE))


def random_lists(
    connection: duckdb.DuckDBPyConnection, models: Iterable[KnownModel], tokens: Iterable[str], *, side: str
) -> pl.DataFrame:
    """One row a model that has random vectors, largest last: model, n_vectors, n_listing and largest_z.

    Args:
        connection: a reader.
        models: which.
        tokens: texts of the tokens that stand for the word.
        side: promoted, suppressed or both.
    """
    listed = list(models)
    parameters = {
        "models": [model.name for model in listed],
        "signed": [model.name for model in listed if model.is_signed],
        "tokens": list(tokens),
        "sides": ["promoted", "suppressed"] if side == "both" else [side],
    }
    return data_of_query(connection, "random_lists", RANDOM_LISTS, parameters).frame


def beyond(row: Mapping[str, Any], neurons: pl.DataFrame) -> str:
    """What random vectors like those of a model make of the word, in a sentence.

    Args:
        row: of `random_lists`.
        neurons: those that were found, of all models.
    """
    model, n_vectors, n_listing = row["model"], row["n_vectors"], row["n_listing"]
    of = f"{n_vectors:,} random vectors"
    if not n_listing:
        return f"{model}: none of {of} lists it."
    largest = row["largest_z"]
    mine = neurons.filter(model=model)
    n_beyond = mine.filter(pl.col("z_sum") > largest).height
    list_it = f"list{'s' if n_listing == 1 else ''} it, up to a z-score of {largest:.2f}"
    share = percent(n_listing / n_vectors)
    return f"{model}: {n_listing:,} of {of} ({share}) {list_it}; {n_beyond:,} of its {mine.height:,} shown are beyond."
