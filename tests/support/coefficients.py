"""Texts without words and coefficients without a model: what observers see, made by hand."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import Batch, batches
from neurothek.ingest.models.families.blocks import BlockOutput


def corpus(lengths: Sequence[tuple[str, int]], *, has_bos: bool = True, vocab: int = 390, seed: int = 0) -> Corpus:
    """Sequences of random ids, given as (domain, length with BOS)."""
    domains = tuple(dict.fromkeys(domain for domain, _ in lengths))
    offsets = np.cumsum([0, *(length for _, length in lengths)]).astype(np.int64)
    tokens = np.random.default_rng(seed).integers(4, vocab, size=int(offsets[-1])).astype(np.int32)
    if has_bos:
        tokens[offsets[:-1]] = 2
    return Corpus(
        name="made",
        sha256="",
        text_sha256="",
        tokenizer_sha256="",
        sequence_length=max(length for _, length in lengths),
        has_bos=has_bos,
        domains=domains,
        tokens=tokens,
        offsets=offsets,
        domain_of=np.array([domains.index(domain) for domain, _ in lengths], dtype=np.int16),
        starts_document=np.ones(len(lengths), dtype=np.bool_),
        recipe="{}",
    )


def coefficients(text: Corpus, d_ffn: int, *, share: float, relu: bool, seed: int = 0) -> list[Tensor]:
    """[time d_ffn] a sequence, BOS included; about `share` are above 0; values are multiples of 1/16, so ties are many.

    Sums of a few thousand such numbers are exact in float32 in any order.
    """
    generator = torch.Generator().manual_seed(seed)
    threshold = float(torch.special.ndtri(torch.tensor(1 - share)))
    made = []
    for number in range(text.n_sequences):
        noise = torch.randn(len(text.sequence(number)), d_ffn, generator=generator) - threshold
        rounded = (noise * 16).round() / 16
        made.append(rounded.clamp_min(0) if relu else rounded.clamp_min(-2))
    return made


def padded(text: Corpus, chunk: range, made: Sequence[Tensor], *, batch_tokens: int) -> list[tuple[Batch, Tensor]]:
    """The batches of a chunk with their coefficients; padding holds a huge number, so that looking at it shows."""
    shown = []
    for batch in batches(text, chunk, batch_tokens=batch_tokens):
        tensor = torch.full((*batch.tokens.shape, made[0].shape[1]), 1e9)
        for row, length in enumerate(batch.lengths):
            tensor[row, :length] = made[batch.first_sequence + row]
        shown.append((batch, tensor))
    return shown


def output_of(coefficients: Tensor, gates: Tensor | None = None, added: Tensor | None = None) -> BlockOutput:
    """What a block with such coefficients returns; its stream plays no part."""
    none = coefficients.new_zeros(*coefficients.shape[:2], 1)
    return BlockOutput(none, coefficients, none, none if added is None else added, gates)
