"""The page that compares sizes: headline numbers, then the papers' figures with models as colours."""

from collections.abc import Sequence

import duckdb
import streamlit as st

from neurothek.dashboards.colours import model_colours
from neurothek.dashboards.parts.sizes import conclusions
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.html import legend_html, plain
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import answer, heading, missing, theme
from neurothek.dashboards.widgets.pickers import corpora_of, pick_corpus, pick_models
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.compare.comparison import Comparison, compare
from neurothek.queries.names.models import choose_models

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
    "n_negligible",
    "negligible_share",
    "mean_frequency",
    "median_frequency",
    "median_effective_frequency",
    "median_kurtosis",
    "tokens_per_parameter",
    "comparable",
    "corpus",
)


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom, below its heading."""
    everything = [model.name for model in choose_models(connection)]
    names, corpus = _pick(connection, everything)
    comparison = cached_answer(connection, _compare, tuple(names), corpus)
    conclusions.show_conclusions(comparison)
    colours = model_colours(everything, theme=theme())
    with st.container(key="legend"):
        st.html(legend_html({name: colours[name] for name in names}, are_models=True))
    cards = conclusions.show_cards(comparison)
    _headlines(comparison)
    if comparison.layers.is_empty():
        _say_unmeasured(connection, names, corpus)
        return
    # Here, because they need altair, which takes a third of a second to load: the conclusions stand before.
    from neurothek.dashboards.parts import exits, shortcuts  # noqa: PLC0415
    from neurothek.dashboards.parts.sizes import curves, selection  # noqa: PLC0415

    look = selection.look_of(everything, comparison)
    with Reading(connection, names, corpus) as reader:
        sizes = selection.Sizes(reader, comparison, names, look)
        curves.draw(sizes, cards)
        if fitted := shortcuts.measured(reader, names):
            st.header("Predictions from each state, by depth", anchor=False)
            shortcuts.compare_shortcuts(reader, names, look)
        sizes.missing("Linear shortcuts were not fitted", "shortcuts", having=fitted)
        left = exits.compare_exits(reader, names, look)
        sizes.missing("Early exits were not measured", "exits", having=left)
        sizes.say_what_is_missing()


def _compare(connection: duckdb.DuckDBPyConnection, names: Sequence[str], corpus: str | None) -> Comparison:
    return compare(connection, names, corpus=corpus)


def _pick(connection: duckdb.DuckDBPyConnection, everything: Sequence[str]) -> tuple[list[str], str | None]:
    several = len(corpora_of(connection, everything)) > 1
    wide, narrow = st.columns([4, 1]) if several else (st.container(), st.container())
    with wide:
        chosen = pick_models(connection)
    with narrow:
        return chosen, pick_corpus(connection, chosen)


def _headlines(comparison: Comparison) -> None:
    with st.expander("All headline numbers"):
        tables.show_table(
            tables.readable_columns(comparison.models.select(HEADLINES), keep=("n_tokens_seen",)), key="headlines"
        )
        st.caption("Size: parameters without embeddings.")
    # What is no plain size, or differs from its family, is said with the conclusions.
    named = {model for one in comparison.conclusions for model in one.left_out}
    notes = [f"{model} is not comparable: {why}" for model, why in comparison.why_not().items() if model not in named]
    if comparison.common_corpus is not None:
        notes.append(f"More of these models were measured on {comparison.common_corpus}: choose it as the corpus")
    if notes:
        st.caption(plain(". ".join(notes) + "."))


def _say_unmeasured(connection: duckdb.DuckDBPyConnection, names: Sequence[str], corpus: str | None) -> None:
    what = "The activity of these models has not been measured yet."
    missing(connection, what, names, corpus=corpus)


# The first thing that a person sees of the dashboard does not wait for the warehouse.
heading("Compare sizes")
answer(show)
