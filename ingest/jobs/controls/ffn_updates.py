"""FFN updates: what a layer's whole FFN adds to the stream at the ends of some examples ([G] 3)."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ingest.corpora.examples import Example
from ingest.forward import prompt_pass
from ingest.models.transformer import Transformer
from ingest.numerics.random_stream import Purpose, random_stream

N_UPDATES = 10
"""Updates a layer, as many as random vectors are kept."""


def places(n_examples: int, *, layer: int, n: int, seed: int) -> list[int]:
    """`n` of the examples, or all there are, in ascending order; every layer has its own [ours]."""
    generator = random_stream(seed, Purpose.UPDATED_EXAMPLES, layer)
    found: list[int] = np.sort(generator.permutation(n_examples)[:n]).tolist()
    return found


def ffn_updates(
    transformer: Transformer, examples: Sequence[Example], *, n: int, seed: int, batch_tokens: int
) -> list[Float[Tensor, "updates d_model"]]:
    """For every layer [updates d_model] the sum of m v over its neurons plus the FFN's bias, at the last position.

    The updates of a layer stand in the order of their examples. They are what the FFN adds to the stream in pre-norm
    blocks, and what the block's second norm then changes in post-norm ones.
    """
    layers = range(transformer.shape.n_layers)
    wanted = [places(len(examples), layer=layer, n=n, seed=seed) for layer in layers]
    needed = sorted({place for some in wanted for place in some})
    found: list[dict[int, Tensor]] = [{} for _ in layers]
    with torch.inference_mode():
        for layer, seen in prompt_pass.run(
            transformer, [examples[place] for place in needed], batch_tokens=batch_tokens
        ):
            numbers = [needed[place] for place in seen.places]
            rows = [row for row, number in enumerate(numbers) if number in wanted[layer]]
            if rows:
                updates = seen.coefficients[rows] @ transformer.value_vectors(layer) + transformer.value_bias(layer)
                found[layer] |= {numbers[row]: update for row, update in zip(rows, updates, strict=True)}
    nothing = torch.empty(0, transformer.shape.d_model, device=transformer.device)
    return [torch.stack([one[place] for place in sorted(one)]) if one else nothing for one in found]
