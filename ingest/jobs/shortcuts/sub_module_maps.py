"""Linear maps in the place of a block's attention, FFN or norms, fitted on what these read and return ([D] 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ingest.corpora.sentence_sample import ChosenPosition
from ingest.forward.prompt_pass import batches, padded
from ingest.forward.states import SentenceStates, Stream, at_positions
from ingest.models.families.sub_modules import PARTS, Part
from ingest.models.transformer import Block, Transformer
from ingest.numerics.array_files import keep, mapped
from ingest.numerics.least_squares import Basis, r2, spread

METHOD_PARTS: Mapping[str, tuple[Part, ...]] = {
    "mat_attn": ("attention",),
    "mat_ffn": ("ffn",),
    "mat_ln1_ln2": ("norm_1", "norm_2"),
}
"""Which parts a method replaces, in every block above the state it starts from."""


@dataclass(frozen=True)
class PartFit:
    """How well a linear map of what a part reads predicts what it returns.

    Attributes:
        part: which.
        r2: on the sentences to validate on.
        condition: of what it reads; None where that is all 0.
        rank: how many directions that has.
    """

    part: Part
    r2: float
    condition: float | None
    rank: int


@dataclass(frozen=True, eq=False)
class SubModuleMaps:
    """The maps of one model, a file a layer and part; layers whose files are missing are fitted when they are needed.

    Attributes:
        states: of the sentences; it runs the blocks.
        transformer: the model.
        sentences: of the sample.
        n_fit: how many of them are to fit on.
        folder: where the maps lie.
    """

    states: SentenceStates
    transformer: Transformer
    sentences: Sequence[ChosenPosition]
    n_fit: int
    folder: Path

    def fit(self, layer: int) -> list[PartFit]:
        """Run a layer over all sentences and fit each of its parts at the positions chosen, one a sentence."""
        shape = (len(PARTS), 2, len(self.sentences), self.transformer.shape.d_model)
        passed = np.empty(shape, dtype=np.float32)

        def watch(block: Block, stream: Stream, places: Sequence[int]) -> Stream:
            with block.parts.watched(stream) as seen:
                left = block(stream).stream
            sentences = [self.sentences[place] for place in places]
            for number, part in enumerate(PARTS):
                for side, of in enumerate((seen[part].entered, seen[part].left)):
                    passed[number, side, places] = at_positions(of, sentences).float().cpu().numpy()
            return left

        self.states.run(layer, watch)
        return [self._fit(layer, part, torch.from_numpy(both)) for part, both in zip(PARTS, passed, strict=True)]

    def _fit(self, layer: int, part: Part, passed: Float[Tensor, "sides sentences d_model"]) -> PartFit:
        entered, left = passed.to(self.transformer.device)
        basis = Basis.of(entered[: self.n_fit])
        coefficients = basis.coefficients(left[: self.n_fit])
        there = left[self.n_fit :]
        found = r2(there, basis.of_others(entered[self.n_fit :]) @ coefficients, total=spread(there))
        keep(self._path(layer, part), basis.matrix(left[: self.n_fit], coefficients).cpu().numpy())
        return PartFit(part, found, basis.condition, basis.rank)

    def substitutes(
        self, method: str, sentences: Sequence[ChosenPosition], *, batch_tokens: int
    ) -> Float[Tensor, "starts sentences d_model"]:
        """[starts sentences d_model] the last state, where the blocks from each state on have maps in place of parts.

        Up to the state the model is itself; from there on the maps stand at all positions, and all else is real.
        """
        groups = batches(sentences, batch_tokens=batch_tokens)
        real = [self.transformer.embed(padded([sentences[place] for place in places])) for places in groups]
        n_layers = self.transformer.shape.n_layers
        started: list[list[Tensor]] = []
        for layer in range(n_layers):
            matrices = {part: self._matrix(layer, part) for part in METHOD_PARTS[method]}
            # What starts here is still real.
            started.append(list(real))
            with self.transformer.block(layer) as block:
                for streams in started:
                    for number, stream in enumerate(streams):
                        streams[number] = _replaced(block, stream, matrices)
                if layer < n_layers - 1:
                    real = [block(stream).stream for stream in real]
        return torch.stack([self._ends(streams, sentences, groups) for streams in started])

    def _ends(
        self, streams: Sequence[Tensor], sentences: Sequence[ChosenPosition], groups: Sequence[Sequence[int]]
    ) -> Float[Tensor, "sentences d_model"]:
        found = torch.empty(len(sentences), self.transformer.shape.d_model, device=self.transformer.device)
        for places, stream in zip(groups, streams, strict=True):
            found[list(places)] = at_positions(stream, [sentences[place] for place in places]).float()
        return found

    def _matrix(self, layer: int, part: Part) -> Float[Tensor, "d_model d_model"]:
        path = self._path(layer, part)
        if not path.exists():
            self.fit(layer)
        return mapped(path).to(self.transformer.device)

    def _path(self, layer: int, part: Part) -> Path:
        return self.folder / f"map-{part}-{layer:04d}.npy"


def _replaced(block: Block, stream: Stream, matrices: Mapping[Part, Float[Tensor, "d_model d_model"]]) -> Stream:
    with block.parts.replaced(stream, matrices):
        return block(stream).stream
