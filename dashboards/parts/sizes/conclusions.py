"""What the sizes show, in a sentence and in a card per number: it stands before a chart is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import say_first
from neurothek.queries.compare.comparison import Comparison
from neurothek.queries.compare.conclusion import Conclusion, short
from neurothek.queries.compare.trends import MEASURES, RULE, Measure, Trend, percentages

N_CARDS = 4

DEFINITIONS = {
    "dead_share": "Never active on the tokens seen, not counting a prepended BOS. Voita et al. 2023, section 3.",
    "median_frequency": "Of the neurons that fired: half of them are active at no more than this share of the tokens.",
    "negligible_share": "Never 1% of the output of their FFN: what dead neurons are where no activation is exactly 0. "
    "Contributions: Song et al. 2024; the threshold: this project.",
    "median_effective_frequency": "The median neuron's (Σ|m|)² / (N Σm²): no threshold says what is active. "
    "After Treves and Rolls 1991.",
    "token_detector_share": "Neurons that respond to a few tokens, and to these nearly always. Voita et al. 2023, "
    "section 4.",
    "positional_share": "Neurons whose activity depends on the position. Voita et al. 2023, section 5.",
    "mean_saturation_depth": "Mean depth from which on the final token stays at the top. Geva et al. 2022, section 5.",
    "effective_share": "Effective number of neurons in a layer's update, (sum c)^2 / sum c^2 of their contributions c, "
    "as a share of the layer's neurons. Contributions: Geva et al. 2022, appendix A.3; the share: this project.",
}
"""What the numbers of the cards are, by their column."""

_STYLE = """
<style>
.nt-card-number { font-size: 1.3rem; font-weight: 600; line-height: 1.3; white-space: nowrap; }
.nt-card-way { font-size: 0.85rem; opacity: 0.75; min-height: 1.3em; }
[class*="st-key-card-"] .stElementContainer:has(.stVegaLiteChart) { margin-bottom: 0; }
[class*="st-key-head-"] { flex-wrap: nowrap; }
[class*="st-key-head-"] p { font-size: 0.93rem; white-space: nowrap; }
</style>
"""


@dataclass(frozen=True)
class Card:
    """A number against size."""

    measure: Measure  # what it is
    trends: Sequence[Trend]  # of the families that have it
    points: pl.DataFrame  # rows as `neurothek.dashboards.charts.models.against_size` draws them
    menu: DeltaGenerator  # where on the page its menu belongs
    place: DeltaGenerator  # where its chart does


def show_conclusions(comparison: Comparison) -> None:
    """The sentence of each family of which text was read, and what it rests on."""
    for one in comparison.conclusions:
        if one.kind != "not measured":
            say_first(one.sentence, " ".join([*one.rests_on, one.omission]).strip(), rule=RULE, key=one.family)


def show_cards(comparison: Comparison) -> list[Card]:
    """The numbers of the cards, in a row; whoever has loaded what draws fills in the charts."""
    st.html(_STYLE)
    trend_conclusions = [one for one in comparison.conclusions if one.kind == "trend"]
    chosen = [measure for measure in MEASURES if _is_drawn(trend_conclusions, measure)][:N_CARDS]
    cards: list[Card] = []
    for column, measure in zip(st.columns(len(chosen), gap="small") if chosen else (), chosen, strict=True):
        with column, st.container(border=True, gap="small", key=f"card-{measure.column}"):
            trends = _trends(trend_conclusions, measure)
            query = rows_behind(measure, comparison.models.get_column("model").to_list())
            with _head(measure):
                st.markdown(f"**{plain(measure.title)}**", help=plain(DEFINITIONS[measure.column]))
                menu = st.container(width="content")
            st.html(SHEET + "".join(_numbers(trend, query) for trend in trends))
            place = st.container()
        cards.append(Card(measure, trends, points(comparison.models, trend_conclusions, measure), menu, place))
    if any(not card.points.get_column("is_size").all() for card in cards):
        st.caption("Hollow points are variants, not sizes.")
    return cards


def points(models: pl.DataFrame, conclusions: Sequence[Conclusion], measure: Measure) -> pl.DataFrame:
    """A row per model that the conclusions tell of, and per variant of their families that may be compared.

    Args:
        models: rows of the view `scaling`.
        conclusions: of the families to draw.
        measure: which number.
    """
    plain_sizes = [model for one in conclusions for model in one.models]
    is_size = pl.col("model").is_in(plain_sizes)
    is_variant = (
        pl.col("variant").is_not_null()
        & pl.col("comparable")
        & pl.col("family").is_in([one.family for one in conclusions])
    )
    says = pl.Series([measure.of(row) is not None for row in models.to_dicts()], dtype=pl.Boolean)
    rows = models.filter((is_size | is_variant) & says)
    values = rows.get_column(measure.column)
    return rows.select("model", "family", "size", is_size.alias("is_size")).with_columns(
        pl.Series("size_label", [short(size) for size in rows.get_column("size")], dtype=pl.String),
        values.alias("value"),
        pl.Series("value_label", percentages(values.to_list()), dtype=pl.String),
    )


def _is_drawn(conclusions: Sequence[Conclusion], measure: Measure) -> bool:
    trends = _trends(conclusions, measure)
    return any(trend.direction is not None and not trend.is_sparse for trend in trends)


def _trends(conclusions: Sequence[Conclusion], measure: Measure) -> list[Trend]:
    return [trend for one in conclusions if (trend := one.trend(measure)) is not None]


def _head(measure: Measure) -> DeltaGenerator:
    """A row for the title of a card and its menu, however narrow the card is."""
    return st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        gap=None,
        key=f"head-{measure.column}",
    )


_BEHIND = {
    "dead_share": "select address, top_tokens, n_tokens_seen\nfrom neurons\nwhere {models} and is_dead",
    "negligible_share": "select address, contribution_max, top_tokens, n_tokens_seen\nfrom neurons\n"
    "where {models} and is_negligible",
    "median_frequency": "select address, frequency, top_tokens\nfrom neurons\nwhere {models} and n_active > 0",
    "median_effective_frequency": "select address, effective_frequency, top_tokens\nfrom neurons\n"
    "where {models} and effective_frequency is not null",
    "token_detector_share": "select address, detected_tokens, trigger_recall, suppresses_triggers\nfrom neurons\n"
    "where {models} and is_token_detector",
    "positional_share": "select address, position_kind, position_strength, mutual_information_corrected\nfrom neurons\n"
    "where {models} and position_strength in ('strong', 'weak')",
    "mean_saturation_depth": "from saturation_by_layer\nwhere {models}",
    "effective_share": "from dominant_share\nwhere {models}",
}
"""For each number the rows that it counts, or that it is a mean or a median of."""


def rows_behind(measure: Measure, models: Sequence[str]) -> str:
    """The query for the neurons, or the layers, that a card's numbers are made of.

    Args:
        measure: the number.
        models: the models that the page compares.
    """
    named = ", ".join(f"'{model.replace(chr(39), chr(39) * 2)}'" for model in models)
    query = _BEHIND[measure.column].format(models=f"model in ({named})")
    return f"{query}\norder by model, layer{', neuron' if 'from neurons' in query else ''}"


def _numbers(trend: Trend, query: str) -> str:
    """From the smallest to the largest size where the number goes one way, else between which numbers it lies.

    They lead to the rows behind them.
    """
    way = trend.direction or "one size"
    if way in ("rises", "falls"):
        first, *_, last = percentages(trend.values)
        ends = f"{first} → {last}"
    else:
        low, high = percentages([min(trend.values), max(trend.values)])
        ends = low if low == high else f"{low} to {high}"
    link = link_html(ends, "sql", title="the rows behind these numbers", query=query)
    return f'<div class="nt-card-number">{link}</div><div class="nt-card-way">{way}</div>'
