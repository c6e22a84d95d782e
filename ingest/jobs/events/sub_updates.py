"""Sub-updates: what single neurons add to the stream at one position, the largest of them and random others ([G] 5)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

N_DOMINANT = 10
N_RANDOM = 10
LEADING_SHARE = 0.0024
"""Ten neurons of 4,096, the layer of the paper's model."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Up to k neurons at some positions; where there are fewer, the last places are empty."""

    neurons: Int[Tensor, "positions k"]  # [positions k] the neurons; 0 where a place is empty
    is_there: Bool[Tensor, "positions k"]  # [positions k] whether a place is filled

    def at(self, positions: Int[Tensor, " some"]) -> "Chosen":
        """The same at some of the positions."""
        return Chosen(self.neurons[positions], self.is_there[positions])


@dataclass(frozen=True, eq=False)
class LayerShares:
    """How a layer's update is spread over its neurons."""

    total: Float[Tensor, " positions"]  # [positions] sum of the contributions, float64
    # [positions] share of the dominant neurons; not a number where the sum is 0, like what follows
    dominant: Float[Tensor, " positions"]
    leading: Float[Tensor, " positions"]  # [positions] share of the largest 0.24% of the neurons, at least one
    effective: Float[Tensor, " positions"]  # [positions] square of the sum over the sum of squares


@dataclass(frozen=True, eq=False)
class Scores:
    """What some neurons do to one token a position."""

    raw: Float[Tensor, "positions k"]  # [positions k] m (e . v), [G] eq. 2.
    # [positions k] m e . (gamma (v - mean v)) / sd(stream), or m e . (gamma v) / rms(stream): the change of its logit
    # if the final norm's divisor stood still [ours]; raw where there is no final norm.
    logit: Float[Tensor, "positions k"]


def contributions(
    coefficients: Float[Tensor, "positions d_ffn"], value_norms: Float[Tensor, " d_ffn"]
) -> Float[Tensor, "positions d_ffn"]:
    """[positions d_ffn] |m| times the length of the value vector ([G] 5)."""
    return coefficients.float().abs() * value_norms


def dominant(contributed: Float[Tensor, "positions d_ffn"], *, k: int = N_DOMINANT) -> Chosen:
    """The `k` largest contributions, largest first, ties by neuron."""
    n_available = min(k, contributed.shape[1])
    best = contributed.topk(min(k + 1, contributed.shape[1]), dim=1)
    neurons = torch.zeros(len(contributed), k, dtype=torch.int64, device=contributed.device)
    neurons[:, :n_available] = best.indices[:, :n_available]
    # What topk does with ties is its own affair: rows that have any among their largest are sorted.
    undecided = (best.values[:, 1:] == best.values[:, :-1]).any(1).nonzero()[:, 0]
    if len(undecided):
        ordered = contributed[undecided].sort(dim=1, descending=True, stable=True).indices
        neurons[undecided, :n_available] = ordered[:, :n_available]
    return Chosen(neurons, (torch.arange(k, device=neurons.device) < n_available).expand(neurons.shape))


def shares(contributed: Float[Tensor, "positions d_ffn"], *, k: int = N_DOMINANT) -> LayerShares:
    """How the contributions of each position are spread."""
    d_ffn = contributed.shape[1]
    n_leading = math.ceil(LEADING_SHARE * d_ffn)
    largest = contributed.topk(min(max(k, n_leading), d_ffn), dim=1).values.double()
    total = contributed.sum(1, dtype=torch.float64)
    squares = torch.linalg.vector_norm(contributed, dim=1).double() ** 2
    return LayerShares(
        total=total,
        dominant=largest[:, :k].sum(1) / total,
        leading=largest[:, :n_leading].sum(1) / total,
        effective=total**2 / squares,
    )


def random_others(
    coefficients: Float[Tensor, "positions d_ffn"],
    leave_out: Chosen,
    *,
    examples: Sequence[int],
    layer: int,
    seed: int,
    k: int = N_RANDOM,
) -> tuple[Chosen, Chosen]:
    """For each position `k` random neurons that are not `leave_out`, and the same among those with m != 0.

    Both are the first of one random order, so that each is uniform and they differ by the condition alone.
    """
    device, d_ffn = coefficients.device, coefficients.shape[1]
    orders = np.stack(
        [random_stream(seed, Purpose.EXAMPLE, layer + 1, example).permutation(d_ffn) for example in examples]
    )
    order = torch.from_numpy(orders).to(device)
    others = torch.ones(coefficients.shape, dtype=torch.bool, device=device)
    # Empty places stand behind the filled ones and name neuron 0, which is left out where a layer is so small.
    others.scatter_(1, leave_out.neurons, False)
    # Among the first k + left-out places of an order there are k others, if the layer has so many.
    near = order[:, : k + leave_out.neurons.shape[1]]
    return _first(near, others.gather(1, near), k), _first(order, (others & (coefficients != 0)).gather(1, order), k)


def neuron_scores(
    coefficients: Float[Tensor, "positions k"],
    values: Float[Tensor, "positions k d_model"],
    rows: Int[Tensor, " positions"],
    *,
    lens: Lens,
    divisors: Float[Tensor, " positions"],
) -> Scores:
    """What each neuron adds to the score of one token.

    Args:
        coefficients: of the neurons.
        values: their value vectors.
        rows: the token of each position, as a row of the lens's vocabulary.
        lens: the end of the model.
        divisors: what the final norm divides each position's stream by.
    """
    embeddings = lens.vocabulary.rows[rows]
    raw = coefficients * torch.einsum("pkd,pd->pk", values, embeddings)
    if lens.norm is None:
        return Scores(raw, raw)
    readers = lens.norm.readers_(embeddings)
    return Scores(raw, coefficients * torch.einsum("pkd,pd->pk", values, readers) / divisors[:, None])


def _first(order: Int[Tensor, "positions n"], eligible: Bool[Tensor, "positions n"], k: int) -> Chosen:
    """The first `k` wanted entries of each row."""
    place = eligible.cumsum(1)
    chosen = eligible & (place <= k)
    neurons = torch.zeros(len(order), k, dtype=torch.int64, device=order.device)
    rows, columns = chosen.nonzero(as_tuple=True)
    neurons[rows, place[rows, columns] - 1] = order[rows, columns]
    return Chosen(neurons, torch.arange(k, device=order.device) < chosen.sum(1, keepdim=True))
