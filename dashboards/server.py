"""The dashboard's server: streamlit's own, with a front page that knows where the server is."""

from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread

import streamlit
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.starlette import App
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

from neurothek.dashboards.addresses import OTHER_NAMES, PAGES
from neurothek.dashboards.console.editor_files import EditorFiles

_POLICY_VIOLATION = 1008


class SameOrigin:
    """Refuses what a page of another origin asks, or anybody by a foreign name, before Streamlit sees it.

    A page whose own name was bound anew to this machine's address is of the same origin as this server: the name that
    it asks by gives it away. Streamlit itself looks at that name before it opens a session, and on no other path. It
    compares names alone: a page that another program serves on another port of this machine would be let in,
    and for any other name it asks the network what this machine is called there.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        refused = _why_refused(Headers(scope=scope)) if scope["type"] in ("http", "websocket") else None
        if refused is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = PlainTextResponse(f"refused: {refused}\n", status_code=403)
            await refusal(scope, receive, send)
        else:
            await WebSocketClose(code=_POLICY_VIOLATION)(scope, receive, send)


def _why_refused(headers: Headers) -> str | None:
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not is_host_allowed(hosts[0]):
        return "the dashboard does not accept this host name; start it with --host NAME"
    return None if is_of_own_page(headers) else "this page is not the dashboard's own"


def is_of_own_page(headers: Headers) -> bool:
    """Whether a request comes from a page of the very address that it asks, port included, or from no page at all.

    Browsers tell with `Origin` which page asks, and no page can change it.
    """
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    if not origins:
        return True
    if len(origins) > 1 or len(hosts) != 1:
        return False
    return origins[0].casefold() in (f"http://{hosts[0]}".casefold(), f"https://{hosts[0]}".casefold())


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


# Streamlit leaves a hand's breadth above a page; a style that comes with the page would move all that is drawn by then.
_STYLE = (
    ".stMainBlockContainer { padding-top: 4rem !important; padding-bottom: 2rem !important; }"
    # In a narrow window the box shrinks before it takes a line for itself.
    ".st-key-shell { flex-wrap: nowrap !important; }"
    ".st-key-shell > :first-child { flex: 1 1 auto; width: auto !important; min-width: 0; }"
    ".st-key-shell > :nth-child(2) { flex: 0 20 280px !important; min-width: 11rem !important; }"
    # Beside a field, as high as it is: the words above both stand on one line.
    "[data-testid=stButtonGroup] [data-variant=segmented_control] { min-height: 2.5rem !important; }"
    # Tokens in a sentence, as those beside it.
    ":is([data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]) :not(pre) > code {"
    " color: inherit !important; background: #8a8a8a26 !important;"
    " padding: 0.05rem 0.25rem !important; border-radius: 0.2rem; font-size: 0.92em !important; }"
    # What moves takes a fifth of two cores from the model where no graphics card draws it: words say what runs, and
    # what waits for it turns pale at once.
    "[data-testid=stSpinnerIcon] { display: none !important; }"
    "[data-testid=stElementContainer] { transition-duration: 0s !important; }"
)

# Streamlit's browser side looks for its server below the page's own path first, and the console of every deep link
# would show two requests that fail. Told the address, it asks there at once.
_ADDRESS = 'window.__streamlit = {BACKEND_BASE_URL: location.origin + "/"}'


@cache
def front_page() -> str:
    """The HTML of the front page."""
    page = Path(streamlit.__file__).with_name("static").joinpath("index.html").read_text("utf-8")
    script = Path(__file__).with_name("shell").joinpath("browser.js").read_text("utf-8")
    ours = f"<title>neurothek</title><style>{_STYLE}</style><script>{_ADDRESS}</script><script>{script}</script>"
    return page.replace("<title>Streamlit</title>", ours, 1)
