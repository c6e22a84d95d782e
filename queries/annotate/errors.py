"""Every error that an annotation can cause, each one sentence: where it stands, what was found, what to do."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import readable
from neurothek.catalog.suggestions import hint
from neurothek.catalog.tables.annotations import LEAST_MARKED

_MOST_LETTERS = 60
"""Of what somebody sent, in an error."""


class NothingToSave(NeurothekError):
    """An input without annotations."""

    def __init__(self) -> None:
        super().__init__(
            "the input has no annotations; send one JSON object per line, or the filled-in sheet from"
            f" `{command_line('annotate', '--sample', 'MODEL', '--format', 'csv')}`"
        )


class ControlsMissing(NeurothekError):
    """A model without the vectors that its neurons are to be mixed with."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"there is nothing to mix the neurons of {model} with; measure random vectors and FFN updates with"
            f" `{_controls_of(model)}`"
        )


class AnnotationInvalid(NeurothekError):
    """An annotation that cannot be saved; nothing of its input is."""

    def __init__(self, place: str, field: str, problem: str) -> None:
        super().__init__(f"{place}, {readable(field[:_MOST_LETTERS])}: {problem}")


class ListsNotMeasured(NeurothekError):
    """A model whose shortcuts were not measured."""

    def __init__(self, model: str) -> None:
        super().__init__(
            f"there are no lists of next tokens of {model} to judge; measure its shortcuts with"
            f" `{command_line('ingest', model, '--job', 'shortcuts')}`"
        )


class GlossesUnreadable(NeurothekError):
    """A file that holds no glosses."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{readable(str(path))} has no glosses to show: {problem}; write a token, a tab or comma, and its gloss on"
            " each line, in UTF-8"
        )


class LineUnreadable(NeurothekError):
    """A line that holds no annotation."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(
            f'{place} {problem}; write one JSON object per line, such as {{"vector": "0-12ab34cd56ef", ...}}'
        )


class FieldUnknown(AnnotationInvalid):
    """A field that annotations do not have."""

    def __init__(self, place: str, field: str, known: Sequence[str]) -> None:
        super().__init__(place, field, f"there is no such field; {hint(field, known)}")


class FieldInvalid(AnnotationInvalid):
    """A value of another kind than its field, or out of its range."""

    def __init__(self, place: str, field: str, value: object, wanted: str) -> None:
        super().__init__(place, field, f"{_shown(value)} is not valid; write {wanted}")


class FieldMissing(AnnotationInvalid):
    """An annotation that leaves something open."""

    def __init__(self, place: str, field: str, wanted: str) -> None:
        super().__init__(place, field, f"it is missing; write {wanted}")


class FieldTooMuch(AnnotationInvalid):
    """A field that contradicts another."""

    def __init__(self, place: str, field: str, other: str) -> None:
        super().__init__(place, field, f"it cannot be combined with {other}; omit one of the two")


class VectorUnknown(AnnotationInvalid):
    """A vector that is not in the sample its name is of."""

    def __init__(self, place: str, handle: str, model: str) -> None:
        super().__init__(
            place,
            "vector",
            f"there is no {handle} in the sample of {model}; its controls may have been measured again since; draw it"
            f" again with `{command_line('annotate', '--sample', model)}`",
        )


class ListUnknown(AnnotationInvalid):
    """A list that is not in the sample its name is of."""

    def __init__(self, place: str, item: str, model: str) -> None:
        super().__init__(
            place,
            "item",
            f"there is no {item} in the sample of {model}; its shortcuts may have been measured again since; draw it"
            f" again with `{command_line('annotate', '--plausibility', model)}`",
        )


class JudgedTwice(AnnotationInvalid):
    """A list that one annotator calls plausible or not more than once."""

    def __init__(self, place: str, other: str) -> None:
        super().__init__(place, "item", f"the same annotator judged it already ({other}); omit one of the two")


class KindsMixed(AnnotationInvalid):
    """Annotations of vectors among judgements of lists."""

    def __init__(self, place: str) -> None:
        super().__init__(
            place,
            "item",
            "it is missing, and other lines have it; send annotations of vectors and judgements of lists one after the"
            " other",
        )


class ListMissing(AnnotationInvalid):
    """A vector whose tokens are not in the warehouse."""

    def __init__(self, place: str, model: str, vector: str) -> None:
        super().__init__(
            place,
            "vector",
            f"the tokens of {vector} are not in the warehouse, so nobody can have judged them; measure them with"
            f" `{_controls_of(model)}`",
        )


class NotShown(AnnotationInvalid):
    """A token that the annotator cannot have marked."""

    def __init__(self, place: str, field: str, token: int, n_shown: int) -> None:
        super().__init__(
            place, field, f"{token} is not among the {n_shown} highest tokens of the vector; mark only those"
        )


class TooFewMarked(AnnotationInvalid):
    """Tokens that are too few for a pattern."""

    def __init__(self, place: str, field: str, n_marked: int) -> None:
        problem = "one token is" if n_marked == 1 else f"{n_marked} tokens are"
        super().__init__(
            place,
            field,
            f"{problem} marked, but a concept needs {LEAST_MARKED}; mark more, or set the concept to null if there"
            " is none",
        )


class NamedTwice(AnnotationInvalid):
    """One concept, or that there is none, said twice of a vector."""

    def __init__(self, place: str, concept: str | None, other: str) -> None:
        said = "this vector is said to have none" if concept is None else f"{concept!r} is named for this vector"
        super().__init__(place, "concept", f"{said} already ({other}); omit one of the two")


class ConceptAndNone(AnnotationInvalid):
    """A vector with a concept and without one."""

    def __init__(self, place: str, other: str) -> None:
        super().__init__(
            place,
            "concept",
            f"this vector is said both to have a concept and to have none (see {other}); omit one of the two",
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]}..."


def _controls_of(model: str) -> str:
    return command_line("ingest", model, "--job", "projections", "--job", "controls")
