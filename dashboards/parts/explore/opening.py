"""Neurons that a click on a drawing opens."""

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from neurothek.dashboards.addresses import script_of


def open_chosen(selected: Mapping[str, Any], known: Iterable[str]) -> None:
    """Open the page of the neuron that was clicked, if one was.

    Args:
        selected: what is selected on a drawing, see `show_figure`: its selection "chosen" is by address.
        known: the addresses that are drawn; a selection may be older than they are.
    """
    address = chosen_address(selected, known)
    if address is not None:
        # Streamlit writes the new parameters into this page's address before it leaves, see `tables.link_to_neurons`.
        st.switch_page(script_of("neuron"), query_params={**st.query_params.to_dict(), "neuron": address})


def chosen_address(selected: Mapping[str, Any], known: Iterable[str]) -> str | None:
    """The address that is selected, if it is one of those that are drawn."""
    places = selected.get("chosen") or []
    wanted = [place.get("address") for place in places if isinstance(place, Mapping)]
    among = set(known)
    return next((address for address in wanted if address in among), None)
