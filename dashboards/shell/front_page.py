"""Streamlit's front page, told where its server is and what our pages need of the browser."""

from functools import cache
from pathlib import Path

import streamlit

# Streamlit's browser side looks for its server below the page's own path first, and the console of every deep link
# would show two requests that fail. Told the address, it asks there at once.
_ADDRESS = 'window.__streamlit = {BACKEND_BASE_URL: location.origin + "/"}'


@cache
def front_page() -> str:
    """The HTML of the front page."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text("utf-8")
    script = Path(__file__).with_name("browser.js").read_text("utf-8")
    ours = f"<title>neurothek</title><script>{_ADDRESS}</script><script>{script}</script>"
    return page.replace("<title>Streamlit</title>", ours, 1)
