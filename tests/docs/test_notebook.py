"""The notebook: its cells answer from a published catalog, and fit the rules of marimo and of Jupyter."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import neurothek
from docs.generators.notebook import MARIMO, cells_of, jupyter
from tests.support import warehouse as made


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog")
    made.create(folder / "made.duckdb")
    neurothek.open(folder / "made.duckdb").publish(to=folder / "published")
    return folder / "published"


def code_cells() -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(jupyter())["cells"] if cell["cell_type"] == "code"]


def shown(cells: list[str]) -> list[Any]:
    """What a notebook shows below each cell: its last expression."""
    names: dict[str, Any] = {}
    results = []
    for text in cells:
        *statements, last = ast.parse(text).body
        assert isinstance(last, ast.Expr)
        exec(compile(ast.Module(statements, []), "cell", "exec"), names)
        results.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))
    return results


@pytest.mark.long
def test_every_cell_shows_an_answer_of_a_published_catalog(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEUROTHEK_CATALOG", str(published))
    monkeypatch.chdir(tmp_path)
    results = shown(code_cells())
    assert len(results) >= 7
    for result in results:
        assert len(result._repr_html_()) > 100
    # Nothing is measured or written where a catalog is named.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_without_a_catalog_a_small_model_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEUROTHEK_CATALOG", raising=False)
    monkeypatch.chdir(tmp_path)
    models, promoting, *_ = shown(code_cells())
    assert models["model"].to_list() == ["mini-opt-0.7m"]
    assert promoting.neurons.height == 10
    assert (tmp_path / "published" / "README.md").exists()


def test_names_of_cells_are_as_marimo_wants_them() -> None:
    """Each is made by one cell, which returns it if another takes it as an argument."""
    functions = [one for one in ast.parse(MARIMO.read_text("utf-8")).body if isinstance(one, ast.FunctionDef)]
    by_name: dict[str, bool] = {}
    for function in functions:
        returned = function.body[-1]
        assert isinstance(returned, ast.Return)
        given = {one.id for one in getattr(returned.value, "elts", [])}
        for statement in function.body:
            names: set[str] = set()
            if isinstance(statement, ast.Assign):
                names = {one.id for one in statement.targets if isinstance(one, ast.Name)}
            elif isinstance(statement, ast.Import | ast.ImportFrom):
                names = {one.asname or one.name for one in statement.names}
            assert not names & by_name.keys()
            by_name |= {name: name in given for name in names}
        assert {argument.arg for argument in function.args.args} <= {
            name for name, is_given in by_name.items() if is_given
        }


def test_a_cell_of_each_kind_becomes_one_of_jupyter() -> None:
    text = (
        "@app.cell\ndef _(mo):\n    mo.md('\\n    # One\\n    ')\n    return\n\n@app.cell\ndef _():\n    x = 1\n    x\n"
    )
    markdown, code = cells_of(text)
    assert (markdown["cell_type"], markdown["source"]) == ("markdown", ["# One"])
    assert (code["cell_type"], code["source"], code["outputs"]) == ("code", ["x = 1\n", "x"], [])
    ids = [cell["id"] for cell in json.loads(jupyter())["cells"]]
    assert len({*ids}) == len(ids)
