"""The page of events: where predictions settle, how much ten neurons hold, and which push a token to the top."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import duckdb
import polars as pl
import streamlit as st

from dashboards.charts import layers
from dashboards.charts.models import Look
from dashboards.charts.predictions import events as drawings
from dashboards.colours import model_colours
from dashboards.widgets import tables
from dashboards.widgets.address import asked, remember
from dashboards.widgets.figures import Data, data_of, data_of_models, show_figure, show_source
from dashboards.widgets.html import legend_html, plain
from dashboards.widgets.page import Theme, answer, heading, missing, theme
from dashboards.widgets.pickers import pick_corpus, pick_models
from dashboards.widgets.reading import Reading
from queries.names.models import choose_models

SATURATION = (
    "Examples whose final token is at the top from this layer on. {seen} Tables 9 and 10 of Geva et al. 2022, which "
    "number layers from 1."
)
DOMINANT = "Mean share of a layer's update that its ten largest neurons hold. {seen} Figure 6 of Geva et al. 2022."
CANDIDATES = (
    "Scores m (e . v) for the token at the top before the FFN: largest (solid), mean (dashed) and smallest (dotted) of "
    "ten sub-updates, averaged over examples. Figure 3 of Geva et al. 2022: there the mean is not negative until the "
    "last layers, where scores spread and strongly negative minima appear. Random active sub-updates: this project."
)
BESIDE_RANDOM = (
    "Mean share of the update that the ten dominant neurons hold, and ten random others of the layer. Figure 6 of Geva "
    "et al. 2022."
)
EXTREMES = (
    "Clusters with an extreme update, by kind: how many of these updates they make, beside their share of all value "
    "vectors. Specific: top tokens at most as frequent as those of the model's average neuron. Section 5.2 of Geva et "
    "al. 2022, who sort clusters by reading them; the bounds are this project's."
)
EVENTS = (
    "Scores of ten sub-updates for the token of an event that the FFN caused. Table 4 of Geva et al. 2022; columns in "
    "units of the logit are this project's."
)
PUSHED = ("address", "token", "n_pushes", "n_saturations", "push_share", "mean_score", "mean_coefficient", "top_tokens")


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Events")
    everything = [model.name for model in choose_models(connection)]
    names = pick_models(connection)
    with Reading(connection, names, pick_corpus(connection, names, width=300)) as reader:
        _show(reader, everything, names)


def _show(reader: Reading, everything: Sequence[str], names: Sequence[str]) -> None:
    saturation = data_of_models(reader, "saturation_by_layer", names, "layer")
    if saturation.frame.is_empty():
        what = "Events were not measured for these models yet."
        missing(reader.shown, what, names, jobs=("events",), corpus=reader.corpus)
        return

    def look(theme: Theme) -> Look:
        return Look(model_colours(everything, theme=theme), {})

    measured = saturation.frame.get_column("model").unique(maintain_order=True).to_list()
    colours = look(theme()).colours
    st.html(legend_html({name: colours[name] for name in measured}))
    seen = examples_seen(saturation)
    left, right = st.columns(2, gap="medium")
    with left:
        show_figure(
            "Where predictions settle",
            lambda theme: layers.by_depth(saturation.frame, "saturated_share", look(theme)),
            SATURATION.format(seen=seen),
            saturation,
        )
    with right:
        dominant = data_of_models(reader, "dominant_share", names, "layer")
        show_figure(
            "Share of the ten largest neurons",
            lambda theme: layers.by_depth(dominant.frame, "dominant_share", look(theme)),
            DOMINANT.format(seen=seen),
            dominant,
        )
    _candidates(reader, measured)
    _scores(reader, measured)
    _pushers(reader, measured)


def examples_seen(saturation: Data) -> str:
    """How many examples of which text the figures rest on, in a sentence."""
    numbers: Mapping[str, int] = dict(saturation.frame.select("model", "n_examples").iter_rows())
    corpora = ", ".join(saturation.frame.get_column("corpus").unique(maintain_order=True))
    if len(set(numbers.values())) == 1:
        return f"On {next(iter(numbers.values())):,} examples of {corpora} for each model."
    return f"Examples of {corpora}: {', '.join(f'{model} {number:,}' for model, number in numbers.items())}."


def _candidates(reader: Reading, measured: Sequence[str]) -> None:
    st.subheader("What ten neurons do to the candidate", anchor=False)
    model = st.selectbox("Model", measured, index=len(measured) - 1, key="candidates_of")
    data = data_of(reader, "top_candidate_scores", {"model": model})
    show_figure(
        f"Scores for the token at the top, {model}",
        lambda _: drawings.candidate_scores(data.frame),
        CANDIDATES,
        data,
        own_legend=True,
    )
    left, right = st.columns(2, gap="medium")
    with left:
        # A name of its own: the figure above is of the same view.
        shares = replace(data_of_models(reader, "dominant_share", [model], "layer"), name="dominant_and_random")
        show_figure(
            f"Dominant and random neurons, {model}",
            lambda _: drawings.against_random(
                drawings.shares_of_dominant(shares.frame), "share", title="share of the update"
            ),
            BESIDE_RANDOM,
            shares,
            own_legend=True,
        )
    with right:
        extremes = data_of_models(reader, "extreme_updates", [model], "kind")
        if not extremes.frame.is_empty():
            show_figure(
                f"Where extreme updates come from, {model}",
                lambda _: drawings.extreme_kinds(extremes.frame),
                EXTREMES,
                extremes,
                own_legend=True,
            )


def _scores(reader: Reading, measured: Sequence[str]) -> None:
    st.subheader("Saturation and elimination", anchor=False)
    data = data_of(reader, "event_scores", {"models": list(measured)})
    named = pl.col("kind").replace({"random_active": "random, active"})
    tables.show_table(data.frame.drop("corpus").with_columns(named), key="event_scores")
    st.caption(EVENTS)
    show_source(data)


def _pushers(reader: Reading, measured: Sequence[str]) -> None:
    st.subheader("Which neurons push a word to the top", anchor=False)
    word = st.text_input("Word", asked("word") or "", key="word", placeholder="the", width=300).strip().casefold()
    remember(word=word or None)
    if not word:
        st.caption("Lists neurons that were dominant where their FFN brought the word to the top for good.")
        return
    data = data_of(reader, "pushers", {"models": list(measured), "word": word})
    if data.frame.is_empty():
        st.info(plain(f"No FFN brought {word!r} to the top for good in these examples."))
        return
    tables.link_to_neurons(data.frame, PUSHED, key="pushers", height=420)
    show_source(data)


answer(show)
