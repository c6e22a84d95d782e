"""Who may speak to the dashboard's server: programs, and pages that it served itself; no page of another origin."""

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocketClose

_POLICY_VIOLATION = 1008


class SameOrigin:
    """Refuses what a page of another origin asks, before Streamlit sees it.

    Streamlit compares names alone: a page that another program serves on another port of this machine would be let in,
    and for any other name it asks the network what this machine is called there.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] not in ("http", "websocket") or is_of_own_page(Headers(scope=scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refusal = PlainTextResponse("refused: this page is not the dashboard's own\n", status_code=403)
            await refusal(scope, receive, send)
        else:
            await WebSocketClose(code=_POLICY_VIOLATION)(scope, receive, send)


def is_of_own_page(headers: Headers) -> bool:
    """Whether a request comes from a page of the very address that it asks, port included, or from no page at all.

    Browsers tell with `Origin` which page asks, and no page can change it. Whether the address is one of this server's,
    which a name that was bound anew could pretend, is for `server.allowedHosts` to say.
    """
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    if not origins:
        return True
    if len(origins) > 1 or len(hosts) != 1:
        return False
    return origins[0].casefold() in (f"http://{hosts[0]}".casefold(), f"https://{hosts[0]}".casefold())
