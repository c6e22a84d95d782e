"""The beginning of a text that interventions are measured on."""

from collections.abc import Iterator

import numpy as np

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import RightPadded, padded

BATCH_TOKENS = 2_048
"""Ids of a batch at most: the streams of all changed models are held at a time."""


SHORTEST = 2
"""Ids in which one follows another: fewer have no loss."""


def cuts(corpus: Corpus, n_tokens: int) -> bool:
    """Whether the first sequence of a domain is longer than what is to be read of the domain, and is therefore cut."""
    firsts = np.unique(corpus.domain_of, return_index=True)[1]
    return any(len(corpus.sequence(number)) > max(SHORTEST, n_tokens) for number in firsts.tolist())


def first_batches(corpus: Corpus, domain: int, *, n_tokens: int) -> Iterator[RightPadded]:
    """The first sequences of a domain until at least `n_tokens` ids are read, whole ones but for a longer first one."""
    read = 0
    held: list[np.ndarray] = []
    for number in np.flatnonzero(corpus.domain_of == domain).tolist():
        ids = corpus.sequence(number)
        if read == 0:
            ids = ids[: max(SHORTEST, n_tokens)]
        if held and (len(held) + 1) * max(len(ids), *map(len, held)) > BATCH_TOKENS:
            yield RightPadded(0, padded(held), tuple(map(len, held)))
            held = []
        held.append(ids)
        read += len(ids)
        if read >= n_tokens:
            break
    if held:
        yield RightPadded(0, padded(held), tuple(map(len, held)))
