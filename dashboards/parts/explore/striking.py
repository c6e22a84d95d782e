"""What stands out among the neurons of a model or a layer: a card for each way of standing out."""

from collections.abc import Mapping
from math import ceil
from typing import Any

import polars as pl
import streamlit as st

from neurothek.dashboards.parts.explore.promoted import with_promoted_at_pole
from neurothek.dashboards.parts.muted import Muted, muted_at, muted_of
from neurothek.dashboards.parts.token_cards import SIGN_OF_POLE, STYLE, card_html, neuron_html, tokens_html
from neurothek.dashboards.widgets.figures import Data, data_of, data_of_query, show_source, title_row
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.reading import Reader, Reading
from neurothek.queries.names.models import KnownModel

NEAREST_COUNTERPART = """\
-- The neuron of one layer with the nearest counterpart in another model, as far as any is above chance.
select
    address,
    other_model,
    other_address,
    overlap,
    null_99,
    is_mutual,
    other_pole,
    case when other_pole = 'negative' then other_bottom_tokens else other_top_tokens end as other_top_tokens,
from counterparts
where model = $model and layer = $layer and is_beyond_null
order by overlap desc, neuron, other_model, rank
limit 1"""

MOST_TOKENS = 6
FEWEST_BESIDE, MOST_BESIDE = 4, 6
"""Cards in a row."""

NAMES = {
    "dominant": "most often dominant",
    "detector": "strongest detector",
    "positional": "most positional",
    "effect": "largest effect",
    "sharp": "most peaked scores",
    "counterpart": "nearest counterpart",
    "rare": "rarest",
    "sparse": "sparsest",
    "domain": "most of one domain",
    "entropy": "hardly read by the unembedding",
    "counts": "frequency neuron",
    "massive": "super weight",
    "reader": "reads what it promotes",
    "writer": "writes what it promotes",
}


def striking(reader: Reader, model: KnownModel, layer: int | None = None) -> Data:
    """The neurons that stand out, one for each way: rows with what, number, address and what is told of it.

    Args:
        reader: what the page reads.
        model: theirs.
        layer: one of its layers; None: all.
    """
    data = data_of(reader, "striking_neurons", {"model": model.name, "layer": layer, "n": 1})
    return data.showing(data.name, with_promoted_at_pole(reader, model, data.frame))


def show_striking(data: Data, *, examples: int | None, others: pl.DataFrame | None = None, where: str = "") -> None:
    """Cards under a title; nothing where no neuron stands out.

    Args:
        data: see `striking`.
        examples: how many examples were analysed for dominant neurons, if any were.
        others: rows of the view counterparts: the nearest in another model.
        where: the model, on a page that is about none.
    """
    if data.frame.is_empty():
        return
    with title_row(data.name):
        title = f"What stands out in {where}" if where else "What stands out"
        st.markdown(f"**{plain(title)}**", help="The first of each kind; ties by layer, then neuron.")
        show_source(data)
    rows, nearest = data.frame.to_dicts(), [] if others is None else others.head(1).to_dicts()
    addresses = [*(row["address"] for row in rows), *(row["other_address"] for row in nearest)]
    muted = muted_of({address.rpartition("/")[0] for address in addresses})
    cards = [_card(row, examples, muted_at(row["address"], muted)) for row in rows]
    cards += [_counterpart(row, muted_at(row["other_address"], muted)) for row in nearest]
    st.html(f'{STYLE}<div class="nt-cards" style="--n: {beside_each_other(len(cards))}">{"".join(cards)}</div>')


def beside_each_other(n_cards: int) -> int:
    """Cards of a row of a wide window: rows are as few as can be and as long as each other, so that none dangles."""
    n_rows = ceil(n_cards / MOST_BESIDE)
    return max(ceil(n_cards / n_rows), FEWEST_BESIDE)


def nearest_counterpart(reader: Reader, model: str, layer: int) -> pl.DataFrame:
    """The neuron of a layer that has the nearest counterpart in another model above chance; no row: there is none."""
    # The other model's neurons are in no view on the page's corpus, and lists of tokens hang on no text.
    connection = reader.shown_connection if isinstance(reader, Reading) else reader
    return data_of_query(connection, "nearest_counterpart", NEAREST_COUNTERPART, {"model": model, "layer": layer}).frame


def _card(row: Mapping[str, Any], examples: int | None, muted: Muted) -> str:
    tokens = row["detected_tokens"] if row["what"] == "detector" else row["top_tokens"]
    is_at_pole = row["pole"] is not None and row["what"] != "detector"
    return card_html(
        neuron_html(row["address"], short=True),
        NAMES[row["what"]],
        distinction(row, examples),
        _pole(row["pole"] if is_at_pole else None) + tokens_html((tokens or [])[:MOST_TOKENS], muted=muted),
    )


def _counterpart(row: Mapping[str, Any], muted: Muted) -> str:
    sentence = f"Overlap {row['overlap']:.2f}; 99% of random vectors stay below {row['null_99']:.2f}"
    tokens = tokens_html((row["other_top_tokens"] or [])[:MOST_TOKENS], muted=muted)
    links = f"{neuron_html(row['other_address'])} {_pole(row['other_pole'])}{tokens}"
    return card_html(neuron_html(row["address"], short=True), NAMES["counterpart"], sentence, links)


def _pole(pole: str | None) -> str:
    """At which sign of its coefficient a neuron promotes the tokens after it."""
    if pole is None:
        return ""
    return f'<small class="nt-pole" title="promotes at its {pole} pole">{SIGN_OF_POLE[pole]} pole</small> '


_DISTINCTIONS = {
    "dominant": "among its layer's ten largest updates in {number:,.0f}{of} examples",
    "detector": "{fires} at {number:.1%} or more of the occurrences of each of its tokens (Wilson 95%)",
    "positional": "carries {number:.2f} nats about the position ({position_kind})",
    "effect": "turning it off adds {number:.4f} nats per token to the loss",
    "sharp": "its scores have an excess kurtosis of {number:.1f}, where normal ones have 0",
    "rare": "fires at {number:,.0f} of {n_tokens_seen:,} tokens",
    "sparse": "effective frequency {number:.2%} on {n_tokens_seen:,} tokens",
    "domain": "for {selective_domain}: entropy over domains {number:.2f}, 1 where all are alike; 99% of shuffles are "
    "higher",
    "entropy": "{number:.1%} of its squared length lies where the unembedding hardly reads, more than of any random "
    "vector",
    "counts": "its scores follow token counts: correlation {number:.2f}, stronger than in any random vector",
    "massive": "its largest activation is {number:,.0f} times its layer's mean{at_first_token}, and one weight writes "
    "most of it",
    "reader": "{number:.0%} of its {n_strongest_contexts} strongest contexts are at tokens that it promotes; "
    "{input_other_score:.1%} are at those of another neuron of the layer",
    "writer": "turned up, the tokens that it promotes have output score {number:.2g}, more than {beaten} other lists",
}


def _beaten(row: Mapping[str, Any]) -> str:
    """Which of the layer's other lists have a smaller output score: their share, or all so many."""
    percentile, n_others = row.get("output_percentile"), row.get("n_others")
    if percentile is None or percentile < _ALL:
        return "" if percentile is None else f"{percentile:.0f}% of the layer's"
    return "all of the layer's" if n_others is None else f"all {n_others:,}"


_ALL = 100.0


def distinction(row: Mapping[str, Any], examples: int | None) -> str:
    """What makes a neuron stand out, with its number.

    Args:
        row: what, number, and the facts that its sentence has beside them.
        examples: how many examples were analysed for dominant neurons.
    """
    of = "" if examples is None else f" of {examples:,}"
    fires = "is strong" if row["lacks_zeros"] else "fires"
    # What is 0 has no sign.
    number = row["number"] or 0.0
    at_first_token = ", at the first token" if row.get("is_at_first_tokens") else ""
    words = {"number": number, "of": of, "fires": fires, "at_first_token": at_first_token, "beaten": _beaten(row)}
    sentence = _DISTINCTIONS[row["what"]].format_map({**row, **words})
    return f"{sentence[:1].upper()}{sentence[1:]}"
