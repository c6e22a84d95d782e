"""Examples: sentences cut at a random place, whose last position is analysed ([G] 5; the cut at random is ours)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.corpora.corpus import Corpus
from ingest.corpora.sentences import Sentence, sentences
from ingest.models.tokenizer import Tokenizer
from ingest.numerics.random_stream import Purpose, random_stream

N_EXAMPLES = 10_000
N_EVENT_EXAMPLES = 2_000


@dataclass(frozen=True, eq=False)
class Example:
    """One example.

    Attributes:
        example_id: its number.
        domain: domain of its sentence.
        tokens: int32 [length], BOS included where the tokenizer puts one in front.
        n_prefix: how many ids of the sentence it has.
        target: the sentence's next id; None where the example is the whole sentence.
    """

    example_id: int
    domain: str
    tokens: np.ndarray
    n_prefix: int
    target: int | None


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of a corpus.

    Attributes:
        n_sentences: sentences they were drawn from.
        rows: the examples in the order of their ids.
    """

    n_sentences: int
    rows: Sequence[Example]


def examples(
    corpus: Corpus, tokenizer: Tokenizer, *, context_length: int, seed: int, n_examples: int = N_EXAMPLES
) -> Examples:
    """At most `n_examples` sentences in a random order, each cut after a random number of its ids.

    The order is random so that the first ones are a sample of all domains [ours].
    """
    found = sentences(corpus, tokenizer)
    order = random_stream(seed, Purpose.EXAMPLE_ORDER).permutation(len(found))[:n_examples]
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    rows = [
        cut(found[place], number, bos=bos, context_length=context_length, seed=seed)
        for number, place in enumerate(order.tolist())
    ]
    return Examples(len(found), rows)


def cut(sentence: Sentence, number: int, *, bos: Sequence[int], context_length: int, seed: int) -> Example:
    """The sentence cut after n ids, uniform over 1 .. len - 1 and over what fits the context; of one id: that id."""
    longest = max(1, min(len(sentence.ids) - 1, context_length - len(bos)))
    n = int(random_stream(seed, Purpose.EXAMPLE, 0, number).integers(1, longest + 1))
    return Example(
        example_id=number,
        domain=sentence.domain,
        tokens=np.concatenate([np.array(bos, dtype=np.int32), sentence.ids[:n]]),
        n_prefix=n,
        target=int(sentence.ids[n]) if n < len(sentence.ids) else None,
    )
