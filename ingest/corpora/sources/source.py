"""Where text comes from: built-in domains, files, folders, columns of tables, datasets of the hub."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from neurothek.catalog.problems import Invalid
from neurothek.ingest.corpora.errors import missing_text
from neurothek.ingest.corpora.sources import builtin
from neurothek.ingest.corpora.sources.builtin import BUILTIN, BuiltinText, TextPart
from neurothek.ingest.corpora.sources.document import Document
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.corpora.sources.local_files import LocalFiles
from neurothek.ingest.corpora.text_memory import UNBOUNDED, TextMemory
from neurothek.ingest.models.errors import LONGEST_NAME
from neurothek.ingest.models.finding import NAME

POOLED = "all"
"""No domain's name: rows of the warehouse that pool the domains have it."""


@runtime_checkable
class Text(Protocol):
    """What a kind of source is: where its text lies, and how it is read."""

    is_streamed: ClassVar[bool]  # whether it is read no further than it is needed; its hash then stands for all of it

    @property
    def location(self) -> str:
        """Where it lies, as `parse` reads it."""

    @classmethod
    def parse(cls, domain: str, location: str) -> "Text | None":
        """What a location names; None for one of another kind."""

    def exists(self) -> bool:
        """Whether anything lies there, as far as it is known without asking another machine."""

    def pinned(self) -> "Text":
        """The same text wherever and whenever it is read again."""

    def sha256(self) -> str:
        """A hash of the text that is known without reading it as text."""

    def documents(self, split: TextPart, memory: TextMemory) -> Iterator[Document]:
        """The documents in their fixed order; `split` concerns built-in text alone."""

    def files(self) -> list[Path] | None:
        """The files of this machine that decide what it says; None where something else does."""


KINDS: tuple[type[Text], ...] = (BuiltinText, HubDataset, LocalFiles)
"""The kinds of sources; the first that a location belongs to."""


@dataclass(frozen=True)
class Source:
    """One domain of a corpus: its name and where its text lies.

    A location is "builtin:code", a path, a path with ":column", or "hub:ORG/NAME" with what `HubDataset` reads.
    """

    domain: str
    location: str

    @property
    def text(self) -> Text:
        """The text, as what kind of source it is."""
        return next(text for kind in KINDS if (text := kind.parse(self.domain, self.location)) is not None)

    @property
    def builtin_domain(self) -> builtin.Domain | None:
        """Which built-in text this is, None for others."""
        text = BuiltinText.parse(self.domain, self.location)
        return None if text is None else text.domain

    def pinned(self) -> "Source":
        """The same text wherever and whenever it is read again: an absolute path, or a commit of the hub."""
        return replace(self, location=self.text.pinned().location)


def parse_sources(specs: Sequence[str]) -> list[Source]:
    """Sources for "builtin" (three domains), "builtin:code", "NAME=PATH" and "NAME=hub:ORG/NAME"."""
    sources = [source for spec in specs for source in _parse(spec)]
    seen: set[str] = set()
    for source in sources:
        if source.domain in seen:
            raise _misnamed(source.domain, "is given twice")
        seen.add(source.domain)
    return sources


def require_columns(sources: Sequence[Source], memory: TextMemory = UNBOUNDED) -> None:
    """Refuse tables on this machine without the column that is to be read."""
    for source in sources:
        if isinstance(text := source.text, LocalFiles):
            text.require_column(memory)


def corpus_name(sources: Sequence[Source]) -> str:
    """What a corpus of these domains is called: `builtin` for the three built-in ones, else their names in order."""
    if {source.location for source in sources} == {f"{BUILTIN}:{domain}" for domain in builtin.DOMAINS}:
        return BUILTIN
    return "+".join(sorted(source.domain for source in sources))


def _parse(spec: str) -> Iterator[Source]:
    if spec == BUILTIN:
        yield from (Source(domain, f"{BUILTIN}:{domain}") for domain in builtin.DOMAINS)
        return
    name, equals, location = spec.partition("=")
    if not equals and Source(name, spec).builtin_domain is not None:
        yield Source(spec.partition(":")[2], spec)
        return
    if not equals or not location:
        raise _misnamed(spec, "has no path")
    if not NAME.fullmatch(name):
        if len(name) > LONGEST_NAME:
            raise _misnamed(f"{name[:40]}...", f"has a name of {len(name)} characters, and {LONGEST_NAME} are allowed")
        raise _misnamed(spec, "has a name with characters other than letters, digits and . _ @ + -")
    if name == BUILTIN:
        raise _misnamed(spec, f"has the name {BUILTIN!r}, which stands for the text that comes with neurothek")
    if name == POOLED:
        raise _misnamed(spec, f"has the name {POOLED!r}, which stands for all domains together")
    source = Source(name, location)
    if not source.text.exists():
        raise missing_text(name, location)
    yield source


def _misnamed(spec: str, problem: str) -> Invalid:
    """A corpus specification that is not understood."""
    message = f"the corpus {spec!r} {problem}: write builtin or NAME=PATH, each name once"
    return Invalid(message, option="--corpus", value=spec)


def documents(source: Source, *, split: TextPart = "measure") -> Iterator[str]:
    """The documents of a source in their fixed order, each held whole; raises as `Text.documents`."""
    return ("".join(document.blocks) for document in source.text.documents(split, UNBOUNDED))
