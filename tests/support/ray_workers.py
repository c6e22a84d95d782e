"""Workers of a cluster as tests need them: small chunks, and parts that fail."""

import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from neurothek.ingest.corpora import corpus
from neurothek.ingest.forward.stream_store import PackedStreams
from neurothek.ingest.pipeline.cluster.assignment import Assignment, Failure, Handed, WorkerInfo
from neurothek.ingest.pipeline.cluster.worker import Worker

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


class _Numbered(SmallChunks):
    """Fails in its own way as often as there are files in the folder `lives` of the staging folder."""

    def fails(self) -> bool:
        """Whether it is to fail now, which takes one of the files."""
        staging = next(iter(self._task.outboxes.values())).folder.parent
        for life in (staging / "lives").glob("*"):
            life.unlink(missing_ok=True)
            return True
        return False


class Mortal(_Numbered):
    """Is killed after a part."""

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        for handed in super().chunk(number, watched, streams, is_passed_on):
            yield handed
            if self.fails():
                os.kill(os.getpid(), signal.SIGKILL)


class FullDisk(_Numbered):
    """Has no room on its disk, and takes seconds to open a model."""

    SECONDS: ClassVar[float] = 3.0

    def open(self, assignment: Assignment) -> Failure | None:
        time.sleep(self.SECONDS)
        return super().open(assignment)

    def chunk(
        self, number: int, watched: Mapping[int, Sequence[str]], streams: PackedStreams | None, is_passed_on: bool
    ) -> Iterator[Handed]:
        if self.fails():
            yield Failure("disk", "elsewhere", "no space left on the device")
            return
        yield from super().chunk(number, watched, streams, is_passed_on)


class Older(SmallChunks):
    """Has another release of a library."""

    def info(self, device: str, witness: Path) -> WorkerInfo:
        found = super().info(device, witness)
        return WorkerInfo("elsewhere", found.versions.replace('"torch": "', '"torch": "0.'), found.memory_bytes, True)
