"""Both ends of a model: ids become a stream, and a stream becomes logits."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from neurothek.ingest.models.families.few_rows import linear
from neurothek.ingest.models.families.norms import Norm
from neurothek.ingest.models.families.parameters import Loader


class Embeddings:
    """What a model makes of ids before its first block."""

    def __init__(self, loader: Loader) -> None:
        family = loader.family
        tokens = loader.table(family.tokens)
        assert tokens is not None
        self._loader, self._tokens, self._first_position = loader, tokens, family.position_offset
        self._scale = family.embedding_scale(loader.built.config)
        self._positions, self._segments = loader.table(family.positions), loader.table(family.segments)
        self._project_in, self._norm = loader.filled(family.project_in), loader.filled(family.embedding_norm)

    @property
    def tells_positions(self) -> bool:
        """Whether there is a table of positions that says anything."""
        return self._positions is not None and bool(self._positions.any())

    @torch.inference_mode()
    def __call__(self, ids: Int[Tensor, "batch time"], *, start: int = 0) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream of right-padded sequences that begin at position `start`."""
        here = self._loader.here
        stream = here(functional.embedding(ids.to(self._tokens.device), self._tokens))
        if self._scale is not None:
            # Rounded to the run's number format first, as these models were trained.
            stream = stream * torch.tensor(self._scale, dtype=stream.dtype, device=stream.device)
        if self._project_in is not None:
            stream = self._project_in(stream)
        if self._segments is not None:
            # A text alone is of the first type throughout.
            stream = stream + here(self._segments[0])
        if self._positions is not None:
            first = self._first_position + start
            stream = stream + here(self._positions[first : first + ids.shape[1]])
        return stream if self._norm is None else self._norm(stream)


@dataclass(frozen=True, eq=False)
class Transform:
    """What the head of a masked model does to a stream before the unembedding: x -> norm(act(W x + b)), in float32."""

    weight: Float[Tensor, "d_model d_model"]  # W
    bias: Float[Tensor, " d_model"]  # b
    activation: Callable[[Tensor], Tensor]  # the non-linearity
    norm: Norm  # the norm

    @torch.inference_mode()
    def __call__(self, streams: Float[Tensor, "streams d_model"]) -> Float[Tensor, "streams d_model"]:
        """[streams d_model] what the unembedding reads."""
        return self.norm(self.activation(functional.linear(streams, self.weight, self.bias)))


class Head:
    """What a model makes of the stream that left its last block.

    Attributes:
        final_norm: the norm before the unembedding, None where there is none.
        project_out: the projection before the unembedding, likewise.
    """

    def __init__(self, loader: Loader) -> None:
        family = loader.family
        self._loader = loader
        self.final_norm = loader.filled(family.final_norm)
        self.project_out = loader.filled(family.project_out)
        self._transform = loader.filled(family.transform)
        bias = self.token_bias()
        self._bias = None if bias is None else loader.here(bias)
        self._cap, self._divisor = family.logit_cap(loader.built.config), loader.built.logit_divisor

    @torch.inference_mode()
    def __call__(self, stream: Float[Tensor, "batch time d_model"]) -> Float[Tensor, "batch time vocab"]:
        """[batch time vocab] the logits."""
        for module in (self.final_norm, self.project_out, self._transform):
            if module is not None:
                stream = module(stream)
        logits = linear(stream, self._loader.read(f"{self._loader.family.head}.weight"), self._bias)
        logits = logits / self._divisor
        return logits if self._cap is None else torch.tanh(logits / self._cap) * self._cap

    def token_bias(self) -> Float[Tensor, " vocab"] | None:
        """[vocab] what is added to the logit of each token, float32; None where the head has no biases."""
        family, built = self._loader.family, self._loader.built
        if built.model.get_submodule(family.head).bias is None:
            return None
        path = f"{family.head}.bias"
        return self._loader.float32(built.copies.get(path, path))

    def transform(self) -> Transform | None:
        """What it does beside norm and projection, in float32 whatever the run's number format; None for nothing."""
        path, module = self._loader.family.transform, self._transform
        if module is None:
            return None
        read, norm, activation = self._loader.float32, module.LayerNorm, module.transform_act_fn
        assert isinstance(norm, nn.LayerNorm)
        assert isinstance(activation, nn.Module)
        return Transform(
            weight=read(f"{path}.dense.weight"),
            bias=read(f"{path}.dense.bias"),
            activation=activation,
            norm=Norm(read(f"{path}.LayerNorm.weight"), read(f"{path}.LayerNorm.bias"), norm.eps),
        )
