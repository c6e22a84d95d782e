"""What the streams of some examples say layer by layer, and the events that follow from it ([G] 5)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
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
from neurothek.ingest.lens.logit_lens import Lens, probabilities_, ranks, tops
from neurothek.ingest.models.transformer import Transformer

KINDS = ("dominant", "random", "random_active")
PLACES = (N_DOMINANT, N_RANDOM, N_RANDOM)
"""How many neurons of each kind are kept at a position."""


@dataclass(frozen=True, eq=False)
class Layer(LayerShares):
    """One layer at the last positions of some examples; its shares are how the update is spread.

    Picked neurons stand kind after kind, as `PLACES` says.
    """

    pre: Float[Tensor, "examples d_model"]  # [examples d_model] the stream before the FFN
    post: Float[Tensor, "examples d_model"]  # [examples d_model] the stream after the block
    neurons: Int[Tensor, "examples picked"]  # [examples picked] the neurons
    is_there: Bool[Tensor, "examples picked"]  # [examples picked] whether a place is filled
    coefficients: Float[Tensor, "examples picked"]  # [examples picked] their activations
    written: Float[Tensor, "examples picked"]  # [examples picked] what their value vectors are multiplied by
    contributions: Float[Tensor, "examples picked"]  # [examples picked] |m| times the length of the value vector


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

    columns_by_layer = prompt_pass.run(transformer, examples, look_at, batch_tokens=batch_tokens)
    return [Layer(**columns) for columns in columns_by_layer]


def picked(
    seen: Seen, value_norms: Float[Tensor, " d_ffn"], *, layer: int, n_event_examples: int, seed: int
) -> dict[str, Tensor]:
    """The columns of a `Layer`."""
    ids = [prompt.number for prompt in seen.batch.prompts]
    coefficients = seen.batch.at_positions(seen.output.coefficients)
    written = coefficients if seen.output.divisors is None else seen.batch.at_positions(seen.output.written)
    contributed = contributions(written, value_norms)
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
        "written": written.gather(1, neurons),
        "contributions": contributed.gather(1, neurons),
    }


# Logits of so many streams exist at once, three times: 50,257 of 128 streams are 26 MB.
EXAMPLES_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class Readings:
    """Tokens are rows of the lens's vocabulary; the last axis of three: before the FFN, after the block."""

    tops: Int[Tensor, "examples n_layers moments"]  # [examples n_layers moments] the token of the largest logit
    probabilities: Float[Tensor, "examples n_layers moments"]  # [examples n_layers moments] its probability
    final_ranks: Int[Tensor, "examples n_layers moments"]  # [examples n_layers moments] rank of the final token
    # [examples n_layers] rank after the block of the token at the top before the FFN
    candidate_ranks: Int[Tensor, "examples n_layers"]
    norms: Float[Tensor, "examples n_layers moments"]  # [examples n_layers moments] length of the stream
    targets: Float[Tensor, " examples"]  # [examples] probability of the token asked about, after the last layer

    @property
    def final(self) -> Int[Tensor, " examples"]:
        """[examples] the final token."""
        return self.tops[:, -1, 1]


@dataclass(frozen=True, eq=False)
class Events:
    """Where predictions came to stay, and where candidates were pushed down."""

    # [examples] start of the trailing run of layers whose stream has the final token at the top
    saturation: Int[np.ndarray, " examples"]
    # [examples] whether that is not the last layer, and another token was at the top before its FFN
    by_ffn: Bool[np.ndarray, " examples"]
    # [examples] the layer of the largest candidate rank, the lowest on ties; -1 where all ranks are 1
    elimination: Int[np.ndarray, " examples"]


FfnSide = Literal["pre", "post"]
"""Before and after the FFN."""

LookAtLogits = Callable[[int, FfnSide, Float[Tensor, "examples vocab"]], None]
"""Takes from the logits at a layer and moment what it wants; they are used up later, and not to be changed."""


def read(
    lens: Lens,
    layers: Sequence[Layer],
    targets: Int[Tensor, " examples"],
    *,
    look: LookAtLogits | None = None,
    layers_at_once: int = 1,
) -> Readings:
    """Read all streams, and the probability of one token an example at the end.

    Args:
        lens: the end of the model.
        layers: the streams.
        targets: the tokens, as rows of the vocabulary.
        look: sees the logits of some examples at each layer and moment, from the last layer down.
        layers_at_once: layers whose logits are made together: of one example that takes as long as those of one layer.
    """
    parts = [
        _read(lens, layers, targets, rows, look, layers_at_once=layers_at_once)
        for rows in slices(len(targets), EXAMPLES_AT_ONCE)
    ]
    return Readings(**{name: torch.cat([part[name] for part in parts]) for name in parts[0]})


def events(found_tops: Int[np.ndarray, "examples n_layers moments"], candidate_ranks: np.ndarray) -> Events:
    """The events of each example.

    Args:
        found_tops: the token at the top at every layer and moment.
        candidate_ranks: int [examples n_layers].
    """
    n_examples, n_layers, _ = found_tops.shape
    final = found_tops[:, -1, 1]
    is_final = found_tops[:, :, 1] == final[:, None]
    n_trailing = np.cumprod(is_final[:, ::-1], axis=1).sum(1)
    saturation = n_layers - n_trailing
    before = found_tops[np.arange(n_examples), saturation, 0]
    by_ffn = (saturation < n_layers - 1) & (before != final)
    # argmax takes the first of equals.
    elimination = np.where(candidate_ranks.max(1) > 1, candidate_ranks.argmax(1), -1)
    return Events(saturation, by_ffn, elimination)


def slices(count: int, step: int) -> list[slice]:
    """Runs of at most `step` places."""
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def _read(
    lens: Lens,
    layers: Sequence[Layer],
    targets: Int[Tensor, " examples"],
    rows: slice,
    look: LookAtLogits | None,
    *,
    layers_at_once: int,
) -> dict[str, Tensor]:
    """Read the streams of a few examples, from the last layer down: all others are asked about its top token."""
    final, parts = None, []
    for number, before, after in _downward(lens, layers, rows, layers_at_once):
        layer = layers[number]
        if look is not None:
            look(number, "pre", before)
            look(number, "post", after)
        final = tops(after)[1] if final is None else final
        parts.append(_read_layer(layer, before, after, final, targets[rows], rows=rows))
    parts.reverse()
    by_layer = {name: torch.stack([one[name] for one in parts], dim=1) for name in parts[0]}
    return {**by_layer, "targets": parts[-1]["targets"]}


def _downward(
    lens: Lens, layers: Sequence[Layer], rows: slice, at_once: int
) -> Iterator[tuple[int, Float[Tensor, "examples vocab"], Float[Tensor, "examples vocab"]]]:
    """Number of each layer from the last one, and the logits of the streams before its FFN and after the block."""
    for end in range(len(layers), 0, -at_once):
        group = layers[max(0, end - at_once) : end]
        before, after = (
            lens.logits(torch.cat([stream[rows] for stream in streams])).chunk(len(group))
            for streams in ([layer.pre for layer in group], [layer.post for layer in group])
        )
        for place in reversed(range(len(group))):
            yield end - len(group) + place, before[place], after[place]


def _read_layer(
    layer: Layer,
    before: Float[Tensor, "examples vocab"],
    after: Float[Tensor, "examples vocab"],
    final: Int[Tensor, " examples"],
    targets: Int[Tensor, " examples"],
    *,
    rows: slice,
) -> dict[str, Tensor]:
    """What `Readings` has of one layer, `targets` after this one; the logits are used up."""
    largest_before, candidate = tops(before)
    largest, top = tops(after)
    ranks_before = ranks(before, final[:, None])
    ranks_after = ranks(after, torch.stack([final, candidate], dim=1))
    said_before = probabilities_(before, candidate[:, None], largest=largest_before)
    probabilities = probabilities_(after, torch.stack([top, targets], dim=1), largest=largest)
    streams = (layer.pre[rows], layer.post[rows])
    return {
        "tops": torch.stack([candidate, top], dim=1),
        "probabilities": torch.stack([said_before[:, 0], probabilities[:, 0]], dim=1),
        "final_ranks": torch.stack([ranks_before[:, 0], ranks_after[:, 0]], dim=1),
        "candidate_ranks": ranks_after[:, 1],
        "norms": torch.stack([torch.linalg.vector_norm(stream, dim=1) for stream in streams], dim=1),
        "targets": probabilities[:, 1],
    }
