"""The dashboard's server: streamlit's own, with a front page that knows where the server is."""

from pathlib import Path

import streamlit
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.starlette import App

from dashboards.addresses import PAGES

# Streamlit's browser side looks for its server below the page's own path first, and the console of every deep link
# would show two requests that fail. Told the address, it asks there at once.
_ADDRESS = '<script>window.__streamlit = {BACKEND_BASE_URL: location.origin + "/"}</script>'


def front_page() -> str:
    """Streamlit's front page with the server's address and our title in it."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text("utf-8")
    return page.replace("<title>Streamlit</title>", f"<title>neurothek</title>{_ADDRESS}", 1)


async def _front_page(_: Request) -> HTMLResponse:
    return HTMLResponse(front_page(), headers={"Cache-Control": "no-cache"})


app = App(
    Path(__file__).with_name("app.py"),
    routes=[Route(f"/{name}", _front_page) for name in ("", *PAGES)],
)
