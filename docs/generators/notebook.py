"""The Jupyter form of a marimo notebook: the same cells in the same order."""

import ast
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from textwrap import dedent
from typing import Any

MARIMO = Path(__file__).parents[1] / "notebooks" / "catalog.py"


def jupyter(path: Path = MARIMO) -> str:
    """The text of the .ipynb file.

    Args:
        path: the marimo notebook.
    """
    notebook = {
        "cells": [*cells_of(path.read_text("utf-8"))],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def cells_of(text: str) -> Iterator[dict[str, Any]]:
    """The cells of a marimo notebook as Jupyter has them: `mo.md` is Markdown there, and nobody imports marimo.

    Args:
        text: the notebook's source.
    """
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef) or ast.unparse(function.decorator_list[0]) != "app.cell":
            continue
        # What a cell returns is what marimo's others may use.
        body = function.body[:-1] if isinstance(function.body[-1], ast.Return) else function.body
        if not body or ast.unparse(body[0]) == "import marimo as mo":
            continue
        markdown = _markdown(body[0])
        source = dedent(_lines(text, body)) if markdown is None else markdown
        kind = "code" if markdown is None else "markdown"
        cell = {"cell_type": kind, "id": sha256(source.encode()).hexdigest()[:8], "metadata": {}}
        outputs: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
        yield cell | outputs | {"source": source.splitlines(keepends=True)}


def _markdown(statement: ast.stmt) -> str | None:
    """The text of a call of `mo.md`; None of anything else."""
    match statement:
        case ast.Expr(ast.Call(func=ast.Attribute(ast.Name("mo"), "md"), args=[ast.Constant(str(text))])):
            return dedent(text).strip()
    return None


def _lines(text: str, body: list[ast.stmt]) -> str:
    last = body[-1].end_lineno
    return "\n".join(text.splitlines()[body[0].lineno - 1 : last])
