"""What the browser loads for the editor of the SQL page: once, and from this server alone."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

PLACE = "/console"
"""Where the server hands the files out."""

FILES = ("codemirror.js", "editor.js")
"""CodeMirror as `bundle/package.json` builds it, and our editor made of it."""

_KEPT = {"Cache-Control": f"public, max-age={30 * 24 * 3600}"}
"""Their addresses change when they do."""


def path_of(name: str) -> Path:
    """Where one of the files lies."""
    return Path(__file__).with_name(name)


def routes() -> list[Route]:
    """The server's routes to them."""
    return [Route(f"{PLACE}/{name}", _script) for name in FILES] + [Route(f"{PLACE}/words.json", _words)]


async def _script(request: Request) -> Response:
    name = request.url.path.removeprefix(f"{PLACE}/")
    return FileResponse(path_of(name), media_type="text/javascript", headers=_KEPT)


async def _words(_: Request) -> Response:
    # Imported when it is asked for: the server starts without the views.
    from dashboards.console.words import words  # noqa: PLC0415

    return JSONResponse(words(), headers=_KEPT)
