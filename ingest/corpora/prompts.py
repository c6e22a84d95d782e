"""Prompts: sentences of a text at one position each, as a model reads them, drawn at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurothek.catalog.problems import Invalid, LimitExceeded, Unreadable
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.errors import unknown_domain
from neurothek.ingest.corpora.sentences import Sentence, sentences
from neurothek.ingest.corpora.split import N_FIT, N_VALIDATION, USUAL, SentenceSplit
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

N_EXAMPLES = 10_000
N_EVENT_EXAMPLES = 2_000

N_SENTENCES = N_FIT + N_VALIDATION
"""Sentences taken where the text has so many."""

LEAST_SENTENCES = USUAL.least
"""Fewer leave less than two to validate on."""

USUAL_DOMAIN = "prose"


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a model reads of one sentence, and the position that is looked at."""

    number: int  # its number among those that were drawn
    domain: str  # domain of its sentence
    # int32 [length], what the model reads: a BOS where the tokenizer puts one in front, then the sentence's ids up to
    # the position, since a causal model does not look beyond. A masked model reads the whole sentence with a mask at
    # the position, and what its tokenizer puts behind.
    tokens: np.ndarray
    position: int  # the position among `tokens`
    own_position: int  # the position among the sentence's own ids, from 0
    target: int | None = None  # the sentence's next id, where that is asked about and there is one

    @property
    def n_prefix(self) -> int:
        """How many ids of the sentence stand up to the position."""
        return self.own_position + 1


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts that were drawn from a corpus."""

    n_sentences: int  # sentences they were drawn from
    rows: Sequence[Prompt]  # the prompts in the order of their numbers, which is random


@dataclass(frozen=True, eq=False)
class SentenceSample(Prompts):
    """Prompts of which the first ones are to fit linear maps on and the others to judge them by ([D] 3)."""

    domains: tuple[str, ...]  # the domains of their sentences
    n_validation: int  # how many are to validate on, the last ones

    @property
    def validation(self) -> Sequence[Prompt]:
        """Those to validate on."""
        return self.rows[self.n_fit :]

    @property
    def n_fit(self) -> int:
        """How many are to fit on."""
        return len(self.rows) - self.n_validation


def cut_prompts(
    corpus: Corpus, tokenizer: Tokenizer, *, context_length: int, seed: int, n_prompts: int = N_EXAMPLES
) -> Prompts:
    """At most `n_prompts` sentences in a random order, each cut after a random number of its ids ([G] 5, code).

    So the first ones are a sample of all domains.
    """
    candidates = sentences(corpus, tokenizer)
    bos = () if tokenizer.bos_id is None else (tokenizer.bos_id,)
    rows = [
        cut(sentence, number, bos=bos, context_length=context_length, seed=seed)
        for number, sentence in enumerate(_first(candidates, n_prompts, seed, Purpose.EXAMPLE_ORDER))
    ]
    return Prompts(len(candidates), rows)


def cut(sentence: Sentence, number: int, *, bos: Sequence[int], context_length: int, seed: int) -> Prompt:
    """The sentence cut after n ids, uniform over 1 .. len - 1 and over what fits the context; of one id: that id."""
    longest = max(1, min(len(sentence.ids) - 1, context_length - len(bos)))
    n = int(random_stream(seed, Purpose.EXAMPLE, 0, number).integers(1, longest + 1))
    return Prompt(
        number=number,
        domain=sentence.domain,
        tokens=_joined(bos, sentence.ids[:n]),
        position=len(bos) + n - 1,
        own_position=n - 1,
        target=int(sentence.ids[n]) if n < len(sentence.ids) else None,
    )


def sample_prompts(
    corpus: Corpus,
    tokenizer: Tokenizer,
    *,
    context_length: int,
    seed: int,
    domains: Sequence[str] = (),
    n_sentences: int = N_SENTENCES,
    split: SentenceSplit = USUAL,
    is_masked: bool = False,
) -> SentenceSample:
    """Sentences of some domains in a random order, with a position each, uniform over its ids.

    Of a sentence that is longer than the context only what fits is there to choose from.

    Args:
        corpus: the text.
        tokenizer: of the model.
        context_length: ids that the model reads at most.
        seed: of the order and of the positions.
        domains: whose sentences; none: prose where the corpus has it, else all.
        n_sentences: how many at most, where the split does not say.
        split: how many to fit on and to validate on.
        is_masked: whether the model fills in masked tokens.
    """
    if is_masked and tokenizer.mask_id is None:
        raise Unreadable(
            f"shortcuts of a masked model are fitted where a token is masked, but the tokenizer of {tokenizer.name} has"
            " no mask token",
            "put the tokenizer that the model was trained with in its folder",
            path=tokenizer.name,
            why="no mask token",
        )
    chosen = _domains(corpus, domains)
    candidates = [one for one in sentences(corpus, tokenizer) if one.domain in chosen]
    if len(candidates) < split.least:
        raise _too_few_sentences(corpus.name, chosen, len(candidates), split)
    n_fit, n_validation = split.sizes(len(candidates), n_sentences)
    around = _Around.of(tokenizer, is_masked=is_masked)
    rows = [
        around.looked_at(sentence, number, context_length=context_length, seed=seed)
        for number, sentence in enumerate(_first(candidates, n_fit + n_validation, seed, Purpose.SENTENCE_ORDER))
    ]
    return SentenceSample(len(candidates), rows, chosen, n_validation)


def whole_prompts(
    texts: Sequence[str], tokenizer: Tokenizer, *, context_length: int, is_masked: bool, option: str
) -> list[Prompt]:
    """Texts as a model reads them, each looked at at its last own token.

    Args:
        texts: the prompts.
        tokenizer: of the model.
        context_length: ids that the model reads at most.
        is_masked: whether the model fills in masked tokens: what its tokenizer puts behind a text stands there.
        option: what they were given as, for errors.

    Raises:
        Invalid: a text has no token.
        LimitExceeded: one has more than the model reads.
    """
    around = _Around.of(tokenizer, is_masked=is_masked)
    n_around = len(around.opening) + len(around.closing)
    prompts = []
    for number, ids in enumerate(tokenizer.encode(list(texts)), start=1):
        if not len(ids):
            raise Invalid(
                f"prompt {number} of {option} has no token",
                "give it a text, or leave it out",
                option=option,
                value=texts[number - 1],
            )
        if len(ids) + n_around > context_length:
            raise LimitExceeded(
                f"prompt {number} of {option} has {len(ids) + n_around:,} tokens, but the model reads at most"
                f" {context_length:,}",
                "shorten it, or leave it out",
                what="tokens",
                needed=len(ids) + n_around,
                limit=context_length,
            )
        tokens = _joined(around.opening, ids, around.closing)
        prompts.append(Prompt(number - 1, "", tokens, len(around.opening) + len(ids) - 1, len(ids) - 1))
    return prompts


def _too_few_sentences(corpus: str, domains: Sequence[str], n_sentences: int, split: SentenceSplit) -> LimitExceeded:
    """A corpus with fewer sentences than are to be fitted on and validated on."""
    of_corpus = f"{', '.join(domains)} of the corpus {corpus}"
    if split.is_usual:
        message = (
            "shortcuts are fitted on three quarters of the sentences and validated on the rest, which takes at"
            f" least {split.least}, but {of_corpus} has {n_sentences}"
        )
        hint = "choose another --domain or --corpus"
    else:
        message = f"{split} needs {split.least:,} sentences, but {of_corpus} has {n_sentences:,}"
        hint = "use fewer, or choose another --domain or --corpus"
    return LimitExceeded(message, hint, what="sentences", needed=split.least, limit=n_sentences)


def _first(candidates: Sequence[Sentence], n: int, seed: int, purpose: Purpose) -> list[Sentence]:
    """The first `n` in a random order."""
    return [candidates[place] for place in random_stream(seed, purpose).permutation(len(candidates))[:n].tolist()]


def _domains(corpus: Corpus, names: Sequence[str]) -> tuple[str, ...]:
    unknown = [domain for domain in names if domain not in corpus.domains]
    if unknown:
        raise unknown_domain(corpus.name, unknown[0], corpus.domains)
    if names:
        return tuple(domain for domain in corpus.domains if domain in names)
    return (USUAL_DOMAIN,) if USUAL_DOMAIN in corpus.domains else tuple(corpus.domains)


@dataclass(frozen=True)
class _Around:
    """What stands around a sentence's own ids, and for the one that is masked."""

    opening: tuple[int, ...]  # ids before them
    closing: tuple[int, ...]  # ids behind them, where the model reads to the end
    mask: int | None  # the id in the place of the one at the position; None: it stays, and is the last one read

    @classmethod
    def of(cls, tokenizer: Tokenizer, *, is_masked: bool) -> "_Around":
        opening = () if tokenizer.bos_id is None else (tokenizer.bos_id,)
        if not is_masked:
            return cls(opening, (), None)
        return cls(opening, () if tokenizer.closing_id is None else (tokenizer.closing_id,), tokenizer.mask_id)

    def looked_at(self, sentence: Sentence, number: int, *, context_length: int, seed: int) -> Prompt:
        """The sentence at one of its own ids that fit the context."""
        n_own = max(1, min(len(sentence.ids), context_length - len(self.opening) - len(self.closing)))
        place = int(random_stream(seed, Purpose.SENTENCE_POSITION, 0, number).integers(n_own))
        tokens = self._put(sentence.ids[:n_own], place)
        return Prompt(number, sentence.domain, tokens, position=len(self.opening) + place, own_position=place)

    def _put(self, ids: np.ndarray, place: int) -> np.ndarray:
        """What the model reads of a sentence at whose own id `place` it is looked at."""
        if self.mask is None:
            return _joined(self.opening, ids[: place + 1])
        masked = ids.copy()
        masked[place] = self.mask
        return _joined(self.opening, masked, self.closing)


def _joined(*parts: Sequence[int] | np.ndarray) -> np.ndarray:
    return np.concatenate([np.asarray(part, dtype=np.int32) for part in parts])
