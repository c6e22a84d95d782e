"""The page that traces a prompt through a model: what each layer predicts at each token, and which neurons matter."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.spelling import quoted
from neurothek.dashboards.live.answers import MOST_POSITIONS, attribution_of, grid_of, switch_of, trace_of
from neurothek.dashboards.live.cell import SOURCE, WRITES, Order, cell_data
from neurothek.dashboards.live.inspected import inspected_data
from neurothek.dashboards.live.instrument import say_legend, show_instrument
from neurothek.dashboards.live.switch import asked_value, try_traced
from neurothek.dashboards.live.try_neuron import EXAMPLES, show_examples
from neurothek.dashboards.parts.muted import muted_of
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.address import (
    address_value,
    asked_among,
    asked_place,
    keep_asked,
    own_key,
    remember,
    start_afresh,
)
from neurothek.dashboards.widgets.columns import GATE_OPEN, Frequency, frequency_of
from neurothek.dashboards.widgets.figures import show_files, title_row
from neurothek.dashboards.widgets.html import plain, prose, table_html
from neurothek.dashboards.widgets.page import all_models, heading, show_errors
from neurothek.dashboards.widgets.pickers import pick_corpus, pick_model
from neurothek.queries.names.models import choose_models
from neurothek.queries.trace.grid import GridPage
from neurothek.queries.trace.switch import SwitchPage
from neurothek.queries.trace.trace import Lens, TracePage
from neurothek.queries.views.contents import models_frame

_ALONE = ""
"""The choice of no second model."""

RAISING = (
    *("address", "coefficient", "direct", "centred", "token_rank", "share", "probability_off", "change_off"),
    *("logit_off", "writes"),
)
RAISES = (
    "Adds: to the token's logit, less the mean over all tokens, which changes no prediction: activation times value "
    "vector times unembedding through the final norm, whose divisor is held; centred score: the same before the final "
    "norm; rank: of the token among all tokens in what the neuron promotes. Off: that neuron alone set to 0 at every "
    "position. Scores: Geva et al. 2022, section 5; the rest: this project."
)

EFFECTS = ("address", "relevance", "direct", "ablated", "coefficient", "writes")
INSTEAD = (
    "Neurons by their effect on the logit of the token less that of this one. Relevance: activations at all positions "
    "times the gradient, norms and attention held (RelP); direct: what the neuron adds at this "
    "position itself; ablated: what the difference loses with the neuron alone set to 0 at every position."
)


@dataclass(frozen=True)
class Choice:
    """What is asked of a model."""

    model: str  # its name
    side: str  # what follows `layer` and `position` in the address: of the second model a 2
    prompt: str  # the text
    lens: Lens  # what states are read through
    corpus: str | None  # the corpus of facts and matrices; None: the shown one


@dataclass(frozen=True)
class Seen:
    """A grid, and the cell of it that is looked at."""

    choice: Choice
    grid: GridPage
    position: int
    layer: int


def show() -> None:
    """The page from top to bottom."""
    heading("Trace")
    with show_errors():
        if choices := _choices():
            _instruments(choices)


@st.fragment
def _instruments(choices: list[Choice]) -> None:
    """The grids with their chosen cells, and what depends on these: a click runs this part of the page alone."""
    with show_errors():
        seen: list[Seen] = []
        for column, choice in zip(st.columns(len(choices), gap="large"), choices, strict=True):
            with column, show_errors():
                seen.append(_look(choice, seen[0] if seen else None))
        if not seen:
            return
        say_legend(seen[0].grid)
        keep_asked("prompt", model=seen[0].choice.model, prompt=seen[0].choice.prompt)
        cells = [(one.position, _acting(one)) for one in seen]
        try_traced(seen[0].choice.prompt, cells, {one.choice.model: one.grid for one in seen})
        _raising(seen)


def _choices() -> list[Choice]:
    """What is asked of one model, or of two; none without a prompt."""
    wide, first, second, third = st.columns([4, 2, 2, 2], vertical_alignment="bottom")
    # The lease ends before the model runs, which takes longer than a publisher should wait.
    with backend().warehouse.reader() as connection:
        with first:
            before = address_value("model")
            model = pick_model(connection).name
            _forget_cell("", before, model)
        others = [one.name for one in choose_models(connection) if one.name != model]
        with second:
            beside = _pick_second(others)
        models = [model, *([beside] if beside else [])]
        with third:
            corpus = pick_corpus(connection, models)
        jobs = {row["model"]: row["jobs"] or [] for row in models_frame(connection).to_dicts()}
    with wide:
        prompt = _prompt()
    show_examples(_ask_example)
    lens = _lens(is_kept=all("shortcuts" in jobs[one] for one in models))
    return [Choice(name, side, prompt, lens, corpus) for name, side in zip(models, ("", "2"), strict=False) if prompt]


def _pick_second(others: list[str]) -> str | None:
    """The model beside the first, if any."""
    chosen = asked_among("model2", others)
    before = address_value("model2")
    picked = st.selectbox(
        "Beside",
        [_ALONE, *others],
        index=0 if chosen is None else 1 + others.index(chosen),
        key=own_key("model2"),
        format_func=lambda name: "no second model" if name == _ALONE else f"beside it {name}",
        label_visibility="collapsed",
    )
    remember(model2=picked or None)
    _forget_cell("2", before, picked or None)
    return picked or None


def _forget_cell(side: str, before: str | None, model: str | None) -> None:
    """Layers and positions of one model are not those of another."""
    if before not in (None, model):
        remember(**{f"{name}{side}": None for name in ("layer", "position", "inspect")})


def _prompt() -> str:
    prompt = st.text_input(
        "Prompt",
        address_value("prompt") or EXAMPLES[0],
        key=own_key("prompt"),
        placeholder="Type a text, or choose one below",
        label_visibility="collapsed",
    )
    # Positions of one prompt are not those of another.
    _remember_prompt(prompt, is_new=address_value("prompt") not in (None, prompt))
    return prompt


def _ask_example(example: str) -> None:
    _remember_prompt(example, is_new=True)
    start_afresh()


_OF_A_PROMPT = ("layer", "position", "inspect", "layer2", "position2", "inspect2", "switch", "also", "set")
"""What the address has of one prompt alone."""


def _remember_prompt(prompt: str, *, is_new: bool) -> None:
    of_another = dict.fromkeys(_OF_A_PROMPT) if is_new else {}
    remember(prompt=prompt or None, **of_another)


def _lens(*, is_kept: bool) -> Lens:
    """What states are read through; it can be chosen where there are matrices, or where the address asks for them."""
    wants = address_value("lens") == "mat"
    if not (is_kept or wants):
        return "id"
    through = st.toggle(
        "Through linear shortcuts",
        wants,
        key=own_key("lens"),
        help="The prediction from each state through its map to the last one. Din et al. 2023.",
    )
    remember(lens="mat" if through else None)
    return "mat" if through else "id"


def _look(choice: Choice, beside: Seen | None) -> Seen:
    """Draw the grid of a model, and the chosen cell beside it."""
    side = choice.side
    grid = grid_of(choice.model, choice.prompt, lens=choice.lens, corpus=choice.corpus)
    position = _position(grid, side, beside)
    layer = asked_place(f"layer{side}", range(grid.n_layers), what="layer")
    one = Seen(choice, grid, position, grid.settled(position) if layer is None else layer)
    with title_row(f"trace_grid{side}"):
        st.markdown(prose(grid.summary), help=plain(SOURCE))
        show_files(f"trace_grid{side}", grid.cells.join(grid.neurons, on=["layer", "position"], how="left"))
    show_instrument(grid, (one.layer, position), pane=_pane(one), side=side)
    if grid.first:
        last = len(grid.tokens) - 1
        st.caption(f"Positions {grid.first} to {last} of 0 to {last}: the page shows the last {MOST_POSITIONS}.")
    return one


def _pane(one: Seen) -> Mapping[str, Any]:
    """The chosen cell's neurons, and the one of them that is looked into."""
    model = one.choice.model
    order: Order = "adds" if address_value("by") == "adds" else "share"
    pale = muted_of([model])[model].reasons
    traced = _toward(one)
    neurons = None if traced is None else traced.neurons.with_columns(added="direct_token")
    token = None if traced is None else traced.token
    cell = cell_data(
        one.grid,
        one.layer,
        one.position,
        neurons=neurons,
        token=token,
        order=order,
        pale=pale,
        is_gated=_frequency(model) == GATE_OPEN,
    )
    rows = {row["place"]: row for row in cell["rows"]}
    row = rows.get(address_value(f"inspect{one.choice.side}") or "")
    if row is None:
        return cell
    address = f"{model}/{row['place']}"
    inspected = inspected_data(
        address, coefficient=row["coefficient"], corpus=one.choice.corpus, switched=_switched(one, address)
    )
    return {**cell, "inspected": inspected}


def _frequency(name: str) -> Frequency:
    """What the frequencies of a model's neurons are called."""
    return next(frequency_of(model) for model in all_models() if model.name == name)


def _toward(one: Seen) -> TracePage | None:
    """The trace that tells what neurons add to the token that was typed; None where none was, or there is none."""
    token = address_value("token")
    if token is None:
        return None
    try:
        return _traced(one, token, effects=False)
    except NeurothekError:
        # Below it is said of the field.
        return None


def _switched(one: Seen, address: str) -> SwitchPage | None:
    """What the address's switch does, if it is this neuron's alone."""
    value = asked_value()
    if value is None or address_value("switch") != address or address_value("also") is not None:
        return None
    try:
        return switch_of(one.choice.model, address, one.choice.prompt, value=value, position=one.position)
    except NeurothekError:
        # Below it is said of the form.
        return None


def _position(grid: GridPage, side: str, beside: Seen | None) -> int:
    """The position that the address asks for; of a second model else that of the first, if the tokens are the same."""
    last = len(grid.tokens) - 1
    asked_for = asked_place(f"position{side}", range(grid.first, last + 1), what="position")
    if asked_for is not None:
        return asked_for
    is_same = beside is not None and beside.grid.tokens == grid.tokens
    return beside.position if beside is not None and is_same else last


def _raising(seen: list[Seen]) -> None:
    """The neurons of all layers that raise a token most, or raise it above another, and on request without each.

    Without a request nothing runs: those of the grid stand beside it.
    """
    st.header("Neurons of all layers that raise a token", anchor=False, help=plain(RAISES))
    left, middle, right = st.columns([2, 2, 4], vertical_alignment="bottom")
    switches = right.container(horizontal=True, gap="medium")
    token = left.text_input(
        "Token",
        address_value("token") or "",
        key=own_key("token"),
        placeholder="the predicted one",
        help="·school is ' school'.",
    )
    instead = middle.text_input(
        "Instead of",
        address_value("instead") or "",
        key=own_key("instead"),
        placeholder="any other",
        help=plain(INSTEAD),
    )
    effects = switches.toggle(
        "Switch the first off, one by one",
        address_value("effects") == "off",
        key=own_key("effects"),
        help="Runs the model once more for each, ten of those that raise a token, fifty of those that raise it above "
        "another, and shows what is left without it.",
    )
    is_whole = switches.toggle(
        "All neurons, every layer",
        address_value("whole") == "yes",
        key=own_key("whole"),
        help="Runs the model on the position: all neurons instead of the ten dominant of each layer, and below them "
        "what each layer predicts.",
    )
    remember(
        token=token or None,
        instead=instead or None,
        effects="off" if effects else None,
        whole="yes" if is_whole else None,
    )
    for column, one in zip(st.columns(len(seen), gap="large"), seen, strict=True):
        with column, show_errors():
            if instead:
                _show_attribution(one, token or None, instead, ablate=effects)
            elif token or effects or is_whole:
                _show_raising(_traced(one, token or None, effects=effects), one.choice.side)
    if is_whole:
        for one in seen:
            with show_errors():
                _every_layer(one)


def _traced(one: Seen, token: str | None, *, effects: bool = False) -> TracePage:
    """The trace of the chosen cell's position."""
    choice = one.choice
    return trace_of(
        choice.model,
        choice.prompt,
        position=one.position,
        lens=choice.lens,
        corpus=choice.corpus,
        token=token,
        effects=effects,
    )


def _show_attribution(one: Seen, toward: str | None, instead: str, *, ablate: bool) -> None:
    """The neurons of all layers by their effect on the difference of two logits."""
    choice, side = one.choice, one.choice.side
    page = attribution_of(
        choice.model,
        choice.prompt,
        toward=toward,
        instead=instead,
        position=one.position,
        corpus=choice.corpus,
        ablate=ablate,
    )
    with title_row(f"trace_attribution{side}"):
        title = f"{page.model}: {quoted(page.toward)} instead of {quoted(page.instead or '')}"
        st.markdown(f"**{prose(title)}**", help=plain(INSTEAD))
        show_files(f"trace_attribution{side}", page.neurons)
    st.caption(prose(page.summary))
    columns = [name for name in EFFECTS if name != "ablated" or ablate]
    tables.link_to_neurons(page.neurons, columns, key=f"attribution{side}", height=420)


def _show_raising(page: TracePage, side: str) -> None:
    traced = page.traced
    percent = f"{100 * traced.raised_probability:.1f}%"
    with title_row(f"trace_raising{side}"):
        title = f"{page.model}: {quoted(page.raised)} ({percent}) at position {traced.position}"
        st.markdown(f"**{prose(title)}**", help=plain(f"Promotes: {WRITES}.") if page.is_signed else None)
        show_files(f"trace_raising{side}", page.raising)
    if page.raising.is_empty():
        st.caption("No neuron adds more to it than to the mean token.")
        return
    tables.link_to_neurons(page.raising, RAISING, key=f"raising{side}", height=420)


def _acting(one: Seen) -> list[str]:
    """Dominant neurons of the cell whose coefficient is not 0: the one that is looked into, then what adds most."""
    neurons = one.grid.neurons.filter(
        (pl.col("layer") == one.layer) & (pl.col("position") == one.position) & (pl.col("coefficient") != 0)
    )
    addresses = list(neurons.sort("direct_final", descending=True).get_column("address"))
    inspected = f"{one.choice.model}/{address_value(f'inspect{one.choice.side}')}"
    return sorted(addresses, key=lambda address: address != inspected)


def _every_layer(one: Seen) -> None:
    """The layers, and the states where there are any, at the position that is looked at."""
    page, side = _traced(one, None), one.choice.side
    with st.expander(f"Every layer of {plain(page.model)} at position {one.position}"):
        st.markdown(prose(page.summary))
        for section in (one for one in page.sections() if one.title in ("layers", "states")):
            name = f"trace_{section.title}{side}"
            with title_row(name):
                st.markdown(f"**{section.title.capitalize()}**", help=plain(f"{section.remark}."))
                show_files(name, page.layers if section.title == "layers" else page.states)
            tokens = [column for column in section.frame.columns if column.startswith("tokens ")]
            st.html(table_html(section.frame, tokens=tokens))
        with title_row(f"trace_neurons{side}"):
            st.caption("The ten dominant neurons of every layer, with their scores and frequencies, to take along.")
            show_files(f"trace_neurons{side}", page.neurons)


show()
