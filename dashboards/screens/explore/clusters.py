"""The page of clusters of value vectors: how large and how tight they are, and which tokens their neurons share."""

import duckdb
import polars as pl
import streamlit as st

from catalog.terminal.cells import MISSING
from dashboards.charts import spread
from dashboards.colours import ACCENT
from dashboards.widgets import tables
from dashboards.widgets.address import asked, asked_among, remember
from dashboards.widgets.columns import columns
from dashboards.widgets.figures import Draw, data_of, show_figure, show_source
from dashboards.widgets.html import plain
from dashboards.widgets.page import answer, heading, missing
from dashboards.widgets.pickers import pick_model

LISTED = (
    "cluster_id",
    "cluster_size",
    "n_layers",
    "first_layer",
    "last_layer",
    "cohesion",
    "shared_tokens",
    "top_share",
)
MEMBERS = ("address", "centre_cosine", "top_tokens")
SIZES = (
    "Clusters of the shown clustering by their number of neurons. Agglomerative clustering by cosine: Geva et al. "
    "2022, section 5.2; complete linkage and the number of clusters are this project's."
)
COHESION = "Clusters of at least two neurons, by the mean cosine of their pairs of value vectors. Source: this project."


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Clusters")
    asked_of = asked("model")
    model = pick_model(connection).name
    if asked_of not in (None, model):
        # Clusters of two models have nothing but their numbers in common.
        remember(cluster=None)
    data = data_of(connection, "clusters", {"model": model})
    if data.frame.is_empty():
        missing(connection, "The neurons of this model were not clustered yet.", [model], jobs=("clusters",))
        return
    told = data.frame.row(0, named=True)
    st.markdown(plain(f"{told['n_clusters']:,} clusters of {data.frame.get_column('size').sum():,} neurons."))
    left, right = st.columns(2, gap="medium")
    for column, name, title, caption in (
        (left, "size", "Clusters by size", SIZES),
        (right, "cohesion", "Clusters by cohesion", COHESION),
    ):
        with column:
            number = spread.Number(name, is_log=name == "size")
            bins = spread.binned(data.frame.get_column(name), is_log=number.is_log)
            if not bins.is_empty():
                shown = data.showing(f"clusters_by_{name}")
                show_figure(title, _histogram(bins, number), caption, shown)
    _list(connection, model, data.frame)


def _histogram(bins: pl.DataFrame, number: spread.Number) -> Draw:
    return lambda theme: spread.histogram(bins, number, ACCENT[theme], counted="clusters")


def _list(connection: duckdb.DuckDBPyConnection, model: str, clusters: pl.DataFrame) -> None:
    st.subheader("Clusters", anchor=False)
    event = st.dataframe(
        tables.with_percents(tables.shown(clusters.rename({"size": "cluster_size"}).select(LISTED), keep=LISTED)),
        column_config=columns(),
        placeholder=MISSING,
        hide_index=True,
        # What was chosen among one model's clusters is not chosen among another's.
        key=f"clusters-{model}",
        on_select="rerun",
        selection_mode=["single-row", "single-cell"],
        height=360,
    )
    st.caption("Click a row to list its neurons.")
    place = tables.chosen_row(event.selection)
    known = clusters.get_column("cluster_id").to_list()
    chosen = known[place] if place is not None and place < clusters.height else asked_among("cluster", known)
    if chosen is None:
        return
    remember(cluster=str(chosen))
    which = {"model": model, "clustering_id": clusters.get_column("clustering_id")[0]}
    data = data_of(connection, "cluster_neurons", {**which, "cluster_id": chosen})
    st.subheader(f"Neurons of cluster {chosen}", anchor=False)
    tables.link_to_neurons(data.frame, MEMBERS, key=f"members-{chosen}", height=420)
    show_source(data)


answer(show)
