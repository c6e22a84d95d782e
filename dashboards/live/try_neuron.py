"""Try it: one neuron's activation on each token of a text that somebody types, and what switching it changes."""

import html
from collections.abc import Callable, Collection, Mapping
from typing import Any

import polars as pl
import streamlit as st

from neurothek.catalog.spelling import visible
from neurothek.dashboards.colours import ACCENT, CONTRAST
from neurothek.dashboards.live.answers import activations_of, switch_of
from neurothek.dashboards.live.switch import SOURCE, asked_value, pick_value, say_no_value, show_switch
from neurothek.dashboards.widgets.address import address_value, own_key, remember
from neurothek.dashboards.widgets.figures import show_files, title_row
from neurothek.dashboards.widgets.html import SHEET, plain
from neurothek.dashboards.widgets.links import link_html
from neurothek.dashboards.widgets.page import show_errors, theme
from neurothek.queries.trace.grid import AlongPage

WHAT = (
    "Runs the model on the text, on this machine: the neuron's activation on each token, then the next token with the "
    "neuron set to the value at every position, and with each of 20 random neurons of its layer set to it."
)
_SHORTEST = 12
"""Characters of a text that is worth to be tried."""

_STYLE = """
<style>
.nt-along { font-family: monospace; font-size: 0.95rem; line-height: 1.9; overflow-wrap: anywhere; }
.nt-along span { white-space: pre-wrap; border-radius: 0.2rem; padding: 0.12rem 0; }
.nt-along .nt-zero { opacity: 0.7; }
</style>
"""


def strongest_text(contexts: pl.DataFrame, special: Collection[str] = ()) -> str | None:
    """The line of text up to where a neuron fires most strongly; None where it fires on no line that tells something.

    Args:
        contexts: its strongest places, the first one first, with `before` and `token`.
        special: texts of special tokens, which are taken out: the model is given its own.
    """
    for row in contexts.to_dicts():
        if row["token"] in special:
            continue
        before = row["before"]
        for token in special:
            before = before.replace(token, "")
        line = f"{before}{row['token']}".rpartition("\n")[2].strip()
        # The field holds one line.
        if "\n" not in row["token"] and len(line) >= _SHORTEST:
            return line
    return None


@st.fragment
def try_neuron(address: str, text: str | None = None, *, on: float, is_silent: bool = False) -> None:
    """Ask for a text and a value, and show what the neuron does; the address of the page holds both.

    Args:
        address: the neuron.
        text: what stands in the field unless the address asks for another: a text that the neuron fires on.
        on: what turns it on.
        is_silent: whether it is known never to be active: turning it off would change nothing.
    """
    st.header("Try it", anchor=False, help=plain(SOURCE))
    with st.form("switch", border=False):
        wide, *choices, last = st.columns([4.2, 3.6, 1.4, 0.8], vertical_alignment="bottom")
        typed = wide.text_input(
            "Text", address_value("prompt") or text or EXAMPLES[0], key=own_key(f"prompt-{address}")
        )
        value = pick_value(*choices, on=on, is_silent=is_silent)
        if last.form_submit_button("Run", type="primary"):
            remember(prompt=typed or None, set=f"{value:g}")
    say_no_value()
    prompt, value_asked = address_value("prompt"), asked_value()
    if value_asked is None or prompt is None:
        st.caption(WHAT)
        return
    with show_errors():
        show_along(activations_of(address, prompt))
        trace = link_html("Trace this text layer by layer", "trace", model=address.partition("/")[0], prompt=prompt)
        st.html(f"{SHEET}{trace}")
        show_switch(switch_of(address.partition("/")[0], address, prompt, value=value_asked, position=None))


def show_along(page: AlongPage) -> None:
    """The text, each token shaded by the neuron's activation, which hovering tells."""
    with title_row("activations"):
        st.markdown("**Activation on each token**")
        show_files("activations", page.tokens)
    st.html(along_html(page, above=ACCENT[theme()], below=CONTRAST[theme()]))
    st.caption(plain(f"{page.summary} Hover over a token for its value; below 0 in the second colour."))


def along_html(page: AlongPage, *, above: str, below: str) -> str:
    """The tokens of a text, shaded from the largest activation down.

    Args:
        page: the activations.
        above: the colour of the largest one above 0, as #rrggbb; lesser ones are paler.
        below: the same of those below 0.
    """
    rows = page.tokens.to_dicts()
    largest = max((abs(row["activation"]) for row in rows), default=0.0) or 1.0
    return f'{_STYLE}<div class="nt-along">{"".join(_token(row, largest, above, below) for row in rows)}</div>'


def _token(row: Mapping[str, Any], largest: float, above: str, below: str) -> str:
    activation = row["activation"]
    share = abs(activation) / largest
    colour = f"{above if activation > 0 else below}{round(200 * share):02x}"
    shade = f' style="background: {colour}"' if activation else ' class="nt-zero"'
    title = html.escape(f"{visible(row['token'])} (position {row['position']}): {activation:.4g}")
    return f'<span{shade} title="{title}">{html.escape(visible(row["token"]))}</span>'


EXAMPLES = (
    "The president of the United States said that the United",
    "The capital of France is",
    "if __name__ == '__",
    "to be or not to",
    "The king of England and the queen of",
)
"""The first is run where none was asked for: small models complete it too."""


def show_examples(ask: Callable[[str], None]) -> None:
    """Quiet buttons, each of which asks for its prompt."""
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Examples", width="content")
        for number, example in enumerate(EXAMPLES):
            st.button(plain(example), key=f"example-{number}", type="tertiary", on_click=ask, args=(example,))
