"""One neuron's switch: turned off, on or to another value for a prompt, and what changes beside random neurons."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import duckdb
import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.spelling import visible
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.live.answers import switch_of, switch_together_of, switched_grid_of
from neurothek.dashboards.live.instrument import show_switched
from neurothek.dashboards.session import backend
from neurothek.dashboards.widgets.address import address_value, own_key, remember
from neurothek.dashboards.widgets.figures import show_drawing, show_files, title_row
from neurothek.dashboards.widgets.html import plain, prose, table_html
from neurothek.dashboards.widgets.memory import cached_answer
from neurothek.dashboards.widgets.page import Theme, show_errors, theme
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import find_neuron
from neurothek.queries.trace.grid import GridPage
from neurothek.queries.trace.switch import SwitchPage, TogetherPage

OFF, ON, OTHER = "off", "on", "another value"
USUAL_ON = 3.0
"""What turns a neuron on of which no activation is known: Geva et al. 2022 turn neurons on by 3."""

_SIZES = """\
-- The largest activations of one neuron of either sign, on the shown corpus, and the sign of the larger one.
select activation_max, activation_min, pole
from neurons
where model = $model and layer = $layer and neuron = $neuron"""

SOURCE = "Turning neurons off and on: Geva et al. 2022, section 6.1; one prompt and random neurons: this project."
_PAPER_WIDTH = 480
CHANGES = "The ten tokens whose probability changes most: before → after."


def on_value(facts: Mapping[str, Any], along: Sequence[float] = ()) -> float:
    """What turns a neuron on: its activation of largest size that is known, to three digits; else `USUAL_ON`.

    Args:
        facts: `activation_max`, `activation_min` and `pole` of the view `neurons`; null where nothing was measured.
        along: its activations on a prompt: of a gated model they tell the sign, and of all what is known where it was
            never active on the corpus.
    """
    is_gated = facts["pole"] is not None
    here = max(along, key=abs, default=0.0)
    # At the other sign a neuron of a gated model writes the other end of its list.
    is_below = here < 0 if is_gated and here else facts["pole"] == "negative"
    measured = facts["activation_min" if is_below else "activation_max"]
    for candidates in ([measured or 0.0], along):
        # Without a gate what lies below 0 is the end of a non-linearity.
        largest = max((m for m in candidates if m > 0 or is_gated), key=abs, default=0.0)
        if largest:
            return float(f"{largest:.3g}")
    return USUAL_ON


def on_value_of(address: str, grid: GridPage) -> float:
    """The same of a neuron of a traced prompt; `USUAL_ON` where there is no such neuron."""
    whole = address if "/" in address else f"{grid.model}/{address}"
    with backend().warehouse.reader() as connection:
        try:
            facts = cached_answer(connection, _sizes, whole)
        except NeurothekError:
            # Below it is said of the form.
            return USUAL_ON
    return on_value(facts, grid.neurons.filter(address=whole).get_column("coefficient").to_list())


def _sizes(connection: duckdb.DuckDBPyConnection, address: str) -> dict[str, Any]:
    neuron = find_neuron(connection, address)
    return records(connection, _SIZES, {"model": neuron.model, "layer": neuron.layer, "neuron": neuron.neuron})[0]


def pick_value(choice: DeltaGenerator, number: DeltaGenerator, *, on: float, is_silent: bool = False) -> float:
    """What a neuron is to be set to: the choice, or the number beside it.

    Args:
        choice: where the choice stands.
        number: where the number stands.
        on: what turns it on.
        is_silent: whether the neuron is known to be off anyway: turning it on is what is offered then.
    """
    values = {OFF: 0.0, ON: on}
    value = asked_value()
    usual = (
        (ON if is_silent else OFF)
        if value is None
        else {number_set: name for name, number_set in values.items()}.get(value, OTHER)
    )
    chosen = choice.segmented_control(
        "Set it to",
        [OFF, ON, OTHER],
        default=usual,
        # What turns another neuron on is another number.
        key=own_key(f"set-{on:g}"),
        format_func=lambda name: f"{name} ({on:g})" if name == ON else name,
        width="stretch",
        help="On: the largest activation of the neuron that is known, or 3.",
    )
    other = number.number_input(
        "Other value",
        value=1.0 if value is None or usual != OTHER else value,
        step=0.5,
        format="%g",
        key=own_key("value"),
        help="The activation, where another value is chosen.",
    )
    return float(other) if chosen == OTHER else values[chosen or OFF]


def asked_value() -> float | None:
    """The value that the address asks for; None where it asks for none."""
    typed = address_value("set")
    try:
        return None if typed is None or not math.isfinite(float(typed)) else float(typed)
    except ValueError:
        return None


def say_no_value() -> None:
    """Say so where the address asks for a value that is none."""
    if address_value("set") is not None and asked_value() is None:
        st.warning(plain(f"The address has an unknown value: {address_value('set')}."))


@st.fragment
def try_traced(prompt: str, cells: Sequence[tuple[int, Sequence[str]]], grids: Mapping[str, GridPage]) -> None:
    """Ask for a neuron of some cells, or any other, and a value, and show what changes at the cell's position.

    Args:
        prompt: the traced prompt.
        cells: of each cell its position and the addresses of the neurons that act there, which are of one model.
        grids: the grid of each model.
    """
    st.header("Switch a neuron off", anchor=False, help=plain(SOURCE))
    acting = [address for _, addresses in cells for address in addresses]
    chosen = address_value("switch")
    options = acting if chosen is None or chosen in acting else [chosen, *acting]
    with st.form("switch", border=False):
        wide, more, *choices, last = st.columns([2.4, 2.4, 3, 1.4, 0.8], vertical_alignment="bottom")
        picked = wide.selectbox(
            "Neuron",
            options,
            index=options.index(chosen) if chosen else 0 if options else None,
            # Neurons of another cell are another choice.
            key=own_key(f"switch-{'-'.join(acting[:1])}-{cells[0][0]}"),
            accept_new_options=True,
            help="One of the neurons above, or any other: type an address such as L3N17.",
        )
        also = more.multiselect(
            "And with it",
            list(dict.fromkeys([*_also(), *acting])),
            _also(),
            key=own_key(f"also-{'-'.join(acting[:1])}-{cells[0][0]}"),
            accept_new_options=True,
            placeholder="no other neuron",
            help="Further neurons of the same model, which are set to the same value together with it.",
        )
        value = pick_value(*choices, on=_on_value(options, chosen, grids))
        if last.form_submit_button("Run", type="primary"):
            others = ",".join(one for one in also if one != picked)
            remember(switch=picked, also=others or None, set=f"{value:g}" if picked else None)
    say_no_value()
    neuron, value_asked = address_value("switch"), asked_value()
    if neuron is None or value_asked is None:
        return
    positions = dict(zip(grids, (position for position, _ in cells), strict=True))
    first, *_ = positions
    named = neuron.partition("/")[0]
    model = named if named in positions else first
    with show_errors():
        if _also():
            show_together(
                switch_together_of(model, (neuron, *_also()), prompt, value=value_asked, position=positions[model])
            )
            return
        show_switch(switch_of(model, neuron, prompt, value=value_asked, position=positions[model]))
        if grids[model].lens == "id":
            _show_grid(grids[model], switched_grid_of(model, neuron, prompt, value=value_asked))


def _on_value(options: Sequence[str], chosen: str | None, grids: Mapping[str, GridPage]) -> float:
    """What turns the neuron on that the form begins with."""
    address = chosen or next(iter(options), None)
    if address is None:
        return USUAL_ON
    grid = grids.get(address.partition("/")[0]) or next(iter(grids.values()))
    return on_value_of(address, grid)


def _also() -> list[str]:
    """The further neurons that the address names."""
    return [one for one in (address_value("also") or "").split(",") if one]


def show_together(page: TogetherPage) -> None:
    """What several switches do, each alone and all together, beside random sets of as many neurons."""
    st.markdown(prose(page.summary))
    predicted, *_ = page.sections()
    with title_row("switch_sets"):
        st.markdown("**Each alone, and all together**", help=plain(SOURCE))
        show_files("switch_sets", page.sets)
    st.html(table_html(predicted.frame))
    st.caption(plain(f"{predicted.remark[:1].upper()}{predicted.remark[1:]}."))
    largest = max((abs(change) for change in page.changes.get_column("change")), default=0.0)
    _changed("switch_changes_together", page.changes, "With all of them", largest)
    _texts(page.texts)


def _show_grid(without: GridPage, page: GridPage) -> None:
    """The whole grid with the neuron switched, beside what it was."""
    pairs = zip(page.cells["predicted"], without.cells["predicted"], strict=True)
    n_other = sum(now != before for now, before in pairs)
    if not n_other:
        st.caption(plain(f"With {page.setting} no first token of the {page.cells.height} cells of the grid differs."))
        return
    with title_row("switched_grid"):
        st.markdown(f"**{plain(f'The grid with {page.setting}')}**")
        show_files("switched_grid", page.cells)
    show_switched(page, without)
    st.caption(
        plain(f"Framed: the first token differs from that without the switch, {n_other} of {page.cells.height} cells.")
    )


def show_switch(page: SwitchPage) -> None:
    """What one switch does: in a sentence, among random neurons, and token by token beside one of these."""
    st.markdown(prose(page.summary))
    predicted, *_ = page.sections()
    left, right = st.columns([1.2, 1], gap="large")
    with left:
        st.html(table_html(predicted.frame))
        st.caption(plain(f"{predicted.remark[:1].upper()}{predicted.remark[1:]}."))
    with right:
        with title_row("switch_neurons"):
            st.markdown(f"**{plain(f'Among {page.neurons.height - 1} random neurons')}**", help=plain(SOURCE))
            show_files("switch_neurons", page.neurons)
        title = f"Divergence of the next token with {page.address} and with the random neurons"
        show_drawing(title, divergence_chart(page.neurons, CONTRAST[theme()], on=theme()), "switch_neurons")
        st.caption(plain(ticks_caption(page)))
    _changes(page)
    _texts(page.texts)


def ticks_caption(page: SwitchPage) -> str:
    """What the ticks are, and how many of the random neurons change nothing: to be beyond these says little."""
    others = page.neurons.filter("is_random")
    n_idle = others.filter(pl.col("kl") == 0).height
    idle = (
        f" {n_idle} of these {others.height} change nothing, as any does that has this value anyway." if n_idle else ""
    )
    return f"Ticks: {page.drawn_from}, set likewise; spot: this neuron.{idle}"


def _texts(texts: pl.DataFrame) -> None:
    """What the model writes then, beside what it writes untouched and with the random neurons of median divergence."""
    if texts.is_empty():
        return
    with title_row("switch_texts"):
        st.markdown("**What the model writes**")
        show_files("switch_texts", texts)
    st.html(table_html(texts.drop("n_tokens")))
    st.caption("The most probable token at each step.")


def _changes(page: SwitchPage) -> None:
    """The tokens that change most, of the neuron and of the random one of median divergence, on one scale."""
    largest = max((abs(change) for change in page.changes.get_column("change")), default=0.0)
    sides = (
        ("switch_changes", page.address, f"With {page.address}"),
        ("switch_changes_random", page.median_address, f"With {page.median_address}, a random neuron"),
    )
    for column, (name, address, title) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            _changed(name, page.changes.filter(address=address), title, largest)


def _changed(name: str, rows: pl.DataFrame, title: str, largest: float) -> None:
    """What one neuron's switch changes, or that it changes nothing."""

    def draw(on: Theme) -> alt.LayerChart:
        return changes_chart(rows, (ACCENT[on], CONTRAST[on]), largest=largest, on=on)

    with title_row(name):
        st.markdown(f"**{plain(title)}**")
        if not rows.is_empty():
            show_files(name, rows, lambda: draw("light").properties(title=title, width=_PAPER_WIDTH))
    if rows.is_empty():
        st.caption("Nothing changes.")
        return
    show_drawing(title, draw(theme()), name)
    st.caption(CHANGES)


_STEP, _LINE = 24, 44
"""Pixels of a token's row, and of the random neurons' line."""

_GREY = {"light": "#767676", "dark": "#9a9a9a"}
_ZERO_WIDTH = "\u200b"


def changes_chart(changes: pl.DataFrame, colours: tuple[str, str], *, largest: float, on: Theme) -> alt.LayerChart:
    """Tokens under each other, the largest change first: a bar of the change, and the probabilities before and after.

    Args:
        changes: one neuron's rows of `SwitchPage.changes`.
        colours: of what becomes more probable, and of what becomes less.
        largest: the end of the axis on either side, so that two charts can be compared.
        on: the page's theme.
    """
    labels = _distinct_labels([visible(token) for token in changes["token"]])
    rows = changes.with_columns(pl.Series("label", labels, dtype=pl.String), points=100 * pl.col("change"))
    axis = alt.Axis(labelFont="monospace", labelLimit=130, labelOverlap=False, ticks=False, domain=False)
    end = 100 * largest or 1.0
    scale = alt.Scale(domain=[-end, end], nice=False)
    tooltip = [
        alt.Tooltip("label:N", title="token"),
        alt.Tooltip("probability_before:Q", title="before", format=".3%"),
        alt.Tooltip("probability_after:Q", title="after", format=".3%"),
    ]
    x = alt.X("points:Q", scale=scale, title="change of its probability, percentage points", axis=alt.Axis(tickCount=5))
    base = alt.Chart(rows).encode(y=alt.Y("label:N", sort=labels, title=None, axis=axis), tooltip=tooltip)
    numbers = "format(datum.probability_before, '.1%') + ' → ' + format(datum.probability_after, '.1%')"
    words = base.transform_calculate(numbers=numbers).encode(text="numbers:N", x=x)
    up, down = "datum.change > 0", "datum.change <= 0"
    bars = alt.condition(up, alt.value(colours[0]), alt.value(colours[1]))
    chart = alt.LayerChart(
        layer=[
            base.mark_bar(size=13).encode(x=x, color=bars),
            words.transform_filter(up).mark_text(align="right", dx=-6, color=_GREY[on]).encode(x=alt.datum(0)),
            words.transform_filter(down).mark_text(align="left", dx=6, color=_GREY[on]).encode(x=alt.datum(0)),
        ]
    )
    return _sized(chart, _STEP * max(1, rows.height))


def divergence_chart(neurons: pl.DataFrame, colour: str, *, on: Theme) -> alt.LayerChart:
    """Ticks of the random neurons' divergences on one line, and the neuron's own among them.

    Args:
        neurons: rows of `SwitchPage.neurons`.
        colour: of the neuron's own.
        on: the page's theme.
    """
    tooltip = [alt.Tooltip("address:N", title="neuron"), alt.Tooltip("kl:Q", title="divergence, nats", format=".3g")]
    x = alt.X(
        "kl:Q", title="divergence of the next token, nats", axis=alt.Axis(tickCount=5), scale=alt.Scale(zero=True)
    )
    base = alt.Chart(neurons).encode(x=x, tooltip=tooltip)
    chart = alt.LayerChart(
        layer=[
            base.transform_filter("datum.is_random").mark_tick(color=_GREY[on], thickness=1.5, height=18, opacity=0.7),
            base.transform_filter("!datum.is_random").mark_point(color=colour, filled=True, size=110, opacity=1),
        ]
    )
    return _sized(chart, _LINE)


def _sized(chart: alt.LayerChart, height: int) -> alt.LayerChart:
    """A chart of so many pixels."""
    chart.height = height
    return chart


def _distinct_labels(labels: list[str]) -> list[str]:
    """The labels, each once: tokens of the same look are told apart by what cannot be seen."""
    seen: dict[str, int] = {}
    apart = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        apart.append(label + _ZERO_WIDTH * (seen[label] - 1))
    return apart
