"""The box on every page: a word leads to the search, an address to its neuron, its layer or its model."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

import streamlit as st

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.widgets.address import kept_model, start_afresh
from neurothek.dashboards.widgets.warehouse import all_models
from neurothek.queries.names.neurons import is_address

BOX = "box"
"""Key of the field, which the key / leads to."""

_GOAL = "box_goal"
_LAYER = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})", re.ASCII)
_SHORT = re.compile(r"[Ll]\d{1,5}([Nn]\d{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Goal:
    """Where the box leads.

    Attributes:
        page: name of the page.
        parameters: what the page is asked for.
    """

    page: str
    parameters: dict[str, str] = field(default_factory=dict)


def goal_of(typed: str, models: Collection[str], model: str | None) -> Goal | None:
    """Where something typed leads; None where nothing was.

    Args:
        typed: a word or several, `model/L3N17`, `model/L3`, `L3N17` or `L3` of the model at hand, or a model's name.
        models: names of the models that there are.
        model: the model at hand.
    """
    text = typed.strip()
    if not text:
        return None
    if model is not None and _SHORT.fullmatch(text):
        text = f"{model}/{text}"
    if is_address(text):
        return Goal("neuron", {"neuron": text})
    if layer := _LAYER.fullmatch(text):
        return Goal("layer", layer.groupdict())
    return Goal("model", {"model": text}) if text in models else Goal("search", {"words": text})


def draw_box() -> None:
    """The field."""
    st.text_input(
        "Word or address",
        key=BOX,
        placeholder="word or model/L3N17 · press /",
        label_visibility="collapsed",
        width=280,
        on_change=_typed,
    )


def follow_box() -> None:
    """Go where the field leads, if something was typed into it."""
    goal: Goal | None = st.session_state.pop(_GOAL, None)
    if goal is not None:
        st.switch_page(script_of(goal.page), query_params=goal.parameters)


def _typed() -> None:
    st.session_state[_GOAL] = goal_of(st.session_state[BOX], _models(), kept_model())
    st.session_state[BOX] = ""
    # The fields of the page at hand may be those of the page that it leads to.
    start_afresh()


def _models() -> list[str]:
    try:
        return [model.name for model in all_models()]
    except NeurothekError:
        # The page says why; a word is a word without models too.
        return []
