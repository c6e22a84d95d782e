"""docs/python.md: what can be called from Python, from signatures and docstrings."""

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

import neurothek
from neurothek.api import (
    answers,
    attribution,
    contents,
    contrasts,
    explanations,
    interventions,
    measurements,
    prompts,
    travel,
    upkeep,
)
from neurothek.ingest.options import IngestOptions
from neurothek.ingest.request import IngestRequest, TextRequest
from neurothek.queries.search.question import Conditions, Question

INTRODUCTION = """\
`open` returns an object that holds only the path of a warehouse; each call opens the file and closes it when done.
Tables are polars frames. Answers are immutable, display in notebooks like the output of the commands, and hold the SQL
that was run as `.sql`. Arguments are named after the options of the [commands](commands.md): `model` is one model or
several, `layer` one layer or a range, and an option that can be repeated there is a list here.

Invalid calls raise a `neurothek.NeurothekError` with one sentence that says what was asked, what was found and what to
do; wrong arguments are rejected before anything is opened. The error is one of the classes in
`neurothek.catalog.problems`, such as `NotFound`, with fields for programs: `error.to_dict()` returns all of them.

The examples were run on this warehouse:

```python
import neurothek

warehouse = neurothek.open("neurothek.duckdb")
warehouse.ingest("mini-opt-0.7m", "mini-opt-2m", tokens=2000)
warehouse.ingest("mini-opt-0.7m", job="shortcuts", tokens=2000)
```
"""

GROUPS: Mapping[str, ModuleType] = {
    "Ask the warehouse": answers,
    "See what is there": contents,
    "Run a model": prompts,
    "Attribute a prediction": attribution,
    "Contrast prompts": contrasts,
    "Explain neurons": explanations,
    "Measure": measurements,
    "Change neurons": interventions,
    "Write, change, check and export": upkeep,
    "Publish and copy": travel,
}

WORDS: Mapping[str, tuple[type[Any], tuple[type[Any], ...]]] = {
    "conditions": (Conditions, (Question,)),
    "options": (IngestOptions, (IngestRequest, TextRequest)),
}
"""Keywords that a signature sums up -> the words themselves, and the classes whose docstrings say what they are."""

ALSO: Mapping[str, str] = {
    "model": "models",
    "layer": "layers",
    "all": "match_all",
    "leave_out": "left_out",
    "script": "scripts",
    "pattern": "patterns",
    "job": "jobs",
    "corpus": "corpora",
    "method": "methods",
    "domain": "domains",
    "memory": "memory_bytes",
    "tokens": "tokens_per_domain",
    "corpus_name": "name",
}
"""What the command line calls a field -> the field."""

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$")
_ENTRY = re.compile(r"^(\w[\w, ]*): (.*)$")


@dataclass(frozen=True)
class Documented:
    """A docstring in its parts."""

    summary: str  # the text before the sections
    sections: Mapping[str, str]  # name of a section -> its lines

    @classmethod
    def of(cls, what: object) -> "Documented":
        """Read what an object says of itself."""
        parts: dict[str, list[str]] = {"": []}
        lines = parts[""]
        for line in inspect.getdoc(what).splitlines():  # type: ignore[union-attr]  # whatever is public is documented
            if heading := _SECTION.match(line):
                lines = parts.setdefault(heading[1], [])
            else:
                lines.append(line)
        texts = {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in parts.items()}
        return cls(texts.pop(""), texts)

    def entries(self, section: str) -> dict[str, str]:
        """Names that a section explains, with what it says of them."""
        said: dict[str, str] = {}
        name = ""
        for line in self.sections.get(section, "").splitlines():
            if entry := _ENTRY.match(line):
                name, said[entry[1]] = entry[1], entry[2]
            else:
                said[name] += f" {line.strip()}"
        return said


def python_page(header: str) -> str:
    """The page as Markdown."""
    told: set[object] = set()
    parts = ["# Python\n\n", header, INTRODUCTION, "\n", *_member(neurothek.open, told)]
    for title, group in GROUPS.items():
        parts += [f"## {title}\n\n", f"{Documented.of(group).summary}\n\n"]
        for call in calls(group):
            parts += _member(call, told)
    return "".join(parts)


def calls(group: ModuleType) -> list[Callable[..., Any]]:
    """The calls of a warehouse that a module defines."""
    return [one for one in vars(neurothek.Neurothek).values() if getattr(one, "__module__", "") == group.__name__]


def _member(member: Callable[..., Any], told: set[object]) -> Iterator[str]:
    """The part of one call; what was told once, such as the class of an answer, is not told again."""
    said = Documented.of(member)
    yield f"### {member.__name__}\n\n```python\n{_signature(member)}\n```\n\n{said.summary}\n\n"
    entries = said.entries("Args")
    for name, meaning in entries.items():
        yield f"- `{name}`: {meaning}\n"
        if name in WORDS and name not in told:
            yield from _words(*WORDS[name])
            told.add(name)
    yield "\n" if entries else ""
    if returned := said.sections.get("Returns"):
        yield f"Returns: {_one_line(returned)}\n\n"
    answers = [one for one in _classes(member) if one not in told]
    yield from map(_attributes, answers)
    told.update(answers)
    if raised := said.entries("Raises"):
        yield "".join(f"Raises `{name}`: {meaning}\n\n" for name, meaning in raised.items())
    if example := said.sections.get("Example"):
        yield f"```pycon\n{example}\n```\n\n"


def _signature(member: Callable[..., Any]) -> str:
    """How to call it, an argument a line where there are many."""
    shown = inspect.signature(member)
    parameters = [_shown(one) for one in shown.parameters.values() if one.name != "base"]
    ends = f" -> {_type(shown.return_annotation)}"
    kinds = [one.kind for one in shown.parameters.values() if one.name != "base"]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    line = f"{member.__name__}({', '.join(parameters)}){ends}"
    if len(line) <= 100:
        return line
    return f"{member.__name__}(\n" + "".join(f"    {one},\n" for one in parameters) + f"){ends}"


def _shown(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    if parameter.name in WORDS:
        return f"**{parameter.name}"
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{stars}{parameter.name}: {_type(parameter.annotation)}{default}"


def _type(annotation: Any) -> str:  # noqa: ANN401 - an annotation, of whatever kind
    if isinstance(annotation, str):
        return annotation
    text = annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)
    return re.sub(r"\b(?:typing|collections\.abc|pathlib|os)\.", "", text.replace("NoneType", "None"))


def _words(words: type[Any], told_by: tuple[type[Any], ...]) -> Iterator[str]:
    """The keywords that a signature sums up, those of the commands beside the fields that they are."""
    kinds = typing.get_type_hints(words)
    meanings = {name: said for one in told_by for name, said in Documented.of(one).entries("Attributes").items()}
    fields_of_words = {field for word, field in ALSO.items() if word in kinds}
    for name, kind in kinds.items():
        # A corpus that an answer tells of is not one of the corpora that are measured.
        field = ALSO.get(name, name) if ALSO.get(name) in meanings else name
        if name == field and name in fields_of_words:
            continue
        also = f", or `{field}`" if field in kinds and field != name else ""
        shown = _type(kind).replace("|", r"\|")
        yield f"    - `{name}`{also}: {meanings[field]} *{shown}*\n"


def _classes(member: Callable[..., Any]) -> list[type[Any]]:
    """The classes of answers that a call may return."""
    names = re.findall(r"\w+", str(_type(inspect.signature(member).return_annotation)))
    module = inspect.getmodule(inspect.unwrap(member))
    assert module is not None
    imports = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names if node.module}
    classes = [getattr(import_module(homes[name]), name) for name in names if name in homes]
    return [one for one in classes if isinstance(one, type) and is_dataclass(one)]


def _attributes(answer: type[Any]) -> str:
    said = Documented.of(answer)
    lines = [f"- `{name}`: {meaning}\n" for name, meaning in said.entries("Attributes").items()]
    return f"**{answer.__name__}**: {said.summary}\n\n{''.join(lines)}\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
