"""The page's address: what it asks for, and what a person chose, so that it can be reloaded and sent."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

import streamlit as st

from neurothek.dashboards.widgets.html import plain

Option = TypeVar("Option", str, int)


_LAST_PLACE, _LAST_ASKED, _TURN = "kept_place", "last_asked", "turn"
_PLACE = re.compile(r"[Ll](?P<layer>\d{1,5})[Nn](?P<neuron>\d{1,9})", re.ASCII)

_LARGEST = 2**53 - 1
"""The largest number to which a browser counts exactly."""


def address_value(name: str) -> str | None:
    """A value of the page's address, or None."""
    value = st.query_params.get(name)
    return value or None


def asked_among(name: str, options: Iterable[Option], *, is_silent: bool = False) -> Option | None:
    """The one of these that the page's address names; a warning says where it names another."""
    value = address_value(name)
    if value is None:
        return None
    among_known = {str(one): one for one in options}.get(value)
    if among_known is None and not is_silent:
        _say_unknown(name, [value])
    return among_known


def asked_models(models: Collection[str]) -> list[str]:
    """Those of these models that the page's address lists; a warning says where it lists others."""
    names = [name for name in (address_value("models") or "").split(",") if name]
    _say_unknown("model", [name for name in names if name not in models])
    return [name for name in names if name in models]


def _say_unknown(what: str, names: Sequence[str]) -> None:
    if names:
        st.warning(plain(f"The address has an unknown {what}: {', '.join(names)}."))


def asked_number(name: str, *, least: int = 0, most: int = _LARGEST) -> int | None:
    """A whole number of the page's address, brought between the bounds; None where it holds none."""
    typed = address_value(name) or ""
    if not typed.isdecimal():
        return None
    digits = typed.lstrip("0") or "0"
    # Python reads no numbers of thousands of digits.
    return most if len(digits) > len(str(most)) else min(most, max(least, int(digits)))


def asked_place(name: str, places: range, *, what: str = "") -> int | None:
    """The one of these places, as layers or positions, that the page's address names; a warning where it names another.

    Args:
        name: of the value in the address.
        places: those that there are.
        what: how people call it; empty: as the address does.
    """
    value = address_value(name)
    if value is None:
        return None
    place = asked_number(name)
    if place is None or place not in places:
        _say_unknown(what or name, [value])
        return None
    return place


def address_parts(asked_for: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    """The model, the layer and the neuron that an address is about; None for what it does not name."""
    model, _, place = asked_for.get("neuron", "").rpartition("/")
    if model and (named := _PLACE.fullmatch(place)):
        return model, named["layer"], named["neuron"]
    return asked_for.get("model") or None, asked_for.get("layer") or None, None


def keep_place() -> None:
    """Keep what this page is about, for the pages that are opened next and name nothing else."""
    model, layer, neuron = address_parts(st.query_params.to_dict())
    if model is None:
        return
    if model != kept_model():
        # The layers of one model are not those of another.
        st.session_state[_LAST_PLACE] = {"model": model}
    if layer is not None:
        st.session_state[_LAST_PLACE]["layer"] = layer
    if neuron is not None:
        st.session_state[_LAST_PLACE]["neuron"] = address_value("neuron")


def kept_model() -> str | None:
    """The model that the page before was about."""
    return _kept_place("model")


def kept_layer(model: str) -> str | None:
    """The layer that a page before was about, if it was one of this model."""
    return _kept_place("layer") if kept_model() == model else None


def kept_neuron() -> str | None:
    """Address of the neuron that a page before was about, if no page was about another model since."""
    return _kept_place("neuron")


def _kept_place(name: str) -> str | None:
    value: str | None = st.session_state.get(_LAST_PLACE, {}).get(name)
    return value


def keep_asked(kind: Literal["prompt", "words"], **parameters: str) -> None:
    """Keep what was asked last, a prompt of a model or words, for the first page."""
    st.session_state.setdefault(_LAST_ASKED, {})[kind] = parameters


def last_asked(kind: Literal["prompt", "words"]) -> dict[str, str] | None:
    """The parameters of the page that was asked about a prompt, or about words, last; None before any was."""
    parameters: dict[str, str] | None = st.session_state.get(_LAST_ASKED, {}).get(kind)
    return parameters


def own_key(name: str) -> str:
    """Key of a field whose value stands in the address: another one after each `start_afresh`."""
    turn = st.session_state.get(_TURN, 0)
    return f"{name}-{turn}" if turn else name


def start_afresh() -> None:
    """Have the fields take their values from the address again: Streamlit keeps a field's value by its key."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1


def remember(**values: str | None) -> None:
    """Put values into the page's address, so that it can be reloaded and sent; None takes one out."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
