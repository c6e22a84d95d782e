"""FFN updates: what a layer's whole FFN adds to the stream at the ends of some examples ([G] 3)."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look, Seen
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

N_UPDATES = 10
"""Updates a layer, as many as random vectors are kept."""


def places(n_examples: int, *, layer: int, n: int, seed: int) -> list[int]:
    """`n` of the examples, or all there are, in ascending order; every layer has its own [ours]."""
    generator = random_stream(seed, Purpose.UPDATED_EXAMPLES, layer)
    found: list[int] = np.sort(generator.permutation(n_examples)[:n]).tolist()
    return found


def ffn_updates(
    transformer: Transformer, examples: Sequence[Prompt], *, n: int, seed: int, batch_tokens: int
) -> list[Float[Tensor, "updates d_model"]]:
    """For every layer [updates d_model] the sum of m v over its neurons plus the FFN's bias, at the last position.

    The updates of a layer stand in the order of their examples. They are what the FFN adds to the stream in pre-norm
    blocks, and what the block's second norm then changes in post-norm ones.
    """
    wanted = [places(len(examples), layer=layer, n=n, seed=seed) for layer in range(transformer.shape.n_layers)]
    needed = sorted({place for some in wanted for place in some})
    if not needed:
        return [torch.empty(0, transformer.shape.d_model, device=transformer.device) for _ in wanted]
    is_wanted = [np.isin(needed, some) for some in wanted]

    def look_at(layer: int) -> Look:
        values, bias = transformer.value_vectors(layer), transformer.value_bias(layer)

        def look(seen: Seen) -> dict[str, Tensor]:
            coefficients = seen.batch.at_positions(seen.output.coefficients)
            rows = torch.from_numpy(is_wanted[layer][seen.batch.places]).to(coefficients.device)
            updates = coefficients.new_zeros(len(coefficients), values.shape[1])
            updates[rows] = coefficients[rows] @ values + bias
            return {"updates": updates}

        return look

    with torch.inference_mode():
        some = [examples[place] for place in needed]
        layers = prompt_pass.run(transformer, some, look_at, batch_tokens=batch_tokens)
        return [found["updates"][torch.from_numpy(rows)] for found, rows in zip(layers, is_wanted, strict=True)]
