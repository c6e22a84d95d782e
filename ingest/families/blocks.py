"""One block of a model at work: the stream it returns and the coefficients of its neurons."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ingest.families.table import Family


@dataclass(frozen=True)
class BlockOutput:
    """What one block did to a batch.

    Attributes:
        stream: the residual stream after the block; of the last block before the final norm.
        coefficients: the neurons' activations after the non-linearity.
        pre_ffn: the stream between attention and FFN: what the FFN adds to, or what it reads in post-norm blocks.
    """

    stream: Float[Tensor, "batch time d_model"]
    coefficients: Float[Tensor, "batch time d_ffn"]
    pre_ffn: Float[Tensor, "batch time d_model"]


class Block:
    """One block with its weights in place."""

    def __init__(self, module: nn.Module, family: Family, *, is_post_norm: bool) -> None:
        self._module = module
        self._values = module.get_submodule(family.values)
        self._reader = module.get_submodule(family.keys if is_post_norm else family.ffn_norm)

    @torch.inference_mode()
    def __call__(self, stream: Float[Tensor, "batch time d_model"]) -> BlockOutput:
        """Run the block on right-padded sequences.

        Attention is causal and no padding is masked: what stands at a real position depends on real positions only,
        and what stands at padding means nothing.
        """
        coefficients: list[Tensor] = []
        pre_ffn: list[Tensor] = []
        with _inputs_of(self._values, coefficients), _inputs_of(self._reader, pre_ffn):
            after = self._module(stream)
        # OPT flattens batch and time before its FFN.
        return BlockOutput(
            stream=after,
            coefficients=coefficients[0].view(*stream.shape[:2], -1),
            pre_ffn=pre_ffn[0].view(stream.shape),
        )


@contextmanager
def _inputs_of(module: nn.Module, seen: list[Tensor]) -> Iterator[None]:
    """Collects what `module` is called with."""
    handle = module.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    try:
        yield
    finally:
        handle.remove()
