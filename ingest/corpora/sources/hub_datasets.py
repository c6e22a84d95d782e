"""Datasets of the Hugging Face hub as text: a revision of one column, streamed, without running their code."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neurothek.catalog.problems import Failed, Invalid, MissingExtra, NotFound, Unavailable, Unreadable
from neurothek.ingest.corpora.errors import (
    text_too_long,
)
from neurothek.ingest.corpora.sources.builtin import TextPart
from neurothek.ingest.corpora.sources.document import Document
from neurothek.ingest.corpora.text_memory import TextMemory

if TYPE_CHECKING:
    from datasets import IterableDataset

HUB = "hub"
DEFAULT_SPLIT, DEFAULT_COLUMN = "train", "text"
_REPOSITORY = re.compile(r"(?P<id>\w[\w.-]*(/\w[\w.-]*)?)(@(?P<revision>[\w./-]+))?", flags=re.ASCII)
_FORM = "NAME=hub:ORG/DATASET[@REVISION][:CONFIG][:SPLIT][:COLUMN]"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubDataset:
    """One text of the hub."""

    is_streamed: ClassVar[bool] = True
    repository: str  # ORG/NAME, or NAME alone
    revision: str | None = None  # branch, tag or commit; None: the main branch
    config: str | None = None  # the dataset's configuration; None: its only one
    split: str = DEFAULT_SPLIT  # train unless asked
    column: str = DEFAULT_COLUMN  # text unless asked

    @classmethod
    def parse(cls, domain: str, location: str) -> "HubDataset | None":
        """What `hub:ORG/NAME[@REVISION][:CONFIG][:SPLIT][:COLUMN]` names; None for a location of another kind."""
        kind, _, rest = location.partition(":")
        if kind != HUB:
            return None
        named, *parts = rest.split(":")
        match = _REPOSITORY.fullmatch(named)
        if match is None or len(parts) > 3:
            message = f"the dataset {location!r} is not understood: write {_FORM}"
            raise Invalid(message, option="--corpus", value=location)
        config, split, column = (*parts, "", "", "")[:3]
        return cls(match["id"], match["revision"], config or None, split or DEFAULT_SPLIT, column or DEFAULT_COLUMN)

    @property
    def location(self) -> str:
        """The dataset as `parse` reads it, with everything said."""
        revision = f"@{self.revision}" if self.revision else ""
        return f"{HUB}:{self.repository}{revision}:{self.config or ''}:{self.split}:{self.column}"

    def exists(self) -> bool:
        """Told when the hub is asked."""
        return True

    def sha256(self) -> str:
        """A hash that stands for the text: of what the pinned dataset is called, since a commit cannot change."""
        return hashlib.sha256(self.pinned().location.encode()).hexdigest()

    def files(self) -> list[Path] | None:
        """None of this machine; untold of a branch, which may move."""
        return [] if self.is_pinned else None

    @property
    def is_pinned(self) -> bool:
        """Whether it is of a commit, which cannot change."""
        return self.revision is not None and _COMMIT.fullmatch(self.revision) is not None

    def pinned(self) -> "HubDataset":
        """The same with the commit that its revision is at now; the hub is asked unless it is a commit already."""
        if self.is_pinned:
            return self
        # The hub's library is imported where the hub is asked: that takes longer than to refuse what is not there.
        from huggingface_hub import HfApi  # noqa: PLC0415  (see above)

        from neurothek.ingest.models.hub import refusals  # noqa: PLC0415  (see above)

        _require_hub(self)
        withheld, broken = partial(_withheld, self.location), partial(_broken, self.location)
        with refusals(self.revision, withheld=withheld, unknown=withheld, broken=broken):
            commit = HfApi().dataset_info(self.repository, revision=self.revision).sha
        return replace(self, revision=commit)

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """The documents, as they arrive."""
        for text in self.texts():
            if len(text) > memory.longest_record:
                raise text_too_long(self.location, "a row", memory.longest_record, memory.memory_bytes)
            yield Document.of(text)

    def texts(self, *, empty: bool = False) -> Iterator[str]:
        """The texts of the column, row by row as they arrive; rows without text are left out unless `empty` is on."""
        import httpx2  # noqa: PLC0415  (see `pinned`)
        import pyarrow as pa  # noqa: PLC0415  (see `pinned`)
        from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415  (see `pinned`)

        from neurothek.catalog.hub.origins import reason_of  # noqa: PLC0415  (see `pinned`)

        is_empty = True
        try:
            for row in self._rows():
                text = row.get(self.column, 0)
                if not isinstance(text, str | None):
                    columns = [name for name, value in row.items() if isinstance(value, str)]
                    raise NotFound(
                        f"{self.location} has no text column {self.column!r}",
                        f"its text columns are {', '.join(columns) or 'none'}: write {_FORM}",
                        what="column",
                        name=self.column,
                        known=columns,
                    )
                is_empty = is_empty and not text
                if text or empty:
                    yield text or ""
        # What the library raises: files and connections, unknown names, unreadable tables, scripts that it refuses.
        except (OSError, ValueError, RuntimeError, httpx2.HTTPError, HfHubHTTPError, pa.ArrowException) as error:
            raise _broken(self.location, reason_of(error)) from error
        if is_empty:
            raise Unreadable(
                f"the text {self.location} has no documents: give a split and a column that contains text",
                path=self.location,
                why="no documents",
            )

    def _rows(self) -> Iterator[dict[str, Any]]:
        try:
            # Here, because it is an extra, and slow to import.
            from datasets import load_dataset  # noqa: PLC0415
        except ImportError as error:
            raise MissingExtra(
                f"reading the text {self.location} needs the library datasets, which is not installed:"
                " install it with pip install 'neurothek[hub]'",
                what="library",
                name="hub",
            ) from error
        dataset: IterableDataset = load_dataset(
            _place(self), self.config, split=self.split, revision=self.revision, streaming=True
        )
        yield from dataset


def _place(dataset: HubDataset) -> str:
    """What the library is to open: the repository, and never a folder of that name."""
    _require_hub(dataset)
    return f"hf://datasets/{dataset.repository}"


def _require_hub(dataset: HubDataset) -> None:
    from neurothek.ingest.models.hub import why_unreachable  # noqa: PLC0415  (see `pinned`)

    reason = why_unreachable()
    if reason is not None:
        raise Unavailable(
            f"the text {dataset.location} is on the hub, which cannot be reached ({reason})",
            "go online, give files, or name a corpus in the warehouse",
            what="text",
            name=dataset.location,
            why=reason,
        )


def _withheld(location: str, problem: str) -> Unavailable:
    """A dataset that the hub does not show to this person."""
    return Unavailable(
        f"the hub does not provide the text {location}: {problem}",
        "check the spelling, or set HF_TOKEN if the dataset is private or gated",
        what="text",
        name=location,
        why=problem,
    )


def _broken(location: str, problem: str) -> Failed:
    """A dataset that the library cannot read, or not to the end."""
    return Failed(
        f"the text {location} could not be read ({problem})",
        "check configuration and split, or repeat the command",
        what="dataset",
        why=problem,
    )
