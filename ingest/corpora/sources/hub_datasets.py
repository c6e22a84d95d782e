"""Datasets of the Hugging Face hub as text: a revision of one column, streamed, without running their code."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import httpx2
import pyarrow as pa
from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from neurothek.ingest.corpora.errors import (
    DatasetBroken,
    DatasetColumnUnknown,
    DatasetEmpty,
    DatasetMisnamed,
    DatasetNotOnHub,
    DatasetsMissing,
    DatasetUnreachable,
    TextTooLong,
)
from neurothek.ingest.corpora.sources.builtin import TextPart
from neurothek.ingest.corpora.sources.document import Document
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.models.hub import one_line, refusals, why_unreachable

if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hub"
DEFAULT_SPLIT, DEFAULT_COLUMN = "train", "text"
_REPOSITORY = re.compile(r"(?P<id>\w[\w.-]*(/\w[\w.-]*)?)(@(?P<revision>[\w./-]+))?", flags=re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubDataset:
    """One text of the hub.

    Attributes:
        repository: ORG/NAME, or NAME alone.
        revision: branch, tag or commit; None: the main branch.
        config: the dataset's configuration; None: its only one.
        split: train unless asked.
        column: text unless asked.
    """

    is_streamed: ClassVar[bool] = True
    repository: str
    revision: str | None = None
    config: str | None = None
    split: str = DEFAULT_SPLIT
    column: str = DEFAULT_COLUMN

    @classmethod
    def parse(cls, domain: str, location: str) -> "HubDataset | None":
        """What `hub:ORG/NAME[@REVISION][:CONFIG][:SPLIT][:COLUMN]` names; None for a location of another kind.

        Raises:
            DatasetMisnamed: it begins like that and goes on otherwise.
        """
        kind, _, rest = location.partition(":")
        if kind != HUB:
            return None
        named, *parts = rest.split(":")
        found = _REPOSITORY.fullmatch(named)
        if found is None or len(parts) > 3:
            raise DatasetMisnamed(location)
        config, split, column = (*parts, "", "", "")[:3]
        return cls(found["id"], found["revision"], config or None, split or DEFAULT_SPLIT, column or DEFAULT_COLUMN)

    @property
    def location(self) -> str:
        """The dataset as `parse` reads it, with everything said."""
        revision = f"@{self.revision}" if self.revision else ""
        return f"{HUB}:{self.repository}{revision}:{self.config or ''}:{self.split}:{self.column}"

    def exists(self) -> bool:
        """Told when the hub is asked."""
        return True

    def sha256(self) -> str:
        """A hash that stands for the text: of what the pinned dataset is called, since a commit cannot change.

        Raises:
            DatasetUnreachable, DatasetNotOnHub, DatasetBroken: the hub does not say which commit that is.
        """
        return hashlib.sha256(self.pinned().location.encode()).hexdigest()

    def files(self) -> list[Path] | None:
        """None of this machine; untold of a branch, which may move."""
        return [] if self.is_pinned else None

    @property
    def is_pinned(self) -> bool:
        """Whether it is of a commit, which cannot change."""
        return self.revision is not None and _COMMIT.fullmatch(self.revision) is not None

    def pinned(self) -> "HubDataset":
        """The same with the commit that its revision is at now; the hub is asked unless it is a commit already.

        Raises:
            DatasetUnreachable: the hub cannot be asked.
            DatasetNotOnHub: it shows no such dataset or revision to this person.
        """
        if self.is_pinned:
            return self
        _require_hub(self)
        withheld, broken = partial(DatasetNotOnHub, self.location), partial(DatasetBroken, self.location)
        with refusals(self.revision, withheld=withheld, unknown=withheld, broken=broken):
            commit = HfApi().dataset_info(self.repository, revision=self.revision).sha
        return replace(self, revision=commit)

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """The documents, as they arrive.

        Raises:
            TextTooLong: a row is longer than memory allows.
            DatasetEmpty, DatasetsMissing, DatasetUnreachable, DatasetColumnUnknown, DatasetBroken: see `texts`.
        """
        for text in self.texts():
            if len(text) > memory.longest_record:
                raise TextTooLong(self.location, "a row", memory.longest_record, memory.memory_bytes)
            yield Document.of(text)

    def texts(self, *, empty: bool = False) -> Iterator[str]:
        """The texts of the column, row by row as they arrive; rows without text are left out unless `empty` is on.

        Raises:
            DatasetEmpty: no row has any.
            DatasetsMissing: the library is not installed.
            DatasetUnreachable: the hub cannot be asked.
            DatasetColumnUnknown: the rows have no such column of text.
            DatasetBroken: no such configuration or split, no data that the library reads, or the stream broke off.
        """
        is_empty = True
        try:
            for row in self._rows():
                text = row.get(self.column, 0)
                if not isinstance(text, str | None):
                    columns = [name for name, value in row.items() if isinstance(value, str)]
                    raise DatasetColumnUnknown(self.location, self.column, columns)
                is_empty = is_empty and not text
                if text or empty:
                    yield text or ""
        # What the library raises: files and connections, unknown names, unreadable tables, scripts that it refuses.
        except (OSError, ValueError, RuntimeError, httpx2.HTTPError, HfHubHTTPError, pa.ArrowException) as error:
            raise DatasetBroken(self.location, one_line(error)) from error
        if is_empty:
            raise DatasetEmpty(self.location)

    def _rows(self) -> Iterator[dict[str, Any]]:
        try:
            # Here, because it is an extra, and slow to import.
            from datasets import load_dataset  # noqa: PLC0415
        except ImportError as error:
            raise DatasetsMissing(self.location) from error
        dataset: IterableDataset = load_dataset(
            _place(self), self.config, split=self.split, revision=self.revision, streaming=True
        )
        yield from dataset


def _place(dataset: HubDataset) -> str:
    """What the library is to open: the repository, and never a folder of that name."""
    _require_hub(dataset)
    return f"hf://datasets/{dataset.repository}"


def _require_hub(dataset: HubDataset) -> None:
    reason = why_unreachable()
    if reason is not None:
        raise DatasetUnreachable(dataset.location, reason)
