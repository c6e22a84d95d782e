"""What is measured for a published number."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from catalog.progress import Progress
from ingest.corpora.sources.hub_datasets import HubDataset
from ingest.golden.entries import Measurement, TextLoss, ValueToken, WeightNorm, WindowPerplexity
from ingest.golden.errors import BosUnknown, NeuronBeyond
from ingest.lens.logit_lens import Lens
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer


@dataclass(frozen=True)
class Remeasured:
    """What was measured: the number, and the token that it belongs to where it is one's probability."""

    value: float
    token: str | None = None


def measure_again(
    measurement: Measurement, transformer: Transformer, tokenizer: Tokenizer, progress: Progress
) -> Remeasured:
    """Measure anew what was published, in float32.

    Raises:
        BosUnknown, NeuronBeyond: the model has no such token or neuron.
        DatasetUnreachable, DatasetNotOnHub, DatasetsMissing, ...: the text cannot be had.
    """
    match measurement:
        case TextLoss():
            return Remeasured(_text_loss(measurement, transformer, tokenizer))
        case ValueToken():
            return _value_token(measurement, transformer, tokenizer)
        case WeightNorm():
            return Remeasured(_weight_norm(measurement, transformer))
        case WindowPerplexity():
            return Remeasured(_window_perplexity(measurement, transformer, tokenizer, progress))


def _text_loss(asked: TextLoss, transformer: Transformer, tokenizer: Tokenizer) -> float:
    if asked.bos not in tokenizer.pieces:
        raise BosUnknown(asked.bos)
    bos = tokenizer.ids[tokenizer.pieces.index(asked.bos)]
    (ids,) = tokenizer.encode([asked.text])
    return _mean_loss(transformer, np.concatenate([[bos], ids]))


def _value_token(asked: ValueToken, transformer: Transformer, tokenizer: Tokenizer) -> Remeasured:
    _require_neuron(transformer, asked.layer, asked.neuron)
    lens = Lens.of(transformer, tokenizer)
    vector = transformer.value_vectors(asked.layer)[asked.neuron]
    probability, row = lens.logits(vector[None]).softmax(1)[0].max(0)
    (text,) = tokenizer.texts(lens.vocabulary.ids[[int(row)]])
    return Remeasured(float(probability), text)


def _weight_norm(asked: WeightNorm, transformer: Transformer) -> float:
    _require_neuron(transformer, asked.layer, asked.neuron)
    if asked.side == "out":
        vector = transformer.value_vectors(asked.layer)[asked.neuron]
        return float((vector - vector.mean()).norm())
    row = transformer.key_vectors(asked.layer)[asked.neuron][None].clone()
    norm = transformer.ffn_norm(asked.layer)
    return float((row if norm is None else norm.readers_(row)).norm())


def _require_neuron(transformer: Transformer, layer: int, neuron: int) -> None:
    shape = transformer.shape
    if not (0 <= layer < shape.n_layers and 0 <= neuron < shape.d_ffn):
        raise NeuronBeyond(layer, neuron, shape.n_layers, shape.d_ffn)


def _window_perplexity(
    asked: WindowPerplexity, transformer: Transformer, tokenizer: Tokenizer, progress: Progress
) -> float:
    (ids,) = tokenizer.encode([_text(asked.text)])
    length = transformer.shape.context_length
    windows = [ids[start : start + length] for start in range(0, len(ids), length)]
    progress.start("perplexity", len(windows))
    total = 0.0
    for window in windows:
        # The mean over the predicted ids counts for all of a window's ids, as in the published code.
        if len(window) > 1:
            total += _mean_loss(transformer, window) * len(window)
        progress.advance()
    progress.finish()
    return float(np.exp(total / len(ids)))


def _text(location: str) -> str:
    dataset = HubDataset.parse("text", location)
    if dataset is None:
        return Path(location).read_text("utf-8")
    return "\n\n".join(dataset.texts(empty=True))


@torch.inference_mode()
def _mean_loss(transformer: Transformer, ids: Int[np.ndarray, " time"]) -> float:
    """Nats an id, of all but the first."""
    sequence = torch.from_numpy(ids.astype(np.int64)).to(transformer.device)
    logits = _logits(transformer, sequence)
    return float(functional.cross_entropy(logits[:-1], sequence[1:]))


def _logits(transformer: Transformer, sequence: Int[Tensor, " time"]) -> Float[Tensor, "time vocab"]:
    stream = transformer.embed(sequence[None])
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    return transformer.logits(stream)[0].float()
