"""Streams and FFN outputs at the ends of many examples, layer by layer, in files that one pass of the model fills."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array

Kind = Literal["stream", "ffn"]
"""The stream before the FFN; what the FFN puts out, its bias included."""

EXAMPLES_AT_ONCE = 1_000
"""Examples whose streams wait between two layers."""


class ExampleVectors:
    """Vectors of every layer but the last, made when the first of them is asked for."""

    def __init__(
        self, folder: Path, transformer: Transformer, examples: Sequence[Prompt], *, batch_tokens: int
    ) -> None:
        self._folder, self._transformer, self._batch_tokens = folder, transformer, batch_tokens
        starts = range(0, len(examples), EXAMPLES_AT_ONCE)
        self._parts = [examples[start : start + EXAMPLES_AT_ONCE] for start in starts]

    @staticmethod
    def bytes_needed(shape: Shape, n_examples: int) -> int:
        """What the files take."""
        return 2 * (shape.n_layers - 1) * n_examples * shape.d_model * 4

    def of(self, layer: int, kind: Kind) -> Float[Tensor, "examples d_model"]:
        """[examples d_model] float32, on the device of the model."""
        paths = [self._path(layer, kind, part) for part in range(len(self._parts))]
        if not all(path.exists() for path in paths):
            self._fill()
        return torch.cat([mapped_array(path) for path in paths]).to(self._transformer.device)

    @torch.inference_mode()
    def _fill(self) -> None:
        n_lower = self._transformer.shape.n_layers - 1
        for part, examples in enumerate(self._parts):
            layers = prompt_pass.run(
                self._transformer, examples, self._look_at, batch_tokens=self._batch_tokens, n_layers=n_lower
            )
            for layer, found in enumerate(layers):
                for kind, vectors in found.items():
                    keep(self._path(layer, kind, part), vectors.numpy())

    def _look_at(self, layer: int) -> Look:
        values, bias = self._transformer.value_vectors(layer), self._transformer.value_bias(layer)
        return lambda seen: {
            "stream": seen.batch.at_positions(seen.output.pre_ffn).cpu(),
            "ffn": (seen.batch.at_positions(seen.output.coefficients) @ values + bias).cpu(),
        }

    def _path(self, layer: int, kind: str, part: int) -> Path:
        return self._folder / f"{kind}-{layer:04d}-{part:04d}.npy"
