"""Small changes of a module by the operators of Cosmic Ray, drawn with a seed."""

import ast
import difflib
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

from tests.mutants.tables import ROOT, Change, Mutant

Position = tuple[int, int]

BITS = {"BitAnd", "BitOr", "BitXor", "LShift", "RShift"}
IDENTITY = {"Is", "IsNot"}


@dataclass(frozen=True)
class _Place:
    """Where an operator applies."""

    module: str
    operator: str
    occurrence: int
    draw: bytes


def sample(modules: Sequence[str], *, size: int, seed: int) -> list[Mutant]:
    """So many mutants of some modules, all alike likely, module by module.

    Each has a number of its own, so that a change of one module does not draw new mutants of the others.
    """
    places = sorted((place for module in modules for place in _places(module, seed)), key=lambda place: place.draw)
    chosen: dict[tuple[str, str], Mutant] = {}
    for place in places:
        if len(chosen) == size:
            break
        mutant = _mutant(place)
        if mutant:
            # Two operators may make the same of a line.
            chosen.setdefault((place.module, mutant.source), mutant)
    return sorted(chosen.values(), key=lambda one: (modules.index(one.change.module), one.line, one.change))


def _places(module: str, seed: int) -> Iterator[_Place]:
    source = (ROOT / module).read_text()
    lines, declarations, tree = source.splitlines(), _declarations(source), get_ast(source)
    alike: Counter[tuple[str, str, int]] = Counter()
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments() or _is_no_slip(name):
            continue
        operator = operator_class()
        found = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, (line, column) in enumerate(found):
            if any(start <= (line, column) < end for start, end in declarations):
                # No result hangs on them, and a broken one fails where the module is imported.
                continue
            if lines[line - 1].startswith("*,", column):
                # Which arguments have to be named is no operation.
                continue
            text = lines[line - 1].strip()
            alike[name, text, column] += 1
            told = f"{seed} {module} {name} {text} {column} {alike[name, text, column]}"
            yield _Place(module, name, occurrence, hashlib.sha256(told.encode()).digest())


def _is_no_slip(name: str) -> bool:
    """Whether an operator makes what nobody would write: numbers have no bits where they are real, and no identity.

    The first fail by their type in any test that comes by; whether the others differ is up to the interpreter.
    """
    kind, *parts = name.removeprefix("core/").split("_")
    if kind == "ReplaceBinaryOperator":
        return len(BITS.intersection(parts)) == 1
    if kind == "ReplaceComparisonOperator":
        return len(IDENTITY.intersection(parts)) == 1
    return "Invert" in parts


def _declarations(source: str) -> list[tuple[Position, Position]]:
    """First and last place of each type and of the options of each decorator."""
    found: list[ast.expr | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            found.append(node.returns)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            calls = [decorator for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
            found.extend(keyword.value for call in calls for keyword in call.keywords)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)) for node in found if node
    ]


def _mutant(place: _Place) -> Mutant | None:
    """None where the operator makes no other program of the module."""
    before = (ROOT / place.module).read_text()
    after = mutate_code(before, get_operator(place.operator)(), place.occurrence)
    if after is None or not _compiles(after) or ast.dump(ast.parse(after)) == ast.dump(ast.parse(before)):
        return None
    old, new = before.splitlines(), after.splitlines()
    blocks = [block for block in difflib.SequenceMatcher(None, old, new, False).get_opcodes() if block[0] != "equal"]
    removed = [line.strip() for _, start, end, _, _ in blocks for line in old[start:end]]
    added = [line.strip() for _, _, _, start, end in blocks for line in new[start:end]]
    change = Change(place.module, "\n".join(removed), "\n".join(added))
    return Mutant(change, blocks[0][1] + 1, after)


def _compiles(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
