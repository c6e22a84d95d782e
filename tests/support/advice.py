"""Commands that are recommended: found in what is printed and in the sources, and run where they are printed."""

import ast
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog import advice
from neurothek.catalog.exchange.exports import export
from neurothek.catalog.upkeep.changes import remove
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences
from tests.support.templates import made_once

ROOT = Path(neurothek.__file__).parents[1]
PACKAGES = ("catalog", "dashboards", "ingest", "neurothek", "queries")
NAMES = "|".join(neurothek.main.commands)

_QUOTED = re.compile(r"(?<!\\)`neurothek ([^`]+)`|^ +neurothek (.+)$", flags=re.MULTILINE)
_WRITTEN = re.compile(rf"\bneurothek ({NAMES})\b")

STANDS_FOR = {"MODEL": "mine", "OTHER=...": "OTHER=other-weights", "NAME": "neurons", "VIEW": "neurons"}
"""What a person puts in the place of a word in capitals, wherever it is recommended."""


class Place(NamedTuple):
    """Where in the sources a command is written: file, and the line on which the call begins."""

    file: str
    line: int


def advised(text: str) -> list[str]:
    """The commands in a text, without `neurothek`."""
    return [one or other for one, other in _QUOTED.findall(text)]


def run(arguments: list[str], *, stdin: str | None = None) -> Result:
    """What the command says."""
    return CliRunner().invoke(neurothek.main, arguments, input=stdin, catch_exceptions=False)


def in_full(command: str, stands_for: dict[str, str]) -> list[str]:
    """The command with what it leaves to the person, and without what would measure for long or ask."""
    words = [{**STANDS_FOR, **stands_for}.get(word, word) for word in shlex.split(command)]
    if words[0] == "ingest":
        # Its own text takes seconds to be read, and is asked for by no advice.
        is_of_pairs = bool({"counterparts", "universality"} & {*words})
        on = [] if "--corpus" in words or is_of_pairs else ["--corpus", "words=words.txt"]
        return [*words, *on, "--plan"]
    more = {"remove": "--yes", "intervene": "--plan"}
    return [*words, more[words[0]]] if words[0] in more else words


def places() -> Iterator[Place]:
    """Where the sources write a command."""
    for file, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "command_line":
                yield Place(file, node.lineno)


def other_ways() -> Iterator[tuple[str, str]]:
    """File and text of strings that hold a command and are no documentation of the code: nobody quotes these."""
    for file, tree in _trees():
        documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in documented:
                continue
            if _WRITTEN.search(node.value):
                yield file, node.value


@contextmanager
def watched(reached: set[Place]) -> Iterator[None]:
    """Adds the places whose commands are written in the block."""

    def noted(words: tuple[str, ...]) -> str:
        frame = sys._getframe(2)
        file = Path(frame.f_code.co_filename).resolve()
        if file.is_relative_to(ROOT):
            reached.add(Place(file.relative_to(ROOT).as_posix(), frame.f_lineno))
        return join(words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(advice, "join", noted)
        yield


def template() -> Path:
    """Models, texts, and warehouses of them, made once for all tests; to be copied.

    `mine` was measured on text, `weights` and `clustered` not, of `bare` nothing is left; `linear`, whose tokens are
    others, has shortcuts. Without controls is what an earlier release clustered.
    """
    return made_once("advice", _make)


def copy_to(folder: Path) -> Path:
    """A copy of the template."""
    return shutil.copytree(template(), folder, ignore=shutil.ignore_patterns("*.lock"))


def _make(folder: Path) -> None:
    (folder / "words.txt").write_text("one two three four five six seven eight nine ten . " * 40)
    build(folder / "tiny", "opt", d_ffn=8)
    build(folder / "other-weights", "opt", d_ffn=8, seed=5)
    warehouse = ingests.open_warehouse(folder / "known.duckdb")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        corpora = ("words=words.txt",)
        ingests.measure(warehouse, "mine=tiny", ingests.request(corpora, jobs=("projections", "activity")))
        build(folder / "second", "opt", d_ffn=8, seed=2)
        ingests.measure(warehouse, "weights=second", ingests.request(corpora, jobs=("projections",)))
        build(folder / "third", "opt", d_ffn=8, seed=3)
        ingests.measure(warehouse, "bare=third", ingests.request(corpora, jobs=("projections",)))
        build(folder / "fourth", "opt", d_ffn=8, seed=4)
        asked = ingests.request(corpora, jobs=("projections", "clusters", "controls"), clusters=(2, 4))
        ingests.measure(warehouse, "clustered=fourth", asked)
        build(folder / "fifth", "opt", n_layers=2, d_model=16, d_ffn=8, vocab_size=300, seed=6)
        write_sentences(folder, n=60)
        length = {"sequence_length": 24}
        asked = ingests.request(("prose=prose",), jobs=("projections", "shortcuts", "activity"), text=length)
        ingests.measure(warehouse, "linear=fifth", asked)
    remove(warehouse, "bare", job="projections")
    # Texts are found where they will lie.
    final = folder.with_name("advice")
    with warehouse.writer() as connection:
        connection.execute("update store.corpora set recipe = replace(recipe, ?, ?)", [str(folder), str(final)])
    shutil.copyfile(folder / "known.duckdb", folder / "with blank.duckdb")
    shutil.copyfile(folder / "known.duckdb", folder / "without controls.duckdb")
    with ingests.open_warehouse(folder / "without controls.duckdb").writer() as connection:
        connection.execute("delete from store.cluster_controls")
    export(warehouse, folder / "saved")
    with ingests.open_warehouse(folder / "empty.duckdb").writer():
        pass


def _trees() -> Iterator[tuple[str, ast.Module]]:
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    for file in files:
        if file != Path(advice.__file__).resolve():
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text("utf-8"))
