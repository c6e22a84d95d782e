"""The streams of many sentences at one position each, state by state, in files that are made where they are missing."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.tables import SHORTCUTS, NotFinite
from ingest.corpora.sentence_sample import ChosenPosition
from ingest.forward.prompt_pass import batches, padded
from ingest.models.transformer import Block, Transformer
from ingest.numerics.array_files import keep, mapped, written

Stream = Float[Tensor, "batch time d_model"]
Watch = Callable[[Block, Stream, Sequence[int]], Stream]
"""Runs a block over the stream of some sentences, given by their places, and returns what leaves it."""


class SentenceStates:
    """The states of a sample of sentences: 0 the embeddings, s what leaves block s - 1, before the final norm.

    Blocks run one after the other over all sentences, so that a layer's weights are needed once; between two of them
    the streams of all positions wait in a file. Each state is a file of its own.
    """

    def __init__(
        self, folder: Path, transformer: Transformer, sentences: Sequence[ChosenPosition], *, batch_tokens: int
    ) -> None:
        self._folder, self._transformer, self._sentences = folder, transformer, sentences
        self._batches = batches(sentences, batch_tokens=batch_tokens)

    def state(self, number: int) -> Float[Tensor, "sentences d_model"]:
        """[sentences d_model] one state of every sentence, float32, mapped from its file."""
        path = self._state_path(number)
        if not path.exists():
            self.run(max(0, number - 1))
        return mapped(path)

    def run(self, layer: int, watch: Watch | None = None) -> None:
        """Run one block over all sentences and keep the state that leaves it.

        Args:
            layer: which block.
            watch: runs it in place of a plain call, to look at it at work.

        Raises:
            NotFinite: the state overflows.
            StagingFull: the disk refuses.
        """
        if layer > 0 and not self._streams_path(layer).exists():
            self.run(layer - 1)
        self._streams_path(layer - 1).unlink(missing_ok=True)
        is_last = layer == self._transformer.shape.n_layers - 1
        if is_last:
            self._run(layer, watch, None)
            return
        with written(self._streams_path(layer + 1)) as temporary, temporary.open("wb") as file:
            self._run(layer, watch, file)

    def _run(self, layer: int, watch: Watch | None, file: BinaryIO | None) -> None:
        shape = (len(self._sentences), self._transformer.shape.d_model)
        entered, left = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
        n_read = 0
        with self._transformer.block(layer) as block:
            for places in self._batches:
                stream = self._embedded(places) if layer == 0 else self._loaded(layer, places, n_read)
                n_read += sum(self._lengths(places))
                entered[places] = self._at_positions(stream, places)
                after = block(stream, self._lengths(places)).stream if watch is None else watch(block, stream, places)
                left[places] = self._at_positions(after, places)
                if file is not None:
                    self._save(file, after, places)
        if layer == 0:
            self._keep(entered, 0)
        self._keep(left, layer + 1)

    def _lengths(self, places: Sequence[int]) -> list[int]:
        return [len(self._sentences[place].tokens) for place in places]

    def _embedded(self, places: Sequence[int]) -> Stream:
        return self._transformer.embed(padded([self._sentences[place] for place in places]))

    def _loaded(self, layer: int, places: Sequence[int], start: int) -> Stream:
        """What `_save` wrote after `start` positions; padding comes back as zeros, which no real position sees."""
        d_model, dtype = self._transformer.shape.d_model, self._transformer.dtype
        lengths, size = self._lengths(places), d_model * dtype.itemsize
        path = self._streams_path(layer)
        raw = np.fromfile(path, dtype=np.uint8, count=sum(lengths) * size, offset=start * size)
        rows = torch.from_numpy(raw).view(dtype).view(-1, d_model)
        stream = torch.zeros(len(places), max(lengths), d_model, dtype=dtype)
        for row, own in zip(stream, torch.split(rows, lengths), strict=True):
            row[: len(own)] = own
        return stream.to(self._transformer.device)

    def _save(self, file: BinaryIO, stream: Stream, places: Sequence[int]) -> None:
        for row, length in zip(stream.cpu(), self._lengths(places), strict=True):
            file.write(row[:length].contiguous().view(torch.uint8).numpy().data)

    def _at_positions(self, stream: Stream, places: Sequence[int]) -> np.ndarray:
        found: np.ndarray = at_positions(stream, [self._sentences[place] for place in places]).float().cpu().numpy()
        return found

    def _keep(self, state: np.ndarray, number: int) -> None:
        if not np.isfinite(state).all():
            raise NotFinite(SHORTCUTS.name, f"state {number}")
        keep(self._state_path(number), state)

    def _state_path(self, number: int) -> Path:
        return self._folder / f"state-{number:04d}.npy"

    def _streams_path(self, layer: int) -> Path:
        return self._folder / f"streams-{layer:04d}"


def at_positions(stream: Stream, sentences: Sequence[ChosenPosition]) -> Float[Tensor, "batch d_model"]:
    """[batch d_model] the stream of each sentence at the position that was chosen."""
    columns = torch.tensor([sentence.position for sentence in sentences], device=stream.device)
    return stream[torch.arange(len(sentences), device=stream.device), columns]
