"""The page of one model: what was measured, its layers side by side, and how its neurons spread over any numbers."""

import duckdb
import streamlit as st

from catalog.terminal.cells import MISSING
from dashboards.addresses import script_of
from dashboards.parts.distributions import NUMBERS, known_numbers, pick_distribution, pick_scatter
from dashboards.widgets import tables
from dashboards.widgets.columns import columns
from dashboards.widgets.figures import data_of, data_on, show_source
from dashboards.widgets.html import plain
from dashboards.widgets.page import answer, heading, missing
from dashboards.widgets.pickers import corpora_of, pick_corpus, pick_model
from dashboards.widgets.reading import Reading
from queries.names.models import KnownModel, choose_models
from queries.views import contents

DRAWN = 5000
"""Neurons drawn at random for the charts."""

LISTED = ("address", "frequency", "is_dead", "kurtosis", "value_norm", "activation_max", "top_tokens")


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Model")
    model, corpus = _pick(connection)
    st.markdown(plain(summary(connection, model.name)))
    _layers(connection, model.name, corpus)
    data = data_on(connection, "model_neurons", {"model": model.name, "n": DRAWN}, corpus)
    known = known_numbers(data.frame, NUMBERS)
    if not known:
        missing(connection, "Nothing was measured for this model yet.", [model.name], jobs=("projections",))
        return
    n_neurons = model.n_layers * model.d_ffn
    part = f" {data.frame.height:,} of its {n_neurons:,} neurons, drawn at random." if n_neurons > DRAWN else ""
    left, right = st.columns(2, gap="medium")
    with left:
        pick_distribution(data, known, part)
    with right:
        chosen = pick_scatter(data, known)
    st.subheader(f"{chosen.height:,} neurons", anchor=False)
    tables.link_to_neurons(chosen, LISTED, key="neurons", height=420)


def summary(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The model's shape and what was measured of it, in sentences."""
    rows = contents.models_frame(connection).to_dicts()
    (row,) = [row for row in rows if row["model"] == name]
    tokens = "" if row["training_tokens"] is None else f", trained on {row['training_tokens']:,} tokens"
    return (
        f"{row['architecture']}: {row['n_layers']} layers of {row['d_ffn']:,} neurons, width {row['d_model']:,}, "
        f"{row['activation']}, {row['norm_position']}-norm, {row['position_encoding']} positions, "
        f"{row['n_parameters']:,} parameters ({row['size']:,} without embeddings){tokens}. "
        f"Measured: {', '.join(row['jobs'] or ['nothing'])}."
    )


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[KnownModel, str | None]:
    several = len(corpora_of(connection, [model.name for model in choose_models(connection)])) > 1
    wide, narrow = st.columns([4, 1]) if several else (st.container(), st.container())
    with wide:
        model = pick_model(connection)
    with narrow:
        return model, pick_corpus(connection, [model.name])


def _layers(connection: duckdb.DuckDBPyConnection, name: str, corpus: str | None) -> None:
    with Reading(connection, [name], corpus) as reader:
        data = data_of(reader, "model_layers", {"model": name})
    if data.frame.is_empty():
        missing(connection, "No text was run through this model yet.", [name], corpus=corpus)
        return
    st.subheader("Layers", anchor=False)
    shown = tables.shown(data.frame.drop("depth", "corpus"), keep=("layer",))
    event = st.dataframe(
        tables.with_percents(shown),
        column_config=columns(),
        placeholder=MISSING,
        hide_index=True,
        key=f"layers-{name}-{corpus}",
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
    )
    seen = data.frame.get_column("n_tokens_seen")[0]
    told = f"Dead: never active on the {seen:,} tokens seen of {data.frame.get_column('corpus')[0]}."
    st.caption(plain(f"{told} Click a row to open its layer."))
    show_source(data)
    place = tables.chosen_row(event.selection)
    if place is not None and place < data.frame.height:
        layer = data.frame.get_column("layer")[place]
        chosen = {} if corpus is None else {"corpus": corpus}
        st.switch_page(script_of("layer"), query_params={"model": name, "layer": str(layer), **chosen})


answer(show)
