"""The field that every page has: a word, a prompt, or an address."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field

import streamlit as st

from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.widgets.address import kept_model, start_afresh
from neurothek.dashboards.widgets.page import all_models
from neurothek.queries.names.models import is_address

BOX = "box"
"""Key of the field, which the key / leads to."""

_GOAL = "box_goal"
_LAYER = re.compile(r"(?P<model>[A-Za-z0-9._@+-]+)/[Ll](?P<layer>\d{1,5})", re.ASCII)
_FEWEST_OF_A_PROMPT = 3
"""Words; two are searched for."""
_SHORT = re.compile(r"[Ll]\d{1,5}([Nn]\d{1,9})?", re.ASCII)


@dataclass(frozen=True)
class Goal:
    """Where the box leads."""

    page: str  # name of the page
    parameters: dict[str, str] = field(default_factory=dict)  # what the page is asked for


def goal_of(typed: str, models: Collection[str], model: str | None) -> Goal | None:
    """Where something typed leads; None where nothing was.

    Args:
        typed: one word or two, a prompt of three or more, `model/L3N17`, `model/L3`, `L3N17` or `L3` of the model at
            hand, or a model's name.
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
    if text in models:
        return Goal("model", {"model": text})
    if is_prompt(text):
        return Goal("trace", {"prompt": text} | ({} if model is None else {"model": model}))
    return Goal("search", {"words": text})


def is_prompt(text: str) -> bool:
    """Whether a text is to be continued and not searched for: three words or more, none of them quoted."""
    return len(text.split()) >= _FEWEST_OF_A_PROMPT and not text.startswith(('"', "'"))


def draw_box(*, is_wide: bool = False) -> None:
    """The field; on the first page as wide as the page."""
    st.text_input(
        "Word, prompt or address",
        key=BOX,
        placeholder="A word, a prompt of three words or more, or an address such as model/L3N17 · press /"
        if is_wide
        else "word, prompt, L3N17 · press /",
        label_visibility="collapsed",
        width="stretch" if is_wide else 280,
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
