"""Answers that a model gave on a page, kept as long as the warehouse is the same: a click runs a whole page again."""

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import LimitExceeded, Unavailable
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.memory import State, state
from neurothek.queries.trace.attribution import AttributionPage
from neurothek.queries.trace.grid import AlongPage, GridPage
from neurothek.queries.trace.switch import SwitchPage, TogetherPage
from neurothek.queries.trace.trace import Lens, TracePage

MOST_POSITIONS = 60
"""Positions of a prompt that a grid shows, from its end: more are slow to compute and to read."""

N_DOMINANT = 10
"""Neurons of a cell that are listed."""

CONTINUATION = 20
"""Tokens that a model writes with a neuron switched, where its context has room for them."""

MOST_RAISING = 30
"""Neurons of all layers that raise a token, which a page lists."""

_MOST_ANSWERS = 30
"""Of each kind that are kept."""

ModelAnswer = TypeVar("ModelAnswer")


def grid_of(model: str, prompt: str, *, lens: Lens, corpus: str | None) -> GridPage:
    """Predictions of a model after each layer at the last positions of a prompt."""
    return _answered(model, lambda: _grid(state(), model, prompt, lens=lens, corpus=corpus))


def switched_grid_of(model: str, neuron: str, prompt: str, *, value: float) -> GridPage:
    """The same with one neuron of the model set to a value at every position."""
    return _answered(model, lambda: _grid(state(), model, prompt, neuron=neuron, value=value))


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
    """Trace of how a model builds its prediction at one position."""
    return _answered(
        model,
        lambda: _trace(
            state(), model, prompt, position=position, lens=lens, corpus=corpus, token=token, effects=effects
        ),
    )


def attribution_of(
    model: str,
    prompt: str,
    *,
    toward: str | None,
    instead: str,
    position: int,
    corpus: str | None,
    ablate: bool,
) -> AttributionPage:
    """Effects of a model's neurons on the logit of one token less that of another, at one position of a prompt."""
    return _answered(
        model,
        lambda: _attribution(
            state(), model, prompt, toward=toward, instead=instead, position=position, corpus=corpus, ablate=ablate
        ),
    )


def switch_of(model: str, neuron: str, prompt: str, *, value: float, position: int | None) -> SwitchPage:
    """The next token, and what follows it, when one neuron of a model is set to a value."""
    return _answered(model, lambda: _switch(state(), model, neuron, prompt, value=value, position=position))


def switch_together_of(
    model: str, neurons: tuple[str, ...], prompt: str, *, value: float, position: int | None
) -> TogetherPage:
    """The next token, and what follows it, when several neurons of one model are set to a value."""
    return _answered(model, lambda: _together(state(), model, neurons, prompt, value=value, position=position))


def activations_of(neuron: str, prompt: str) -> AlongPage:
    """One neuron's activation on each token of a prompt."""
    return _answered(neuron.partition("/")[0], lambda: _activations(state(), neuron, prompt))


def _answered(model: str, call: Callable[[], ModelAnswer]) -> ModelAnswer:
    with st.spinner(f"Running {model} on the prompt, on this machine; the first run takes a few seconds"):
        try:
            return call()
        except Unavailable as error:
            if error.what != "weights":
                raise
            # An answer from Python advises an option.
            elsewhere = f"with others: `{_elsewhere(model)}`"
            raise Unavailable(error.message, elsewhere, what=error.what, name=error.name, why=error.why) from error


def _elsewhere(model: str) -> str:
    """The command that reads weights from another place: nobody types options on a page."""
    return command_line("trace", model, "PROMPT", "--weights", "PATH")


# Each is kept under the state of the warehouse, too.


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _grid(
    state: State,
    model: str,
    prompt: str,
    *,
    neuron: str | None = None,
    value: float = 0.0,
    lens: Lens = "id",
    corpus: str | None = None,
) -> GridPage:
    return backend().trace_grid(
        model,
        prompt,
        dominant=0 if neuron else N_DOMINANT,
        most=MOST_POSITIONS,
        neuron=neuron,
        set=value,
        lens=lens,
        corpus=corpus,
    )


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _trace(
    state: State,
    model: str,
    prompt: str,
    *,
    position: int,
    lens: Lens,
    corpus: str | None,
    token: str | None,
    effects: bool,
) -> TracePage:
    return backend().trace(
        model,
        prompt,
        position=position,
        lens=lens,
        corpus=corpus,
        token=token,
        effects=effects,
        raising=MOST_RAISING,
        sort="direct",
    )


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _attribution(
    state: State,
    model: str,
    prompt: str,
    *,
    toward: str | None,
    instead: str,
    position: int,
    corpus: str | None,
    ablate: bool,
) -> AttributionPage:
    return backend().attribute(
        model,
        prompt,
        toward=toward,
        instead=instead,
        position=position,
        top=MOST_RAISING,
        corpus=corpus,
        ablate=ablate,
    )


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _switch(state: State, model: str, neuron: str, prompt: str, *, value: float, position: int | None) -> SwitchPage:
    def ask(continuation: int) -> SwitchPage:
        return backend().switch(model, prompt, neuron, set=value, position=position, continuation=continuation)

    try:
        return ask(CONTINUATION)
    except LimitExceeded:
        # The prompt fills the model's context, or is too long for it.
        return ask(0)


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _together(
    state: State, model: str, neurons: tuple[str, ...], prompt: str, *, value: float, position: int | None
) -> TogetherPage:
    def ask(continuation: int) -> TogetherPage:
        return backend().switch_together(
            model, prompt, *neurons, set=value, position=position, continuation=continuation
        )

    try:
        return ask(CONTINUATION)
    except LimitExceeded:
        return ask(0)


@st.cache_data(show_spinner=False, max_entries=_MOST_ANSWERS)
def _activations(state: State, neuron: str, prompt: str) -> AlongPage:
    return backend().activations(neuron, prompt)
