"""The page of one model: all of its neurons in one picture, its layers side by side, and what stands out."""

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.variants import weights_told
from neurothek.dashboards.charts import spread
from neurothek.dashboards.colours import ACCENT
from neurothek.dashboards.parts.distributions import NUMBERS, known_numbers, pick_distribution, pick_scatter, within
from neurothek.dashboards.parts.explore.headlines import model_headline
from neurothek.dashboards.parts.explore.layer_bars import FREQUENCY_BINS_OF_LAYERS, layers_html
from neurothek.dashboards.parts.explore.map_of_neurons import pick_colour, show_map
from neurothek.dashboards.parts.explore.measured_jobs import show_measured
from neurothek.dashboards.parts.explore.striking import show_striking, striking
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.columns import frequency_of
from neurothek.dashboards.widgets.figures import (
    Data,
    data_of,
    data_of_query,
    data_on,
    show_figure,
    show_source,
    title_row,
)
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import answer, heading, missing, theme
from neurothek.dashboards.widgets.pickers import ALONE, pick_corpus, pick_model, say_unknown_model
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import KnownModel
from neurothek.queries.views import contents

DRAWN = 5000
"""Neurons drawn at random for the charts."""

LISTED = (
    *("address", "frequency", "effective_frequency", "kurtosis", "value_norm"),
    *("activation_min", "activation_max", "pole", "top_tokens"),
)
SCORES = ("address", "input_score", "input_other_score", "output_score", "untouched_score", "other_percentile", "pole")
INPUT_SCORE, OUTPUT_SCORE = spread.Number("input_score", is_log=False), spread.Number("output_score", is_log=True)
BARS = "Lengths are relative to the largest of their column. Click a layer to open it."


def show(connection: duckdb.DuckDBPyConnection) -> None:
    """The page from top to bottom."""
    heading("Model")
    model, corpus = _pick(connection)
    with Reading(connection, [model.name], corpus) as reader:
        layers = data_of(reader, "model_layers", {"model": model.name})
        if not layers.frame.is_empty():
            st.markdown(plain(model_headline(layers.frame)))
        _map(model, corpus, is_measured=not layers.frame.is_empty())
        if layers.frame.is_empty():
            what = "The activity of this model has not been measured yet."
            missing(connection, what, [model.name], corpus=corpus)
        else:
            _layers(reader, model.name, layers)
            show_striking(striking(reader, model), examples=_examples(layers.frame))
    st.header("Measured jobs", anchor=False)
    show_measured(connection, model.name, corpus)
    st.caption(plain(summary(connection, model.name)))
    with Reading(connection, [model.name], corpus) as reader:
        if _is_scored(reader, model.name) and _wants("Readers and writers", "readers"):
            _readers_and_writers(reader, model.name)
    if _wants("Distribution of any number over its neurons", "spread"):
        _spread(model, data_on(connection, "model_neurons", {"model": model.name, "n": DRAWN}, corpus))


@st.fragment
def _map(model: KnownModel, corpus: str | None, *, is_measured: bool) -> None:
    """The map, and what colours it: another colour draws nothing else anew."""
    by = pick_colour(model) if is_measured else "kurtosis"

    def draw(connection: duckdb.DuckDBPyConnection) -> None:
        with Reading(connection, [model.name], corpus) as reader:
            show_map(reader, model, by)

    answer(draw)


def summary(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The model's shape in a sentence."""
    rows = contents.models_frame(connection).to_dicts()
    (row,) = [row for row in rows if row["model"] == name]
    tokens = "" if row["training_tokens"] is None else f", trained on {row['training_tokens']:,} tokens"
    weights = weights_told(name, row["variant"], row["source"])
    return (
        f"{row['architecture']}: {row['n_layers']} layers of {row['d_ffn']:,} neurons, width {row['d_model']:,}, "
        f"{row['activation']}, {row['norm_position']}-norm, {row['position_encoding']} positions, "
        f"{row['n_parameters']:,} parameters ({row['size']:,} without embeddings){tokens}"
        f"{f', {weights}' if weights else ''}."
    )


def _pick(connection: duckdb.DuckDBPyConnection) -> tuple[KnownModel, str | None]:
    say_unknown_model(connection)
    with st.container(horizontal=True, gap="small"):
        model = pick_model(connection, width=ALONE, is_said=True)
        return model, pick_corpus(connection, [model.name], width=300)


def _layers(reader: Reading, name: str, layers: Data) -> None:
    bins = data_of_query(reader, "frequency_bins_of_layers", FREQUENCY_BINS_OF_LAYERS, {"model": name})
    with title_row(layers.name):
        st.markdown("**Layer by layer**")
        show_source(layers)
    links = {"model": name, **({} if reader.corpus is None else {"corpus": reader.corpus})}
    st.html(layers_html(layers.frame, bins.frame, ACCENT[theme()], links))
    seen = layers.frame.get_column("n_tokens_seen")[0]
    corpus = spoken_corpus(layers.frame.get_column("corpus")[0])
    text = f"On the {seen:,} tokens seen of {corpus}; frequencies from 0.01% to 100%."
    st.caption(plain(f"{text} {BARS}"))


def _examples(layers: pl.DataFrame) -> int | None:
    counts = layers.get_column("n_examples").drop_nulls()
    return None if counts.is_empty() else int(counts[0])


def _wants(label: str, key: str) -> bool:
    """Whether a part of the page that takes a while was asked for."""
    is_wanted = st.toggle(label, value=address_value(key) == "yes", key=key)
    remember(**{key: "yes" if is_wanted else None})
    return is_wanted


_SCORED = "select count(output_score) > 0 as is_scored from neurons where model = $model"


def _is_scored(reader: Reading, name: str) -> bool:
    return bool(data_of_query(reader, "is_scored", _SCORED, {"model": name}).frame.item())


def _readers_and_writers(reader: Reading, name: str) -> None:
    data = data_of(reader, "readers_and_writers", {"model": name})
    if data.frame.is_empty():
        st.caption("Input scores need the strongest contexts of these neurons, which were not measured on this corpus.")
        return
    neurons = data.frame
    drawn = spread.sample(neurons)
    selected = show_figure(
        "Readers and writers",
        lambda theme: spread.scatter(drawn, INPUT_SCORE, OUTPUT_SCORE, ACCENT[theme]),
        f"{told_of_readers(neurons)} Each point is a neuron; drag a rectangle to list those inside it.",
        data,
        source="Source: Arad et al. 2025; what is compared with chance is this project's.",
        own_legend=True,
        selects=True,
    )
    rectangle = selected.get("chosen") or {}
    chosen = within(neurons, rectangle) if rectangle else neurons.filter("is_reader", "is_writer")
    kind = "inside it" if rectangle else "that read and write their tokens"
    st.header(f"{chosen.height:,} neurons {kind}", anchor=False)
    tables.link_to_neurons(chosen, SCORES, key="readers-neurons", height=280)


def told_of_readers(neurons: pl.DataFrame) -> str:
    """How many neurons read their tokens, write them, and do both.

    Args:
        neurons: rows with is_reader and is_writer.
    """
    readers, writers = neurons.get_column("is_reader"), neurons.get_column("is_writer")
    return (
        f"Of {neurons.height:,} random neurons {readers.sum():,} are strongest at tokens that they promote more often"
        f" than the lists of other neurons are. Once turned up, {writers.sum():,} make the model say theirs, more than"
        f" 95% of other lists, as 6% would by chance; {(readers & writers).sum():,} do both."
    )


@st.fragment
def _spread(model: KnownModel, data: Data) -> None:
    """Two charts of numbers that the person picks; another number draws nothing else anew."""
    columns = known_numbers(data.frame, NUMBERS)
    if not columns:
        return
    n_neurons = model.n_layers * model.d_ffn
    part = f" {data.frame.height:,} of its {n_neurons:,} neurons, drawn at random." if n_neurons > DRAWN else ""
    left, right = st.columns(2, gap="medium")
    with left:
        pick_distribution(data, columns, part)
    with right:
        chosen = pick_scatter(data, columns)
    if chosen.height == data.frame.height:
        return
    st.header(f"{chosen.height:,} neurons", anchor=False)
    tables.link_to_neurons(chosen, LISTED, key="neurons", height=420, frequency=frequency_of(model))


answer(show)
