"""Errors of annotations: where each stands, what was found, what to do."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotMeasured, Unreadable
from neurothek.catalog.spelling import one_line
from neurothek.catalog.suggestions import hint
from neurothek.catalog.tables.annotations import LEAST_MARKED

_MOST_LETTERS = 60
"""Of what somebody sent, in an error."""


def no_annotations() -> Invalid:
    """An input without annotations."""
    return Invalid(
        "the input has no annotations",
        "send one JSON object per line, or the filled-in sheet from"
        f" `{command_line('annotate', '--sample', 'MODEL', '--format', 'csv')}`",
        option="input",
    )


def no_controls(model: str) -> NotMeasured:
    """A model without the vectors that its neurons are to be mixed with."""
    return NotMeasured(
        f"{model} has no controls to mix its neurons with",
        f"measure random vectors and FFN updates with `{_controls_of(model)}`",
        jobs=["projections", "controls"],
        models=[model],
    )


def no_lists(model: str) -> NotMeasured:
    """A model whose shortcuts were not measured."""
    return NotMeasured(
        f"{model} has no lists of next tokens to judge",
        f"measure its shortcuts with `{command_line('ingest', model, '--job', 'shortcuts')}`",
        jobs=["shortcuts"],
        models=[model],
    )


def unreadable_glosses(path: Path, problem: str) -> Unreadable:
    """A file that holds no glosses."""
    return Unreadable(
        f"{one_line(str(path))} cannot be read as glosses: {problem}",
        "write a token, a tab or comma, and its gloss on each line, in UTF-8",
        path=path,
        why=problem,
    )


def unreadable_line(place: str, problem: str) -> Unreadable:
    """A line that holds no annotation."""
    return Unreadable(
        f"{place} {problem}",
        'write one JSON object per line, such as {"vector": "0-12ab34cd56ef", ...}',
        path=place,
        why=problem,
    )


def invalid_annotation(place: str, field: str, problem: str, way: str = "", *, value: object = None) -> Invalid:
    """An annotation that cannot be saved; nothing of its input is.

    Args:
        place: where it stands, such as "line 3".
        field: the field that cannot be.
        problem: why.
        way: what to do.
        value: of the field.
    """
    return Invalid(f"{place}, {one_line(field[:_MOST_LETTERS])}: {problem}", way, option=field, value=value)


def unknown_field(place: str, field: str, fields: Sequence[str]) -> Invalid:
    """A field that annotations do not have."""
    return invalid_annotation(place, field, "there is no such field", hint(field, fields))


def invalid_field(place: str, field: str, value: object, expected: str) -> Invalid:
    """A value of another kind than its field, or out of its range."""
    return invalid_annotation(place, field, f"{_quoted(value)} is not valid", f"write {expected}", value=value)


def missing_field(place: str, field: str, expected: str) -> Invalid:
    """An annotation that leaves something open."""
    return invalid_annotation(place, field, "it is missing", f"write {expected}")


def fields_exclude(place: str, field: str, other: str) -> Invalid:
    """A field that contradicts another."""
    return invalid_annotation(place, field, f"it cannot be combined with {other}", "omit one of the two")


def unknown_vector(place: str, handle: str, model: str) -> Invalid:
    """A vector that is not in the sample its name is of."""
    return invalid_annotation(
        place,
        "vector",
        f"there is no {handle} in the sample of {model}",
        "its controls may have been measured again since; draw the sample again with"
        f" `{command_line('annotate', '--sample', model)}`",
        value=handle,
    )


def unknown_list(place: str, item: str, model: str) -> Invalid:
    """A list that is not in the sample its name is of."""
    return invalid_annotation(
        place,
        "item",
        f"there is no {item} in the sample of {model}",
        "its shortcuts may have been measured again since; draw the sample again with"
        f" `{command_line('annotate', '--plausibility', model)}`",
        value=item,
    )


def judged_twice(place: str, other: str) -> Invalid:
    """A list that one annotator calls plausible or not more than once."""
    return invalid_annotation(place, "item", f"the same annotator judged it already ({other})", "omit one of the two")


def kinds_mixed(place: str) -> Invalid:
    """Annotations of vectors among judgements of lists."""
    return invalid_annotation(
        place,
        "item",
        "it is missing, and other lines have it",
        "send annotations of vectors and judgements of lists one after the other",
    )


def tokens_not_kept(place: str, model: str, vector: str) -> Invalid:
    """A vector whose tokens are not in the warehouse."""
    return invalid_annotation(
        place,
        "vector",
        f"the tokens of {vector} are not in the warehouse, so they cannot have been judged",
        f"measure them with `{_controls_of(model)}`",
        value=vector,
    )


def not_shown(place: str, field: str, token: int, n_shown: int) -> Invalid:
    """A token that the annotator cannot have marked."""
    return invalid_annotation(
        place, field, f"{token} is not among the {n_shown} highest tokens of the vector", "mark only those", value=token
    )


def too_few_marked(place: str, field: str, n_marked: int) -> Invalid:
    """Tokens that are too few for a pattern."""
    problem = "one token is" if n_marked == 1 else f"{n_marked} tokens are"
    return invalid_annotation(
        place,
        field,
        f"{problem} marked, but a concept needs {LEAST_MARKED}",
        "mark more, or set the concept to null if there is none",
        value=n_marked,
    )


def named_twice(place: str, concept: str | None, other: str) -> Invalid:
    """One concept, or that there is none, said twice of a vector."""
    of_none = "this vector is said to have none"
    problem = of_none if concept is None else f"{concept!r} is named for this vector"
    return invalid_annotation(place, "concept", f"{problem} already ({other})", "omit one of the two", value=concept)


def concept_and_none(place: str, other: str) -> Invalid:
    """A vector with a concept and without one."""
    return invalid_annotation(
        place,
        "concept",
        f"this vector is said both to have a concept and to have none (see {other})",
        "omit one of the two",
    )


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}..."


def _controls_of(model: str) -> str:
    return command_line("ingest", model, "--job", "projections", "--job", "controls")
