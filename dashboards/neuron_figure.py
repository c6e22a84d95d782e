"""The figure of one neuron: how its frequency hangs on the position, and what it promotes and suppresses."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dashboards import charts
from dashboards.colours import ACCENT, CONTRAST, DOMAINS
from dashboards.errors import NoProfile
from queries.neuron.page import NeuronPage

WIDTH, HEIGHT = 440, 280
_MOST_BARS = 14
"""As many bars as are as high as the profile."""

_MOST_DOMAINS = len(DOMAINS)


def neuron_figure(page: NeuronPage, *, on: Sequence[str] = ()) -> alt.HConcatChart:
    """The position profile with what is known of it, and beside it the tokens with their scores.

    Args:
        page: what is known of the neuron.
        on: the options of `ingest` that ask for the page's corpus; they are recommended where there is no profile.

    Raises:
        NoProfile: the neuron's positions were not measured on the page's corpus.
    """
    if page.positions.is_empty():
        raise NoProfile(page.address, page.corpus, on)
    sides = [
        charts.token_bars(page.tokens.filter(pl.col("side") == side).head(_MOST_BARS), colour).properties(
            title=alt.TitleParams(title, fontSize=12, subtitleFontSize=11), width=150
        )
        for side, title, colour in (
            ("promoted", "promotes", ACCENT["light"]),
            ("suppressed", "suppresses", CONTRAST["light"]),
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
        f" ({row['mutual_information']:.3f} before the bias of chance is taken off)",
        f"{row['n_sequences']:,} full-length sequences of {page.corpus}. Profile as in Figure 7 of Voita et al. 2023;"
        " scores as in Geva et al. 2022, section 3.",
    ]


def position_profile(positions: pl.DataFrame, accent: str = ACCENT["light"]) -> alt.Chart:
    """Frequency against position: the whole corpus as a strong line, its domains as thin ones.

    Args:
        positions: rows with domain, n_sequences, first_position, last_position, and the counts at every position or
            the frequencies over equal bins of them.
        accent: the colour of the whole; domains beside it have their own.
    """
    shown = positions if positions.height <= _MOST_DOMAINS + 1 else positions.head(1)
    domains = shown.get_column("domain").to_list()
    colours = [accent, *DOMAINS[: len(domains) - 1]]
    chart: alt.Chart = (
        alt.Chart(pl.concat(_points(row) for row in shown.to_dicts()))
        .mark_line(interpolate="linear")
        .encode(
            alt.X("position:Q", title="position in the sequence", axis=alt.Axis(tickCount=8, format="d")),
            alt.Y("frequency:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5)),
            alt.Color(
                "domain:N",
                scale=alt.Scale(domain=domains, range=colours),
                sort=domains,
                legend=alt.Legend(title=None, orient="bottom", symbolStrokeWidth=3) if len(domains) > 1 else None,
            ),
            strokeWidth=alt.condition(alt.datum.domain == "all", alt.value(2.2), alt.value(0.9)),
            order="position:Q",
            tooltip=["domain:N", "position:Q", alt.Tooltip("frequency:Q", format=".2%")],
        )
        .properties(width=WIDTH, height=HEIGHT)
    )
    return chart


def _points(row: dict[str, object]) -> pl.DataFrame:
    """One domain's frequencies with the positions they belong to; a bin stands at its middle."""
    first, last, n_sequences = row["first_position"], row["last_position"], row["n_sequences"]
    assert isinstance(first, int)
    assert isinstance(last, int)
    assert isinstance(n_sequences, int)
    counts, binned = row["counts"], row["frequencies"]
    if isinstance(counts, list) and n_sequences:
        shares = [count / n_sequences for count in counts]
    else:
        shares = binned if isinstance(binned, list) else []
    width = (last - first + 1) / max(len(shares), 1)
    places = [first + width * (number + 0.5) - 0.5 for number in range(len(shares))]
    return pl.DataFrame(
        {"domain": [row["domain"]] * len(shares), "position": places, "frequency": shares},
        schema={"domain": pl.String, "position": pl.Float64, "frequency": pl.Float64},
    )
