"""What every layer did at the ends of some examples: streams, shares, and the neurons chosen there."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ingest.corpora.examples import Example
from ingest.forward import prompt_pass
from ingest.forward.prompt_pass import LastPositions
from ingest.jobs.events.sub_updates import (
    N_DOMINANT,
    N_RANDOM,
    LayerShares,
    contributions,
    dominant,
    random_others,
    shares,
)
from ingest.models.transformer import Transformer

KINDS = ("dominant", "random", "random_active")
PLACES = (N_DOMINANT, N_RANDOM, N_RANDOM)
"""How many neurons of each kind are kept at a position."""


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer at the last positions of some examples; picked neurons stand kind after kind, as `PLACES` says.

    Attributes:
        pre: [examples d_model] the stream before the FFN.
        post: [examples d_model] the stream after the block.
        shares: how the update is spread.
        neurons: [examples picked] the neurons.
        is_there: [examples picked] whether a place is filled.
        coefficients: [examples picked] their activations.
        contributions: [examples picked] |m| times the length of the value vector.
    """

    pre: Float[Tensor, "examples d_model"]
    post: Float[Tensor, "examples d_model"]
    shares: LayerShares
    neurons: Int[Tensor, "examples picked"]
    is_there: Bool[Tensor, "examples picked"]
    coefficients: Float[Tensor, "examples picked"]
    contributions: Float[Tensor, "examples picked"]


def watch(
    transformer: Transformer,
    examples: Sequence[Example],
    value_norms: Sequence[Float[Tensor, " d_ffn"]],
    *,
    n_event_examples: int,
    seed: int,
    batch_tokens: int,
) -> list[Layer]:
    """Run the examples through the model; random neurons are drawn for those below `n_event_examples`."""
    parts: list[list[tuple[Sequence[int], Layer]]] = [[] for _ in range(transformer.shape.n_layers)]
    for layer, seen in prompt_pass.run(transformer, examples, batch_tokens=batch_tokens):
        ids = [examples[place].example_id for place in seen.places]
        kept = _picked(seen, value_norms[layer], ids, layer=layer, n_event_examples=n_event_examples, seed=seed)
        parts[layer].append((seen.places, kept))
    return [_joined(part) for part in parts]


def _picked(
    seen: LastPositions,
    value_norms: Float[Tensor, " d_ffn"],
    ids: Sequence[int],
    *,
    layer: int,
    n_event_examples: int,
    seed: int,
) -> Layer:
    contributed = contributions(seen.coefficients, value_norms)
    largest = dominant(contributed)
    n_places = sum(PLACES)
    neurons = torch.zeros(len(ids), n_places, dtype=torch.int64, device=contributed.device)
    is_there = torch.zeros(neurons.shape, dtype=torch.bool, device=contributed.device)
    neurons[:, :N_DOMINANT], is_there[:, :N_DOMINANT] = largest.neurons, largest.is_there
    sampled = [row for row, number in enumerate(ids) if number < n_event_examples]
    if sampled:
        rows = torch.tensor(sampled, device=contributed.device)
        drawn = random_others(
            seen.coefficients[rows], largest.at(rows), examples=[ids[row] for row in sampled], layer=layer, seed=seed
        )
        neurons[rows, N_DOMINANT:] = torch.cat([kind.neurons for kind in drawn], dim=1)
        is_there[rows, N_DOMINANT:] = torch.cat([kind.is_there for kind in drawn], dim=1)
    return Layer(
        pre=seen.pre,
        post=seen.post,
        shares=shares(contributed),
        neurons=neurons,
        is_there=is_there,
        coefficients=seen.coefficients.gather(1, neurons),
        contributions=contributed.gather(1, neurons),
    )


def _joined(parts: Sequence[tuple[Sequence[int], Layer]]) -> Layer:
    """The batches of one layer, in the order of the examples."""
    places = torch.tensor([place for some, _ in parts for place in some])
    back = torch.argsort(places)

    def column(of: Sequence[Tensor]) -> Tensor:
        whole = torch.cat(list(of))
        return whole[back.to(whole.device)]

    layers = [layer for _, layer in parts]
    spread = [layer.shares for layer in layers]
    return Layer(
        pre=column([layer.pre for layer in layers]),
        post=column([layer.post for layer in layers]),
        shares=LayerShares(
            total=column([one.total for one in spread]),
            dominant=column([one.dominant for one in spread]),
            leading=column([one.leading for one in spread]),
            effective=column([one.effective for one in spread]),
        ),
        neurons=column([layer.neurons for layer in layers]),
        is_there=column([layer.is_there for layer in layers]),
        coefficients=column([layer.coefficients for layer in layers]),
        contributions=column([layer.contributions for layer in layers]),
    )
