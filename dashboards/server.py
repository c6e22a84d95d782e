"""The dashboard's server: streamlit's own, with a front page that knows where the server is."""

from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread

import streamlit
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route
from streamlit.starlette import App

from dashboards.addresses import PAGES
from dashboards.same_origin import SameOrigin

# Streamlit's browser side looks for its server below the page's own path first, and the console of every deep link
# would show two requests that fail. Told the address, it asks there at once.
_ADDRESS = '<script>window.__streamlit = {BACKEND_BASE_URL: location.origin + "/"}</script>'

_LIBRARIES = ("polars", "duckdb")
"""What every page needs, whole libraries: two threads that import parts of one would wait for each other. Altair is not
among them: the first page shows its heading and its table before it draws."""


def front_page() -> str:
    """Streamlit's front page with the server's address and our title in it."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text("utf-8")
    return page.replace("<title>Streamlit</title>", f"<title>neurothek</title>{_ADDRESS}", 1)


async def _front_page(_: Request) -> HTMLResponse:
    _import_ahead()
    return HTMLResponse(front_page(), headers={"Cache-Control": "no-cache"})


@cache
def _import_ahead() -> Thread:
    """Import what pages need while the first browser still loads: a quarter of a second less."""
    thread = Thread(target=lambda: [import_module(name) for name in _LIBRARIES], name="imports", daemon=True)
    thread.start()
    return thread


app = App(
    Path(__file__).with_name("app.py"),
    middleware=[Middleware(SameOrigin)],
    routes=[Route(f"/{name}", _front_page) for name in ("", *PAGES)],
)
