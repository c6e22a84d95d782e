"""What a job about two models is: whom it compares, and what planning, publishing and verifying ask it."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import polars as pl

from neurothek.catalog.problems import Conflict
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import JobContext, ShardJob
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.request import IngestRequest

ONE, OTHER = "one", "other"


@dataclass(frozen=True)
class StoredText:
    """A corpus of the warehouse that both models read."""

    corpus_id: int  # its number
    name: str
    sha256: str  # fingerprint of its ids
    sequence_length: int  # ids that a sequence holds at most
    n_counted: int  # its counted positions
    n_domains: int  # how many domains it has
    tokenizer_identity: str | None  # the tokenizer that gave it these ids


def stored_text(warehouse: Warehouse, corpus_id: int) -> StoredText:
    """A corpus of the warehouse by its number."""
    (text,) = _texts(warehouse, "corpora.corpus_id = $corpus_id", {"corpus_id": corpus_id})
    return text


def shared_texts(warehouse: Warehouse, one: ListedModel, other: ListedModel) -> list[StoredText]:
    """The corpora that two models were measured on, those of most tokens first, then the newest."""
    measured = """
        (
            select count(distinct runs.model_id) from store.runs as runs
            where
                runs.corpus_id = corpora.corpus_id and runs.other_model_id is null
                and runs.model_id in ($one, $other)
        ) = 2
    """
    return _texts(warehouse, measured, {"one": one.model_id, "other": other.model_id})


def _texts(warehouse: Warehouse, condition: str, values: Mapping[str, int]) -> list[StoredText]:
    query = f"""
        select
            corpora.corpus_id, corpora.name, corpora.sha256, corpora.sequence_length,
            (
                select sum(n_occurrences)::bigint from store.token_counts as counts
                where counts.corpus_id = corpora.corpus_id
            ) as n_counted,
            (
                select count(distinct domain) from store.token_counts as counts
                where counts.corpus_id = corpora.corpus_id
            ) as n_domains,
            (
                select max(runs.tokenizer_identity) from store.runs as runs
                where runs.corpus_id = corpora.corpus_id
            ) as tokenizer_identity
        from store.corpora as corpora
        where {condition}
        order by corpora.n_tokens desc, corpora.corpus_id desc
    """  # noqa: S608 - conditions of this module
    with warehouse.current_reader() as connection:
        rows = as_frame(connection.sql(query, params=dict(values))).to_dicts()
    return [StoredText(**row) for row in rows]


@dataclass(frozen=True)
class PairContext:
    """Two models of a warehouse that are compared."""

    warehouse: Warehouse  # what holds what was measured of them
    one: ListedModel  # the first of them
    other: ListedModel  # the second
    # the models by name, where their weights are read; none before these were looked for
    opened: Mapping[str, JobContext] = field(default_factory=dict)
    stored: StoredText | None = None  # what they read, for jobs that read text; None before it is chosen
    text: Corpus | None = None  # its ids; None before the models are opened

    @classmethod
    def of(cls, warehouse: Warehouse, models: Sequence[ListedModel]) -> "PairContext":
        """The same whichever was named first: the one first that came first into the warehouse."""
        one, other = sorted(models, key=lambda model: model.model_id)
        if one.tokenizer_sha256 != other.tokenizer_sha256:
            raise Conflict(
                f"{one.name} and {other.name} have different tokenizers, so they cannot be compared",
                "name models with the same tokenizer",
                what="tokenizer",
                name=other.name,
            )
        return cls(warehouse, one, other)

    @property
    def sides(self) -> dict[str, ListedModel]:
        """Both models."""
        return {ONE: self.one, OTHER: self.other}

    @property
    def either_sign(self) -> bool:
        """Whether signs of one of the models are a convention."""
        return self.one.is_gated or self.other.is_gated


SamePair = TypeVar("SamePair", bound="PairJob")


@dataclass(frozen=True)
class PairJob(ShardJob[PairContext]):
    """A job about two models: rows of its one table for each layer of either, those of the first model first.

    Attributes:
        basis: parameters that name what is compared: where one is another, what was found says nothing of it.
        opens_both: whether both models are opened to measure a layer of the first one again.
    """

    basis: ClassVar[tuple[str, ...]] = ()
    opens_both: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_options(cls, context: PairContext, request: IngestRequest) -> "PairJob":
        """The job that was asked for; refused where the models lack what it compares."""

    @property
    def turned(self: SamePair) -> SamePair:
        """The job from the side of the other model."""
        return replace(self, context=replace(self.context, one=self.context.other, other=self.context.one))

    @property
    def rests_on(self) -> str | None:
        """Run key of the first model's token lists, where they are what is compared."""
        return None

    def extent(self) -> str | None:
        """Which text is read, in words; None where none is."""
        return None

    @abstractmethod
    def memory_bytes(self, *, batch_tokens: int) -> int:
        """What measuring adds to the process's memory, estimated from above."""

    @abstractmethod
    def disk_bytes(self) -> int:
        """What lies in the staging folder, estimated from above."""

    @abstractmethod
    def growth_bytes(self) -> int:
        """About how much the warehouse grows."""

    @abstractmethod
    def trial(self) -> tuple[float, float]:
        """How long comparing a part of the neurons took, and by that how long all would take: seconds of either."""

    @abstractmethod
    def again(self, layers: Sequence[int], folder: Path) -> Iterator[tuple[int, pl.DataFrame]]:
        """(layer, its rows) of some layers of the first model, as they are measured now.

        Args:
            layers: the layers.
            folder: where it may keep files.
        """

    @abstractmethod
    def findings(self) -> tuple[str, ...]:
        """What was found, as sentences that go on after the models' names."""

    def identity_fields(self) -> dict[str, Any]:
        """The text that is read, as fields of a `RunIdentity`."""
        stored = self.context.stored
        return {
            "corpus_sha256": None if stored is None else stored.sha256,
            "sequence_length": None if stored is None else stored.sequence_length,
        }
