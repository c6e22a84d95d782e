"""Both ends of a model: ids become a stream, and a stream becomes logits."""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from ingest.families.loading import Loader


class Embeddings:
    """What a model makes of ids before its first block."""

    def __init__(self, loader: Loader) -> None:
        family = loader.family
        tokens = loader.table(family.tokens)
        assert tokens is not None
        self._loader, self._tokens, self._first_position = loader, tokens, family.position_offset
        self._positions, self._segments = loader.table(family.positions), loader.table(family.segments)
        self._project_in, self._norm = loader.filled(family.project_in), loader.filled(family.embedding_norm)

    @property
    def tells_positions(self) -> bool:
        """Whether there is a table of positions that says anything."""
        return self._positions is not None and bool(self._positions.any())

    @torch.inference_mode()
    def __call__(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream of right-padded sequences that begin at position 0."""
        here = self._loader.here
        stream = here(functional.embedding(ids.to(self._tokens.device), self._tokens))
        if self._project_in is not None:
            stream = self._project_in(stream)
        if self._segments is not None:
            # A text alone is of the first type throughout.
            stream = stream + here(self._segments[0])
        if self._positions is not None:
            stream = stream + here(self._positions[self._first_position : self._first_position + ids.shape[1]])
        return stream if self._norm is None else self._norm(stream)


class Head:
    """What a model makes of the stream that left its last block."""

    def __init__(self, loader: Loader) -> None:
        family = loader.family
        self._loader = loader
        self.final_norm = loader.filled(family.final_norm)
        self.project_out = loader.filled(family.project_out)
        self._transform = loader.filled(family.transform)
        self._bias = self._bias_of_tokens()

    @torch.inference_mode()
    def __call__(self, stream: Float[Tensor, "batch time d_model"]) -> Float[Tensor, "batch time vocab"]:
        """[batch time vocab] the logits."""
        for module in (self.final_norm, self.project_out, self._transform):
            if module is not None:
                stream = module(stream)
        return functional.linear(stream, self._loader.read(f"{self._loader.family.head}.weight"), self._bias)

    def _bias_of_tokens(self) -> Tensor | None:
        family = self._loader.family
        if self._loader.built.model.get_submodule(family.head).bias is None:
            return None
        path = f"{family.head}.bias"
        return self._loader.read(self._loader.built.copies.get(path, path))
