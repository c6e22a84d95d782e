"""Runs a program that is handed lines and answers in lines, writing and reading at once."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

from neurothek.catalog.problems import Failed
from neurothek.ingest.interventions.scorers.errors import MOST_SHOWN, excerpt, failed_scorer

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
    """What goes to and fro between a program and us.

    Attributes:
        spec: the scorer, for the errors.
        process: the program.
        feed: lines that it is still to be handed.
        patience_seconds: for so long it may neither read nor write.
    """

    spec: str
    process: "subprocess.Popen[bytes]"
    feed: Iterator[bytes]
    patience_seconds: float
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

    def _failed(self, found: str) -> Failed:
        said = self._complaint.decode(errors="backslashreplace").strip()
        last = f" and said {excerpt(said[-MOST_SHOWN:])!r}" if said else ""
        return failed_scorer(self.spec, f"{found}{last}", "run the command by hand to see what is wrong")


_READ = selectors.EVENT_READ
