"""What a job is: the settings of one measurement, and how its rows are made."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import polars as pl

from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.activation_rule import ActivationRule, bound_of
from neurothek.ingest.forward.calibration import root_mean_square
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.footprint import Extent, Footprint
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Shape, Transformer
from neurothek.ingest.models.units import FfnNeurons, Units
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, IngestRequest
from neurothek.ingest.runs.finished import EarlierRuns

Frames = dict[str, pl.DataFrame]
"""Rows by the name of their table."""

ReadBack = Callable[[str], pl.LazyFrame]
"""Name of a table -> the rows that a run has of it by now."""

MeasureShard = Callable[[str], Frames]
"""Name of a shard -> its rows."""

Same = TypeVar("Same", bound="Job[Any]")
Context = TypeVar("Context")
"""What a job measures: a `JobContext`, or whatever a job that is not about one model says."""


@dataclass(frozen=True)
class JobContext:
    """The model that a job measures."""

    transformer: Transformer  # the model
    tokenizer: Tokenizer  # its tokenizer
    text: Corpus | None = None  # the corpus; None before it is chosen, and for jobs that read none
    batch_tokens: int = DEFAULT_BATCH_TOKENS  # padded ids that a batch holds at most
    runs: EarlierRuns | None = None  # finished runs of the jobs that the job works on; None before they are known
    kind: Callable[[Transformer], Units] = FfnNeurons  # which units of the model are measured

    @property
    def shape(self) -> Shape:
        """What the model is like."""
        return self.transformer.shape

    @property
    def units(self) -> Units:
        """The units that are measured."""
        return self.kind(self.transformer)

    @property
    def corpus(self) -> Corpus:
        """The text of a job that reads one."""
        assert self.text is not None
        return self.text

    @property
    def longest(self) -> int:
        """Ids of the longest sequence of the text; what fits the model's context, where there is no text yet."""
        context_length = self.shape.context_length
        return context_length if self.text is None else min(context_length, self.text.sequence_length)

    def longest_of(self, drawn: Callable[[], Sequence[Prompt]]) -> int:
        """Ids of the longest of the prompts that are drawn from the text, likewise."""
        if self.text is None:
            return self.shape.context_length
        return max((len(prompt.tokens) for prompt in drawn()), default=1)


@dataclass(frozen=True)
class Job(ABC, Generic[Context]):
    """One measurement, as its settings.

    Attributes:
        context: what is measured.
        name: the job's name on the command line and in `runs`.
        version: raised when a number's meaning changes; older runs are then measured anew.
        tables: the tables it fills.
        needed: other jobs that it works on -> the version of each.
    """

    context: Context
    name: ClassVar[str]
    version: ClassVar[int]
    tables: ClassVar[tuple[Table, ...]]

    @classmethod
    @abstractmethod
    def from_options(cls, context: Context, request: IngestRequest) -> "Job[Context]":
        """The job that was asked for."""

    @classmethod
    def from_parameters(cls, context: Context, parameters: Mapping[str, Any]) -> "Job[Context]":
        """The job that a run with such parameters was."""
        return cls.from_options(context, IngestRequest(jobs=(cls.name,), **cls.options(parameters)))

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was asked for when a run was measured with such parameters, as fields of an `IngestRequest`."""
        return {}

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What changes its numbers, as JSON values: part of the run's identity."""

    @property
    def needed(self) -> Mapping[str, int]:
        """It works on no other job."""
        return {}

    def within(self: Same, context: Context) -> Same:
        """The job on another context, such as one with the text that was chosen."""
        return replace(self, context=context)


@dataclass(frozen=True)
class ShardJob(Job[Context]):
    """A job that makes its rows shard by shard."""

    @abstractmethod
    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """Names of its shards in the order in which they are measured -> names of the tables that each fills.

        What later shards work on, and nobody else, may be frames of other names.
        """

    @abstractmethod
    def open(self, folder: Path, read_back: ReadBack) -> AbstractContextManager[MeasureShard]:
        """What measures a shard; what the shards share is made for the first of them and let go at the end.

        Args:
            folder: where it may keep files; those of a run that was interrupted may lie there.
            read_back: rows of the shards that were measured before.
        """

    def apart(self) -> Sequence[str]:
        """Those of its shards that any process can measure, from the model and the text alone.

        The others build on shards before them, or on files in the run's folder, and are measured in one place.
        """
        return ()

    def matrices(self, folder: Path) -> Path | None:
        """Folder of the matrices that stay, of a run that measured in `folder`; None where there are none."""
        return None

    def remarks(self, read_back: ReadBack) -> Sequence[str]:
        """What a person should know of what was measured."""
        return ()


class WeightsJob(ShardJob[JobContext]):
    """A job that reads only weights."""

    @staticmethod
    @abstractmethod
    def footprint(shape: Shape) -> Footprint:
        """What it takes of memory and disk, estimated from above."""


@dataclass(frozen=True)
class Files:
    """What files of its own a job has in its run's folder."""

    at_once: int  # bytes of them while it measures, estimated from above
    stay: int = 0  # bytes of those that stay beside the warehouse


class PassJob(ShardJob[JobContext]):
    """A job that reads a text in a pass of its own, or only how often it has each token."""

    @abstractmethod
    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""

    @abstractmethod
    def files(self) -> Files | None:
        """What its files take; None where it keeps none."""

    def extent(self) -> str | None:
        """How much of the text it takes, in words, where that is something of its own."""
        return None

    def announcement(self) -> str | None:
        """What a person should know before it begins, if anything."""
        return None


@dataclass(frozen=True)
class Partials:
    """What a layer's observers saw, in the order of the chunks; each part is read when its turn comes."""

    scans: tuple[pl.LazyFrame, ...]  # the parts, not read yet, for a job that wants only some of their rows at a time

    def __len__(self) -> int:
        return len(self.scans)

    def __iter__(self) -> Iterator[pl.DataFrame]:
        return (scan.collect() for scan in self.scans)


class SweepJob(Job[JobContext]):
    """A job whose observers watch a text run through the model; all that are asked for share one forward pass."""

    @staticmethod
    @abstractmethod
    def footprint(shape: Shape, extent: Extent) -> Footprint:
        """What it takes of memory and disk, estimated from above."""

    @abstractmethod
    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""

    @abstractmethod
    def fold(self, layer: int, partials: Partials) -> Frames:
        """A layer's rows, from what its observers saw, given in the order of the chunks."""


@dataclass(frozen=True)
class RuleJob(SweepJob):
    """A job that asks when a neuron is active."""

    rule: ActivationRule  # when a coefficient counts as active
    counts_strong: ClassVar[bool] = False  # whether only strong ones do where there are no exact zeros

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "RuleJob":
        """By the architecture's rule unless another was asked for."""
        rule = ActivationRule.of(context.shape, active_above=request.active_above, strong=cls.counts_strong)
        return cls(context, rule)

    def rules(self, layer: int) -> tuple[ActivationRule, ...]:
        """The rule, or where it is relative what it comes to in a layer: one a pole."""
        if not self.rule.is_relative:
            return (self.rule,)
        context, threshold = self.context, self.rule.threshold
        assert threshold is not None
        scales = root_mean_square(context.transformer, context.corpus, layer, batch_tokens=context.batch_tokens)
        return self.rule.poles(threshold * scales, both=context.shape.has_poles)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The bound of the rule, if it was one."""
        return {"active_above": bound_of(str(parameters["activation_rule"]))}
