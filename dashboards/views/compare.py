"""The page that compares sizes: headline numbers, then the papers' figures with models as colours."""

from collections.abc import Sequence

import duckdb
import polars as pl
import streamlit as st

from dashboards import charts, tables
from dashboards.colours import model_colours
from dashboards.figures import Data, data_of, show_figure
from dashboards.looks import Look
from dashboards.page import answer, asked, heading, missing, remember, theme
from dashboards.text import plain
from queries.compare import Comparison, compare
from queries.models import choose_models

# Columns of the first table.
HEADLINES = (
    "model",
    "size",
    "n_layers",
    "n_neurons",
    "n_tokens_seen",
    "n_dead",
    "dead_share",
    "first_half_dead_share",
    "provably_dead_share",
    "mean_frequency",
    "median_frequency",
    "median_kurtosis",
    "tokens_per_parameter",
    "comparable",
    "corpus",
)

DEAD_BY_DEPTH = "Dead: never active on the tokens seen ({seen}). Figure 1 of Voita et al. 2023, dead neurons by layer."
FREQUENCY_BY_DEPTH = (
    "Share of the tokens seen ({seen}) at which a neuron of the layer is active, mean of those that fired. "
    "Figure 1 of Voita et al. 2023, activation frequency by layer."
)
DISTRIBUTION = (
    "Neurons that fired at least once on the tokens seen ({seen}), eight bins to a factor of ten. Ours; the frequency "
    "is that of Voita et al. 2023, section 3."
)
DEAD_BY_TOKENS = (
    "How the share of dead neurons falls with the text read, to the end of the corpus ({seen}): where a curve still "
    "falls, the dead of the other figures are not all dead. Ours."
)


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Compare sizes")
    everything = [model.name for model in choose_models(connection)]
    names = _pick(everything)
    comparison = compare(connection, names)
    _headlines(comparison)
    if comparison.layers.is_empty():
        _say_unmeasured(connection, names)
        return
    look = Look(model_colours(everything, theme=theme()), comparison.why_not())
    _figures(connection, names, look, tokens_seen(comparison.models))


def tokens_seen(models: pl.DataFrame) -> str:
    """On how many tokens the models were watched, in words: one number where it is the same for all."""
    watched = models.filter(pl.col("n_tokens_seen").is_not_null())
    numbers = dict(zip(watched.get_column("model"), watched.get_column("n_tokens_seen"), strict=True))
    if len(set(numbers.values())) == 1:
        return f"{next(iter(numbers.values())):,}"
    return ", ".join(f"{model} {number:,}" for model, number in numbers.items())


def _pick(everything: Sequence[str]) -> list[str]:
    known = [name for name in (asked("models") or "").split(",") if name in everything]
    picked = st.multiselect(
        "Models", everything, default=known or everything, key="models", placeholder="all", label_visibility="collapsed"
    )
    chosen = [name for name in everything if name in picked] or list(everything)
    remember(models=None if chosen == list(everything) else ",".join(chosen))
    return chosen


def _headlines(comparison: Comparison) -> None:
    tables.show_table(tables.shown(comparison.models.select(HEADLINES), keep=("n_tokens_seen",)), key="headlines")
    notes = [note for note in comparison.notes if "--corpus" not in note]
    if comparison.common_corpus is not None:
        notes.append(f"more of these models were measured on {comparison.common_corpus}: `neurothek pin` shows it")
    if notes:
        st.caption(plain("; ".join(notes) + "."))


def _say_unmeasured(connection: duckdb.DuckDBPyConnection, names: Sequence[str]) -> None:
    missing(connection, "No text was run through these models yet, so nothing is known of how often they fire.", names)


def _figures(connection: duckdb.DuckDBPyConnection, names: Sequence[str], look: Look, seen: str) -> None:
    def data(name: str) -> Data:
        return data_of(connection, name, {"models": list(names)})

    left, right = st.columns(2, gap="medium")
    with left:
        dead = data("dead_by_depth")
        if dead.frame.get_column("dead_share").null_count() < dead.frame.height:
            chart = charts.by_depth(dead.frame, "dead_share", look)
            show_figure("Dead neurons by depth", chart, DEAD_BY_DEPTH.format(seen=seen), dead)
        else:
            st.info("These models have no exact zeros, so none of their neurons can be called dead.")
    with right:
        frequency = data("frequency_by_depth")
        chart = charts.by_depth(frequency.frame, "mean_frequency", look)
        show_figure("Frequency by depth", chart, FREQUENCY_BY_DEPTH.format(seen=seen), frequency)
    left, right = st.columns(2, gap="medium")
    with left:
        spread = data("frequency_distribution")
        chart = charts.frequency_distribution(spread.frame, look)
        show_figure("Frequencies of the neurons that fired", chart, DISTRIBUTION.format(seen=seen), spread)
    with right:
        curve = data("dead_by_tokens")
        if curve.frame.get_column("dead_share").null_count() < curve.frame.height:
            chart = charts.dead_by_tokens(curve.frame, look)
            show_figure("Dead neurons against tokens seen", chart, DEAD_BY_TOKENS.format(seen=seen), curve)


answer(show)
