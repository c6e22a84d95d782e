"""What a neuron fires on: its contexts with every token shaded, from the strongest, from a sample, and at random."""

from functools import partial

import altair as alt
import duckdb
import polars as pl
import streamlit as st

from neurothek.dashboards.charts.spread import activation_histogram
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.parts.one_neuron.windows import windows_html
from neurothek.dashboards.widgets.figures import Data, show_figure, statement
from neurothek.dashboards.widgets.html import places_html, plain
from neurothek.dashboards.widgets.page import Theme, show_command, theme
from neurothek.queries.ask.statements import filled
from neurothek.queries.names.neurons import NeuronAddress
from neurothek.queries.names.unmeasured import ingest_commands
from neurothek.queries.neuron.page import NeuronPage

BANDS = {
    "Strongest": ("strongest", "The sequences with its largest activations, the token of the largest one framed."),
    "Sampled": (
        "quantile",
        "A random sample of the sequences in which it fires, by its largest activation there: upper, middle and lower "
        "third.",
    ),
    "Random": ("random", "Around tokens drawn from the whole text, the same for every neuron."),
}
DEFINITION = (
    "At most 40 tokens before and 22 after, in one sequence. "
    "Each activation is right to a 254th of the largest in its window."
)


def show_contexts(connection: duckdb.DuckDBPyConnection, page: NeuronPage, corpus: str | None) -> None:
    """Its contexts; without the activations around its places these alone, and how to measure the others.

    Args:
        connection: a reader.
        page: all that is known of the neuron.
        corpus: the corpus that was asked for; None: the shown one.
    """
    st.markdown("**Where it fires**", help=plain(DEFINITION))
    if page.windows.is_empty():
        _only_places(connection, page, corpus)
        return
    shade, contrast, strongest = ACCENT[theme()], CONTRAST[theme()], strongest_of(page)
    for tab, (band, told) in zip(st.tabs(list(BANDS)), BANDS.values(), strict=True):
        rows = page.windows.filter(band=band)
        with tab:
            if rows.is_empty():
                st.caption(plain(f"It did not fire on the tokens of {page.corpus} that were seen."))
                continue
            shown = rows if page.names_writing(rows) else rows.drop("writes")
            st.html(windows_html(shown.to_dicts(), shade=shade, contrast=contrast, strongest=strongest))
            st.caption(plain(told))


def strongest_of(page: NeuronPage) -> float:
    """The largest |m| in its windows: the strongest sequence of all is among them."""
    return max((abs(m) for row in page.windows.get_column("activations") for m in row), default=0.0)


def show_histogram(page: NeuronPage, neuron: NeuronAddress) -> None:
    """How large its activations are, where that was counted."""
    bins = page.activation_histogram
    if bins.filter(pl.col("bin") != 0).is_empty():
        return
    place = {"model": neuron.model, "layer": neuron.layer, "neuron": neuron.neuron, "corpus_id": page.corpus_id}
    data = Data("activation_histogram", filled(statement("activation_histogram"), place), bins)
    show_figure(
        "Activations by size",
        partial(_drawn, bins),
        told_of(bins),
        data,
        source="Source: this project.",
        own_legend=True,
    )


def told_of(bins: pl.DataFrame) -> str:
    """What the histogram counts, in a sentence."""
    n_counted = int(bins.get_column("n_tokens_counted")[0])
    n_zero = int(bins.filter(bin=0).get_column("n_tokens").sum())
    zeros = f"; it is exactly 0 on {n_zero / n_counted:.1%}" if n_zero else ""
    return f"Of {n_counted:,} tokens{zeros}. Each bar is half a power of two wide."


def _drawn(bins: pl.DataFrame, theme: Theme) -> alt.Chart:
    return activation_histogram(bins, ACCENT[theme], CONTRAST[theme])


def _only_places(connection: duckdb.DuckDBPyConnection, page: NeuronPage, corpus: str | None) -> None:
    if page.contexts.is_empty():
        st.caption("It did not fire on the tokens seen, or the job contexts has not run.")
        return
    st.html(places_html(page.contexts.to_dicts(), shade=ACCENT[theme()]))
    st.caption(plain(f"Places in {page.corpus} by activation, one per sequence. To shade every token around them:"))
    show_command(*ingest_commands(connection, [page.facts["model"]], ["contexts"], corpus))
