"""Bytes of a catalog's files for the process that answers people's SQL: it asks for them, and opens nothing.

A question is a line of JSON, [path, start, end]; the answer is a line of JSON, the number of bytes that follow it or
what kept them from being read. What is asked for is judged by what reads it, whoever asks.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from neurothek.catalog.problems import Failed, NeurothekError

if TYPE_CHECKING:
    from neurothek.catalog.store.connections import Served

_LONGEST_QUESTION = 4_096
_MOST_BYTES = 1 << 30
"""Of an answer: no column of a row group is nearly as long."""


@contextmanager
def serving(served: Served) -> Iterator[int]:
    """Answer whoever has the other end, whose number this is, until the block ends."""
    ours, theirs = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(ours, served), daemon=True)
    thread.start()
    try:
        yield theirs.fileno()
    finally:
        theirs.close()
        with suppress(OSError):
            ours.shutdown(socket.SHUT_RDWR)
        thread.join()
        ours.close()


def _serve(ours: socket.socket, served: Served) -> None:
    with ours.makefile("rwb") as stream, suppress(OSError):
        while line := stream.readline(_LONGEST_QUESTION):
            try:
                path, start, end = json.loads(line)
                content = _read(served, str(path), int(start), int(end))
            except NeurothekError as error:
                stream.write(json.dumps({"error": error.to_dict()}).encode() + b"\n")
            except (ValueError, TypeError):
                return
            else:
                stream.write(json.dumps({"bytes": len(content)}).encode() + b"\n")
                stream.write(content)
            stream.flush()


def _read(served: Served, path: str, start: int, end: int) -> bytes:
    if end - start > _MOST_BYTES:
        raise Failed(
            f"{end - start:,} bytes of {path} are one column of a row group, which is more than a catalog has",
            what="file",
            why="a column is too long",
        )
    return served.read(path, start, end)


class ServedFiles:
    """Files that the process which started this one reads."""

    def __init__(self, number: int) -> None:
        """Ask by an open file."""
        self._lock = threading.Lock()
        self._stream: BinaryIO = os.fdopen(number, "rb", buffering=1 << 16, closefd=False)
        self._number = number

    def read(self, path: str, start: int, end: int) -> bytes:
        """The bytes from `start` to `end` of a file."""
        question = json.dumps([path, start, end]).encode() + b"\n"
        with self._lock:
            os.write(self._number, question)
            answer = json.loads(self._stream.readline())
            if "error" in answer:
                raise NeurothekError.from_dict(answer["error"])
            return self._stream.read(answer["bytes"])
