"""The shelf: neurons that a person keeps while looking around, in the session and in the first page's address."""

import duckdb
import polars as pl
import streamlit as st

from neurothek.catalog.spelling import marked_label
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import address_value, remember
from neurothek.dashboards.widgets.figures import data_of_query, show_source, title_row
from neurothek.queries.names.models import is_address

NEURONS_OF_SHELF = """\
-- The neurons of the shelf.
select
    neurons.address,
    neurons.frequency,
    neurons.effective_frequency,
    neurons.pole,
    labels.label,
    neurons.corpus,
from neurons
inner join neuron_labels as labels
    on labels.model = neurons.model and labels.layer = neurons.layer and labels.neuron = neurons.neuron
where list_contains($addresses::varchar[], neurons.address)
order by list_position($addresses::varchar[], neurons.address)"""

MOST = 200
"""Neurons that a shelf holds: an address of more is too long for some programs."""

_SHELF = "shelf"


def addresses_on_shelf() -> list[str]:
    """Addresses of the neurons that are kept, in the order in which they were put there."""
    return list(st.session_state.get(_SHELF, []))


def show_keeping(address: str) -> None:
    """A button that puts a neuron on the shelf, or takes it off.

    Args:
        address: the neuron.
    """
    is_there = address in addresses_on_shelf()
    st.button(
        "On the shelf" if is_there else "Keep",
        key="keep",
        help="Take it off the shelf." if is_there else "Put it on the shelf, which the page Ask shows.",
        on_click=_turn,
        args=(address,),
    )


def fill_from_address() -> None:
    """Put the neurons that the address names on the shelf: somebody sent it."""
    named = [one for one in (address_value(_SHELF) or "").split(",") if is_address(one)]
    if named:
        st.session_state[_SHELF] = list(dict.fromkeys([*addresses_on_shelf(), *named]))[:MOST]


def show_shelf(connection: duckdb.DuckDBPyConnection) -> None:
    """The neurons that are kept, with their labels, to open, to take along, or to go on with in SQL.

    Args:
        connection: a reader.
    """
    addresses = addresses_on_shelf()
    remember(shelf=",".join(addresses) or None)
    if not addresses:
        return
    data = data_of_query(connection, "shelf", NEURONS_OF_SHELF, {"addresses": addresses})
    with title_row(data.name):
        st.markdown("**Shelf**", help="Neurons that you keep. The address of this page holds them and can be sent.")
        show_source(data)
    if n_gone := len(addresses) - data.frame.height:
        st.caption(f"{n_gone:,} of {len(addresses):,} neurons are not in this warehouse.")
    if not data.frame.is_empty():
        readable = pl.col("label").map_elements(marked_label, pl.String)
        tables.link_to_neurons(data.frame.with_columns(readable), data.frame.columns, key="shelved", height=420)
    st.button("Clear the shelf", type="tertiary", on_click=_clear)


def _turn(address: str) -> None:
    addresses = addresses_on_shelf()
    if address in addresses:
        addresses.remove(address)
    elif len(addresses) < MOST:
        addresses.append(address)
    st.session_state[_SHELF] = addresses


def _clear() -> None:
    st.session_state[_SHELF] = []
    remember(shelf=None)
