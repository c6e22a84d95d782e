"""The rooms of the packages that have any: drawn for people, and held to their rules by `make check`.

`python -m docs.generators.house` says what breaks a rule. The drawing is made from the contracts in pyproject.toml and
from docstrings, so it shows what is checked.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("ingest", "catalog", "queries", "dashboards")
"""Those that are divided into rooms."""

LONGEST_FILE = 500
LONGEST_FUNCTION = 60

ROLES = frozenset({"app", "child", "commands", "errors", "footprint", "frames", "job", "main", "observer"})
"""Modules, and functions named after them, that one room has as well as another."""

SUBJECTS = frozenset({"concepts", "exits", "neuron", "positions", "shortcuts"})
"""What a chart, a piece of a page and a figure of the papers may be named after alike."""

SCRIPTS = frozenset({"screens", "explore", "predictions"})
"""Rooms of files that are run, and never imported: their names are their own."""

UNTOLD = frozenset(["asked", "found", "kept", "known", "own", "said", "shown", "some", "there", "told", "wanted"])
"""Words that say nothing of what they name: no identifier is one of them, with or without underscores and digits."""

NAMED = (*PACKAGES, "neurothek")
"""Packages whose identifiers are held to that."""

PROMISED = frozenset({"catalog/problems.py: known", "ingest/pipeline/ingest_all.py: asked", "ingest/request.py: asked"})
"""Fields that programs and stored rows call so."""


@dataclass(frozen=True)
class House:
    """How a package or a room is divided."""

    container: str  # the package or room that is divided, such as `neurothek.ingest.jobs`
    floors: tuple[tuple[str, ...], ...]  # names of what stands on each, top first


def houses(root: Path = ROOT) -> list[House]:
    """What the contracts in pyproject.toml that name floors, or which neighbours know each other, describe."""
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    return [house for contract in settings["tool"]["importlinter"]["contracts"] for house in _described(contract, root)]


def _described(contract: Mapping[str, Any], root: Path) -> Iterator[House]:
    if contract["type"] == "layers":
        floors = tuple(tuple(re.findall(r"\w+", floor)) for floor in contract["layers"])
        yield from (House(container, floors) for container in contract.get("containers", ()))
    if contract["type"] == "independence":
        for modules in contract["modules"]:
            if modules.endswith(".*"):
                container = modules.removesuffix(".*")
                yield House(container, _floors(container, contract.get("ignore_imports", ()), root))


def _floors(container: str, allowed: Sequence[str], root: Path) -> tuple[tuple[str, ...], ...]:
    """What lies in a room of neighbours, each above those it may import; on top the modules that none imports."""
    folder, depth = root.joinpath(*container.split(".")), container.count(".") + 1
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    names = sorted(modules | {path.parent.name for path in folder.glob("*/__init__.py")})
    arrows = {tuple(module.split(".")[depth] for module in arrow.split(" -> ")) for arrow in allowed}
    known = {name: {to for of, to in arrows if of in (name, "**") and to != name} for name in names}
    top = tuple(name for name in names if name in modules and all(name not in others for others in known.values()))
    rest = TopologicalSorter({name: known[name] for name in names if name not in top})
    rest.prepare()
    floors: list[tuple[str, ...]] = []
    while rest.is_active():
        floors.append(tuple(sorted(rest.get_ready())))
        rest.done(*floors[-1])
    return tuple(floor for floor in (top, *reversed(floors)) if floor)


def drawing(root: Path = ROOT) -> str:
    """Every house as text: floors top first, a rule between them, and what each room or module is."""
    return "\n\n".join(_drawn(house, root) for house in houses(root))


def _drawn(house: House, root: Path) -> str:
    folder = root.joinpath(*house.container.split("."))
    floors = [[_named(folder / name) for name in floor] for floor in house.floors]
    width = max(len(name) for floor in floors for name, _ in floor)
    rule = "-" * width
    body = f"\n{rule}\n".join("\n".join(f"{name:<{width}}  {sentence}" for name, sentence in floor) for floor in floors)
    place = house.container.removeprefix("neurothek.").replace(".", "/")
    return f"```text\n{place}/\n{rule}\n{body}\n```"


def _named(place: Path) -> tuple[str, str]:
    """A room or a module as it is called in a tree of files, and what it is."""
    if place.is_dir():
        return f"{place.name}/", _sentence(place / "__init__.py")
    return f"{place.name}.py", _sentence(place.with_suffix(".py"))


def _sentence(path: Path) -> str:
    """The first sentence of a file's docstring; empty where it has none."""
    said = _source(path.read_text("utf-8")).docstring
    return " ".join(re.split(r"(?<=\.)\s", said.partition("\n\n")[0])[0].split())


@dataclass(frozen=True)
class _Source:
    """What rules are about in a file."""

    docstring: str  # empty where there is none
    n_lines: int
    functions: tuple[tuple[str, int, int], ...]  # name, line and length of each, methods too
    identifiers: tuple[tuple[str, int], ...]  # those that are no names, with their lines
    classes: tuple[str, ...]  # names of classes and types at the top
    top_functions: tuple[str, ...]  # names of functions at the top


@cache
def _source(text: str) -> _Source:
    """Read once, as several rules ask and most files of a copy of the tree are the same."""
    tree = ast.parse(text)
    functions, identifiers = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            functions.append((node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1))
        for identifier in _bound(node):
            if identifier.strip("_0123456789").casefold() in UNTOLD:
                identifiers.append((identifier, getattr(node, "lineno", 1)))
    return _Source(
        docstring=ast.get_docstring(tree) or "",
        n_lines=len(text.splitlines()),
        functions=tuple(functions),
        identifiers=tuple(identifiers),
        classes=tuple(_types(tree)),
        top_functions=tuple(node.name for node in tree.body if isinstance(node, ast.FunctionDef)),
    )


def _types(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and not node.targets[0].id.isupper()
        ):
            yield node.targets[0].id


def complaints(root: Path = ROOT) -> Iterator[str]:
    """What breaks a rule of the rooms, a line each; nothing where all is well."""
    for package in PACKAGES:
        for place in sorted({path.parent for path in (root / package).rglob("*.py")}):
            yield from _about_room(place, root)
        for path in sorted((root / package).rglob("*.py")):
            yield from _about_file(path, root)
        yield from _about_names(root / package, root)
    for package in NAMED:
        for path in sorted((root / package).rglob("*.py")):
            if path.is_file():
                yield from _about_identifiers(path, root)


def _about_room(place: Path, root: Path) -> Iterator[str]:
    name, opening = f"{place.relative_to(root)}/", place / "__init__.py"
    if not opening.is_file():
        yield f"{name} has no __init__.py: write one whose docstring says what the room is"
    elif not _sentence(opening):
        yield f"{name}__init__.py has no docstring: say in a sentence what the room is"


def _about_file(path: Path, root: Path) -> Iterator[str]:
    name, source = path.relative_to(root), _source(path.read_text("utf-8"))
    if source.n_lines > LONGEST_FILE:
        yield f"{name} has {source.n_lines} lines, and {LONGEST_FILE} are allowed: divide it"
    for function, line, length in source.functions:
        if length > LONGEST_FUNCTION:
            yield f"{name}:{line}: {function} has {length} lines, and {LONGEST_FUNCTION} are allowed: divide it"


def _about_names(package: Path, root: Path) -> Iterator[str]:
    places: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        if path.parent.name in SCRIPTS:
            continue
        # A module and what it holds by its name are one thing.
        names = {path.stem, *_public_names(path)} - {"__init__"} - ROLES - SUBJECTS
        for name in names:
            places.setdefault(name, []).append(str(path.relative_to(root)))
    for name, files in sorted(places.items()):
        if len(files) > 1:
            yield f"{name} is a name of several things, in {', '.join(files)}: give each a name of its own"


def _about_identifiers(path: Path, root: Path) -> Iterator[str]:
    name = path.relative_to(root).as_posix()
    for identifier, line in _source(path.read_text("utf-8")).identifiers:
        if f"{name}: {identifier}" not in PROMISED:
            yield f"{name}:{line}: {identifier} is no name: call it after what it holds"


def _bound(node: ast.AST) -> Iterator[str]:
    """The identifiers that a node itself gives to something."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name


def _public_names(path: Path) -> Iterator[str]:
    """Classes, functions and types at the top of a file; of commands the functions are named by the command line."""
    source = _source(path.read_text("utf-8"))
    names = source.classes if path.stem.endswith("commands") else (*source.classes, *source.top_functions)
    return (name for name in names if not name.startswith("_"))


def main() -> int:
    """Say what breaks a rule; the exit code."""
    lines = [f"{complaint}\n" for complaint in complaints()]
    sys.stderr.writelines(lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
