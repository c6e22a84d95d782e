"""Streams and FFN outputs at the ends of many examples, layer by layer, in files that one pass of the model fills."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from catalog.staging import StagingFull
from ingest.corpora.examples import Example
from ingest.forward import prompt_pass
from ingest.models.transformer import Transformer

Kind = Literal["stream", "ffn"]
"""The stream before the FFN; what the FFN puts out, its bias included."""

EXAMPLES_AT_ONCE = 1_000
"""Examples whose streams wait between two layers."""


class ExampleVectors:
    """Vectors of every layer but the last, made when the first of them is asked for."""

    def __init__(
        self, folder: Path, transformer: Transformer, examples: Sequence[Example], *, batch_tokens: int
    ) -> None:
        self._folder, self._transformer, self._batch_tokens = folder, transformer, batch_tokens
        starts = range(0, len(examples), EXAMPLES_AT_ONCE)
        self._parts = [examples[start : start + EXAMPLES_AT_ONCE] for start in starts]
        # Rows lie in the order in which batches come, which is that of lengths, and the same for every layer.
        batches = [
            [start + place for place in places]
            for start, part in zip(starts, self._parts, strict=True)
            for places in prompt_pass.batches(part, batch_tokens=batch_tokens)
        ]
        self._order = np.concatenate(batches)

    @staticmethod
    def bytes_needed(transformer: Transformer, n_examples: int) -> int:
        """What the files take."""
        shape = transformer.shape
        return 2 * (shape.n_layers - 1) * n_examples * shape.d_model * 4

    def of(self, layer: int, kind: Kind) -> Float[Tensor, "examples d_model"]:
        """[examples d_model] float32, on the device of the model.

        Raises:
            StagingFull: the disk does not take the files.
        """
        path = self._path(layer, kind)
        if not path.exists():
            self._fill()
        rows = np.fromfile(path, dtype=np.float32).reshape(len(self._order), -1)
        ordered = np.empty_like(rows)
        ordered[self._order] = rows
        return torch.from_numpy(ordered).to(self._transformer.device)

    def _fill(self) -> None:
        n_lower = self._transformer.shape.n_layers - 1
        paths = [self._path(layer, kind) for layer in range(n_lower) for kind in get_args(Kind)]
        try:
            for path in paths:
                _unfinished(path).unlink(missing_ok=True)
            for part in self._parts:
                self._run(part, n_lower)
            # What has its name is whole.
            for path in paths:
                _unfinished(path).replace(path)
        except OSError as error:
            raise StagingFull(self._folder, error) from error

    def _run(self, part: Sequence[Example], n_lower: int) -> None:
        values, bias, read = torch.empty(0), torch.empty(0), -1
        with torch.inference_mode():
            for layer, seen in prompt_pass.run(self._transformer, part, batch_tokens=self._batch_tokens):
                if layer == n_lower:
                    return
                if layer != read:
                    values, bias = self._transformer.value_vectors(layer), self._transformer.value_bias(layer)
                    read = layer
                self._append(layer, "stream", seen.pre)
                self._append(layer, "ffn", seen.coefficients @ values + bias)

    def _append(self, layer: int, kind: Kind, rows: Float[Tensor, "positions d_model"]) -> None:
        with _unfinished(self._path(layer, kind)).open("ab") as file:
            file.write(rows.cpu().numpy().data)

    def _path(self, layer: int, kind: Kind) -> Path:
        return self._folder / f"{kind}-{layer:04d}.vectors"


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}")
