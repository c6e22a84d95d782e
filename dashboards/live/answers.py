"""Answers that a model gave on a page, kept as long as the warehouse is the same: a click runs a whole page again."""

from collections.abc import Mapping
from typing import Any, TypeVar

import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Unavailable
from neurothek.dashboards.session import desk
from neurothek.dashboards.widgets.memory import State, state
from neurothek.queries.trace.grid import AlongPage, GridPage
from neurothek.queries.trace.switch import SwitchPage
from neurothek.queries.trace.trace import Lens, TracePage

MOST_POSITIONS = 40
"""Positions of a prompt that a grid shows, from its end: more are slow to compute and to read."""

MOST_RAISING = 30
"""Neurons of all layers that raise a token, which a page lists."""

_MOST_ANSWERS = 60

Arguments = Mapping[str, Any]
Answered = TypeVar("Answered")


def grid_of(model: str, prompt: str, *, lens: Lens, corpus: str | None) -> GridPage:
    """What a model predicts after each layer at the last positions of a prompt."""
    arguments = {"model": model, "prompt": prompt, "lens": lens, "corpus": corpus, "most": MOST_POSITIONS}
    return _answered(GridPage, "trace_grid", model, arguments)


def switched_grid_of(model: str, neuron: str, prompt: str, *, value: float) -> GridPage:
    """The same with one neuron of the model set to a value at every position."""
    arguments = {"model": model, "prompt": prompt, "neuron": neuron, "set": value, "most": MOST_POSITIONS}
    return _answered(GridPage, "trace_grid", model, arguments)


def trace_of(
    model: str,
    prompt: str,
    *,
    position: int,
    lens: Lens,
    corpus: str | None,
    token: str | None = None,
    effects: bool = False,
) -> TracePage:
    """How a model builds its prediction at one position."""
    arguments = {"model": model, "prompt": prompt, "position": position, "lens": lens, "corpus": corpus}
    more = {"token": token, "effects": effects, "raising": MOST_RAISING}
    return _answered(TracePage, "trace", model, arguments | more)


def switch_of(model: str, neuron: str, prompt: str, *, value: float, position: int | None) -> SwitchPage:
    """What the next token becomes when one neuron of a model is set to a value."""
    arguments = {"model": model, "prompt": prompt, "neuron": neuron, "set": value, "position": position}
    return _answered(SwitchPage, "switch", model, arguments)


def activations_of(neuron: str, prompt: str) -> AlongPage:
    """One neuron's activation on each token of a prompt."""
    return _answered(AlongPage, "activations", neuron.partition("/")[0], {"neuron": neuron, "prompt": prompt})


def _answered(kind: type[Answered], method: str, model: str, arguments: Arguments) -> Answered:
    with st.spinner(f"Running {model} on the prompt, on this machine; the first run takes a few seconds"):
        try:
            answer = _cached(state(), method, arguments)
        except Unavailable as error:
            if error.what != "weights":
                raise
            # An answer from Python advises an option.
            elsewhere = f"with others: `{_elsewhere(model)}`"
            raise Unavailable(error.message, elsewhere, what=error.what, name=error.name, why=error.why) from error
    assert isinstance(answer, kind)
    return answer


def _elsewhere(model: str) -> str:
    """The command that reads weights from another place: nobody types options on a page."""
    return command_line("trace", model, "PROMPT", "--weights", "PATH")


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _cached(state: State, method: str, arguments: Arguments) -> Any:  # noqa: ANN401 - each method has an answer of its own
    return getattr(desk(), method)(**arguments)
