"""The page's address: what it asks for, and what a person chose, so that it can be reloaded and sent."""

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import streamlit as st

from dashboards.widgets.html import plain

Known = TypeVar("Known", str, int)


_LARGEST = 2**53 - 1
"""The largest number to which a browser counts exactly."""


def asked(name: str) -> str | None:
    """A value of the page's address, or None."""
    value = st.query_params.get(name)
    return value or None


def asked_among(name: str, known: Iterable[Known], *, is_silent: bool = False) -> Known | None:
    """The one of these that the page's address names; a warning says where it names another."""
    wanted = asked(name)
    if wanted is None:
        return None
    among_known = {str(one): one for one in known}.get(wanted)
    if among_known is None and not is_silent:
        _say_unknown(name, [wanted])
    return among_known


def asked_models(known: Collection[str]) -> list[str]:
    """Those of these models that the page's address lists; a warning says where it lists others."""
    wanted = [name for name in (asked("models") or "").split(",") if name]
    _say_unknown("model", [name for name in wanted if name not in known])
    return [name for name in wanted if name in known]


def _say_unknown(what: str, names: Sequence[str]) -> None:
    if names:
        st.warning(plain(f"The address asks for an unknown {what}: {', '.join(names)}."))


def asked_number(name: str, *, least: int = 0, most: int = _LARGEST) -> int | None:
    """A whole number of the page's address, brought between the bounds; None where it holds none."""
    typed = asked(name) or ""
    if not typed.isdecimal():
        return None
    digits = typed.lstrip("0") or "0"
    # Python reads no numbers of thousands of digits.
    return most if len(digits) > len(str(most)) else min(most, max(least, int(digits)))


def remember(**values: str | None) -> None:
    """Put values into the page's address, so that it can be reloaded and sent; None takes one out."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]
