"""The page of one layer: what is striking in it, how its neurons spread over any number, and the list."""

import duckdb
import polars as pl
import streamlit as st

from neurothek.dashboards.parts.distributions import NUMBERS, known_numbers, pick_distribution, pick_scatter
from neurothek.dashboards.parts.explore.headlines import layer_headline
from neurothek.dashboards.parts.explore.map_of_neurons import show_map, usual_colour
from neurothek.dashboards.parts.explore.striking import nearest_counterpart, show_striking, striking
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import asked_among, kept_model, own_key, remember
from neurothek.dashboards.widgets.columns import Frequency, frequency_of
from neurothek.dashboards.widgets.figures import Data, data_of, data_on
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import answer, heading, missing
from neurothek.dashboards.widgets.pickers import pick_corpus, say_unknown_model, usual_model
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import KnownModel, choose_models

LISTED = (
    *("address", "frequency", "effective_frequency", "kurtosis", "value_norm"),
    *("activation_min", "activation_max", "pole", "top_tokens"),
)


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Layer")
    model, layer, corpus = _pick(connection)
    with Reading(connection, [model.name], corpus) as reader:
        layers = data_of(reader, "model_layers", {"model": model.name}).frame
        is_measured = layer in set(layers.get_column("layer"))
        if is_measured:
            st.markdown(plain(layer_headline(layers, layer)))
        _striking(reader, model, layer, layers)
        show_map(reader, model, usual_colour(model) if is_measured else "kurtosis", layer)
        if not is_measured:
            what = "The activity of these neurons has not been measured yet."
            missing(connection, what, [model.name], corpus=corpus)
    data = data_on(connection, "layer_neurons", {"model": model.name, "layer": layer}, corpus)
    if not data.frame.is_empty():
        _numbers(data, frequency_of(model))


@st.fragment
def _numbers(data: Data, frequency: Frequency) -> None:
    """Two charts of numbers that the person picks, and the neurons; another number draws nothing else anew."""
    columns = known_numbers(data.frame, NUMBERS)
    left, right = st.columns(2, gap="medium")
    with left:
        pick_distribution(data, columns)
    with right:
        chosen = pick_scatter(data, columns)
    st.header(f"{chosen.height:,} neurons", anchor=False)
    tables.link_to_neurons(chosen, LISTED, key="neurons", height=420, frequency=frequency)


def _striking(reader: Reading, model: KnownModel, layer: int, layers: pl.DataFrame) -> None:
    examples = layers.get_column("n_examples").drop_nulls()
    show_striking(
        striking(reader, model, layer),
        examples=None if examples.is_empty() else int(examples[0]),
        others=nearest_counterpart(reader, model.name, layer),
    )


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[KnownModel, int, str | None]:
    models = {model.name: model for model in choose_models(connection)}
    names = list(models)
    say_unknown_model(connection)
    default = asked_among("model", names, is_silent=True) or kept_model()
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        index = names.index(default if default in names else usual_model(list(models.values())))
        name = st.selectbox("Model", names, index=index, key=own_key("model"))
        layers = range(models[name].n_layers)
        # A person who chose another model than the address names did not mistake its layer.
        asked_for = asked_among("layer", layers, is_silent=default not in (None, name))
        # What the first layers write is seldom read as words; what the upper ones write is predicted.
        place = 3 * len(layers) // 4 if asked_for is None else asked_for
        # A key of its own for each model: a layer that one model lacks is not asked of it.
        key = own_key(f"layer-{name}")
        layer = st.selectbox("Layer", layers, index=place, key=key, width=110)
        for label, target in (("Previous", layer - 1), ("Next", layer + 1)):
            is_beyond = target not in layers
            st.button(label, key=label.lower(), disabled=is_beyond, on_click=_go, args=(key, target))
        corpus = pick_corpus(connection, [name], width=220, is_labelled=True)
    remember(model=name, layer=str(layer))
    return models[name], layer, corpus


def _go(key: str, layer: int) -> None:
    st.session_state[key] = layer
    remember(layer=str(layer))


answer(show)
