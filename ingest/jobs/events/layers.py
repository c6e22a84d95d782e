"""What every layer did at the ends of some examples: streams, shares, and the neurons chosen there."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look, Seen
from neurothek.ingest.jobs.events.sub_updates import (
    N_DOMINANT,
    N_RANDOM,
    LayerShares,
    contributions,
    dominant,
    random_others,
    shares,
)
from neurothek.ingest.models.transformer import Transformer

KINDS = ("dominant", "random", "random_active")
PLACES = (N_DOMINANT, N_RANDOM, N_RANDOM)
"""How many neurons of each kind are kept at a position."""


@dataclass(frozen=True, eq=False)
class Layer(LayerShares):
    """One layer at the last positions of some examples; its shares are how the update is spread.

    Picked neurons stand kind after kind, as `PLACES` says.

    Attributes:
        pre: [examples d_model] the stream before the FFN.
        post: [examples d_model] the stream after the block.
        neurons: [examples picked] the neurons.
        is_there: [examples picked] whether a place is filled.
        coefficients: [examples picked] their activations.
        contributions: [examples picked] |m| times the length of the value vector.
    """

    pre: Float[Tensor, "examples d_model"]
    post: Float[Tensor, "examples d_model"]
    neurons: Int[Tensor, "examples picked"]
    is_there: Bool[Tensor, "examples picked"]
    coefficients: Float[Tensor, "examples picked"]
    contributions: Float[Tensor, "examples picked"]


def watch(
    transformer: Transformer,
    examples: Sequence[Prompt],
    value_norms: Sequence[Float[Tensor, " d_ffn"]],
    *,
    n_event_examples: int,
    seed: int,
    batch_tokens: int,
) -> list[Layer]:
    """Run the examples through the model; random neurons are drawn for those below `n_event_examples`."""

    def look_at(layer: int) -> Look:
        return lambda seen: picked(seen, value_norms[layer], layer=layer, n_event_examples=n_event_examples, seed=seed)

    found = prompt_pass.run(transformer, examples, look_at, batch_tokens=batch_tokens)
    return [Layer(**columns) for columns in found]


def picked(
    seen: Seen, value_norms: Float[Tensor, " d_ffn"], *, layer: int, n_event_examples: int, seed: int
) -> dict[str, Tensor]:
    """The columns of a `Layer`."""
    ids = [prompt.number for prompt in seen.batch.prompts]
    coefficients = seen.batch.at_positions(seen.output.coefficients)
    contributed = contributions(coefficients, value_norms)
    largest = dominant(contributed)
    n_places = sum(PLACES)
    neurons = torch.zeros(len(ids), n_places, dtype=torch.int64, device=contributed.device)
    is_there = torch.zeros(neurons.shape, dtype=torch.bool, device=contributed.device)
    neurons[:, :N_DOMINANT], is_there[:, :N_DOMINANT] = largest.neurons, largest.is_there
    sampled = [row for row, number in enumerate(ids) if number < n_event_examples]
    if sampled:
        rows = torch.tensor(sampled, device=contributed.device)
        drawn = random_others(
            coefficients[rows], largest.at(rows), examples=[ids[row] for row in sampled], layer=layer, seed=seed
        )
        neurons[rows, N_DOMINANT:] = torch.cat([kind.neurons for kind in drawn], dim=1)
        is_there[rows, N_DOMINANT:] = torch.cat([kind.is_there for kind in drawn], dim=1)
    return vars(shares(contributed)) | {
        "pre": seen.batch.at_positions(seen.output.pre_ffn),
        "post": seen.batch.at_positions(seen.output.stream),
        "neurons": neurons,
        "is_there": is_there,
        "coefficients": coefficients.gather(1, neurons),
        "contributions": contributed.gather(1, neurons),
    }
