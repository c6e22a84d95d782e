"""The sentences of a corpus as ids: its documents put together again, split by rules, and tokenized one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

import numpy as np
import sentencex

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.models.tokenizer import Tokenizer

LANGUAGE = "en"
SENTENCES_AT_ONCE = 4_096


@dataclass(frozen=True, eq=False)
class Sentence:
    """One sentence."""

    domain: str  # name of its domain
    ids: np.ndarray  # int32 [length], its ids without BOS; at least one


def splitter() -> str:
    """The rules that split a text, and their version: another one finds other sentences."""
    return f"sentencex {metadata.version('sentencex')}, {LANGUAGE}"


def sentences(corpus: Corpus, tokenizer: Tokenizer) -> list[Sentence]:
    """Every sentence of the corpus that has an id, in order.

    The text is what the ids say: where the token limit ended a domain, its last sentence may be a part of one. White
    space around a sentence is not part of it [ours].
    """
    result: list[Sentence] = []
    held: list[tuple[str, str]] = []
    for domain, text in corpus_documents(corpus, tokenizer):
        held += [(domain, sentence) for part in sentencex.segment(LANGUAGE, text) if (sentence := part.strip())]
        if len(held) >= SENTENCES_AT_ONCE:
            result += _encoded(held, tokenizer)
            held = []
    return result + _encoded(held, tokenizer)


def corpus_documents(corpus: Corpus, tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    """(domain, text) of every document: sequences that continue one are joined, separators part packed ones."""
    first = int(corpus.has_bos)
    held: list[np.ndarray] = []
    domain = ""
    for number in range(corpus.n_sequences):
        if corpus.starts_document[number] and held:
            yield from _documents(domain, np.concatenate(held), tokenizer)
            held = []
        domain = corpus.domains[int(corpus.domain_of[number])]
        held.append(corpus.sequence(number)[first:])
    if held:
        yield from _documents(domain, np.concatenate(held), tokenizer)


def _documents(domain: str, ids: np.ndarray, tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    # Where a tokenizer has no EOS a blank line stands between documents, which no sentence reaches across either.
    ends = np.flatnonzero(ids == tokenizer.eos_id) if tokenizer.eos_id is not None else np.empty(0, dtype=np.int64)
    for part in np.split(ids, ends):
        text = tokenizer.decode(part)
        if text.strip():
            yield domain, text


def _encoded(held: list[tuple[str, str]], tokenizer: Tokenizer) -> list[Sentence]:
    encoded = tokenizer.encode([text for _, text in held])
    return [Sentence(domain, ids) for (domain, _), ids in zip(held, encoded, strict=True) if len(ids)]
