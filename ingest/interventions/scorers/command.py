"""Scores texts by a program of somebody else, which reads and writes JSON lines."""

import contextlib
import json
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import IO, Any, ClassVar, NoReturn

import numpy as np
from jaxtyping import Float

from neurothek.catalog.problems import Failed
from neurothek.catalog.suggestions import enumerated
from neurothek.ingest.interventions.scorers.text_scorer import (
    MOST_SHOWN,
    excerpt,
    failed_scorer,
    unusable_scorer,
    valid_attributes,
)

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
    """

    is_foreign: ClassVar[bool] = True
    spec: str  # as it was asked for
    arguments: tuple[str, ...]  # the program and its arguments
    attributes: tuple[str, ...]  # what it scores
    patience_seconds: float = PATIENCE_SECONDS  # for so long it may neither read nor write

    @classmethod
    def opened(cls, spec: str, argument: str, *, patience_seconds: float = PATIENCE_SECONDS) -> "CommandScorer":
        """Run the program on one short text, to see that it answers and what it scores."""
        try:
            arguments = tuple(shlex.split(argument))
        except ValueError as error:
            raise unusable_scorer(spec, "a quotation in it does not end", "close it") from error
        if not arguments:
            raise unusable_scorer(spec, "it names no program", "give command:PROGRAM and its arguments")
        scorer = cls(spec, arguments, (), patience_seconds)
        try:
            (answer,) = scorer._answers([TRIAL])
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
        output = line_answers(self.spec, self.arguments, _requests(texts), patience_seconds=patience)
        with closing(output) as lines:
            for number, line in enumerate(lines, start=1):
                if number > len(texts):
                    raise self._nonsense(f"it wrote more than {len(texts)} lines for {len(texts)} texts")
                attributes = self.attributes or (tuple(answers[0]) if answers else ())
                try:
                    answers.append(_answer(line, attributes))
                except InvalidScore as error:
                    raise self._nonsense(f"line {number} of its output {error}") from error
        if len(answers) < len(texts):
            raise self._nonsense(f"it wrote {len(answers)} lines for {len(texts)} texts")
        return answers

    def _nonsense(self, problem: str) -> Failed:
        return failed_scorer(self.spec, problem, "make it write one JSON object of scores in [0, 1] a line")


def _requests(texts: Sequence[str]) -> Iterator[bytes]:
    return (f"{json.dumps({'text': text})}\n".encode() for text in texts)


def _answer(line: bytes, attributes: Sequence[str]) -> dict[str, float]:
    """The scores on a line, of the known attributes if there are any."""
    values = json_object(line)
    if attributes and set(values) != set(attributes):
        names = excerpt(enumerated(map(repr, values))) or "none"
        raise InvalidScore(f"has the attributes {names} and not {enumerated(map(repr, attributes))}")
    return {name: _score(name, value) for name, value in values.items()}


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
        document = json.loads(line.decode(), parse_constant=_no_number, object_pairs_hook=_once)
    except InvalidScore:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidScore(f"is not JSON ({_excerpt(line)})") from error
    if not isinstance(document, dict):
        raise InvalidScore(f"is not a JSON object ({_excerpt(line)})")
    return document


def _no_number(constant: str) -> NoReturn:
    raise InvalidScore(f"holds {constant}, which is not a number")


def _once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(fields)
    if len(result) < len(fields):
        names = [name for name, _ in fields]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidScore(f"gives {excerpt(twice)!r} twice")
    return result


def _excerpt(line: bytes) -> str:
    return excerpt(line.decode(errors="backslashreplace").strip()) or "it is empty"


LONGEST_LINE_BYTES = 1 << 20
_BLOCK_BYTES = 1 << 16
_KEPT_BYTES = 1 << 12
"""Of what the program said last on its standard error."""
_SECONDS_BETWEEN_LOOKS = 0.05


def line_answers(
    spec: str, arguments: Sequence[str], lines: Iterable[bytes], *, patience_seconds: float
) -> Generator[bytes, None, None]:
    """The lines that a program writes, each as soon as it is there; close the iterator to end the program.

    Args:
        spec: the scorer, for the errors.
        arguments: the program and its arguments; no shell reads them.
        lines: what it is handed, each with its line end.
        patience_seconds: for so long it may neither read nor write.
    """
    with _started(spec, arguments) as process, _Exchange(spec, process, iter(lines), patience_seconds) as exchange:
        yield from exchange.lines()
        exchange.finish()


@contextmanager
def _started(spec: str, arguments: Sequence[str]) -> Iterator["subprocess.Popen[bytes]"]:
    """The process in a session of its own, which ends with it where it is left before its end."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the command that the person asked for
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise failed_scorer(spec, f"{excerpt(arguments[0])!r} cannot be started ({why})", "name a program") from error
    try:
        yield process
    finally:
        # Until it is waited for, its number stays its own.
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for pipe in _pipes(process):
            with contextlib.suppress(OSError):
                pipe.close()
        process.wait()


def _pipes(process: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdin, process.stdout, process.stderr


@dataclass(eq=False)
class _Exchange:
    """What goes to and fro between a program and us."""

    spec: str  # the scorer, for the errors
    process: "subprocess.Popen[bytes]"  # the program
    feed: Iterator[bytes]  # lines that it is still to be handed
    patience_seconds: float  # for so long it may neither read nor write
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    _unsent: bytes = b""
    _unread: bytearray = field(default_factory=bytearray)
    _complaint: bytes = b""
    _deadline: float = 0.0

    def __enter__(self) -> "_Exchange":
        stdin, stdout, stderr = _pipes(self.process)
        for pipe, event in ((stdin, selectors.EVENT_WRITE), (stdout, _READ), (stderr, _READ)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, event)
        self._be_patient()
        return self

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def lines(self) -> Iterator[bytes]:
        """The lines that it writes up to the end of its output, while it is handed those that it asks for."""
        stdin, stdout, stderr = _pipes(self.process)
        while stdout in self._watched():
            ready = {key.fileobj for key, _ in self._selector.select(max(0.0, self._deadline - time.monotonic()))}
            if stderr in ready:
                self._listen()
            if stdin in ready:
                self._hand_over()
            if stdout in ready:
                yield from self._read()
            if time.monotonic() > self._deadline:
                raise self._failed(f"it did nothing for {self.patience_seconds:.0f} seconds")

    def finish(self) -> None:
        """Wait for its end, which is soon after that of its output."""
        stdin, _, stderr = _pipes(self.process)
        if stdin in self._watched():
            self._stop_handing_over()
        self._be_patient()
        while self.process.poll() is None:
            if time.monotonic() > self._deadline:
                raise self._failed(f"it did not end {self.patience_seconds:.0f} seconds after its output")
            if self._watched() and self._selector.select(_SECONDS_BETWEEN_LOOKS):
                self._listen()
            else:
                time.sleep(_SECONDS_BETWEEN_LOOKS / 10)
        while stderr in self._watched() and self._selector.select(0):
            self._listen()
        code = self.process.returncode
        if code != 0:
            raise self._failed(f"it was ended by signal {-code}" if code < 0 else f"it ended with exit code {code}")

    def _be_patient(self) -> None:
        self._deadline = time.monotonic() + self.patience_seconds

    def _watched(self) -> list[object]:
        return [key.fileobj for key in self._selector.get_map().values()]

    def _hand_over(self) -> None:
        stdin, _, _ = _pipes(self.process)
        if not self._unsent:
            self._unsent = next(self.feed, b"")
        try:
            sent = os.write(stdin.fileno(), self._unsent[:_BLOCK_BYTES]) if self._unsent else 0
        except BlockingIOError:
            return
        except BrokenPipeError:
            sent = 0  # it wants no more; whether it answered all is seen from its lines
        self._unsent = self._unsent[sent:]
        self._be_patient()
        if not sent:
            self._stop_handing_over()

    def _stop_handing_over(self) -> None:
        stdin, _, _ = _pipes(self.process)
        self._selector.unregister(stdin)
        with contextlib.suppress(BrokenPipeError):
            stdin.close()

    def _read(self) -> Iterator[bytes]:
        _, stdout, _ = _pipes(self.process)
        block = os.read(stdout.fileno(), _BLOCK_BYTES)
        self._be_patient()
        if not block:
            self._selector.unregister(stdout)
            if self._unread:
                yield bytes(self._unread)
            return
        self._unread += block
        *whole, rest = self._unread.split(b"\n") if b"\n" in block else (self._unread,)
        self._unread = rest
        yield from map(bytes, whole)
        if len(self._unread) > LONGEST_LINE_BYTES:
            raise self._failed(f"it wrote a line of more than {LONGEST_LINE_BYTES:,} bytes")

    def _listen(self) -> None:
        _, _, stderr = _pipes(self.process)
        block = os.read(stderr.fileno(), _BLOCK_BYTES)
        if not block:
            self._selector.unregister(stderr)
        self._complaint = (self._complaint + block)[-_KEPT_BYTES:]

    def _failed(self, problem: str) -> Failed:
        text = self._complaint.decode(errors="backslashreplace").strip()
        last = f" and said {excerpt(text[-MOST_SHOWN:])!r}" if text else ""
        return failed_scorer(self.spec, f"{problem}{last}", "run the command by hand to see what is wrong")


_READ = selectors.EVENT_READ
