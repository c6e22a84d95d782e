"""Measures published numbers again, model by model, as far as models and texts are at hand."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import expanded
from neurothek.catalog.problems import Failed, NotFound, Refused, Unavailable
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.golden.entries import (
    CosineMoment,
    Measurement,
    Published,
    TextLoss,
    TokenCount,
    ValueToken,
    WeightCosine,
    WeightNorm,
    WindowPerplexity,
)
from neurothek.ingest.lens.logit_lens import Lens, top_rows
from neurothek.ingest.models import checkpoints, hub
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Change, Transformer, open_transformer


@dataclass(frozen=True)
class Remeasured:
    """What was measured: the number, and the token that it belongs to where it is one's probability."""

    value: float  # the number
    token: str | None = None  # the token
    then: tuple[tuple[str, float], ...] = ()  # as many tokens as were asked for after it, each with its probability


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


def _text_loss(entry: TextLoss, transformer: Transformer, tokenizer: Tokenizer) -> float:
    if entry.bos not in tokenizer.pieces:
        message, hint = f"the tokenizer has no token {entry.bos!r}", "check that the model is the published one"
        raise NotFound(message, hint, what="token", name=entry.bos)
    bos = tokenizer.ids[tokenizer.pieces.index(entry.bos)]
    (ids,) = tokenizer.encode([entry.text])
    return _mean_loss(transformer, np.concatenate([[bos], ids]))


def _value_token(entry: ValueToken, transformer: Transformer, tokenizer: Tokenizer) -> Remeasured:
    _require_neuron(transformer, entry.layer, entry.neuron)
    lens = Lens.of(transformer, tokenizer)
    vector = transformer.value_vectors(entry.layer)[entry.neuron]
    logits = lens.logits(vector[None])
    rows = top_rows(logits, 1 + len(entry.then))[0]
    probabilities = logits.softmax(1)[0, rows].tolist()
    first, *then = zip(tokenizer.texts(lens.vocabulary.ids[rows.numpy(force=True)]), probabilities, strict=True)
    return Remeasured(first[1], first[0], tuple(then))


def _read_and_written(
    transformer: Transformer, entry: WeightNorm | WeightCosine
) -> dict[Literal["in", "out"], Float[Tensor, " d_model"]]:
    """The key of a neuron, as the FFN's norm lets it read, and its value vector, both centred."""
    _require_neuron(transformer, entry.layer, entry.neuron)
    row = transformer.key_vectors(entry.layer)[entry.neuron][None].clone()
    norm = transformer.ffn_norm(entry.layer)
    return {"in": (row if norm is None else norm.readers_(row))[0], "out": _written(transformer, entry)}


def _written(transformer: Transformer, entry: WeightNorm | WeightCosine | CosineMoment) -> Float[Tensor, " d_model"]:
    vector = transformer.value_vectors(entry.layer)[entry.neuron]
    return vector - vector.mean()


def _cosine_moment(entry: CosineMoment, transformer: Transformer) -> float:
    _require_neuron(transformer, entry.layer, entry.neuron)
    rows, norm = transformer.unembedding().clone(), transformer.final_norm()
    if norm is not None:
        rows = norm.readers_(rows)
    rows -= rows.mean(0)
    cosines = functional.cosine_similarity(rows, _written(transformer, entry)[None]).double()
    mean, sd = cosines.mean(), cosines.std(correction=0)
    standardized = (cosines - mean) / sd
    moments = {
        "mean": mean,
        "variance": sd**2,
        "skewness": (standardized**3).mean(),
        "kurtosis": (standardized**4).mean(),
    }
    return float(moments[entry.moment])


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
    entry: WindowPerplexity, transformer: Transformer, tokenizer: Tokenizer, progress: Progress
) -> float:
    changes = _set_before(entry, transformer)
    (ids,) = tokenizer.encode([_text(entry.text)])
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


def _set_before(entry: WindowPerplexity, transformer: Transformer) -> dict[int, Change]:
    """Layer -> what becomes of its neurons before the non-linearity."""
    changes = {}
    for layer, neurons in entry.places.items():
        for neuron in neurons:
            _require_neuron(transformer, layer, neuron)
        values = torch.full((len(neurons),), entry.value, device=transformer.device)
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


_SKIPPED_WHERE_UNAVAILABLE = ("model", "text", "library", "tokenizer")

Verdict = Literal["agrees", "disagrees", "skipped"]

THEN_TOLERANCE = 0.05
"""How far the probability of a token after the first may be off, as a share of itself: its logit by as much."""


@dataclass(frozen=True)
class Checked:
    """A published number beside the measured one."""

    entry: Published  # what was published
    measured: Remeasured | None  # what was measured; None where it was skipped
    reason: str = ""  # why it was skipped

    @property
    def outcome(self) -> Verdict:
        """Whether both numbers, and all tokens where there are any, are the same."""
        if self.measured is None:
            return "skipped"
        published = self.entry.measurement
        is_token = not isinstance(published, ValueToken) or published.token == self.measured.token
        is_near = abs(self.measured.value - self.entry.published) <= self.entry.tolerance
        return "agrees" if is_token and is_near and not self.differing else "disagrees"

    @property
    def differing(self) -> str:
        """The first token after the first one that is another, or has another probability; empty where none is."""
        published = self.entry.measurement
        if self.measured is None or not isinstance(published, ValueToken):
            return ""
        pairs = zip_longest(published.then, self.measured.then, fillvalue=("", 0.0))
        for place, ((token, share), (token_found, share_found)) in enumerate(pairs, start=2):
            if token != token_found or abs(share_found - share) > THEN_TOLERANCE * share:
                return f"token {place} is {token_found!r} at {share_found:.3g}, published {token!r} at {share:.3g}"
        return ""


@dataclass(frozen=True)
class Reach:
    """Where models and texts may come from."""

    download: bool = False  # whether the hub may be asked; else only its local cache is read
    allow_pickle: bool = False  # whether pickled weights may be read
    device: str = "cpu"  # where to compute


def check_published(
    entries: Sequence[Published], reach: Reach | None = None, *, progress: Progress | None = None
) -> list[Checked]:
    """Measure what was published, one model at a time; what is not at hand is skipped, with the reason."""
    watcher, reach = progress or Silent(), reach or Reach()
    return [
        checked
        for _, group in groupby(entries, key=lambda entry: entry.model)
        for checked in _of_model(list(group), reach, watcher)
    ]


def _of_model(entries: Sequence[Published], reach: Reach, progress: Progress) -> Iterator[Checked]:
    try:
        transformer, tokenizer = _opened(entries[0], reach, progress)
    except (Unavailable, Refused, Failed) as error:
        if not _is_skipped(error):
            raise
        yield from (Checked(entry, None, str(error)) for entry in entries)
        return
    for entry in entries:
        try:
            _require_text(entry, reach)
            yield Checked(entry, measure_again(entry.measurement, transformer, tokenizer, progress))
        except (Unavailable, Refused, Failed) as error:
            if not _is_skipped(error):
                raise
            yield Checked(entry, None, str(error))


def _is_skipped(error: Unavailable | Refused | Failed) -> bool:
    """Whether it skips a number; whatever else is wrong ends the run, since it may be why a number differs.

    Skipped is what the hub does not give out, pickled weights, and a folder without a tokenizer; not a folder that
    lacks its weights or config.json, nor a device that this machine does not have.
    """
    return not isinstance(error, Unavailable) or error.what in _SKIPPED_WHERE_UNAVAILABLE


def _opened(entry: Published, reach: Reach, progress: Progress) -> tuple[Transformer, Tokenizer]:
    checkpoint = checkpoints.find(_place(entry, reach), allow_pickle=reach.allow_pickle, progress=progress)
    return open_transformer(checkpoint, device=reach.device), tokenization.load(checkpoint.folder)


def _place(entry: Published, reach: Reach) -> str:
    """The folder of a model on this machine; its id where the hub may be asked for what the folder lacks."""
    if expanded(entry.model).is_dir():
        return entry.model
    for name in (entry.model, *entry.aliases):
        folder = hub.cached(name)
        if folder is not None:
            return name if reach.download else str(folder)
    if not reach.download:
        message = f"{entry.model} is not in the hub's cache on this machine"
        raise Unavailable(message, "add --download to fetch it", what="model", name=entry.model)
    return entry.model


def _require_text(entry: Published, reach: Reach) -> None:
    measurement = entry.measurement
    if (
        isinstance(measurement, WindowPerplexity | TokenCount)
        and HubDataset.parse("text", measurement.text)
        and not reach.download
    ):
        message, hint = f"the text {measurement.text} is read from the hub", "add --download to read it"
        raise Unavailable(message, hint, what="text", name=measurement.text)


def checked_frame(checked: Sequence[Checked]) -> pl.DataFrame:
    """A row a published number: what it is, what was found, and where it stands."""
    return pl.DataFrame([_row(one) for one in checked], schema=_COLUMNS)


_COLUMNS = {
    "name": pl.String,
    "outcome": pl.String,
    "published": pl.Float64,
    "found": pl.Float64,
    "tolerance": pl.Float64,
    "token": pl.String,
    "token_found": pl.String,
    "reason": pl.String,
    "model": pl.String,
    "kind": pl.String,
    "command": pl.String,
    "source": pl.String,
    "note": pl.String,
}


def _row(checked: Checked) -> dict[str, str | float | None]:
    entry, measured = checked.entry, checked.measured
    return {
        "name": entry.name,
        "outcome": checked.outcome,
        "published": entry.published,
        "found": None if measured is None else measured.value,
        "tolerance": entry.tolerance,
        "token": entry.measurement.token if isinstance(entry.measurement, ValueToken) else None,
        "token_found": None if measured is None else measured.token,
        "reason": checked.reason or checked.differing or None,
        "model": entry.model,
        "kind": entry.measurement.kind,
        "command": command_line("golden", entry.name, "--download", *(["--allow-pickle"] * entry.is_pickled)),
        "source": entry.source,
        "note": entry.note or None,
    }


def chosen_device(device: Literal["auto", "cpu", "cuda"]) -> str:
    """Where to compute: a GPU if there is one, unless a person says."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
