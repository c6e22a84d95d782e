"""What a neuron fires on: by domain, by position, by n-gram."""

import polars as pl
import streamlit as st

from neurothek.dashboards.charts.positions import position_profile
from neurothek.dashboards.colours import ACCENT
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import Data, show_figure
from neurothek.dashboards.widgets.html import plain, tables_html
from neurothek.queries.ask.statements import filled
from neurothek.queries.ask.statements import statement as asked_statement
from neurothek.queries.names.neurons import NeuronAddress
from neurothek.queries.neuron.page import NeuronPage
from neurothek.queries.neuron.triggers import MOST_SHOWN, Triggers, called, rule

PROFILE = (
    "Share of the {n:,} full-length sequences of {corpus} in which it fires; it tells {nats:.3f} nats of the position."
)
_PROFILE_HEIGHT = 170
_MOST_TRIGGERS = 5


def show_domains(page: NeuronPage) -> None:
    """How it fires on each domain."""
    st.markdown("**Activity by domain**", help=plain("Frequency as in Voita et al. 2023, section 3."))
    tables.show_table(page.domains, key="domains")
    st.caption(plain(f"On {page.corpus}. {page.extremes}".rstrip()))


def show_profile(page: NeuronPage, neuron: NeuronAddress) -> None:
    """How its frequency depends on the position."""
    if page.positions.is_empty():
        st.markdown("**Frequency by position**")
        st.caption("It never fired, or the job positions has not run.")
        return
    first = page.positions.row(0, named=True)
    place = {"model_id": neuron.model_id, "layer": neuron.layer, "neuron": neuron.neuron}
    sql = filled(asked_statement("neuron_positions").strip(), {**place, "corpus_id": page.corpus_id})
    show_figure(
        "Frequency by position",
        lambda theme: position_profile(page.positions, ACCENT[theme]).properties(height=_PROFILE_HEIGHT),
        PROFILE.format(nats=first["mutual_information_corrected"], n=first["n_sequences"], corpus=page.corpus),
        Data("position_profile", sql, page.positions),
        source="Figure 7 of Voita et al. 2023.",
        own_legend=True,
    )


def show_triggers(triggers: Triggers) -> None:
    """Whether it detects tokens, in a sentence; the n-grams that it fires on are folded away."""
    if triggers.detection.is_empty():
        return
    st.subheader("What triggers it", anchor=False)
    st.markdown(plain(verdict(triggers)), help=plain(" ".join(rule())))
    most = min(_MOST_TRIGGERS, MOST_SHOWN)
    with st.expander(f"The first {most} tokens, bigrams and trigrams"):
        shown = {
            called(n): frame.head(most).drop("rank", "score", strict=False) for n, frame in triggers.by_length().items()
        }
        st.html(tables_html({**shown, "detector": triggers.verdicts()}))


def verdict(triggers: Triggers) -> str:
    """What its triggers make of it, in a sentence."""
    found = triggers.detection.filter(pl.col("status").is_in(["detector", "strict detector"])).to_dicts()
    if not found:
        reasons = "; ".join(triggers.reasons())
        return f"Not a detector of tokens, bigrams or trigrams ({reasons})." if reasons else "Not judged as a detector."
    parts = [f"{row['status']} of {row['n_detected']:,} {called(row['n'])}" for row in found]
    said = f"It is a {', and a '.join(parts)}."
    return f"{said} {triggers.sentence()}".strip()


def _how_many(number: int, names: str) -> str:
    return f"{number:,} {names.removesuffix('s') if number == 1 else names}"
