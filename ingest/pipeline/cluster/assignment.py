"""Messages between the driver and its workers: assignments and tasks, and what they hand back."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from neurothek.catalog.publishing.staging import StagedRun
from neurothek.ingest.forward.stream_store import PackedStreams
from neurothek.ingest.request import IngestRequest


@dataclass(frozen=True)
class Assignment:
    """The model that workers measure, and how."""

    name: str  # the model's name in the warehouse
    source: str  # hub id, folder or shipped model
    revision: str | None  # the commit of a model of the hub
    folder: Path  # where its files lie on the machine of the driver
    weights_sha256: str  # fingerprint of its weights
    request: IngestRequest  # what was asked for, for what changes numbers
    device: str  # cpu or cuda
    n_threads: int  # threads that a worker computes with


@dataclass(frozen=True)
class Task:
    """The jobs that workers measure now."""

    parameters: Mapping[str, Mapping[str, object]]  # job -> what changes its numbers, as the driver found it
    is_resident: bool  # whether blocks stay in memory after their first use
    # job -> the folder of its run, where every worker can write to it; none: parts are handed back
    outboxes: Mapping[str, StagedRun] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerInfo:
    """The machine, libraries and memory of a worker that has started."""

    machine: str  # its host's name
    versions: str  # versions of its libraries, as JSON
    memory_bytes: int  # memory of the device that it computes on
    sees_staging: bool  # whether a file that the driver wrote into the staging folder is there


@dataclass(frozen=True)
class MeasuredPart:
    """The rows of one shard of one job."""

    job: str  # name of the job
    shard: str  # name of the shard
    # table -> its rows in Arrow's IPC format; none where the worker wrote the shard itself
    frames: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int:
        """Bytes of the rows that are handed back."""
        return sum(map(len, self.frames.values()))


@dataclass(frozen=True)
class Failure:
    """Why a worker measured nothing, where somebody can do something about it."""

    kind: Literal["overflow", "disk", "refused"]  # numbers that overflow, a disk that is full, or another refusal
    machine: str  # the worker's
    problem: str  # the sentence
    table: str = ""  # the table of what overflows
    column: str = ""  # its column


@dataclass(frozen=True)
class StreamsFollow:
    """What is handed back next are streams, which the driver passes on and never looks at."""


Handed = MeasuredPart | Failure | StreamsFollow | PackedStreams


def packed_frames(frames: Mapping[str, pl.DataFrame]) -> dict[str, bytes]:
    """Frames in Arrow's IPC format."""
    return {name: frame.write_ipc(None, compression="lz4").getvalue() for name, frame in frames.items()}


def unpacked_frames(frames: Mapping[str, bytes]) -> dict[str, pl.DataFrame]:
    """What was packed."""
    return {name: pl.read_ipc(content) for name, content in frames.items()}
