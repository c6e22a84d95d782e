"""Scores texts by a program of somebody else, which reads and writes JSON lines."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from jaxtyping import Float

from neurothek.catalog.problems import Failed
from neurothek.catalog.suggestions import enumerated
from neurothek.ingest.interventions.scorers.attributes import valid_attributes
from neurothek.ingest.interventions.scorers.errors import excerpt, failed_scorer, unusable_scorer
from neurothek.ingest.interventions.scorers.line_program import line_answers

TRIAL = "The quick brown fox"
"""What is scored once to learn what the program scores."""

PATIENCE_SECONDS = 600.0
"""A program may load a large model first; one that answers at its end has a second more for every text."""


class InvalidScore(ValueError):
    """Output of a program that is no score; the text is a predicate, such as "is not JSON"."""


@dataclass(frozen=True)
class CommandScorer:
    """A program that reads a line {"text": ...} for each text, and writes a line {"attribute": score, ...} for it.

    Scores lie in [0, 1], every line has the same attributes, and the exit code is 0: anything else is a failure. The
    program may answer at once or when it has read everything.

    Attributes:
        spec: as it was asked for.
        arguments: the program and its arguments.
        attributes: what it scores.
        patience_seconds: for so long it may neither read nor write.
    """

    is_foreign: ClassVar[bool] = True
    spec: str
    arguments: tuple[str, ...]
    attributes: tuple[str, ...]
    patience_seconds: float = PATIENCE_SECONDS

    @classmethod
    def opened(cls, spec: str, argument: str, *, patience_seconds: float = PATIENCE_SECONDS) -> "CommandScorer":
        """Run the program on one short text, to see that it answers and what it scores."""
        try:
            arguments = tuple(shlex.split(argument))
        except ValueError as error:
            raise unusable_scorer(spec, "a quotation in it does not end", "close it") from error
        if not arguments:
            raise unusable_scorer(spec, "it names no program", "give command:PROGRAM and its arguments")
        asked = cls(spec, arguments, (), patience_seconds)
        try:
            (answer,) = asked._answers([TRIAL])
        except Failed as error:
            raise unusable_scorer(spec, f"on a trial text {error.why}", error.hint) from error
        return cls(spec, arguments, valid_attributes(spec, list(answer)), patience_seconds)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The command and what it scores; what the program is nobody knows."""
        return {"kind": "command", "command": shlex.join(self.arguments), "attributes": list(self.attributes)}

    def scores(self, texts: Sequence[str]) -> Float[np.ndarray, "texts attributes"]:
        """[texts attributes] what the program answers."""
        answers = self._answers(texts) if texts else []
        rows = [[answer[name] for name in self.attributes] for answer in answers]
        return np.array(rows, dtype=np.float64).reshape(len(texts), len(self.attributes))

    def words(self, attribute: str) -> tuple[str, ...]:
        """None are known."""
        return ()

    def _answers(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """An answer for each text, all with the same attributes."""
        answers: list[dict[str, float]] = []
        patience = self.patience_seconds + len(texts)
        asked = line_answers(self.spec, self.arguments, _requests(texts), patience_seconds=patience)
        with closing(asked) as lines:
            for number, line in enumerate(lines, start=1):
                if number > len(texts):
                    raise self._nonsense(f"it wrote more than {len(texts)} lines for {len(texts)} texts")
                known = self.attributes or (tuple(answers[0]) if answers else ())
                try:
                    answers.append(_answer(line, known))
                except InvalidScore as error:
                    raise self._nonsense(f"line {number} of its output {error}") from error
        if len(answers) < len(texts):
            raise self._nonsense(f"it wrote {len(answers)} lines for {len(texts)} texts")
        return answers

    def _nonsense(self, found: str) -> Failed:
        return failed_scorer(self.spec, found, "make it write one JSON object of scores in [0, 1] a line")


def _requests(texts: Sequence[str]) -> Iterator[bytes]:
    return (f"{json.dumps({'text': text})}\n".encode() for text in texts)


def _answer(line: bytes, known: Sequence[str]) -> dict[str, float]:
    """The scores on a line, of the known attributes if there are any."""
    found = json_object(line)
    if known and set(found) != set(known):
        there = excerpt(enumerated(map(repr, found))) or "none"
        raise InvalidScore(f"has the attributes {there} and not {enumerated(map(repr, known))}")
    return {name: _score(name, value) for name, value in found.items()}


def _score(name: str, value: object) -> float:
    score = score_of(value)
    if score is None:
        raise InvalidScore(f"gives {excerpt(name)!r} the score {excerpt(json.dumps(value))}, which is not in [0, 1]")
    return score


def score_of(value: object) -> float | None:
    """A JSON value as a score; None if it is no number in [0, 1]. True is no number, and neither is NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return None
    return float(value)


def json_object(line: bytes) -> dict[str, Any]:
    """A JSON object on one line."""
    try:
        found = json.loads(line.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except InvalidScore:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidScore(f"is not JSON ({_shown(line)})") from error
    if not isinstance(found, dict):
        raise InvalidScore(f"is no JSON object ({_shown(line)})")
    return found


def _no_number(constant: str) -> NoReturn:
    raise InvalidScore(f"holds {constant}, which is no number")


def _once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(fields)
    if len(found) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidScore(f"gives {excerpt(twice)!r} twice")
    return found


def _shown(line: bytes) -> str:
    return excerpt(line.decode(errors="backslashreplace").strip()) or "it is empty"
