"""What a neuron fires on: its contexts with every token shaded, from the strongest, from a sample, and at random."""

import html
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import altair as alt
import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.spelling import one_line, spoken_corpus, visible
from neurothek.dashboards.charts.positions import position_profile
from neurothek.dashboards.charts.spread import activation_histogram
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.columns import GATE_OPEN
from neurothek.dashboards.widgets.figures import Data, show_figure
from neurothek.dashboards.widgets.html import SHEET, copies_html, places_html, plain, prose, tables_html
from neurothek.dashboards.widgets.page import Theme, show_command, theme
from neurothek.queries.ask.statements import filled
from neurothek.queries.names.models import NeuronAddress
from neurothek.queries.names.unmeasured import ingest_commands
from neurothek.queries.neuron.contexts import MOST_SHOWN, Triggers, called, rule
from neurothek.queries.neuron.near_copies import one_of_each
from neurothek.queries.neuron.page import NeuronPage
from neurothek.queries.neuron.page_rows import NEURON_POSITIONS
from neurothek.queries.views.contents import thresholds

_ACTIVATION_HISTOGRAM = """\
-- How large one neuron's activations are.
select bin, low, high, n_tokens, n_tokens_counted
from activation_histogram
where model = $model and layer = $layer and neuron = $neuron and corpus_id = $corpus_id
order by bin"""

BANDS = {
    "Strongest": ("strongest", "The sequences with its largest activations, the token of the largest one framed."),
    "Sampled": (
        "quantile",
        "A random sample of the sequences in which it fires, by its largest activation there: upper, middle and lower "
        "third.",
    ),
    "Random": ("random", "Around tokens drawn from the whole text, the same for every neuron."),
}
_OF_ALL_SEQUENCES = (
    "A random sample of all sequences, none of which leaves it at exactly 0, by its largest activation there: upper, "
    "middle and lower third."
)
SIGNS = {"Positive": "positive", "Negative": "negative"}
"""Tabs of a neuron whose coefficient can be below 0: the strongest places of each sign."""

DEFINITION = (
    "At most 40 tokens before and 22 after, in one sequence; of those that are nearly the same (four fifths of their "
    "letters) the first, with the number of the others. "
    "Each activation is accurate to 1/254 of the largest in its window."
)


def show_contexts(connection: duckdb.DuckDBPyConnection, page: NeuronPage, corpus: str | None) -> None:
    """Its contexts; without the activations around its places these alone, and how to measure the others.

    Args:
        connection: a reader.
        page: all that is known of the neuron.
        corpus: the corpus that was asked for; None: the shown one.
    """
    heading = "Where it is strongest" if page.is_signed or not page.has_exact_zeros else "Where it fires"
    st.markdown(f"**{heading}**", help=plain(DEFINITION))
    if page.windows.is_empty():
        _only_places(connection, page, corpus)
        return
    shade, contrast, strongest = ACCENT[theme()], CONTRAST[theme()], strongest_of(page)
    of_signs = {} if page.poles.contexts.is_empty() else SIGNS
    tabs = st.tabs([*BANDS, *of_signs])
    for tab, pole in zip(tabs[len(BANDS) :], of_signs.values(), strict=True):
        rows = page.poles.contexts.filter(pole=pole)
        with tab:
            if rows.is_empty():
                st.caption(plain(f"Its activation was never {pole} on the tokens of {spoken_corpus(page.corpus)}."))
                continue
            st.html(places_html(one_of_each(rows.to_dicts()), shade=shade if pole == "positive" else contrast))
            st.caption(plain(f"The sequences with its largest {pole} activations."))
    for tab, (band, explanation) in zip(tabs, BANDS.values(), strict=False):
        rows = page.windows.filter(band=band)
        with tab:
            if rows.is_empty():
                silent = "It did not fire" if page.has_exact_zeros else "Its activation was exactly 0"
                st.caption(plain(f"{silent} on the tokens of {spoken_corpus(page.corpus)} that were seen."))
                continue
            table = rows if page.names_writing(rows) else rows.drop("writes")
            distinct = one_of_each(table.to_dicts())
            st.html(windows_html(distinct, shade=shade, contrast=contrast, strongest=strongest))
            st.caption(plain(_OF_ALL_SEQUENCES if band == "quantile" and not page.has_exact_zeros else explanation))


def strongest_of(page: NeuronPage) -> float:
    """The largest |m| in its windows: the strongest sequence of all is among them."""
    return max((abs(m) for row in page.windows.get_column("activations") for m in row), default=0.0)


def show_signs(page: NeuronPage) -> None:
    """How often and how strongly its activation is above and below 0, and what it promotes there."""
    if page.poles.poles.is_empty():
        return
    st.markdown("**By sign**", help=plain("What is promoted at one sign is suppressed at the other."))
    # What is promoted at each sign stands beside it, as two lists.
    table = page.poles.poles.select("pole", "frequency", "abs_share", "strong_frequency", "mean_magnitude", "largest")
    tables.show_table(tables.readable_columns(table), key="poles", frequency="of the tokens")
    if not page.poles.cases.is_empty():
        cases = page.poles.cases.select("gate_case", "frequency", "abs_share", "mean_magnitude")
        tables.show_table(cases, key="gate_cases", frequency="of the tokens")
    st.caption(plain(page.poles.sentence()))


def show_histogram(page: NeuronPage, neuron: NeuronAddress) -> None:
    """How large its activations are, where that was counted."""
    bins = page.activation_histogram
    if bins.filter(pl.col("bin") != 0).is_empty():
        return
    place = {"model": neuron.model, "layer": neuron.layer, "neuron": neuron.neuron, "corpus_id": page.corpus_id}
    data = Data("activation_histogram", filled(_ACTIVATION_HISTOGRAM, place), bins)
    show_figure(
        "Activations by size",
        partial(_drawn, bins),
        histogram_caption(bins),
        data,
        source="Source: this project.",
        own_legend=True,
    )


def histogram_caption(bins: pl.DataFrame) -> str:
    """What the histogram counts, in a sentence."""
    n_counted = int(bins.get_column("n_tokens_counted")[0])
    n_zero = int(bins.filter(bin=0).get_column("n_tokens").sum())
    zeros = f"; it is exactly 0 on {n_zero / n_counted:.1%}" if n_zero else ""
    return f"Of {n_counted:,} tokens{zeros}. Each bar is half a power of two wide."


def _drawn(bins: pl.DataFrame, theme: Theme) -> alt.Chart:
    return activation_histogram(bins, ACCENT[theme], CONTRAST[theme])


def _only_places(connection: duckdb.DuckDBPyConnection, page: NeuronPage, corpus: str | None) -> None:
    if page.contexts.is_empty():
        silent = "It did not fire on the tokens seen, or the" if page.has_exact_zeros else "The"
        st.caption(f"{silent} job contexts has not run.")
        return
    st.html(places_html(one_of_each(page.contexts.to_dicts()), shade=ACCENT[theme()]))
    where = f"Places in {spoken_corpus(page.corpus)} by activation, one per sequence."
    st.caption(plain(f"{where} To shade every token around them:"))
    show_command(*ingest_commands(connection, [page.facts["model"]], ["contexts"], corpus))


_SHEET = """
<style>
.nt-windows { display: grid; grid-template-columns: max-content 1fr; gap: 0.55rem 0.8rem; font-size: 0.88rem; }
.nt-windows > div { display: contents; }
.nt-windows .nt-side { text-align: right; font-variant-numeric: tabular-nums; line-height: 1.35; }
.nt-windows .nt-side span { display: block; opacity: 0.7; max-width: 9rem; overflow: hidden; text-overflow: ellipsis; }
.nt-windows p { margin: 0; font-family: monospace; white-space: break-spaces; overflow-wrap: anywhere;
  line-height: 1.45; }
.nt-windows p span, .nt-windows p b { border-radius: 0.15rem; }
.nt-windows p b { font-weight: 700; outline: 1px solid #8a8a8a99; }
</style>
"""

_WRITTEN = 2
"""Tokens of what a neuron promotes that stand beside a window."""

_FAINTEST, _MOST_OPAQUE = 0.08, 0.6
"""Opacities of the weakest and of the strongest activation: text stays readable on both, light and dark."""


def windows_html(
    windows: Iterable[Mapping[str, Any]], *, shade: str, contrast: str, strongest: float | None = None
) -> str:
    """Windows under each other: activation, domain, and the text with every token shaded; values show on hover.

    Args:
        windows: rows with activation, domain, part, tokens, activations and place; those with writes, the tokens that
            the neuron promotes there, tell these too, and those with n_copies how many more are nearly the same.
        shade: the colour of activations above 0, as #rrggbb.
        contrast: the colour of those below.
        strongest: |m| of the deepest shade, the largest of the neuron; None: the largest of these windows.
    """
    rows = list(windows)
    if strongest is None:
        strongest = max((abs(m) for row in rows for m in row["activations"]), default=0.0)
    lines = (_window(row, strongest or 1.0, shade, contrast) for row in rows)
    return f'{SHEET}{_SHEET}<div class="nt-windows">{"".join(lines)}</div>'


def _window(row: Mapping[str, Any], strongest: float, shade: str, contrast: str) -> str:
    tokens = [
        _token(token, m, f"{shade if m > 0 else contrast}{_alpha(abs(m) / strongest)}", is_place=at == row["place"])
        for at, (token, m) in enumerate(zip(row["tokens"], row["activations"], strict=True))
    ]
    below = " ".join(part for part in (row["part"], one_line(row["domain"])) if part)
    written = " ".join(visible(token) for token in (row.get("writes") or ())[:_WRITTEN])
    promotes = f'<span title="what it promotes here">→ {html.escape(written)}</span>' if written else ""
    copies = copies_html(row.get("n_copies") or 0)
    # Three digits in every row: 2.20 under 2.48.
    number = f"{row['activation']:#.3g}".rstrip(".")
    return (
        f'<div><div class="nt-side">{number}<span>{html.escape(below)}</span>{promotes}{copies}</div>'
        f"<p>{''.join(tokens)}</p></div>"
    )


def _token(token: str, m: float, colour: str, *, is_place: bool) -> str:
    tag = "b" if is_place else "span"
    style = f' style="background: {colour}"' if m else ""
    title = html.escape(f"{visible(token)} {m:.3g}")
    return f'<{tag}{style} title="{title}">{html.escape(one_line(token))}</{tag}>'


def _alpha(share: float) -> str:
    """How opaque, as the last two digits of a colour."""
    return f"{round(255 * (_FAINTEST + (_MOST_OPAQUE - _FAINTEST) * min(1.0, share))):02x}"


PROFILE = (
    "Share of the {n:,} full-length sequences of {corpus} in which it {fires}, which carries {nats:.3f} nats about the"
    " position."
)
_PROFILE_HEIGHT = 170
_MOST_TRIGGERS = 5


def show_domains(page: NeuronPage) -> None:
    """How it fires on each domain."""
    st.markdown("**Activity by domain**", help=plain("Frequency as in Voita et al. 2023, section 3."))
    # A gate opens somewhere for nearly every neuron: when it first did says nothing.
    domains = page.domains.drop("first_active") if page.is_signed else page.domains
    tables.show_table(domains, key="domains", frequency=GATE_OPEN if page.is_signed else "frequency")
    st.caption(prose(f"On {spoken_corpus(page.corpus)}. {page.extremes}".rstrip()))


def too_few_sequences(n_sequences: int, least: float) -> str:
    """Why no frequency by position is shown."""
    subject = "1 full-length sequence is" if n_sequences == 1 else f"{n_sequences:,} full-length sequences are"
    return f"{subject} too few ({least:.0f} needed)."


def show_profile(page: NeuronPage, neuron: NeuronAddress) -> None:
    """How its frequency depends on the position."""
    if page.positions.is_empty():
        st.markdown("**Frequency by position**")
        silent = "It never fired, or the" if page.has_exact_zeros else "The"
        st.caption(f"{silent} job positions has not run.")
        return
    first = page.positions.row(0, named=True)
    least = thresholds("neurons")["least_sequences"]
    if first["n_sequences"] < least:
        st.markdown("**Frequency by position**")
        st.caption(plain(too_few_sequences(first["n_sequences"], least)))
        return
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    sql = filled(NEURON_POSITIONS.strip(), {**place, "corpus_id": page.corpus_id})
    show_figure(
        "Frequency by position",
        lambda theme: position_profile(page.positions, ACCENT[theme], is_close=True).properties(height=_PROFILE_HEIGHT),
        PROFILE.format(
            nats=first["mutual_information_corrected"],
            n=first["n_sequences"],
            corpus=spoken_corpus(page.corpus),
            fires="is strong at its pole"
            if page.positions_are_strong
            else "fires"
            if page.has_exact_zeros
            else f"is active ({page.activation_rule})",
        ),
        Data("position_profile", sql, page.positions),
        source="Figure 7 of Voita et al. 2023.",
        own_legend=True,
    )


def show_triggers(triggers: Triggers) -> None:
    """Whether it detects tokens, in a sentence; the n-grams that it fires on are folded away."""
    if triggers.detection.is_empty():
        return
    st.header("Triggers", anchor=False)
    st.markdown(plain(verdict(triggers)), help=plain(" ".join(rule())))
    most = min(_MOST_TRIGGERS, MOST_SHOWN)
    with st.expander(f"The first {most} tokens, bigrams and trigrams"):
        frames = {
            called(n): frame.head(most).drop("rank", "score", strict=False) for n, frame in triggers.by_length().items()
        }
        st.html(tables_html({**frames, "detector": triggers.verdicts()}))


def verdict(triggers: Triggers) -> str:
    """What its triggers make of it, in a sentence."""
    detectors = triggers.detection.filter(pl.col("status").is_in(["detector", "strict detector"])).to_dicts()
    if not detectors:
        clauses = "; ".join(_no_detector(triggers.detection, status) for status in _distinct(triggers.detection))
        return f"{clauses[:1].upper()}{clauses[1:]}."
    parts = [f"{row['status']} of {row['n_detected']:,} {called(row['n'])}" for row in detectors]
    sentence = f"It is a {', and a '.join(parts)}."
    return f"{sentence} {triggers.sentence()}".strip()


_NO_DETECTOR: Mapping[str, str] = {
    "not": "not a detector of {}",
    "cannot be labelled": "{} cannot be labelled",
    "too few activations": "too few activations to judge {}",
    "not judged": "{} were not judged",
}
"""Status of a length of n-grams -> what is said of it: only what was judged is no detector."""


def _distinct(detection: pl.DataFrame) -> list[str]:
    return detection.get_column("status").unique(maintain_order=True).to_list()


def _no_detector(detection: pl.DataFrame, status: str) -> str:
    """The lengths of one status, with their reasons."""
    rows = detection.filter(status=status).to_dicts()
    names = ", ".join(called(row["n"]) for row in rows)
    reasons = "; ".join(dict.fromkeys(row["why"] for row in rows))
    return f"{_NO_DETECTOR[status].format(names)} ({reasons})"
