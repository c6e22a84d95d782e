"""The page of one layer: how its neurons spread over any number, two numbers against each other, and the list."""

import duckdb
import polars as pl
import streamlit as st

from dashboards.parts.distributions import NUMBERS, known_numbers, pick_distribution, pick_scatter
from dashboards.widgets import tables
from dashboards.widgets.address import asked_among, remember
from dashboards.widgets.figures import data_on
from dashboards.widgets.html import plain
from dashboards.widgets.page import answer, heading, missing
from dashboards.widgets.pickers import corpora_of, pick_corpus
from queries.names.models import KnownModel, choose_models

LISTED = ("address", "frequency", "is_dead", "kurtosis", "value_norm", "activation_max", "top_tokens")


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Layer")
    model, layer, corpus = _pick(connection)
    data = data_on(connection, "layer_neurons", {"model": model.name, "layer": layer}, corpus)
    st.markdown(plain(summary(data.frame)))
    if data.frame.is_empty():
        missing(connection, "Nothing was measured for this layer yet.", [model.name])
        return
    known = known_numbers(data.frame, NUMBERS)
    left, right = st.columns(2, gap="medium")
    with left:
        pick_distribution(data, known)
    with right:
        chosen = pick_scatter(data, known)
    st.subheader(f"{chosen.height:,} neurons", anchor=False)
    tables.link_to_neurons(chosen, LISTED, key="neurons", height=420)
    if "frequency" not in known:
        missing(
            connection, "How often these neurons fire is unknown: no text was run through the model yet.", [model.name]
        )


def summary(neurons: pl.DataFrame) -> str:
    """How many neurons there are, and how many of them are dead on how many tokens."""
    told = f"{neurons.height:,} neurons."
    watched = neurons.get_column("n_tokens_seen").drop_nulls()
    if watched.is_empty():
        return told
    word = "dead" if neurons.get_column("is_dead").is_not_null().any() else "never active"
    return f"{told} {neurons.get_column('never_active').sum():,} {word} on the {watched[0]:,} tokens seen."


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[KnownModel, int, str | None]:
    models = {model.name: model for model in choose_models(connection)}
    several = len(corpora_of(connection, list(models))) > 1
    wide, narrow, last = st.columns([3, 1, 1]) if several else (*st.columns([3, 1]), st.container())
    names = list(models)
    wanted = asked_among("model", names)
    name = wide.selectbox("Model", names, index=0 if wanted is None else names.index(wanted), key="model")
    layers = range(models[name].n_layers)
    # A person who chose another model than the address names did not mistake its layer.
    place = asked_among("layer", layers, is_silent=wanted not in (None, name)) or 0
    # A key of its own for each model: a layer that one model lacks is not asked of it.
    layer = narrow.selectbox("Layer", layers, index=place, key=f"layer-{name}")
    remember(model=name, layer=str(layer))
    with last:
        return models[name], layer, pick_corpus(connection, [name], is_labelled=True)


answer(show)
