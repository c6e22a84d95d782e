"""The page of one layer: how its neurons spread over any number, two numbers against each other, and the list."""

import duckdb
import polars as pl
import streamlit as st

from dashboards import charts, tables
from dashboards.colours import ACCENT
from dashboards.figures import Data, data_of, show_figure
from dashboards.page import answer, asked, heading, missing, remember, theme
from dashboards.text import plain
from queries.models import KnownModel, choose_models
from queries.views import view

# Numbers that spread over powers of ten.
LOGARITHMIC = frozenset({"frequency", "first_active"})

# Columns of the view neurons that can be drawn.
NUMBERS = (
    "frequency",
    "kurtosis",
    "skewness",
    "value_norm",
    "score_sd",
    "score_mean",
    "score_negative_share",
    "mean_activation",
    "activation_max",
    "first_active",
    "preactivation_bound",
    "top_token_log_frequency",
)

LISTED = ("address", "frequency", "is_dead", "kurtosis", "value_norm", "activation_max", "top_tokens")


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Layer")
    model, layer = _pick(connection)
    data = data_of(connection, "layer_neurons", {"model": model.name, "layer": layer})
    st.markdown(plain(summary(data.frame)))
    if data.frame.is_empty():
        missing(connection, "Nothing was measured of this layer yet.", [model.name])
        return
    known = [name for name in NUMBERS if data.frame.get_column(name).null_count() < data.frame.height]
    left, right = st.columns(2, gap="medium")
    with left:
        _distribution(data, known)
    with right:
        chosen = _scatter(data.frame, known)
    st.subheader(f"{chosen.height:,} neurons", anchor=False)
    tables.link_to_neurons(chosen, LISTED, key="neurons", height=420)
    if "frequency" not in known:
        missing(connection, "How often these neurons fire is unknown: no text was run through.", [model.name])


def summary(neurons: pl.DataFrame) -> str:
    """How many neurons there are, and how many of them are dead on how many tokens."""
    told = f"{neurons.height:,} neurons."
    watched = neurons.get_column("n_tokens_seen").drop_nulls()
    if watched.is_empty():
        return told
    word = "dead" if neurons.get_column("is_dead").is_not_null().any() else "never active"
    return f"{told} {neurons.get_column('never_active').sum():,} {word} on the {watched[0]:,} tokens seen."


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[KnownModel, int]:
    models = {model.name: model for model in choose_models(connection)}
    wide, narrow = st.columns([3, 1])
    names = list(models)
    wanted = asked("model")
    name = wide.selectbox("Model", names, index=names.index(wanted) if wanted in models else 0, key="model")
    layers = range(models[name].n_layers)
    text = asked("layer") or "0"
    place = int(text) if text.isdecimal() and int(text) in layers else 0
    # A key of its own for each model: a layer that one model lacks is not asked of it.
    layer = narrow.selectbox("Layer", layers, index=place, key=f"layer-{name}")
    remember(model=name, layer=str(layer))
    return models[name], layer


def _distribution(data: Data, known: list[str]) -> None:
    number = _number(st.selectbox("Distribution of", known, format_func=charts.spoken, key="number"))
    bins = charts.binned(data.frame.get_column(number.column), is_log=number.is_log)
    left_out = data.frame.height - int(bins.get_column("n_neurons").sum())
    aside = f" Without such a number, and left out: {left_out:,}." if left_out else ""
    caption = f"{view('neurons').columns[number.column]}{aside} Ours."
    show_figure(
        f"Neurons by {number.title}", lambda theme: charts.histogram(bins, number, ACCENT[theme]), caption, data
    )


def _scatter(neurons: pl.DataFrame, known: list[str]) -> pl.DataFrame:
    """Draw two numbers; the neurons within the rectangle that the person drew, or all."""
    left, right = st.columns(2)
    x = _number(left.selectbox("Across", known, format_func=charts.spoken, key="across"))
    y = _number(right.selectbox("Up", known, index=min(1, len(known) - 1), format_func=charts.spoken, key="up"))
    usable = neurons.filter(_drawable(x), _drawable(y))
    drawn = charts.sample(usable.select("address", *dict.fromkeys((x.column, y.column))))
    st.markdown(f"**{plain(y.title.capitalize())} against {plain(x.title)}**")
    event = st.altair_chart(
        charts.scatter(drawn, x, y, ACCENT[theme()]),
        width="stretch",
        key=f"scatter-{x.column}-{y.column}",
        on_select="rerun",
        alt=f"{y.title} against {x.title} for each neuron",
    )
    part = "" if drawn.height == usable.height else f" {drawn.height:,} of {usable.height:,} neurons, drawn by lot."
    st.caption(plain(f"Each point is a neuron; drag a rectangle to list those within.{part} Ours."))
    rectangle = event.selection.get("chosen") or {}
    return within(usable, rectangle) if rectangle else neurons


def within(neurons: pl.DataFrame, rectangle: dict[str, list[float]]) -> pl.DataFrame:
    """The neurons whose numbers lie within the edges of a rectangle: column -> [lowest, highest]."""
    known = {column: edges for column, edges in rectangle.items() if column in neurons.columns and len(edges) == 2}
    inside = (pl.col(column).is_between(min(edges), max(edges)) for column, edges in known.items())
    return neurons.filter(*inside) if known else neurons


def _number(column: str) -> charts.Number:
    return charts.Number(column, column in LOGARITHMIC)


def _drawable(number: charts.Number) -> pl.Expr:
    return pl.col(number.column) > 0 if number.is_log else pl.col(number.column).is_not_null()


answer(show)
