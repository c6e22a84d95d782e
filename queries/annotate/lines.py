"""What people send as annotations and judgements: JSON lines or a filled-in sheet, read and judged field by field."""

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.tables.annotations import CONCEPT_CLASSES, CONDITIONS, POOLED, RULES, ConceptClass, Condition
from neurothek.queries.annotate.errors import (
    fields_exclude,
    invalid_annotation,
    invalid_field,
    missing_field,
    no_annotations,
    unknown_field,
    unreadable_line,
)
from neurothek.queries.annotate.sample import CLASSES_OF_A_SHEET, GLOSSES, NO_CONCEPT

FIELDS = (
    *("model", "vector", "address", "layer", "condition", "neuron", "control_id"),
    *("concept", "class", "token_ids", "ranks", "annotator"),
)
LIST_FIELDS = ("model", "item", "plausible", "annotator")
"""Fields of a judgement of plausibility."""

_TAKEN = {POOLED: "all people together", RULES: "the annotator of --auto"}
_LONGEST_NAME = 200
_RANKS = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Line:
    """One annotation as it was sent."""

    place: str  # where it stands, to be named in errors
    fields: Mapping[str, Any]  # what it says


@dataclass(frozen=True)
class Entry:
    """One annotation that is sound by itself; whether its vector and tokens exist is not known yet."""

    place: str  # where it stands, to be named in errors
    annotator: str  # who annotated
    model: str | None  # name of the model, unless an address names it
    handle: str | None  # the vector's name in a sample, or None
    address: str | None  # address of a neuron, or None
    key: tuple[Condition, int, int] | None  # condition, layer and number, or None
    concept: str | None  # its name; None: there is none in the vector
    concept_class: ConceptClass | None  # its class; None without a concept
    marked: tuple[int, ...]  # the marked tokens
    marked_by: str  # the field that holds them: "token_ids", or "ranks" in the list shown, from 1


def read_lines(data: bytes) -> list[Line]:
    """Annotations of an input: JSON objects, one per line, or a sheet with a header."""
    try:
        # Spreadsheets put a mark at the beginning.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data[: error.start].count(b"\n") + 1
        raise unreadable_line(f"line {number}", "is not in UTF-8") from error
    lines = list(_json_lines(text) if text.lstrip()[:1] in ("{", "[", "") else _sheet_lines(text))
    if not lines:
        raise no_annotations()
    return lines


def entry(line: Line, *, annotator: str | None = None) -> Entry:
    """An annotation with every field of the right kind.

    Args:
        line: what was sent.
        annotator: who annotated, where the line does not say.
    """
    for name in line.fields:
        if name not in FIELDS:
            raise unknown_field(line.place, str(name), FIELDS)
    model, handle, address = (name_of(line, name) for name in ("model", "vector", "address"))
    who = annotator_of(line, annotator)
    concept, concept_class = _concept(line)
    marked_by, marked = _marked(line)
    if concept is None and marked:
        raise fields_exclude(line.place, marked_by, "a concept of null, which says that there is none")
    key = None if handle or address else _key(line)
    if model is None and address is None:
        raise missing_field(line.place, "model", "the name of the model, or the address of a neuron")
    _refuse_secondname_of(line, handle, address, model)
    return Entry(line.place, who, model, handle, address, key, concept, concept_class, marked, marked_by)


def annotator_of(line: Line, annotator: str | None) -> str:
    """Who annotated: whom the line names, else `annotator`."""
    who = name_of(line, "annotator") or name_of(Line("--annotator", {"annotator": annotator}), "annotator")
    if who is None:
        raise missing_field(line.place, "annotator", "who annotated, or name them with --annotator")
    if who.casefold() in _TAKEN:
        raise invalid_field(
            line.place, "annotator", who, f"another name: views use this one for {_TAKEN[who.casefold()]}"
        )
    return who


def is_of_list(line: Line) -> bool:
    """Whether a line is about a list of next tokens, not about a vector."""
    return not {"item", "plausible"}.isdisjoint(line.fields)


@contextmanager
def at(place: str, field: str) -> Iterator[None]:
    """Say of what else is wrong where it stands."""
    try:
        yield
    except NeurothekError as error:
        raise invalid_annotation(place, field, str(error)) from error


def ranks_of(text: str) -> list[int]:
    """Ranks as people type them: "1 4, 7-9"."""
    ranks: list[int] = []
    for part in re.split(r"[\s,;]+", text.strip()):
        between = _RANKS.fullmatch(part)
        if between is None:
            raise ValueError(f"{part!r} is not a rank")
        first, last = int(between[1]), int(between[2] or between[1])
        ranks += range(first, last + 1)
    return ranks


def _json_lines(text: str) -> Iterator[Line]:
    # Only line ends part lines: JSON may hold other separators in its texts.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise unreadable_line(place, "is not JSON") from error
        if not isinstance(fields, dict):
            raise unreadable_line(place, "is not a JSON object")
        yield Line(place, fields)


def _sheet_lines(text: str) -> Iterator[Line]:
    header, _, _ = text.partition("\n")
    separator = max(",;\t", key=header.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise unreadable_line("the sheet", f"is neither JSON nor CSV ({error})") from error
    names = [name.strip() for name in rows[0]]
    of_lists = "plausible" in names
    columns, for_the_eye = (LIST_FIELDS, "text") if of_lists else (FIELDS, GLOSSES)
    for name in names:
        # Columns of tokens are for the eye.
        if name and name not in (*columns, for_the_eye) and not name.isdecimal():
            raise unknown_field("line 1", name, columns)
    for number, row in enumerate(rows[1:], start=2):
        cells = {name: cell.strip() for name, cell in zip(names, row, strict=False) if cell.strip()}
        fields = {name: cell for name, cell in cells.items() if name in columns}
        if of_lists and "plausible" in fields:
            answer = fields["plausible"].casefold()
            yield Line(f"line {number}", {**fields, "plausible": _YES_OR_NO.get(answer, fields["plausible"])})
        elif not of_lists and {"concept", "class", "ranks", "token_ids"} & fields.keys():
            yield Line(f"line {number}", _sheet_fields(f"line {number}", fields))


def _sheet_fields(place: str, cells: Mapping[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = dict(cells)
    if cells.get("class") == NO_CONCEPT:
        del fields["class"]
        if "concept" in fields:
            raise fields_exclude(place, "concept", f"the class {NO_CONCEPT}, which says that there is none")
        fields["concept"] = None
    elif "concept" not in cells:
        expected = f"the name of the concept, or the class {NO_CONCEPT}"
        raise missing_field(place, "concept", expected)
    elif "class" in cells and cells["class"] not in CONCEPT_CLASSES:
        raise invalid_field(place, "class", cells["class"], _one_of(CLASSES_OF_A_SHEET))
    for name, read in _READ.items():
        if name in cells:
            try:
                fields[name] = read(cells[name].strip("[]"))
            except ValueError as error:
                raise invalid_field(place, name, cells[name], "whole numbers, such as 1 4 7-9") from error
    return fields


_YES_OR_NO = {"yes": True, "no": False}
"""How a sheet says what is plausible."""

_READ: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("layer", "neuron", "control_id"), int),
    **dict.fromkeys(("ranks", "token_ids"), ranks_of),
}
"""How cells of a sheet are read that hold numbers."""


def _concept(line: Line) -> tuple[str | None, ConceptClass | None]:
    if "concept" not in line.fields:
        raise missing_field(line.place, "concept", "the name of the concept, or null where there is none")
    concept, class_name = name_of(line, "concept"), line.fields.get("class")
    if concept is None:
        if class_name is not None:
            raise fields_exclude(line.place, "class", "a concept of null, which says that there is none")
        return None, None
    if class_name is None:
        raise missing_field(line.place, "class", _one_of(CONCEPT_CLASSES))
    concept_class = next((one for one in CONCEPT_CLASSES if one == class_name), None)
    if concept_class is None:
        raise invalid_field(line.place, "class", class_name, _one_of(CONCEPT_CLASSES))
    return concept, concept_class


def _marked(line: Line) -> tuple[str, tuple[int, ...]]:
    ids, ranks = line.fields.get("token_ids"), line.fields.get("ranks")
    if ids and ranks:
        raise fields_exclude(line.place, "ranks", "token_ids")
    field = "ranks" if ranks else "token_ids"
    value = ranks or ids or []
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(map(_is_whole, value)):
        raise invalid_field(line.place, field, value, "a list of whole numbers")
    return field, tuple(dict.fromkeys(value))


def _key(line: Line) -> tuple[Condition, int, int]:
    layer = _whole(line, "layer")
    neuron, control = (_whole(line, name) for name in ("neuron", "control_id"))
    condition = line.fields.get("condition", "value" if neuron is not None else None)
    if layer is None or (neuron is None and control is None):
        raise missing_field(line.place, "vector", "a vector of the sample, an address, or a layer with a neuron")
    kind = next((one for one in CONDITIONS if one == condition), None)
    if kind is None:
        raise invalid_field(line.place, "condition", condition, _one_of(CONDITIONS))
    if neuron is not None and control is not None:
        raise fields_exclude(line.place, "control_id", "neuron")
    if (kind == "value") != (neuron is not None):
        other = "control_id" if neuron is None else "neuron"
        raise fields_exclude(line.place, other, f"the condition {kind}")
    number = control if neuron is None else neuron
    assert number is not None
    return kind, layer, number


def _refuse_secondname_of(line: Line, handle: str | None, address: str | None, model: str | None) -> None:
    """A vector is named in one way: two names could be of two vectors."""
    more = [name for name in ("layer", "condition", "neuron", "control_id") if line.fields.get(name) is not None]
    if handle and (address or more):
        raise fields_exclude(line.place, "vector", "address" if address else more[0])
    if address and (more or model):
        raise fields_exclude(line.place, "address", more[0] if more else "model")


def name_of(line: Line, field: str) -> str | None:
    """A text of one line, or None where the field is absent or null."""
    value = line.fields.get(field)
    if value is None:
        return None
    expected = f"a text of one line and at most {_LONGEST_NAME} letters"
    if not isinstance(value, str) or not value.strip() or len(value) > _LONGEST_NAME or any(map(_breaks, value)):
        raise invalid_field(line.place, field, value, expected)
    return value.strip()


def _breaks(character: str) -> bool:
    """Whether it ends a line, controls a terminal, or is half a character; marks that some scripts need do not."""
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")


def _whole(line: Line, field: str) -> int | None:
    value = line.fields.get(field)
    if value is not None and not _is_whole(value):
        raise invalid_field(line.place, field, value, "a whole number, 0 or more")
    return value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST


def _one_of(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}"
