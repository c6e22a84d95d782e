"""Files of the editor: handed out by the server itself, asking nobody else, with the licence of what is bundled."""

import json
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from dashboards.console import editor_files
from dashboards.console.editor_files import FILES, PLACE, path_of, routes
from dashboards.console.words import words

BUNDLE = Path(editor_files.__file__).parent / "bundle"


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=routes()))


@pytest.mark.parametrize("name", FILES)
def test_scripts_are_handed_out_and_kept(client: TestClient, name: str) -> None:
    got = client.get(f"{PLACE}/{name}", params={"v": "1"})
    assert (got.status_code, got.content) == (200, path_of(name).read_bytes())
    assert got.headers["content-type"].startswith("text/javascript")
    assert "max-age" in got.headers["cache-control"]


def test_words_are_handed_out_and_nothing_else(client: TestClient) -> None:
    assert client.get(f"{PLACE}/words.json").json() == json.loads(json.dumps(words()))
    for name in ("editor.py", "..%2Fserver.py", "codemirror.LICENSE", ""):
        assert client.get(f"{PLACE}/{name}").status_code == 404


@pytest.mark.parametrize("name", FILES)
def test_no_script_asks_another_server(name: str) -> None:
    addresses = set(re.findall(r"https?://[\w./-]+", path_of(name).read_text("utf-8")))
    # The name of SVG's language, which nobody asks for.
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_what_is_bundled_is_named_with_its_licence_and_its_version() -> None:
    package = json.loads((BUNDLE / "package.json").read_text("utf-8"))
    licence = path_of("codemirror.LICENSE").read_text("utf-8")
    assert "MIT License" in licence
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version)
        assert name in licence or name == "esbuild"
    imported = re.findall(r'from "(@[\w/-]+)"', (BUNDLE / "entry.js").read_text("utf-8"))
    assert set(imported) <= set(package["devDependencies"])
    assert path_of("codemirror.js").read_text("utf-8").startswith("/*! CodeMirror 6, MIT License")


def test_all_that_the_editor_uses_is_in_the_bundle() -> None:
    entry = (BUNDLE / "entry.js").read_text("utf-8")
    exported = set(re.findall(r"\w+", " ".join(re.findall(r"\{([^}]*)\}", entry))))
    used = set(re.findall(r"\bcm\.(\w+)", path_of("editor.js").read_text("utf-8")))
    assert used <= exported
    bundled = path_of("codemirror.js").read_text("utf-8")
    names = set(re.findall(r"as (\w+)", bundled[bundled.rindex("export{") :]))
    assert exported <= names
