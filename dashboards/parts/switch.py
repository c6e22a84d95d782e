"""One neuron's switch: turned off, on or to another value for a prompt, and what changes beside random neurons."""

import math

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboards.session import desk
from dashboards.widgets.address import asked, remember
from dashboards.widgets.figures import download_data
from dashboards.widgets.html import plain, table_html, tables_html
from dashboards.widgets.page import said
from queries.trace.switch import SwitchPage
from queries.trace.trace import TracePage

OFF, ON, OTHER = "off", "on (3)", "another value"
VALUES = {OFF: 0.0, ON: 3.0}
"""Choices that stand for a number; Geva et al. 2022 turn neurons on by 3."""

SOURCE = "Turning neurons off and on: Geva et al. 2022, section 6.1; one prompt and random neurons: this project."
WHAT = (
    "Runs the model on the prompt, on this machine, with the neuron set to the value at every position, and with each "
    "of 20 random neurons of its layer set to it: shows which next tokens become more and less probable."
)


@st.fragment
def try_neuron(address: str) -> None:
    """Ask for a prompt and a value of one neuron, and show what changes; the address of the page holds both.

    Args:
        address: the neuron.
    """
    st.subheader("Try it", anchor=False)
    with st.form("switch", border=False):
        wide, *choices, last = st.columns([5, 3, 1.4, 0.8], vertical_alignment="bottom")
        typed = wide.text_input("Prompt", asked("prompt") or "", key="prompt", placeholder="The capital of France is")
        value = _pick_value(*choices)
        if last.form_submit_button("Run"):
            remember(prompt=typed or None, set=f"{value:g}")
    prompt = asked("prompt")
    _run(address.partition("/")[0], prompt, address, position=None)


@st.fragment
def try_traced(page: TracePage, prompt: str) -> None:
    """Ask for a neuron, one of the dominant ones or any other, and a value, and show what changes where was traced.

    Args:
        page: the traced prompt, whose position is looked at.
        prompt: its text.
    """
    st.subheader("Turn a neuron off or on", anchor=False)
    dominant = page.neurons.get_column("address").to_list()
    wanted = asked("switch")
    known = dominant if wanted is None or wanted in dominant else [wanted, *dominant]
    with st.form("switch", border=False):
        wide, *choices, last = st.columns([5, 3, 1.4, 0.8], vertical_alignment="bottom")
        picked = wide.selectbox(
            "Neuron",
            known,
            index=None if wanted is None else known.index(wanted),
            key="switch",
            accept_new_options=True,
            placeholder="a dominant neuron, or type an address such as L3N17",
        )
        value = _pick_value(*choices)
        if last.form_submit_button("Run"):
            remember(switch=picked, set=f"{value:g}" if picked else None)
    _run(page.model, prompt, asked("switch"), position=page.traced.position)


def _pick_value(choice: DeltaGenerator, number: DeltaGenerator) -> float:
    """What the neuron is to be set to: the choice, or the number beside it."""
    value = _asked_value()
    usual = OFF if value is None else {known: name for name, known in VALUES.items()}.get(value, OTHER)
    chosen = choice.segmented_control("Set it to", [OFF, ON, OTHER], default=usual, key="set", width="stretch")
    other = number.number_input(
        "Other value",
        value=1.0 if value is None or usual != OTHER else value,
        step=0.5,
        format="%g",
        key="value",
        help="What the neuron's activation is set to where another value is chosen.",
    )
    return float(other) if chosen == OTHER else VALUES[chosen or OFF]


def _asked_value() -> float | None:
    """The value that the address asks for; None where it asks for none."""
    typed = asked("set")
    try:
        return None if typed is None or not math.isfinite(float(typed)) else float(typed)
    except ValueError:
        return None


def _run(model: str, prompt: str | None, neuron: str | None, *, position: int | None) -> None:
    """Show what the address asks for; nothing is run before somebody asked."""
    value = _asked_value()
    if value is None and asked("set") is not None:
        st.warning(plain(f"The address asks for an unknown value: {asked('set')}."))
    if value is None or prompt is None or neuron is None:
        st.caption(WHAT)
        return
    with said():
        with st.spinner(f"running {model}"):
            page = desk().switch(model, prompt, neuron, set=value, position=position)
        show_switch(page)


def show_switch(page: SwitchPage) -> None:
    """What one switch does: the next token, then the tokens that change most, each beside a random neuron's."""
    st.markdown(plain(page.summary))
    predicted, *changes = page.sections()
    st.html(table_html(predicted.frame))
    st.caption(plain(f"{predicted.remark[:1].upper()}{predicted.remark[1:]}. {SOURCE}"))
    download_data("switch_neurons", page.neurons)
    st.html(tables_html({f"W{one.title[1:]}": one.frame for one in changes if not one.frame.is_empty()}))
    for one in changes:
        if one.frame.is_empty():
            st.caption(plain(f"W{one.title.removeprefix('what changes most w')} nothing changes."))
    download_data("switch_changes", page.changes)
