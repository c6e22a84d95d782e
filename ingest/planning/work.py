"""What measuring works with: what is measured, what was asked, where shards lie, and how they are published."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neurothek.catalog.progress import Progress
from neurothek.catalog.publishing.publish import FinishedRun, ModelRecord, Publication, publish
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.models.weights import Checkpoint
from neurothek.ingest.request import IngestRequest
from neurothek.ingest.runs.records import corpus_record


@dataclass(frozen=True)
class Work(ABC):
    """What jobs measure together, with everything that they share."""

    warehouse: Warehouse
    request: IngestRequest
    progress: Progress

    @property
    @abstractmethod
    def models(self) -> tuple[str, ...]:
        """Name of the model that is measured, or of both that are compared."""

    @abstractmethod
    def publish(self, runs: Sequence[FinishedRun], corpus: Corpus | None = None) -> dict[str, int]:
        """Publish runs together, with the text that they read; rows by table."""

    @property
    def label(self) -> str:
        """Their names as a person reads them."""
        return " and ".join(self.models)

    @property
    def staging(self) -> Path:
        """Folder in which shards lie until they are published."""
        return staging_folder(self.warehouse, self.request)


@dataclass(frozen=True)
class ModelWork(Work):
    """One model opened for measuring."""

    model: ModelRecord
    checkpoint: Checkpoint
    tokenizer: Tokenizer
    transformer: Transformer

    @property
    def models(self) -> tuple[str, ...]:
        """The model's name."""
        return (self.model.name,)

    def publish(self, runs: Sequence[FinishedRun], corpus: Corpus | None = None) -> dict[str, int]:
        """Publish runs of the model."""
        publication = Publication(self.model, corpus_record(corpus) if corpus else None, runs)
        return publish(self.warehouse, publication, memory_bytes=self.request.memory_bytes)


def staging_folder(warehouse: Warehouse, request: IngestRequest) -> Path:
    """Folder in which shards lie until they are published: beside the warehouse, unless another was asked for."""
    if request.staging is None:
        return warehouse.staging
    return request.staging / warehouse.staging.name


def free_bytes(folder: Path) -> int:
    """Free space on the disk of a folder that may not be there yet."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free
