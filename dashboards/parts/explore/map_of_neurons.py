"""The map of a model's neurons, or of a layer's, on a page: a click opens a neuron."""

from collections.abc import Iterable, Mapping
from typing import Any, cast, get_args

import polars as pl
import streamlit as st

from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.charts.maps import neuron_map
from neurothek.dashboards.charts.maps.neuron_map import By
from neurothek.dashboards.parts.explore.promoted import with_promoted_at_pole
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import asked_among, own_key, remember
from neurothek.dashboards.widgets.figures import data_of, show_figure
from neurothek.dashboards.widgets.page import jobs_of_models, missing
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import KnownModel

MOST_TOLD = 60_000
"""Of so many neurons, what each cell promotes is told on hover: of more it would take longer to read than the page."""

_N_TOKENS = 5

SOURCE = "Kinds as in Voita et al. 2023; the map is this project's."


def show_map(reader: Reading, model: KnownModel, by: By, layer: int | None = None) -> None:
    """The map; says what to measure where nothing is known of the neurons.

    Args:
        reader: what the page reads.
        model: whose neurons.
        by: what colours and orders them.
        layer: one of its layers; None: all.
    """
    n_layers = model.n_layers if layer is None else 1
    n_cells = neuron_map.cells_of_a_row(n_layers)
    data = data_of(reader, "neuron_map", {"model": model.name, "layer": layer, "by": by, "n_cells": n_cells})
    if data.frame.is_empty():
        missing(
            reader.shown_connection,
            "Nothing has been measured for this model yet.",
            [model.name],
            jobs=("projections",),
        )
        return
    cells = data.frame
    if not is_known(cells):
        what = "The tokens that the neurons of this model promote have not been measured yet."
        missing(reader.shown_connection, what, [model.name], jobs=("projections",))
        return
    if model.d_ffn * n_layers <= MOST_TOLD:
        cells = with_token_text(with_promoted_at_pole(reader, model, cells))
    chosen = show_figure(
        "All of its neurons",
        lambda theme: neuron_map.neuron_map(cells, by, theme, lacks_zeros=not model.has_exact_zeros),
        caption(by, -(-model.d_ffn // n_cells), has_layers=layer is None, lacks_zeros=not model.has_exact_zeros),
        data.showing("neuron_map", cells),
        source=SOURCE,
        own_legend=True,
        selects=True,
    )
    open_chosen(chosen, cells.get_column("address"))


def is_known(cells: pl.DataFrame) -> bool:
    """Whether anything tells the cells apart: how active their neurons are, or the number that colours them.

    Args:
        cells: rows with kind and number.
    """
    return not cells.filter((pl.col("kind") != "not run on text") | pl.col("number").is_not_null()).is_empty()


def pick_colour(model: KnownModel) -> By:
    """Let the person choose what colours and orders the map of a model; it stands in the address."""
    labels: dict[str, str] = {} if model.has_exact_zeros else {"first firing": "first active"}
    # A gate opens somewhere for nearly every neuron: when it first did tells none apart.
    options: tuple[By, ...] = tuple(by for by in get_args(By) if not (model.is_signed and by == "first firing"))
    usual = usual_colour(model)
    colour = cast("By", asked_among("colour", options, is_silent=True) or usual)
    picked = st.segmented_control(
        "Coloured and ordered by",
        options,
        default=colour,
        key=own_key("colour"),
        format_func=lambda by: str(labels.get(by, by)).capitalize(),
    )
    by = picked or usual
    remember(colour=None if by == usual else by)
    return by


def usual_colour(model: KnownModel) -> By:
    """What colours a map before anybody chose: kinds, where the model has any to tell apart, else how often it fires.

    No neuron of a model without exact zeros is dead, so its kinds are those of n-grams and positions alone.
    """
    measured = {"ngrams", "positions"} & set(jobs_of_models()[model.name])
    return "kind" if model.has_exact_zeros or measured else "frequency"


def caption(by: By, n_held: int, *, has_layers: bool, lacks_zeros: bool = False) -> str:
    """What one sees on the map.

    Args:
        by: what colours it.
        n_held: how many neurons a cell holds at most.
        has_layers: whether it shows more than one layer.
        lacks_zeros: whether no activation of the model is exactly 0.
    """
    each = "a cell is a neuron"
    if n_held > 1:
        each = f"a cell holds up to {n_held:,} neurons and has the rarest kind of them"
    what = f"A row is a layer, {each}" if has_layers else each.capitalize()
    return f"{what}; click one to open it. {neuron_map.order(by, lacks_zeros=lacks_zeros)}"


def with_token_text(cells: pl.DataFrame) -> pl.DataFrame:
    """The cells with the first tokens that their neurons promote in a line, `told`, in place of the list.

    Args:
        cells: rows with top_tokens, and with the pole at which these are promoted.
    """
    at_pole = pl.format(" (at its {} pole)", "pole").fill_null("")
    promotes = tables.marked("top_tokens", pl.List(pl.String))
    return cells.with_columns(pl.col("top_tokens").list.head(_N_TOKENS)).select(
        pl.exclude("top_tokens", "pole"), (promotes + at_pole).alias("told")
    )


def open_chosen(selected: Mapping[str, Any], addresses: Iterable[str]) -> None:
    """Open the page of the neuron that was clicked, if one was.

    Args:
        selected: what is selected on a drawing, see `show_figure`: its selection "chosen" is by address.
        addresses: the addresses that are drawn; a selection may be older than they are.
    """
    address = chosen_address(selected, addresses)
    if address is not None:
        # Streamlit writes the new parameters into this page's address before it leaves, see `tables.link_to_neurons`.
        st.switch_page(script_of("neuron"), query_params={**st.query_params.to_dict(), "neuron": address})


def chosen_address(selected: Mapping[str, Any], addresses: Iterable[str]) -> str | None:
    """The address that is selected, if it is one of those that are drawn."""
    places = selected.get("chosen") or []
    selected_addresses = [place.get("address") for place in places if isinstance(place, Mapping)]
    among = set(addresses)
    return next((address for address in selected_addresses if address in among), None)
