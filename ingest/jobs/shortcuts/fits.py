"""Shortcuts from a state of a model to all states above, and the substitutes of its last state that they make."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.shortcuts import SHORTCUTS
from neurothek.catalog.tables.table import NotFinite
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.prompt_pass import Look, Seen, prompt_batches, run_layer
from neurothek.ingest.forward.stream_store import StreamFile
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array, staged
from neurothek.ingest.numerics.least_squares import Basis, r2, spread

Sink = Callable[[int, Float[Tensor, "d_model d_model"]], None]
"""Takes a target state and the matrix that leads there."""


@runtime_checkable
class States(Protocol):
    """Where states come from."""

    def state(self, number: int) -> Float[Tensor, "sentences d_model"]:
        """[sentences d_model] one state of every sentence, float32."""


@dataclass(frozen=True)
class Fitted:
    """What was found from one source state."""

    condition: float | None  # of the states fitted on; None where they are all 0
    rank: int  # how many directions they have
    r2: dict[int, float]  # r^2 of each target, in order


@dataclass(frozen=True, eq=False)
class Shortcuts:
    """The states of a sample, the first sentences to fit on and the others to validate on."""

    states: States  # of all sentences
    last_state: int  # number of the last one
    n_fit: int  # how many sentences are to fit on
    device: torch.device  # where products are taken
    folder: Path  # where substitutes are kept
    _mapped: dict[int, Tensor] = field(default_factory=dict, repr=False)
    _totals: dict[int, Tensor] = field(default_factory=dict, repr=False)

    def targets(self, source: int) -> range:
        """The states above a source."""
        return range(source + 1, self.last_state + 1)

    def unfitted(self, source: int) -> dict[int, float]:
        """r^2 of each target, predicted by the source itself."""
        states = self._validation(source)
        return {target: self._r2(target, states) for target in self.targets(source)}

    def fit(self, source: int, *, stored: Collection[int] = (), sink: Sink = lambda target, matrix: None) -> Fitted:
        """Fit all targets of a source, decomposed once; keep what it puts in the place of the last state.

        Args:
            source: the state.
            stored: the targets whose matrices `sink` takes.
            sink: takes them.
        """
        basis = Basis.of(self._fit(source))
        own_in_basis = basis.of_others(self._validation(source))
        scores = {}
        for target in self.targets(source):
            states = self._fit(target)
            coefficients = basis.coefficients(states)
            predicted = own_in_basis @ coefficients
            scores[target] = self._r2(target, predicted)
            if target in stored:
                sink(target, basis.matrix(states, coefficients))
            if target == self.last_state:
                keep(self._substitutes_path(source), predicted.cpu().numpy())
        return Fitted(basis.condition, basis.rank, scores)

    def substitutes(self, source: int) -> Float[Tensor, "validation d_model"]:
        """[validation d_model] what the least-squares map from a source puts in the place of the last state."""
        path = self._substitutes_path(source)
        if not path.exists():
            self.fit(source)
        return mapped_array(path)

    def of_validation(self, number: int) -> Float[Tensor, "validation d_model"]:
        """[validation d_model] one state, mapped from its file."""
        return self._state(number)[self.n_fit :]

    def _fit(self, number: int) -> Float[Tensor, "fit d_model"]:
        return self._state(number)[: self.n_fit].to(self.device)

    def _state(self, number: int) -> Float[Tensor, "sentences d_model"]:
        """A file stays mapped once it was: mapping it anew for every pair costs a fault a page."""
        if number not in self._mapped:
            self._mapped[number] = self.states.state(number)
        return self._mapped[number]

    def _validation(self, number: int) -> Float[Tensor, "validation d_model"]:
        return self.of_validation(number).to(self.device)

    def _r2(self, target: int, predicted: Float[Tensor, "validation d_model"]) -> float:
        states = self._validation(target)
        if target not in self._totals:
            self._totals[target] = spread(states)
        return r2(states, predicted, total=self._totals[target])

    def _substitutes_path(self, source: int) -> Path:
        return self.folder / f"substitutes-{source:04d}.npy"


def applied(
    matrix: Float[Tensor, "d_target d_model"], states: Float[Tensor, "states d_model"]
) -> Float[Tensor, "states d_target"]:
    """[states d_target] float32, A h of every state: in double precision, since large entries of A may cancel."""
    return (states.double() @ matrix.double().T).float()


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
            columns = {"left": seen.batch.at_positions(seen.output.stream).cpu()}
            if layer == 0:
                columns["entered"] = seen.batch.at_positions(seen.entered).cpu()
            return columns if look is None else {**columns, **look(seen)}

        with self._leaving(layer) as leaving:
            columns = run_layer(
                self._transformer,
                self._batches,
                layer,
                states,
                entering=StreamFile(self._streams_path(layer), self._transformer),
                leaving=leaving,
                watches_parts=look is not None,
            )
            if layer == 0:
                self._keep(columns["entered"].numpy(), 0)
            self._keep(columns["left"].numpy(), layer + 1)
        return columns

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
