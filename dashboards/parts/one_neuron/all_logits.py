"""How the scores of the whole vocabulary spread in a neuron's value vector."""

import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.dashboards.charts.logits import logit_histogram
from neurothek.dashboards.widgets.figures import Data, show_figure, statement
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import show_command
from neurothek.queries.ask.statements import filled
from neurothek.queries.neuron.logits import told_logits
from neurothek.queries.neuron.page import NeuronPage

SOURCE = "Scores as in Geva et al. 2022, section 3; the histogram is this project's. Dashed: a normal distribution."


def show_logits(page: NeuronPage) -> None:
    """The histogram, or which command counts it."""
    parameters = {name: page.facts[name] for name in ("model", "layer", "neuron")}
    if page.logits.is_empty():
        if not page.tokens.is_empty():
            st.caption(plain(f"How all logits spread was not counted when {parameters['model']} was measured."))
            show_command(command_line("ingest", parameters["model"], "--job", "projections", "--force"))
        return
    show_figure(
        "All logits",
        lambda theme: logit_histogram(page.logits, page.tokens, theme),
        told_logits(page.logits, page.facts),
        Data("logits", filled(statement("neuron_logits"), parameters), page.logits),
        source=SOURCE,
        own_legend=True,
    )
