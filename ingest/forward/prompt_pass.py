"""Examples run through a model block by block; only their last positions are looked at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ingest.corpora.examples import Example
from ingest.models.transformer import Transformer


@dataclass(frozen=True, eq=False)
class LastPositions:
    """What one layer did at the last positions of some examples.

    Attributes:
        places: which examples, as places in the sequence that was run.
        pre: [positions d_model] the stream between attention and FFN, float32.
        post: [positions d_model] the stream after the block, float32.
        coefficients: [positions d_ffn] the neurons' activations, float32.
    """

    places: Sequence[int]
    pre: Float[Tensor, "positions d_model"]
    post: Float[Tensor, "positions d_model"]
    coefficients: Float[Tensor, "positions d_ffn"]


@runtime_checkable
class Tokenized(Protocol):
    """What a model reads at once."""

    @property
    def tokens(self) -> np.ndarray:
        """int32 [length], its ids."""


def run(
    transformer: Transformer, examples: Sequence[Example], *, batch_tokens: int
) -> Iterator[tuple[int, LastPositions]]:
    """(layer, what it did) batch by batch, layers outside: a layer's weights are needed once.

    Examples of like length go together, so that little is padded; the batches depend on the examples and on
    `batch_tokens` alone.
    """
    groups = batches(examples, batch_tokens=batch_tokens)
    streams: dict[int, Tensor] = {}
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            for number, places in enumerate(groups):
                if layer == 0:
                    streams[number] = transformer.embed(padded([examples[place] for place in places]))
                output = block(streams[number])
                streams[number] = output.stream
                last = torch.tensor([len(examples[place].tokens) - 1 for place in places], device=output.stream.device)
                rows = torch.arange(len(places), device=last.device)
                yield (
                    layer,
                    LastPositions(
                        places=places,
                        pre=output.pre_ffn[rows, last].float(),
                        post=output.stream[rows, last].float(),
                        coefficients=output.coefficients[rows, last].float(),
                    ),
                )


def batches(examples: Sequence[Tokenized], *, batch_tokens: int) -> list[list[int]]:
    """Places of the examples, shortest first, as many a batch as fit `batch_tokens` when padded, at least one."""
    order = sorted(range(len(examples)), key=lambda place: (len(examples[place].tokens), place))
    found: list[list[int]] = []
    for place in order:
        # The example that comes last is the longest so far.
        if not found or (len(found[-1]) + 1) * len(examples[place].tokens) > batch_tokens:
            found.append([])
        found[-1].append(place)
    return found


def padded(examples: Sequence[Tokenized]) -> Int[Tensor, "batch time"]:
    """[batch time] the examples' ids, right-padded with 0."""
    tokens = torch.zeros(len(examples), max(len(example.tokens) for example in examples), dtype=torch.int64)
    for row, example in zip(tokens, examples, strict=True):
        row[: len(example.tokens)] = torch.from_numpy(example.tokens)
    return tokens
