"""The dashboard's server: streamlit's own, with a front page that knows where the server is."""

from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread

from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Route
from streamlit.starlette import App

from neurothek.dashboards.addresses import OTHER_NAMES, PAGES
from neurothek.dashboards.console.editor_files import EditorFiles
from neurothek.dashboards.same_origin import SameOrigin
from neurothek.dashboards.shell.front_page import front_page

_LIBRARIES = ("polars", "duckdb")
"""What every page needs, whole libraries: two threads that import parts of one would wait for each other. Altair is not
among them: the first page shows its heading and its table before it draws."""


async def _front_page(_: Request) -> HTMLResponse:
    _import_ahead()
    return HTMLResponse(front_page(), headers={"Cache-Control": "no-cache"})


class _Word(Convertor[str]):
    """Letters alone, as in the name of a page: Streamlit itself serves nothing at the root by such a name."""

    regex = "[A-Za-z][A-Za-z_-]*"

    def convert(self, value: str) -> str:
        """As it is."""
        return value

    def to_string(self, value: str) -> str:
        """As it is."""
        return value


async def _unknown(_: Request) -> RedirectResponse:
    """To the first page: below a name that is no page's, Streamlit would look for its server in vain."""
    return RedirectResponse("/")


async def _meant(request: Request) -> RedirectResponse:
    """To the page that another name of it means, with all that is asked of it."""
    meant = OTHER_NAMES[request.url.path.strip("/")]
    query = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"/{meant}{query}")


@cache
def _import_ahead() -> Thread:
    """Import what pages need while the first browser still loads: a quarter of a second less."""
    thread = Thread(target=lambda: [import_module(name) for name in _LIBRARIES], name="imports", daemon=True)
    thread.start()
    return thread


register_url_convertor("word", _Word())
app = App(
    Path(__file__).with_name("app.py"),
    middleware=[Middleware(SameOrigin), Middleware(EditorFiles)],
    routes=[
        *(Route(f"/{name}", _front_page) for name in ("", *PAGES)),
        *(Route(f"/{name}", _meant) for name in OTHER_NAMES),
        Route("/{name:word}", _unknown),
    ],
)
