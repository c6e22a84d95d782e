"""What measuring a model works with: the model, what was asked, and where shards lie until they are published."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from catalog.progress import Progress
from catalog.publish import ModelRecord
from catalog.warehouse import Warehouse
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer
from ingest.request import IngestRequest


@dataclass(frozen=True)
class Work:
    """One model opened for measuring, with everything that its jobs share."""

    warehouse: Warehouse
    request: IngestRequest
    model: ModelRecord
    tokenizer: Tokenizer
    transformer: Transformer
    progress: Progress

    @property
    def staging(self) -> Path:
        """Folder in which shards lie until they are published."""
        return staging_folder(self.warehouse, self.request)


def staging_folder(warehouse: Warehouse, request: IngestRequest) -> Path:
    """Folder in which shards lie until they are published: beside the warehouse, unless another was asked for."""
    if request.staging is None:
        return warehouse.staging
    return request.staging / warehouse.staging.name


def free_bytes(folder: Path) -> int:
    """Free space on the disk of a folder that may not be there yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free
