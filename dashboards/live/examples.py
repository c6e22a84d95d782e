"""Prompts to click, so that a page is not blank before somebody had a thought."""

from collections.abc import Callable

import streamlit as st

from neurothek.dashboards.widgets.html import plain

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
