"""The streams of many sentences at one position each, state by state, in files that are made where they are missing."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.shortcuts import SHORTCUTS
from neurothek.catalog.tables.table import NotFinite
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.prompt_pass import Look, Seen, prompt_batches, run_layer
from neurothek.ingest.forward.stream_store import StreamFile
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array, staged


class SentenceStates:
    """The states of a sample of sentences: 0 the embeddings, s what leaves block s - 1, before the final norm.

    Blocks run one after the other over all sentences; between two of them the streams of all positions wait in a file.
    Each state is a file of its own.
    """

    def __init__(
        self, folder: Path, transformer: Transformer, sentences: Sequence[Prompt], *, batch_tokens: int
    ) -> None:
        self._folder, self._transformer = folder, transformer
        self._batches = prompt_batches(sentences, batch_tokens=batch_tokens)

    def state(self, number: int) -> Float[Tensor, "sentences d_model"]:
        """[sentences d_model] one state of every sentence, float32, mapped from its file."""
        path = self._state_path(number)
        if not path.exists():
            self.run(max(0, number - 1))
        return mapped_array(path)

    def run(self, layer: int, look: Look | None = None) -> Mapping[str, Tensor]:
        """Run one block over all sentences and keep the state that leaves it.

        Args:
            layer: which block.
            look: looks at the block, whose parts are then watched.

        Returns:
            What was looked at, in the order of the sentences.
        """
        if layer > 0 and not self._streams_path(layer).exists():
            self.run(layer - 1)
        self._streams_path(layer - 1).unlink(missing_ok=True)

        def states(seen: Seen) -> Mapping[str, Tensor]:
            found = {"left": seen.batch.at_positions(seen.output.stream).cpu()}
            if layer == 0:
                found["entered"] = seen.batch.at_positions(seen.entered).cpu()
            return found if look is None else {**found, **look(seen)}

        with self._leaving(layer) as leaving:
            found = run_layer(
                self._transformer,
                self._batches,
                layer,
                states,
                entering=StreamFile(self._streams_path(layer), self._transformer),
                leaving=leaving,
                watches_parts=look is not None,
            )
            if layer == 0:
                self._keep(found["entered"].numpy(), 0)
            self._keep(found["left"].numpy(), layer + 1)
        return found

    @contextmanager
    def _leaving(self, layer: int) -> Iterator[StreamFile | None]:
        """The file that takes the streams which a block leaves; none of the last one."""
        if layer == self._transformer.shape.n_layers - 1:
            yield None
            return
        with staged(self._streams_path(layer + 1)) as temporary:
            streams = StreamFile(temporary, self._transformer)
            streams.reserve(sum(sum(batch.lengths) for batch in self._batches))
            yield streams

    def _keep(self, state: np.ndarray, number: int) -> None:
        if not np.isfinite(state).all():
            raise NotFinite(SHORTCUTS.name, f"state {number}")
        keep(self._state_path(number), state)

    def _state_path(self, number: int) -> Path:
        return self._folder / f"state-{number:04d}.npy"

    def _streams_path(self, layer: int) -> Path:
        return self._folder / f"streams-{layer:04d}"
