"""The figure of one neuron: how its frequency depends on the position, and what it promotes and suppresses."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.charts import tokens
from neurothek.dashboards.charts.positions import position_profile
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.queries.neuron.page import NeuronPage

_MOST_BARS = 14
"""As many bars as are as high as the profile."""


def neuron_figure(page: NeuronPage, *, on: Sequence[str] = ()) -> alt.HConcatChart:
    """The position profile with what is known of it, and beside it the tokens with their scores.

    Args:
        page: what is known of the neuron.
        on: the options of `ingest` that ask for the page's corpus; they are recommended where there is no profile.
    """
    if page.positions.is_empty():
        model = page.address.partition("/")[0]
        where = "on any text" if page.corpus is None else f"on {spoken_corpus(page.corpus)}"
        again = command_line("ingest", model, "--job", "positions", *on)
        raise NotMeasured(
            f"there is no position profile of {page.address}: the job positions was not measured {where}",
            f"measure it with `{again}`",
            jobs=["positions"],
            models=[model],
            corpus=page.corpus,
        )
    sides = [
        tokens.token_bars(page.tokens.filter(pl.col("side") == side).head(_MOST_BARS), colour).properties(
            title=alt.TitleParams(title, fontSize=12, subtitleFontSize=11), width=150
        )
        for side, title, colour in (
            ("promoted", page.sides["promoted"], ACCENT["light"]),
            ("suppressed", page.sides["suppressed"], CONTRAST["light"]),
        )
    ]
    title = alt.TitleParams(page.address, subtitle=subtitle(page))
    figure: alt.HConcatChart = alt.hconcat(position_profile(page.positions), *sides, title=title)
    return figure


def subtitle(page: NeuronPage) -> list[str]:
    """Kind, mutual information and number of sequences of the whole corpus; then what the numbers are."""
    row = page.positions.row(0, named=True)
    kind, strength = page.facts["position_kind"], page.facts["position_strength"]
    label = kind if kind in ("not positional", "too few sequences") else f"positional: {kind}, {strength}"
    return [
        f"{label}; mutual information {row['mutual_information_corrected']:.3f} nats"
        f" ({row['mutual_information']:.3f} before correction for chance)",
        f"{row['n_sequences']:,} full-length sequences of {spoken_corpus(page.corpus)}. Profile as in Figure 7 of Voita"
        " et al. 2023; scores as in Geva et al. 2022, section 3.",
    ]
