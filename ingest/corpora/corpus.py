"""Text as sequences of ids: cut, packed and fingerprinted, the same for measuring and for training."""

import hashlib
import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from neurothek.catalog.problems import Invalid, Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.tables.dimensions import SEQUENCES, TOKEN_COUNTS
from neurothek.ingest.corpora.packing import cut_sequences, encoded, separator
from neurothek.ingest.corpora.sources import builtin
from neurothek.ingest.corpora.sources.builtin import TextPart
from neurothek.ingest.corpora.sources.document import Document
from neurothek.ingest.corpora.sources.local_files import LocalFiles
from neurothek.ingest.corpora.sources.source import Source, corpus_name
from neurothek.ingest.corpora.text_memory import UNBOUNDED, TextMemory
from neurothek.ingest.models.tokenizer import Tokenizer

# Raised when cutting or packing changes what a sequence is.
VERSION = 1

CHUNK_TOKENS = 65_536


@dataclass(frozen=True)
class Recipe:
    """How a corpus is made: everything but the tokenizer, known before anything is tokenized."""

    sources: tuple[Source, ...]  # the domains, in order
    hashes: tuple[str, ...]  # sha256 of the bytes behind each source
    sequence_length: int  # ids a sequence holds at most, BOS included
    tokens_per_domain: int | None  # ids without BOS after which a domain ends, at the next end of a sequence; None: all
    packing: bool = True  # whether documents shorter than a sequence are joined
    split: TextPart = "measure"  # which part of the built-in text

    def json(self) -> str:
        """The recipe in one line, as the warehouse keeps it."""
        written: dict[str, Any] = {
            "version": VERSION,
            "sources": [
                {"domain": source.domain, "location": source.location, "sha256": sha256, **_format(source)}
                for source, sha256 in zip(self.sources, self.hashes, strict=True)
            ],
            "sequence_length": self.sequence_length,
            "tokens_per_domain": self.tokens_per_domain,
            "packing": self.packing,
            "split": self.split,
        }
        if any(source.builtin_domain is not None for source in self.sources):
            written["python"] = platform.python_version()
            written["builtin_version"] = builtin.VERSION
        return json.dumps(written, sort_keys=True)

    @property
    def default_name(self) -> str:
        """'builtin' for the three built-in domains, else the domains' names sorted and joined by '+'."""
        return corpus_name(self.sources)


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sequences of ids with their domains; all arrays are read, never written."""

    name: str
    sha256: str  # fingerprint of domains and ids
    text_sha256: str  # hash of the untokenized documents: two tokenizers saw one text
    tokenizer_sha256: str
    sequence_length: int
    has_bos: bool  # whether every sequence starts with a prepended BOS, which is counted nowhere
    domains: tuple[str, ...]
    tokens: np.ndarray  # int32 [n_tokens], all sequences one after another, BOS included
    offsets: np.ndarray  # int64 [n_sequences + 1], where each sequence starts in `tokens`
    domain_of: np.ndarray  # int16 [n_sequences], index into `domains`
    starts_document: np.ndarray  # bool [n_sequences], whether the first id after the BOS is the first of a document
    recipe: str  # JSON

    @property
    def n_sequences(self) -> int:
        """How many sequences there are."""
        return len(self.offsets) - 1

    @property
    def n_tokens(self) -> int:
        """How many ids there are, each sequence's BOS included."""
        return len(self.tokens)

    @property
    def n_counted(self) -> int:
        """How many counted positions there are: ids without each sequence's prepended BOS."""
        return len(self.tokens) - (self.n_sequences if self.has_bos else 0)

    @property
    def n_full_length(self) -> int:
        """How many sequences have as many ids as one can have."""
        return int(np.count_nonzero(np.diff(self.offsets) == self.sequence_length))

    def sequence(self, i: int) -> np.ndarray:
        """int32 [length], the ids of sequence `i`, BOS included."""
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    def chunks(self) -> list[range]:
        """Runs of whole sequences of at most 65,536 ids, or of one longer sequence, fixed by the corpus alone."""
        chunks, start = [], 0
        for i in range(1, self.n_sequences + 1):
            is_last = i == self.n_sequences
            if is_last or self.offsets[i + 1] - self.offsets[start] > CHUNK_TOKENS:
                chunks.append(range(start, i))
                start = i
        return chunks

    def sequences_frame(self) -> pl.DataFrame:
        """[n_sequences] rows of the table `sequences`."""
        # From the buffers themselves: to convert an array Arrow would load pandas first, lest it be one of its own.
        ids = pa.Array.from_buffers(pa.int32(), self.n_tokens, [None, pa.py_buffer(self.tokens.data)])
        starts = [None, pa.py_buffer(self.offsets.data)]
        lists = pa.Array.from_buffers(pa.large_list(pa.int32()), self.n_sequences, starts, children=[ids])
        columns = {
            "sequence_id": np.arange(self.n_sequences, dtype=np.int32),
            "domain": [self.domains[index] for index in self.domain_of.tolist()],
            "tokens": pl.Series(lists),
            "starts_document": self.starts_document,
        }
        return SEQUENCES.check(pl.DataFrame(columns, schema=SEQUENCES.schema))

    def token_counts_frame(self) -> pl.DataFrame:
        """Rows of the table `token_counts`: how often each id occurs at counted positions, by domain."""
        counted = np.ones(self.n_tokens, dtype=np.bool_)
        if self.has_bos:
            counted[self.offsets[:-1]] = False
        domain_of_token = np.repeat(self.domain_of, np.diff(self.offsets))
        frame = pl.DataFrame({"index": domain_of_token[counted], "token_id": self.tokens[counted]})
        counts = frame.group_by("index", "token_id").agg(pl.len().cast(pl.Int64).alias("n_occurrences"))
        names = pl.DataFrame({"index": np.arange(len(self.domains), dtype=np.int16), "domain": list(self.domains)})
        named = counts.join(names, on="index").sort("domain", "token_id")
        return TOKEN_COUNTS.check(named.select(list(TOKEN_COUNTS.schema)))

    @staticmethod
    def from_frames(row: Mapping[str, Any], sequences: pl.DataFrame, *, has_bos: bool) -> "Corpus":
        """The corpus that a warehouse keeps: its row of `corpora` (with tokenizer_sha256) and its sequences."""
        ordered = sequences.sort("sequence_id")
        domains = tuple(ordered["domain"].unique(maintain_order=True).to_list())
        index = {domain: number for number, domain in enumerate(domains)}
        lengths = ordered["tokens"].list.len().to_numpy()
        return Corpus(
            **{name: row[name] for name in ("name", "sha256", "text_sha256", "tokenizer_sha256", "sequence_length")},
            has_bos=has_bos,
            domains=domains,
            tokens=ordered["tokens"].explode().to_numpy().astype(np.int32),
            offsets=_offsets(lengths),
            domain_of=np.array([index[domain] for domain in ordered["domain"]], dtype=np.int16),
            starts_document=ordered["starts_document"].to_numpy(),
            recipe=row["recipe"],
        )


def recipe(
    sources: Sequence[Source],
    *,
    sequence_length: int,
    tokens_per_domain: int | None = 200_000,
    packing: bool = True,
    split: TextPart = "measure",
) -> Recipe:
    """How to make a corpus from these sources; reads their bytes once, for the hashes."""
    if sequence_length < 2:
        raise _too_small(f"a sequence length of {sequence_length}", "--sequence-length", sequence_length)
    if tokens_per_domain is not None and tokens_per_domain < 1:
        limit = f"a limit of {tokens_per_domain} tokens per domain"
        raise _too_small(limit, "--tokens", tokens_per_domain)
    pinned = tuple(source.pinned() for source in sources)
    hashes = tuple(source.text.sha256() for source in pinned)
    return Recipe(pinned, hashes, sequence_length, tokens_per_domain, packing, split)


def prepare(
    recipe: Recipe,
    tokenizer: Tokenizer,
    *,
    name: str | None = None,
    progress: Progress | None = None,
    memory: TextMemory = UNBOUNDED,
) -> Corpus:
    """Tokenize, pack and cut; nothing is tokenized beyond a domain's token limit.

    Args:
        recipe: what of.
        tokenizer: what gives the ids.
        name: what the corpus is called; None: as the recipe says.
        progress: is told of each domain.
        memory: how much text may be held at once, beside the ids.
    """
    watcher = progress if progress is not None else Silent()
    text_hash = hashlib.sha256()
    sequences: list[np.ndarray] = []
    starts: list[bool] = []
    domain_of: list[int] = []
    watcher.start("preparing text", len(recipe.sources))
    for index, source in enumerate(recipe.sources):
        texts = _hashed(source, recipe, text_hash, memory)
        parts = encoded(texts, tokenizer, memory=memory, where=f"{source.domain}={source.location}")
        before = len(sequences)
        for ids, starts_document in _domain_sequences(parts, tokenizer, recipe):
            sequences.append(ids)
            starts.append(starts_document)
        if len(sequences) == before:
            raise Unreadable(
                f"the text of the domain {source.domain!r} contains no tokens: give it more text or omit it",
                path=source.domain,
                why="no tokens",
            )
        if not source.text.is_streamed:
            for _ in texts:  # the hash of the text covers what the limit leaves out
                pass
        domain_of += [index] * (len(sequences) - before)
        watcher.advance(1, source.domain)
    watcher.finish()
    domains = tuple(source.domain for source in recipe.sources)
    return Corpus(
        name=name or recipe.default_name,
        sha256=fingerprint((domains[index], ids) for index, ids in zip(domain_of, sequences, strict=True)),
        text_sha256=text_hash.hexdigest(),
        tokenizer_sha256=tokenizer.sha256,
        sequence_length=recipe.sequence_length,
        has_bos=tokenizer.bos_id is not None,
        domains=domains,
        tokens=np.concatenate(sequences),
        offsets=_offsets(np.array([len(ids) for ids in sequences])),
        domain_of=np.array(domain_of, dtype=np.int16),
        starts_document=np.array(starts, dtype=np.bool_),
        recipe=recipe.json(),
    )


def _format(source: Source) -> dict[str, str]:
    """What tells a table apart from one that an earlier release read as prose."""
    text = source.text
    return {"format": text.read_as} if isinstance(text, LocalFiles) and text.read_as is not None else {}


def fingerprint(sequences: Iterable[tuple[str, np.ndarray]]) -> str:
    """sha256 over, for each sequence, domain, NUL, length and ids as little-endian uint32."""
    digest = hashlib.sha256()
    for domain, ids in sequences:
        digest.update(domain.encode() + b"\0" + len(ids).to_bytes(4, "little") + ids.astype("<u4").tobytes())
    return digest.hexdigest()


def _hashed(source: Source, recipe: Recipe, digest: "hashlib._Hash", memory: TextMemory) -> Iterator[Iterator[str]]:
    """The blocks of each document of a source, hashed; of a streamed one what stands for it is hashed.

    What is read of a document is hashed as it is read, and the rest before the next document comes.
    """
    texts = source.text.documents(recipe.split, memory)
    if source.text.is_streamed:
        digest.update(source.domain.encode() + b"\0" + source.text.sha256().encode())
        for document in texts:
            yield iter(document.blocks)
        return
    for document in texts:
        digest.update(source.domain.encode() + b"\0" + document.n_bytes.to_bytes(8, "little"))
        blocks = _hashed_blocks(document, digest)
        yield blocks
        for _ in blocks:
            pass


def _hashed_blocks(document: Document, digest: "hashlib._Hash") -> Iterator[str]:
    for block in document.blocks:
        digest.update(block.encode())
        yield block


def _domain_sequences(
    parts: Iterator[tuple[np.ndarray, bool]], tokenizer: Tokenizer, recipe: Recipe
) -> Iterator[tuple[np.ndarray, bool]]:
    """Sequences of one domain, BOS included, with whether each starts a document, up to the token limit."""
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    taken = 0
    length = recipe.sequence_length - len(bos)
    for ids, starts_document in cut_sequences(parts, separator(tokenizer), length, packing=recipe.packing):
        yield np.concatenate([np.array(bos, dtype=np.int32), ids]), starts_document
        taken += len(ids)
        if recipe.tokens_per_domain is not None and taken >= recipe.tokens_per_domain:
            break


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


def _too_small(setting: str, option: str, value: int) -> Invalid:
    """Sequences that cannot hold an id, or a token limit below one."""
    hint = "a corpus needs sequences of at least 2 ids and at least 1 token per domain"
    return Invalid(f"{setting} is too small", hint, option=option, value=value)
