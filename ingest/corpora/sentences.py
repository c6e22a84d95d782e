"""The sentences of a corpus as ids: its documents put together again, split by rules, and tokenized one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

import numpy as np
import sentencex

from neurothek.catalog.problems import Invalid
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
    found: list[Sentence] = []
    held: list[tuple[str, str]] = []
    for domain, text in corpus_documents(corpus, tokenizer):
        held += [(domain, sentence) for part in sentencex.segment(LANGUAGE, text) if (sentence := part.strip())]
        if len(held) >= SENTENCES_AT_ONCE:
            found += _encoded(held, tokenizer)
            held = []
    return found + _encoded(held, tokenizer)


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


N_FIT, N_VALIDATION = 9_000, 3_000
"""Of the paper: as many where the text has so many, else three of four sentences and the fourth."""

LEAST_FIT, LEAST_VALIDATION = 6, 2
"""Of fewer than two to validate on no spread is known."""

_ONE_IN = 4
"""Of so many sentences one is to validate on."""


@dataclass(frozen=True)
class SentenceSplit:
    """The sizes that were asked for."""

    n_fit: int | None = None  # sentences to fit on; None: as usual
    n_validation: int | None = None  # sentences to validate on; None: as usual

    @classmethod
    def of(cls, n_fit: int | None, n_validation: int | None) -> "SentenceSplit":
        """The split, if it makes sense."""
        for option, asked, least in (("--fit", n_fit, LEAST_FIT), ("--validate", n_validation, LEAST_VALIDATION)):
            if asked is not None and asked < least:
                does = "fits on" if option == "--fit" else "validates on"
                message = f"{option} {asked:,} is too few"
                hint = f"the job shortcuts {does} at least {least} sentences"
                raise Invalid(message, hint, option=option, value=asked)
        return cls(n_fit, n_validation)

    @property
    def is_usual(self) -> bool:
        """Whether nobody asked for sizes."""
        return self.n_fit is None and self.n_validation is None

    @property
    def least(self) -> int:
        """Sentences that it takes at least."""
        return (self.n_fit or LEAST_FIT) + (self.n_validation or LEAST_VALIDATION)

    def sizes(self, n_found: int, n_usual: int = N_FIT + N_VALIDATION) -> tuple[int, int]:
        """Sentences to fit on and to validate on where the text has `n_found`; one that was not asked for gives way.

        Args:
            n_found: `least` or more.
            n_usual: sentences taken at most where nobody asked for sizes.
        """
        if self.is_usual:
            n = min(n_found, n_usual)
            return n - n // _ONE_IN, n // _ONE_IN
        if self.n_fit is None:
            n_validation = self.n_validation or 0
            return min(N_FIT, n_found - n_validation), n_validation
        return self.n_fit, self.n_validation or min(N_VALIDATION, n_found - self.n_fit)

    def parameters(self) -> dict[str, int | None]:
        """What it adds to the parameters of a run: nothing where it is what is taken anyway."""
        if self in (USUAL, SentenceSplit(N_FIT, N_VALIDATION)):
            return {}
        return {"n_fit": self.n_fit, "n_validation": self.n_validation}

    def __str__(self) -> str:
        """The options that were given."""
        asked = (("--fit", self.n_fit), ("--validate", self.n_validation))
        return " ".join(f"{option} {number}" for option, number in asked if number is not None)


USUAL = SentenceSplit()
"""What is taken where nobody asks for sizes."""
