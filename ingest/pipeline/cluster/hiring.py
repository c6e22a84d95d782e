"""Workers hired and looked at: what each of them is, and what it may take."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from neurothek.catalog.files import temporary
from neurothek.ingest.pipeline.cluster.crew import Crew
from neurothek.ingest.pipeline.cluster.errors import worker_differs
from neurothek.ingest.pipeline.cluster.placement import OF_A_GPU
from neurothek.ingest.pipeline.cluster.session import Room
from neurothek.ingest.request import default_memory
from neurothek.ingest.runs.identity import versions


@dataclass(frozen=True)
class Hired:
    """Workers that are there.

    Attributes:
        crew: the workers.
        device: what they compute on, cpu or cuda.
        memory_bytes: what the least of them may take.
        sees_staging: whether all of them see the staging folder.
    """

    crew: Crew
    device: str
    memory_bytes: int
    sees_staging: bool


def hire(room: Room, staging: Path, *, n_threads: int, memory_bytes: int) -> Hired:
    """Hire as many workers as there is room for.

    Args:
        room: how many, and what each gets.
        staging: where the driver stages rows.
        n_threads: CPUs of each worker.
        memory_bytes: what a person lets each take; on CPUs, workers of one machine share the default.
    """
    crew = Crew(room.n_workers, n_threads=n_threads, n_gpus=room.n_gpus)
    device = "cuda" if room.n_gpus else "cpu"
    try:
        staging.mkdir(parents=True, exist_ok=True)
        with temporary(staging / "witness") as witness:
            witness.touch()
            greetings = crew.greeted(device, witness.absolute())
        for one in greetings:
            _require_same(one.machine, one.versions)
    except BaseException:
        crew.dismiss()
        raise
    on_machine = Counter(one.machine for one in greetings)
    if device == "cuda":
        memory = int(OF_A_GPU * min(1.0, room.n_gpus) * min(one.memory_bytes for one in greetings))
    elif memory_bytes == default_memory():
        memory = min(one.memory_bytes // 2 // on_machine[one.machine] for one in greetings)
    else:
        memory = memory_bytes
    return Hired(crew, device, memory, all(one.sees_staging for one in greetings))


def _require_same(machine: str, there: str) -> None:
    """Raises if a worker's libraries are others."""
    theirs, ours = json.loads(there), json.loads(versions())
    for name, version in ours.items():
        if theirs.get(name) != version:
            raise worker_differs(machine, name, str(theirs.get(name)), version)
