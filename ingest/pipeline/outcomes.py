"""What one `ingest` did, for one model or for one pair of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@runtime_checkable
class Swept(Protocol):
    """How a text was read."""

    @property
    def order(self) -> str:
        """Which loop was outside."""

    @property
    def memory_bytes(self) -> int:
        """What it was planned to add to the process's memory."""

    @property
    def why(self) -> str:
        """Why this order was chosen."""


@dataclass(frozen=True)
class ModelReport:
    """What one ingest did for one model."""

    model: str  # its name
    jobs: tuple[str, ...]  # jobs that were measured
    rows: Mapping[str, int]  # rows published, by table
    up_to_date: tuple[str, ...]  # jobs that were finished before
    corpus: str | None  # name of the corpus; None if no job read text
    n_tokens: int  # counted positions of the corpus
    seconds: float  # wall time
    sweep: Swept | None = None  # how the text was read; None if it was not
    # full-length sequences of the corpus, which alone tell of positions; None if nothing was read
    n_full_length: int | None = None
    remarks: tuple[str, ...] = ()  # what jobs have to say of what they measured
    # all jobs asked for with the keys of their runs, where the same request finds every one of them finished now; else
    # none
    finished: Mapping[str, str] = field(default_factory=dict)
    standing: tuple[str, ...] = ()  # those of the remarks that are said as often as the same is asked
    details: tuple[str, ...] = ()  # what the engine has to say of its workers

    def detail_lines(self) -> tuple[str, ...]:
        """What those who ask for details are told: how the text was read, and by whom."""
        if self.sweep is None or self.details:
            return self.details
        return (
            f"{self.sweep.order} outside, since {self.sweep.why}",
            f"planned with up to {self.sweep.memory_bytes / 1e9:.2f} GB of memory",
        )


@dataclass(frozen=True)
class PairReport:
    """What comparing two models found."""

    models: tuple[str, str]  # their names
    job: str  # name of the job
    n_rows: int | None  # rows published; None if they were compared before
    findings: tuple[str, ...]  # what was found, as sentences that go on after the names
    seconds: float  # wall time
    # its two runs by the name of the model that they are of, with their keys
    finished: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The first of them."""
        return self.models[0]
