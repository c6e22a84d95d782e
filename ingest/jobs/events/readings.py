"""What the streams of some examples say layer by layer, and the events that follow from it ([G] 5)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.jobs.events.layers import Layer
from neurothek.ingest.lens.logit_lens import Lens, probabilities_, ranks, tops

# Logits of so many streams exist at once, three times: 50,257 of 128 streams are 26 MB.
EXAMPLES_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class Readings:
    """Tokens are rows of the lens's vocabulary; the last axis of three is the moment: before the FFN, after the block.

    Attributes:
        tops: [examples n_layers moments] the token of the largest logit.
        probabilities: [examples n_layers moments] its probability.
        final_ranks: [examples n_layers moments] rank of the final token.
        candidate_ranks: [examples n_layers] rank after the block of the token at the top before the FFN.
        norms: [examples n_layers moments] length of the stream.
        targets: [examples] probability of the token asked about, after the last layer.
    """

    tops: Int[Tensor, "examples n_layers moments"]
    probabilities: Float[Tensor, "examples n_layers moments"]
    final_ranks: Int[Tensor, "examples n_layers moments"]
    candidate_ranks: Int[Tensor, "examples n_layers"]
    norms: Float[Tensor, "examples n_layers moments"]
    targets: Float[Tensor, " examples"]

    @property
    def final(self) -> Int[Tensor, " examples"]:
        """[examples] the final token."""
        return self.tops[:, -1, 1]


@dataclass(frozen=True, eq=False)
class Events:
    """Where predictions came to stay, and where candidates were pushed down.

    Attributes:
        saturation: [examples] start of the trailing run of layers whose stream has the final token at the top.
        by_ffn: [examples] whether that is not the last layer, and another token was at the top before its FFN.
        elimination: [examples] the layer of the largest candidate rank, the lowest on ties; -1 where all ranks are 1.
    """

    saturation: Int[np.ndarray, " examples"]
    by_ffn: Bool[np.ndarray, " examples"]
    elimination: Int[np.ndarray, " examples"]


def read(lens: Lens, layers: Sequence[Layer], targets: Int[Tensor, " examples"]) -> Readings:
    """Read all streams, and the probability of one token an example at the end."""
    parts = [_read(lens, layers, targets, some) for some in slices(len(targets), EXAMPLES_AT_ONCE)]
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


def _read(lens: Lens, layers: Sequence[Layer], targets: Int[Tensor, " examples"], some: slice) -> dict[str, Tensor]:
    """Read the streams of a few examples, from the last layer down: all others are asked about its top token."""
    after = lens.logits(layers[-1].post[some])
    final = tops(after)[1]
    found = [_read_layer(lens, layers[-1], after, final, targets[some], some=some)]
    for layer in reversed(layers[:-1]):
        found.append(_read_layer(lens, layer, lens.logits(layer.post[some]), final, targets[some], some=some))
    found.reverse()
    by_layer = {name: torch.stack([one[name] for one in found], dim=1) for name in found[0]}
    return {**by_layer, "targets": found[-1]["targets"]}


def _read_layer(
    lens: Lens,
    layer: Layer,
    after: Float[Tensor, "examples vocab"],
    final: Int[Tensor, " examples"],
    targets: Int[Tensor, " examples"],
    *,
    some: slice,
) -> dict[str, Tensor]:
    """What `Readings` has of one layer, `targets` after this one; the logits `after` its block are used up."""
    before = lens.logits(layer.pre[some])
    largest_before, candidate = tops(before)
    largest, top = tops(after)
    ranks_before = ranks(before, final[:, None])
    ranks_after = ranks(after, torch.stack([final, candidate], dim=1))
    said_before = probabilities_(before, candidate[:, None], largest=largest_before)
    said = probabilities_(after, torch.stack([top, targets], dim=1), largest=largest)
    streams = (layer.pre[some], layer.post[some])
    return {
        "tops": torch.stack([candidate, top], dim=1),
        "probabilities": torch.stack([said_before[:, 0], said[:, 0]], dim=1),
        "final_ranks": torch.stack([ranks_before[:, 0], ranks_after[:, 0]], dim=1),
        "candidate_ranks": ranks_after[:, 1],
        "norms": torch.stack([torch.linalg.vector_norm(stream, dim=1) for stream in streams], dim=1),
        "targets": said[:, 1],
    }
