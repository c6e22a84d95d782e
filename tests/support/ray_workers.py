"""Workers of a cluster as tests need them: small chunks, and parts that fail."""

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ingest.corpora import corpus
from ingest.forward.stream_store import PackedStreams
from ingest.pipeline.cluster.assignment import Greeting, Handed
from ingest.pipeline.cluster.worker import Worker

CHUNK_TOKENS = 300


class SmallChunks(Worker):
    """Cuts texts as the tests do."""

    def __init__(self) -> None:
        super().__init__()
        corpus.CHUNK_TOKENS = CHUNK_TOKENS


class Poisoned(SmallChunks):
    """Fails at one chunk, always."""

    chunk_number: ClassVar[int] = 1

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        if number == self.chunk_number:
            raise ValueError("this chunk is poisoned")
        yield from super().chunk(number, watched, streams, is_passed_on)


class Deadly(SmallChunks):
    """Is killed at one chunk, always."""

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        for handed in super().chunk(number, watched, streams, is_passed_on):
            yield handed
            if number == Poisoned.chunk_number:
                os.kill(os.getpid(), signal.SIGKILL)


class Mortal(SmallChunks):
    """Each is killed once, after its first part, as long as there is a file to be removed."""

    def greet(self, device: str, witness: Path) -> Greeting:
        self._lives = witness.parent / "lives"
        return super().greet(device, witness)

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        for handed in super().chunk(number, watched, streams, is_passed_on):
            yield handed
            self._die_once()

    def _die_once(self) -> None:
        for life in self._lives.glob("*"):
            life.unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)


class FullDisk(SmallChunks):
    """Has no room on its disk, while there is a file to be removed."""

    def greet(self, device: str, witness: Path) -> Greeting:
        self._lives = witness.parent / "lives"
        return super().greet(device, witness)

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        for life in self._lives.glob("*"):
            life.unlink(missing_ok=True)
            raise OSError(28, "No space left on device")
        yield from super().chunk(number, watched, streams, is_passed_on)


class Older(SmallChunks):
    """Has another release of a library."""

    def greet(self, device: str, witness: Path) -> Greeting:
        found = super().greet(device, witness)
        return Greeting("elsewhere", found.versions.replace('"torch": "', '"torch": "0.'), found.memory_bytes, True)
