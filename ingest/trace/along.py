"""One neuron's activation on each token of a prompt."""

import numpy as np
import torch

from neurothek.catalog.tables.traces import PromptActivations
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.asked_prompt import ids_of


@torch.inference_mode()
def activations_along(
    transformer: Transformer, tokenizer: Tokenizer, prompt: str, *, layer: int, neuron: int
) -> PromptActivations:
    """A neuron's coefficient at every position of a prompt, from a pass that ends with its block.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        prompt: the text; the tokenizer's BOS is put in front where it has one, of a masked model its end behind it.
        layer: the neuron's layer.
        neuron: its place in the layer.
    """
    shape = transformer.shape
    closing = [tokenizer.closing_id] if shape.is_masked and tokenizer.closing_id is not None else []
    own = ids_of(tokenizer, prompt, context_length=shape.context_length - len(closing))
    ids = np.concatenate([own, np.array(closing, dtype=np.int32)])
    stream = transformer.embed(torch.from_numpy(ids.astype(np.int64))[None].to(transformer.device))
    for number in range(layer):
        with transformer.block(number) as block:
            stream = block(stream).stream
    with transformer.block(layer) as block:
        coefficients = block(stream).coefficients[0, :, neuron].float()
    return PromptActivations(tokenizer.texts(ids), layer, neuron, tuple(coefficients.tolist()))
