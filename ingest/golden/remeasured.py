"""What is measured for a published number."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from neurothek.catalog.problems import NotFound
from neurothek.catalog.progress import Progress
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.golden.entries import (
    CosineMoment,
    Measurement,
    TextLoss,
    TokenCount,
    ValueToken,
    WeightCosine,
    WeightNorm,
    WindowPerplexity,
)
from neurothek.ingest.lens.logit_lens import Lens, top_rows
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Change, Transformer


@dataclass(frozen=True)
class Remeasured:
    """What was measured: the number, and the token that it belongs to where it is one's probability.

    Attributes:
        value: the number.
        token: the token.
        then: as many tokens as were asked for after it, each with its probability.
    """

    value: float
    token: str | None = None
    then: tuple[tuple[str, float], ...] = ()


def measure_again(
    measurement: Measurement, transformer: Transformer, tokenizer: Tokenizer, progress: Progress
) -> Remeasured:
    """Measure anew what was published, in float32."""
    match measurement:
        case ValueToken():
            return _value_token(measurement, transformer, tokenizer)
        case TextLoss():
            value = _text_loss(measurement, transformer, tokenizer)
        case WeightNorm():
            value = float(_read_and_written(transformer, measurement)[measurement.side].norm())
        case WeightCosine():
            sides = _read_and_written(transformer, measurement)
            value = float(functional.cosine_similarity(sides["in"], sides["out"], dim=0))
        case CosineMoment():
            value = _cosine_moment(measurement, transformer)
        case WindowPerplexity():
            value = _window_perplexity(measurement, transformer, tokenizer, progress)
        case TokenCount():
            value = float(len(tokenizer.encode([_text(measurement.text)])[0]))
    return Remeasured(value)


def _text_loss(asked: TextLoss, transformer: Transformer, tokenizer: Tokenizer) -> float:
    if asked.bos not in tokenizer.pieces:
        message, hint = f"the tokenizer has no token {asked.bos!r}", "check that the model is the published one"
        raise NotFound(message, hint, what="token", name=asked.bos)
    bos = tokenizer.ids[tokenizer.pieces.index(asked.bos)]
    (ids,) = tokenizer.encode([asked.text])
    return _mean_loss(transformer, np.concatenate([[bos], ids]))


def _value_token(asked: ValueToken, transformer: Transformer, tokenizer: Tokenizer) -> Remeasured:
    _require_neuron(transformer, asked.layer, asked.neuron)
    lens = Lens.of(transformer, tokenizer)
    vector = transformer.value_vectors(asked.layer)[asked.neuron]
    logits = lens.logits(vector[None])
    rows = top_rows(logits, 1 + len(asked.then))[0]
    probabilities = logits.softmax(1)[0, rows].tolist()
    first, *then = zip(tokenizer.texts(lens.vocabulary.ids[rows.numpy(force=True)]), probabilities, strict=True)
    return Remeasured(first[1], first[0], tuple(then))


def _read_and_written(
    transformer: Transformer, asked: WeightNorm | WeightCosine
) -> dict[Literal["in", "out"], Float[Tensor, " d_model"]]:
    """The key of a neuron, as the FFN's norm lets it read, and its value vector, both centred."""
    _require_neuron(transformer, asked.layer, asked.neuron)
    row = transformer.key_vectors(asked.layer)[asked.neuron][None].clone()
    norm = transformer.ffn_norm(asked.layer)
    return {"in": (row if norm is None else norm.readers_(row))[0], "out": _written(transformer, asked)}


def _written(transformer: Transformer, asked: WeightNorm | WeightCosine | CosineMoment) -> Float[Tensor, " d_model"]:
    vector = transformer.value_vectors(asked.layer)[asked.neuron]
    return vector - vector.mean()


def _cosine_moment(asked: CosineMoment, transformer: Transformer) -> float:
    _require_neuron(transformer, asked.layer, asked.neuron)
    rows, norm = transformer.unembedding().clone(), transformer.final_norm()
    if norm is not None:
        rows = norm.readers_(rows)
    rows -= rows.mean(0)
    cosines = functional.cosine_similarity(rows, _written(transformer, asked)[None]).double()
    mean, sd = cosines.mean(), cosines.std(correction=0)
    standardized = (cosines - mean) / sd
    moments = {
        "mean": mean,
        "variance": sd**2,
        "skewness": (standardized**3).mean(),
        "kurtosis": (standardized**4).mean(),
    }
    return float(moments[asked.moment])


def _require_neuron(transformer: Transformer, layer: int, neuron: int) -> None:
    shape = transformer.shape
    if not (0 <= layer < shape.n_layers and 0 <= neuron < shape.d_ffn):
        raise NotFound(
            f"there is no neuron L{layer}N{neuron} in {shape.n_layers} layers of {shape.d_ffn:,} neurons",
            "check that the model is the published one",
            what="neuron",
            name=f"L{layer}N{neuron}",
        )


def _window_perplexity(
    asked: WindowPerplexity, transformer: Transformer, tokenizer: Tokenizer, progress: Progress
) -> float:
    changes = _set_before(asked, transformer)
    (ids,) = tokenizer.encode([_text(asked.text)])
    length = transformer.shape.context_length
    windows = [ids[start : start + length] for start in range(0, len(ids), length)]
    progress.start("perplexity", len(windows))
    total = 0.0
    for window in windows:
        # The mean over the predicted ids counts for all of a window's ids, as in the published code.
        if len(window) > 1:
            total += _mean_loss(transformer, window, changes) * len(window)
        progress.advance()
    progress.finish()
    return float(np.exp(total / len(ids)))


def _set_before(asked: WindowPerplexity, transformer: Transformer) -> dict[int, Change]:
    """Layer -> what becomes of its neurons before the non-linearity."""
    changes = {}
    for layer, neurons in asked.places.items():
        for neuron in neurons:
            _require_neuron(transformer, layer, neuron)
        values = torch.full((len(neurons),), asked.value, device=transformer.device)
        changes[layer] = Change(torch.tensor(neurons, device=transformer.device), values, is_before=True)
    return changes


def _text(location: str) -> str:
    dataset = HubDataset.parse("text", location)
    if dataset is None:
        return Path(location).read_text("utf-8")
    return "\n\n".join(dataset.texts(empty=True))


@torch.inference_mode()
def _mean_loss(
    transformer: Transformer, ids: Int[np.ndarray, " time"], changes: Mapping[int, Change] | None = None
) -> float:
    """Nats an id, of all but the first."""
    sequence = torch.from_numpy(ids.astype(np.int64)).to(transformer.device)
    logits = _logits(transformer, sequence, changes or {})
    return float(functional.cross_entropy(logits[:-1], sequence[1:]))


def _logits(
    transformer: Transformer, sequence: Int[Tensor, " time"], changes: Mapping[int, Change]
) -> Float[Tensor, "time vocab"]:
    stream = transformer.embed(sequence[None])
    for layer in range(transformer.shape.n_layers):
        change = changes.get(layer)
        with transformer.block(layer) as block, nullcontext() if change is None else block.changed(change):
            stream = block(stream).stream
    return transformer.logits(stream)[0].float()
