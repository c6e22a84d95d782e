"""Who may speak to the dashboard's server, and by which names: programs, and pages that it served itself."""

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

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
        return "the dashboard was not opened to this name; start it with --host NAME"
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
