"""Linear maps in the place of a block's attention, FFN or norms, fitted on what these read and return ([D] 6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward.prompt_pass import PromptBatch, Seen, prompt_batches
from neurothek.ingest.jobs.shortcuts.states import SentenceStates
from neurothek.ingest.models.families.sub_modules import PARTS, Part, Stream
from neurothek.ingest.models.transformer import Block, Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array
from neurothek.ingest.numerics.least_squares import Basis, r2, spread

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
    """The maps of one model, a file per layer and part; layers whose files are missing are fitted when they are needed.

    Attributes:
        states: of the sentences; it runs the blocks.
        transformer: the model.
        n_fit: how many sentences are to fit on.
        folder: where the maps lie.
    """

    states: SentenceStates
    transformer: Transformer
    n_fit: int
    folder: Path

    def fit(self, layer: int) -> list[PartFit]:
        """Run a layer over all sentences and fit each of its parts at the positions chosen, one a sentence."""
        passed = self.states.run(layer, _passed)
        return [self._fit(layer, part, passed[f"{part} entered"], passed[f"{part} left"]) for part in PARTS]

    def _fit(
        self,
        layer: int,
        part: Part,
        entered: Float[Tensor, "sentences d_model"],
        left: Float[Tensor, "sentences d_model"],
    ) -> PartFit:
        entered, left = entered.to(self.transformer.device), left.to(self.transformer.device)
        basis = Basis.of(entered[: self.n_fit])
        coefficients = basis.coefficients(left[: self.n_fit])
        there = left[self.n_fit :]
        found = r2(there, basis.of_others(entered[self.n_fit :]) @ coefficients, total=spread(there))
        keep(self._path(layer, part), basis.matrix(left[: self.n_fit], coefficients).cpu().numpy())
        return PartFit(part, found, basis.condition, basis.rank)

    def substitutes(
        self, method: str, sentences: Sequence[Prompt], *, batch_tokens: int
    ) -> Float[Tensor, "starts sentences d_model"]:
        """[starts sentences d_model] the last state, where the blocks from each state on have maps in place of parts.

        Up to the state the model is itself; from there on the maps stand at all positions, and all else is real.
        """
        cut = prompt_batches(sentences, batch_tokens=batch_tokens)
        real = [self.transformer.embed(batch.tokens) for batch in cut]
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
        return torch.stack([self._at_positions(streams, cut) for streams in started])

    def _at_positions(
        self, streams: Sequence[Tensor], cut: Sequence[PromptBatch]
    ) -> Float[Tensor, "sentences d_model"]:
        n_sentences = sum(len(batch.places) for batch in cut)
        found = torch.empty(n_sentences, self.transformer.shape.d_model, device=self.transformer.device)
        for batch, stream in zip(cut, streams, strict=True):
            found[batch.places] = batch.at_positions(stream)
        return found

    def _matrix(self, layer: int, part: Part) -> Float[Tensor, "d_model d_model"]:
        path = self._path(layer, part)
        if not path.exists():
            self.fit(layer)
        return mapped_array(path).to(self.transformer.device)

    def _path(self, layer: int, part: Part) -> Path:
        return self.folder / f"map-{part}-{layer:04d}.npy"


def _passed(seen: Seen) -> dict[str, Tensor]:
    """What each part read and returned at the positions."""
    return {
        f"{part} {side}": seen.batch.at_positions(of).cpu()
        for part, passed in seen.parts.items()
        for side, of in (("entered", passed.entered), ("left", passed.left))
    }


def _replaced(block: Block, stream: Stream, matrices: Mapping[Part, Float[Tensor, "d_model d_model"]]) -> Stream:
    with block.parts.replaced(stream, matrices):
        return block(stream).stream
