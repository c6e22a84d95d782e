"""What a page would show if its job had run: a picture of that page of the demo."""

from pathlib import Path

import streamlit as st

FOLDER = Path(__file__).with_name("previews")
CAPTION = "What stands here when it is measured; the picture is of the demo's small models."


def show_preview(page: str) -> None:
    """Draw the picture of a page, where there is one.

    Args:
        page: name of the page.
    """
    picture = FOLDER / f"{page}.webp"
    if picture.is_file():
        st.caption(CAPTION)
        st.image(picture, width=900)
