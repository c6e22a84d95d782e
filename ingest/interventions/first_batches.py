"""The beginning of a text that interventions are measured on."""

from collections.abc import Iterator

import numpy as np

from ingest.corpora.corpus import Corpus
from ingest.forward.batches import RightPadded, padded

BATCH_TOKENS = 2_048
"""Ids of a batch at most: the streams of all changed models are held at a time."""


def first_batches(corpus: Corpus, domain: int, *, n_tokens: int) -> Iterator[RightPadded]:
    """The first sequences of a domain, whole ones, until at least `n_tokens` ids are read."""
    read = 0
    held: list[np.ndarray] = []
    for number in np.flatnonzero(corpus.domain_of == domain).tolist():
        ids = corpus.sequence(number)
        if held and (len(held) + 1) * max(len(ids), *map(len, held)) > BATCH_TOKENS:
            yield RightPadded(0, padded(held), tuple(map(len, held)))
            held = []
        held.append(ids)
        read += len(ids)
        if read >= n_tokens:
            break
    if held:
        yield RightPadded(0, padded(held), tuple(map(len, held)))
