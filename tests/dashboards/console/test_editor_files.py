"""The editor's files are those of its package, less what would ask another host."""

import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from neurothek.dashboards.console.editor_files import PLACE, EditorFiles, build_folder, without_fonts

FONT_HOSTS = (b"googleapis", b"gstatic")
ASKS = re.compile(rb"""(?:@import|url\(|importScripts\(|fetch\(|import\()[\s(url]*\\*["']?https?://""")
FILES = sorted(path for path in build_folder().rglob("*") if path.suffix in {".js", ".map", ".css", ".html"})


async def streamlits(request: Request) -> FileResponse:
    """What Streamlit would hand out, marked."""
    path = build_folder() / request.url.path.removeprefix(f"{PLACE}/")
    return FileResponse(path if path.is_file() else __file__, headers={"by": "streamlit"})


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=[Route("/{path:path}", streamlits)], middleware=[Middleware(EditorFiles)]))


def of_package(path: Path) -> str:
    return f"{PLACE}/{path.relative_to(build_folder()).as_posix()}"


def test_the_package_itself_asks_for_fonts() -> None:
    # Otherwise nothing would have to be cut out.
    asking = [path for path in FILES if ASKS.search(path.read_bytes())]
    assert len(asking) == 4
    assert all(FONT_HOSTS[0] in path.read_bytes() for path in asking)


def test_no_file_that_is_served_asks_another_host(client: TestClient) -> None:
    assert len(FILES) > 100
    for path in FILES:
        got = client.get(of_package(path))
        assert got.status_code == 200
        assert ASKS.search(got.content) is None, path
        assert not any(host in got.content for host in FONT_HOSTS), path


def test_nothing_but_the_import_is_cut_out(client: TestClient) -> None:
    changed = 0
    for path in FILES:
        whole, served = path.read_bytes(), client.get(of_package(path)).content
        kept = re.split(rb"@import url\('https:[^']*'\);", whole)
        assert b"".join(kept) == served
        changed += len(kept) > 1
    assert changed == 4


def test_scripts_are_kept_by_the_browser(client: TestClient) -> None:
    script = next(path for path in FILES if path.suffix == ".js")
    got = client.get(of_package(script), params={"v": "1"})
    assert got.headers["content-type"].startswith("text/javascript")
    assert "max-age" in got.headers["cache-control"]
    assert without_fonts(script) is without_fonts(script)


def test_all_but_the_scripts_is_left_to_streamlit(client: TestClient) -> None:
    assert {path.suffix for path in FILES if "by" not in client.get(of_package(path)).headers} == {".js", ".map"}
    for path in ("none.js", "index.html", "..%2F..%2F__init__.py", "%2e%2e/%2e%2e/__init__.py", ""):
        assert client.get(f"{PLACE}/{path}").headers["by"] == "streamlit"
    for path in ("/sql", "/component/other.other/main.js", PLACE):
        assert client.get(path).headers["by"] == "streamlit"
