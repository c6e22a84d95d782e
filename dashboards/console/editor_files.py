"""The scripts of the editor's package, handed out so that the browser asks no other host."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

PLACE = "/component/code_editor.code_editor"
"""Where Streamlit serves the package's files."""

_FONT = re.compile(rb"@import url\('https?://[^)]*'\);")
_CACHED = {"Cache-Control": "public, max-age=86400"}


class EditorFiles:
    """Serves the editor's scripts ahead of Streamlit.

    Two themes of streamlit-code-editor 0.1.22 import a font from fonts.googleapis.com. The dashboard sends nothing to
    other hosts and works offline, so the import is cut out. This is a middleware because Streamlit reserves the path.
    """

    def __init__(self, app: ASGIApp) -> None:
        """Stand before `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what asks for a script of the editor, and hand on the rest."""
        path = None
        if scope["type"] == "http" and scope["path"].startswith(f"{PLACE}/"):
            path = _scripts().get(scope["path"])
        if path is None:
            await self._app(scope, receive, send)
        else:
            script = Response(without_fonts(path), headers=_CACHED, media_type="text/javascript")
            await script(scope, receive, send)


def build_folder() -> Path:
    """Where the package keeps what the browser loads.

    The package is not imported: its component registers itself at the import, for which Streamlit must run a page.
    """
    spec = find_spec("code_editor")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "frontend" / "build"


@cache
def without_fonts(path: Path) -> bytes:
    """A script without the imports of fonts from another host."""
    return _FONT.sub(b"", path.read_bytes())


@cache
def _scripts() -> Mapping[str, Path]:
    """Address of a script, or of its source map, -> its file."""
    folder = build_folder()
    paths = (path for path in folder.rglob("*") if path.suffix in {".js", ".map"})
    return {f"{PLACE}/{path.relative_to(folder).as_posix()}": path for path in paths}
