"""The loss of a model whose neurons are changed in several ways at once, beside the model as it is."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.models.transformer import Change, RowChanges, Transformer

Changes = Mapping[int, Change | RowChanges]
"""Layer -> what becomes of its neurons."""

SLICE_LOGITS = 1 << 24
"""Logits of one slice of positions at most: a few such slices are held at a time."""


@dataclass(frozen=True, eq=False)
class Losses:
    """What a model says of the next tokens of a batch, changed in one way."""

    # of each predicted position, the negative log-likelihood of the token that follows, nats
    nll: Float[Tensor, " positions"]
    # divergence of what the changed model says from what the untouched one does, KL(untouched || changed), nats
    kl: Float[Tensor, " positions"]
    # for each group of tokens that was asked about, the probability of them together
    mass: Float[Tensor, "positions groups"]


@torch.inference_mode()
def changed_losses(
    transformer: Transformer,
    batch: RightPadded,
    ways: Sequence[Changes],
    *,
    groups: Sequence[Int[Tensor, " _"]] = (),
) -> list[Losses]:
    """Run a batch through the model as it is and changed in every way, each block's weights there once.

    What lies below the lowest layer that a way changes is the untouched model's, and is computed once.

    Args:
        transformer: a model that predicts the next token.
        batch: whole sequences.
        ways: what is changed.
        groups: tokens whose probability is asked about.

    Returns:
        One for the untouched model, then one a way; the positions are those that a token follows, in order.
    """
    variants: list[Changes] = [{}, *ways]
    streams: list[Tensor | None] = [None] * len(variants)
    untouched = transformer.embed(batch.tokens.to(transformer.device))
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            for number, changes in enumerate(variants[1:], start=1):
                change, stream = changes.get(layer), streams[number]
                if stream is None and change is None:
                    continue  # so far it is the untouched model
                with nullcontext() if change is None else block.changed(change):
                    streams[number] = block(untouched if stream is None else stream, batch.lengths).stream
            untouched = block(untouched, batch.lengths).stream
    return _read(transformer, batch, [untouched if stream is None else stream for stream in streams], groups)


def _read(
    transformer: Transformer,
    batch: RightPadded,
    streams: Sequence[Float[Tensor, "batch time d_model"]],
    groups: Sequence[Int[Tensor, " _"]],
) -> list[Losses]:
    """What the streams say at the positions that a token follows, a slice of them at a time."""
    lengths = torch.tensor(batch.lengths)
    rows, columns = torch.nonzero(torch.arange(batch.tokens.shape[1]) < lengths[:, None] - 1, as_tuple=True)
    rows, columns = rows.to(transformer.device), columns.to(transformer.device)
    targets = batch.tokens.to(transformer.device)[rows, columns + 1]
    # All results have their place before the first logits are made: what is kept among them would keep their memory.
    results = [_empty(len(rows), len(groups), transformer.device) for _ in streams]
    at_once = max(1, SLICE_LOGITS // transformer.shape.vocab_size)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        untouched: tuple[Tensor, Tensor, Tensor] | None = None
        for stream, result in zip(streams, results, strict=True):
            logits = transformer.logits(stream[rows[part], columns[part]][None])[0].float()
            nll = cross_entropy(logits, targets[part], reduction="none")
            # The logarithm of the sum, which takes three passes over the logits by itself.
            total = nll + logits.gather(1, targets[part, None])[:, 0]
            result.nll[part] = nll
            for number, group in enumerate(groups):
                result.mass[part, number] = (logits[:, group] - total[:, None]).exp().sum(-1)
            if untouched is None:
                # It does not diverge from itself.
                untouched = logits, total, (logits - total[:, None]).exp_()
                continue
            own_logits, own_total, probabilities = untouched
            # By how much each token is less likely now, and the mean of that: rounding is of the divergence, not of two
            # means that are far larger.
            less_likely = torch.sub(own_logits, logits, out=logits).add_((total - own_total)[:, None])
            result.kl[part] = _products(probabilities, less_likely)
    return results


def _products(
    probabilities: Float[Tensor, "rows vocab"], numbers: Float[Tensor, "rows vocab"]
) -> Float[Tensor, " rows"]:
    """Sums over the vocabulary of one times the other, which are read once."""
    return torch.bmm(probabilities[:, None], numbers[:, :, None])[:, 0, 0]


def _empty(n_positions: int, n_groups: int, device: torch.device) -> Losses:
    """Places for what is said; the untouched model does not diverge from itself."""
    nll = torch.zeros(n_positions, device=device)
    return Losses(nll, torch.zeros_like(nll), nll.new_zeros(n_positions, n_groups))
