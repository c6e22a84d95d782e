"""How large each neuron's coefficients are on a fixed part of a text: what `strong` is measured by (ours)."""

from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.forward.stream_store import MemoryStreams
from neurothek.ingest.models.transformer import Transformer

N_POSITIONS = 2_048
"""Counted positions that are read, at most and but for rounding: as many of each domain."""


def calibration_text(corpus: Corpus, n_positions: int | None = None) -> Corpus:
    """The first counted positions of every domain: whole sequences, the last one cut.

    What a causal model does at a position depends on nothing after it, so that a cut sequence is as good as a whole.
    """
    quota = -(-(N_POSITIONS if n_positions is None else n_positions) // max(1, len(corpus.domains)))
    first = int(corpus.has_bos)
    pieces: list[tuple[int, np.ndarray]] = []
    for domain in range(len(corpus.domains)):
        left = quota
        for number in np.flatnonzero(corpus.domain_of == domain).tolist():
            if left <= 0:
                break
            ids = corpus.sequence(number)[: left + first]
            pieces.append((number, ids))
            left -= len(ids) - first
    numbers = [number for number, _ in pieces]
    return replace(
        corpus,
        tokens=np.concatenate([ids for _, ids in pieces]),
        offsets=np.cumsum([0, *(len(ids) for _, ids in pieces)]),
        domain_of=corpus.domain_of[numbers],
        starts_document=corpus.starts_document[numbers],
    )


@dataclass(eq=False)
class _Calibration:
    """What was measured so far of one model on one text: layers are read as they are asked for."""

    corpus: Corpus  # the part of the text that is read
    batch_tokens: int  # padded ids that a batch holds at most
    of_layers: list[Float[Tensor, " d_ffn"]] = field(default_factory=list)
    streams: MemoryStreams = field(default_factory=MemoryStreams)  # what left the last of these layers

    def read_on(self, transformer: Transformer) -> None:
        """Read the next layer."""
        layer, shape = len(self.of_layers), transformer.shape
        squares = torch.zeros(shape.d_ffn, dtype=torch.float64, device=transformer.device)
        with transformer.block(layer) as block:
            for batch in batches(self.corpus, range(self.corpus.n_sequences), batch_tokens=self.batch_tokens):
                output = block(transformer.embed(batch.tokens) if layer == 0 else self.streams.load(batch))
                self.streams.save(batch, output.stream)
                for coefficients, length in zip(output.coefficients, batch.lengths, strict=True):
                    squares += coefficients[batch.first_counted : length].double().square().sum(0)
        self.of_layers.append((squares / max(1, self.corpus.n_counted)).sqrt().float())
        if layer == shape.n_layers - 1:
            self.streams = MemoryStreams()


# What is kept must not refer to the model: it goes with it.
_OF_MODELS: WeakKeyDictionary[Transformer, dict[tuple[str, int, int, int], _Calibration]] = WeakKeyDictionary()


def root_mean_square(
    transformer: Transformer, corpus: Corpus, layer: int, *, batch_tokens: int
) -> Float[Tensor, " d_ffn"]:
    """[d_ffn] float32: of each neuron's coefficient over the text's `calibration_text`.

    Whoever asks in one process gets the same numbers; the model reads the text once, a layer at a time.

    Args:
        transformer: the model.
        corpus: the whole text.
        layer: the layer.
        batch_tokens: padded ids that a batch holds at most.
    """
    # The beginning of a text has the fingerprint of the whole.
    key = (corpus.sha256, corpus.n_tokens, corpus.sequence_length, batch_tokens)
    of_model = _OF_MODELS.setdefault(transformer, {})
    if key not in of_model:
        of_model[key] = _Calibration(calibration_text(corpus), batch_tokens)
    with torch.inference_mode():
        while len(of_model[key].of_layers) <= layer:
            of_model[key].read_on(transformer)
    return of_model[key].of_layers[layer]
