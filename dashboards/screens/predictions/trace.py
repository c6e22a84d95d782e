"""The page that traces a prompt through a model: what each layer predicts at each token, and which neurons matter."""

from dataclasses import dataclass

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import quoted
from neurothek.dashboards.live.answers import MOST_POSITIONS, attribution_of, grid_of, trace_of
from neurothek.dashboards.live.cell import WRITES, Order, show_cell
from neurothek.dashboards.live.switch import try_traced
from neurothek.dashboards.live.token_grid import say_legend, show_grid
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
from neurothek.dashboards.widgets.figures import show_files, title_row
from neurothek.dashboards.widgets.html import plain, table_html
from neurothek.dashboards.widgets.page import beside, heading, show_errors
from neurothek.dashboards.widgets.pickers import pick_corpus, pick_model
from neurothek.queries.names.models import choose_models
from neurothek.queries.trace.grid import GridPage
from neurothek.queries.trace.trace import Lens, TracePage
from neurothek.queries.views.contents import models_frame

_FEW_POSITIONS = 10
"""Those of a grid that leaves room for its chosen cell at its right."""

_ALONE = ""
"""The choice of no second model."""

RAISING = (
    *("address", "coefficient", "centred", "score", "token_rank", "share", "probability_off", "change_off"),
    *("logit_off", "writes"),
)
RAISES = (
    "Score: activation times value vector times unembedding, less its mean over all tokens, which changes no "
    "prediction; raw: with that mean; rank: of the token among all tokens in what the neuron "
    "writes. Off: that neuron alone set to 0 at every position. Scores: Geva et al. 2022, section 5; the rest: this "
    "project."
)


EFFECTS = ("address", "relevance", "direct", "ablated", "coefficient", "writes", "kind")
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
    trace: TracePage
    layer: int


def show() -> None:
    """The page from top to bottom."""
    heading("Trace")
    with show_errors():
        choices = _choices()
        if not choices:
            return
        seen = _one(choices[0]) if len(choices) == 1 else _side_by_side(choices)
        if not seen:
            return
        keep_asked("prompt", model=seen[0].choice.model, prompt=seen[0].choice.prompt)
        _raising(seen)
        cells = [(one.trace.traced.position, _acting(one)) for one in seen]
        try_traced(seen[0].choice.prompt, cells, {one.choice.model: one.grid for one in seen})
        for one in seen:
            _every_layer(one)


def _one(choice: Choice) -> list[Seen]:
    """The grid of one model, and its chosen cell at its right where both have room."""
    seen: list[Seen] = []
    with show_errors():
        # Before the columns are there: their widths depend on how much the grid holds.
        grid = grid_of(choice.model, choice.prompt, lens=choice.lens, corpus=choice.corpus)
        n_positions = len(grid.tokens) - grid.first
        with beside("trace"):
            left, right = st.columns([2, 3], gap="large") if n_positions <= _FEW_POSITIONS else [st.container()] * 2
        with left:
            one = _look(choice, None)
            say_legend(one.grid)
        with right:
            _show_chosen(one, _pick_order())
        seen.append(one)
    return seen


def _side_by_side(choices: list[Choice]) -> list[Seen]:
    """The grids of two models beside each other, and their chosen cells below."""
    seen: list[Seen] = []
    for column, choice in zip(st.columns(len(choices), gap="large"), choices, strict=True):
        with column, show_errors():
            seen.append(_look(choice, seen[0] if seen else None))
    if not seen:
        return []
    say_legend(seen[0].grid)
    order = _pick_order()
    for column, one in zip(st.columns(len(choices), gap="large"), seen, strict=False):
        with column:
            _show_chosen(one, order)
    return seen


def _show_chosen(one: Seen, order: Order) -> None:
    """The chosen cell of a grid."""
    model = one.choice.model
    show_cell(one.trace, one.grid, one.layer, order=order, pale=muted_of([model])[model].reasons)


def _choices() -> list[Choice]:
    """What is asked of one model, or of two; none without a prompt."""
    # The lease ends before the model runs, which takes longer than a publisher should wait.
    with backend().warehouse.reader() as connection:
        first, second, third = st.columns([2, 2, 2], vertical_alignment="bottom")
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
    prompt = _prompt()
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
        format_func=lambda name: "no other model beside it" if name == _ALONE else f"beside it {name}",
        label_visibility="collapsed",
    )
    remember(model2=picked or None)
    _forget_cell("2", before, picked or None)
    return picked or None


def _forget_cell(side: str, before: str | None, model: str | None) -> None:
    """Layers and positions of one model are not those of another."""
    if before not in (None, model):
        remember(**{f"layer{side}": None, f"position{side}": None})


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
    show_examples(_ask_example)
    return prompt


def _ask_example(example: str) -> None:
    _remember_prompt(example, is_new=True)
    start_afresh()


def _remember_prompt(prompt: str, *, is_new: bool) -> None:
    of_another = dict.fromkeys(("layer", "position", "layer2", "position2", "switch", "also", "set")) if is_new else {}
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
    """Draw the grid of a model, and trace the position of its chosen cell."""
    grid = grid_of(choice.model, choice.prompt, lens=choice.lens, corpus=choice.corpus)
    position = _position(grid, choice.side, beside)
    layer = asked_place(f"layer{choice.side}", range(grid.n_layers), what="layer")
    layer = grid.settled(position) if layer is None else layer
    with title_row(f"trace_grid{choice.side}"):
        st.markdown(f"**{plain(choice.model)}**")
        show_files(f"trace_grid{choice.side}", grid.cells)
    st.markdown(plain(grid.summary))
    show_grid(grid, (layer, position), side=choice.side)
    if grid.first:
        last = len(grid.tokens) - 1
        st.caption(f"Positions {grid.first} to {last} of 0 to {last}: the page shows the last {MOST_POSITIONS}.")
    traced = trace_of(choice.model, choice.prompt, position=position, lens=choice.lens, corpus=choice.corpus)
    return Seen(choice, grid, traced, layer)


def _pick_order() -> Order:
    """Which neurons of a cell come first; the address holds it."""
    by_score = st.toggle(
        "Neurons by their contribution to the prediction",
        address_value("by") == "adds",
        key=own_key("by"),
        help="Contribution of each of the ten to the score of the token predicted in the end, less the mean over all "
        "tokens; the largest first.",
    )
    remember(by="adds" if by_score else None)
    return "adds" if by_score else "share"


def _position(grid: GridPage, side: str, beside: Seen | None) -> int:
    """The position that the address asks for; of a second model else that of the first, if the tokens are the same."""
    last = len(grid.tokens) - 1
    asked_for = asked_place(f"position{side}", range(grid.first, last + 1), what="position")
    if asked_for is not None:
        return asked_for
    is_same = beside is not None and beside.grid.tokens == grid.tokens
    return beside.trace.traced.position if beside is not None and is_same else last


def _raising(seen: list[Seen]) -> None:
    """The neurons of all layers that raise a token most, or raise it above another, and on request without each."""
    st.header("Neurons of all layers that raise a token", anchor=False, help=plain(RAISES))
    left, middle, right = st.columns([2, 2, 3], vertical_alignment="bottom")
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
    effects = right.toggle(
        "Switch the first off, one by one",
        address_value("effects") == "off",
        key=own_key("effects"),
        help="Runs the model once more for each, ten of those that raise a token, fifty of those that raise it above "
        "another, and shows what is left without it.",
    )
    remember(token=token or None, instead=instead or None, effects="off" if effects else None)
    for column, one in zip(st.columns(len(seen), gap="large"), seen, strict=True):
        with column, show_errors():
            if instead:
                _show_attribution(one, token or None, instead, ablate=effects)
            else:
                _show_raising(_traced_again(one, token or None, effects=effects), one.choice.side)


def _traced_again(one: Seen, token: str | None, *, effects: bool) -> TracePage:
    choice = one.choice
    return trace_of(
        choice.model,
        choice.prompt,
        position=one.trace.traced.position,
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
        position=one.trace.traced.position,
        corpus=choice.corpus,
        ablate=ablate,
    )
    with title_row(f"trace_attribution{side}"):
        title = f"{page.model}: {quoted(page.toward)} instead of {quoted(page.instead or '')}"
        st.markdown(f"**{plain(title)}**", help=plain(INSTEAD))
        show_files(f"trace_attribution{side}", page.neurons)
    st.caption(plain(page.summary))
    columns = [name for name in EFFECTS if name != "ablated" or ablate]
    tables.link_to_neurons(page.neurons, columns, key=f"attribution{side}", height=420)


def _show_raising(page: TracePage, side: str) -> None:
    traced = page.traced
    percent = f"{100 * traced.raised_probability:.1f}%"
    with title_row(f"trace_raising{side}"):
        title = f"{page.model}: {quoted(page.raised)} ({percent}) at position {traced.position}"
        st.markdown(f"**{plain(title)}**", help=plain(f"Writes: {WRITES}.") if page.is_signed else None)
        show_files(f"trace_raising{side}", page.raising)
    if page.raising.is_empty():
        st.caption("No neuron adds more to it than to the mean token.")
        return
    tables.link_to_neurons(page.raising, RAISING, key=f"raising{side}", height=420)


def _acting(one: Seen) -> list[str]:
    """Dominant neurons of the cell whose coefficient is not 0, those that raise the predicted token most first."""
    neurons = one.trace.neurons.filter((pl.col("layer") == one.layer) & (pl.col("coefficient") != 0))
    return list(neurons.sort("centred_final", descending=True).get_column("address"))


def _every_layer(one: Seen) -> None:
    """The layers, and the states where there are any, at the position that is looked at."""
    page, side = one.trace, one.choice.side
    with st.expander(f"Every layer of {plain(page.model)} at position {page.traced.position}"):
        st.markdown(plain(page.summary))
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
