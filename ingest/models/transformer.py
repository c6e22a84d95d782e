"""One view of every supported language model: its embedding, its blocks and their feed-forward neurons.

A neuron is one row of the hidden layer of a block's feed-forward network (FFN). Its coefficient m is the activation
after the non-linearity (in a gated FFN act(gate) * up), and m times its value vector v is what it adds to the residual
stream: a block's FFN output is the sum of m * v over its neurons, plus a bias that belongs to no neuron ([G] 3).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from neurothek.ingest.models.errors import (
    invalid_config,
    missing_device,
    sequence_too_long,
)
from neurothek.ingest.models.families.blocks import Block, BlockOutput, Change, Layout, RowChanges, eps_of
from neurothek.ingest.models.families.ends import Embeddings, Head, Transform
from neurothek.ingest.models.families.norms import Norm, Rotary
from neurothek.ingest.models.families.parameters import Loader, Parameters
from neurothek.ingest.models.families.shapes import EXACT_ZEROS, Shape
from neurothek.ingest.models.families.skeletons import Skeleton, skeleton
from neurothek.ingest.models.weights import Checkpoint

__all__ = [
    "Block",
    "BlockOutput",
    "Change",
    "Norm",
    "RowChanges",
    "Shape",
    "Transform",
    "Transformer",
    "check",
    "open_transformer",
    "require_device",
]


def check(checkpoint: Checkpoint) -> None:
    """Check that a checkpoint can be opened: its architecture, its configuration, its tensors' names and shapes.

    A block of the library runs once without weights, so that sizes which no layer contradicts, and no sentence of a
    library names, are refused here and not in the middle of a text.
    """
    built = skeleton(checkpoint)
    Parameters(checkpoint, built)
    if built.is_plain:
        return
    stream = torch.empty(1, 2, built.config.hidden_size)
    try:
        rotary = _rotary_of(built, torch.device("cpu"))
        angles = () if rotary is None else rotary(stream, kind=built.angles(0))
        arguments = {} if rotary is None else {"position_embeddings": tuple(part.to("meta") for part in angles)}
        built.model.get_submodule(f"{built.family.layers}.0")(stream.to("meta"), **arguments)
    except (ArithmeticError, RuntimeError, ValueError, TypeError, LookupError) as error:
        names = ("hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim")
        sizes = [f"{name} {value}" for name in names if (value := getattr(built.config, name, None))]
        raise invalid_config(checkpoint.folder, f"a block of {', '.join(sizes)} cannot run") from error
    if not all(part.isfinite().all() for part in angles):
        raise invalid_config(checkpoint.folder, "the angles of its rotary positions are not finite")


def _rotary_of(built: Skeleton, device: torch.device) -> Rotary | None:
    """What makes the angles of a model, None where it has none."""
    if built.family.rotary is None:
        return None
    # On the meta device its angles were only shapes: they are not weights, and are made anew.
    return Rotary(type(built.model.get_submodule(built.family.rotary))(built.config), device)


def open_transformer(
    checkpoint: Checkpoint,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    resident: bool = True,
) -> "Transformer":
    """Open a model for measuring: no dropout, no gradients, float32 products in full precision (no TF32).

    Args:
        checkpoint: the model.
        device: where its blocks run.
        dtype: the number format they run in.
        resident: keep a block's weights after their first use; otherwise they are read anew each time, so that the
            device holds one block at a time.
    """
    torch.set_float32_matmul_precision("highest")
    built = skeleton(checkpoint)
    return Transformer(
        built, Parameters(checkpoint, built), device=require_device(device), dtype=dtype, resident=resident
    )


def require_device(named: str | torch.device) -> torch.device:
    """A device by its name, if it is there."""
    try:
        device = torch.device(named)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise missing_device(str(named)) from error
    return device


class Transformer:
    """A model whose blocks run one after the other, and whose neurons' weights are read by layer.

    Weights are returned as stored, in float32, whatever number format the blocks run in. They are for reading only:
    where nothing had to be converted they are the model's own memory.

    Attributes:
        shape: what the model is like.
        device: where it runs, and where all tensors it returns lie.
        dtype: the number format of the streams.
    """

    def __init__(
        self, built: Skeleton, parameters: Parameters, *, device: torch.device, dtype: torch.dtype, resident: bool
    ) -> None:
        self.device, self.dtype = device, dtype
        self._family, self._built, self._parameters = built.family, built, parameters
        self._is_post_norm = built.family.is_post_norm(built.config)
        self._is_parallel = built.family.is_parallel(built.config)
        self._layers = list(built.model.get_submodule(built.family.layers).children())
        self._loaded: set[int] = set()
        # Layers whose block somebody works with: who asks for one of them again ends first.
        self._at_work: set[int] = set()
        self._loader = Loader(built, parameters, device, dtype, resident)
        self._embeddings, self._head = Embeddings(self._loader), Head(self._loader)
        self._rotary = _rotary_of(built, device)
        self.shape = self._described()

    def embed(self, ids: Int[Tensor, "batch time"], *, start: int = 0) -> Float[Tensor, "batch time d_model"]:
        """[batch time d_model] the stream that enters block 0, for right-padded sequences that begin at `start`."""
        length = start + ids.shape[1]
        if length > self.shape.context_length:
            raise sequence_too_long(length, self.shape.context_length)
        return self._embeddings(ids, start=start)

    @contextmanager
    def block(self, layer: int) -> Iterator[Block]:
        """The block `layer`, its weights there for the duration of the context."""
        module = self._layers[layer]
        if layer not in self._loaded:
            # Whoever opens it first: gradients may be asked for later, which no tensor of an inference serves.
            with torch.inference_mode(mode=False):
                self._loader.fill_(module, f"{self._family.layers}.{layer}")
            self._loaded.add(layer)
        is_outermost = layer not in self._at_work
        self._at_work.add(layer)
        try:
            window = self._family.window(self._built.config, layer)
            layout = Layout(
                self._family,
                self._is_post_norm,
                self._is_parallel,
                window,
                angles=self._built.angles(layer),
                written_scale=self._built.written_scale,
                is_capped=self._family.attention_cap(self._built.config) is not None,
            )
            yield Block(module, layout, self._rotary)
        finally:
            if is_outermost:
                self._at_work.discard(layer)
                if not self._loader.is_resident:
                    module.to("meta")
                    self._loaded.discard(layer)

    def stream(self) -> None:
        """Let go of the weights of all blocks, and read a block's anew at each use from now on."""
        self._loader.is_resident = False
        for layer in self._loaded:
            self._layers[layer].to("meta")
        self._loaded.clear()

    def logits(self, stream: Float[Tensor, "batch time d_model"]) -> Float[Tensor, "batch time vocab"]:
        """[batch time vocab] the logits of a stream that left the last block, by the model's own head.

        Of a masked model that transforms the stream and adds a bias a token.
        """
        return self._head(stream)

    def unembedding(self) -> Float[Tensor, "vocab d_model"]:
        """[vocab d_model] E, whose row w gives the score e_w . v.

        OPT-350m's output projection is folded in, and so is what a head divides its logits by.
        """
        table = self._loader.float32(f"{self._family.head}.weight")
        if self._built.logit_divisor != 1:
            table = table / self._built.logit_divisor
        if self._head.project_out is None:
            return table
        return table @ self._loader.float32(f"{self._family.project_out}.weight")

    def embedding(self) -> Float[Tensor, "vocab d_model"]:
        """[vocab d_model] what each token alone adds to the stream that enters block 0.

        Scaled as the model scales it, and through OPT-350m's input projection; without positions, types of tokens, and
        a norm after them.
        """
        family = self._family
        table = self._loader.float32(f"{family.tokens}.weight")
        scale = family.embedding_scale(self._built.config)
        if scale is not None:
            table = table * scale
        if family.project_in is None or self._built.module(family.project_in) is None:
            return table
        return table @ self._loader.float32(f"{family.project_in}.weight").T

    def value_vectors(self, layer: int) -> Float[Tensor, "d_ffn d_model"]:
        """[d_ffn d_model] row i is what a unit activation of neuron i adds to the stream ([G] 3).

        Where what an FFN writes is normalized, that over the FFN's divisor at a position: the norm's gamma is in it
        [ours]. Where a block multiplies what it adds, that is in it, too [ours].
        """
        return self._written(layer, self._rows(layer, self._family.values, of="inputs"))

    def key_vectors(self, layer: int) -> Float[Tensor, "d_ffn d_model"]:
        """[d_ffn d_model] row i is what neuron i, or its gate, compares its input with ([G] 3)."""
        keys = self._rows(layer, self._family.keys, of="outputs")
        return keys[: self.shape.d_ffn].contiguous() if self._family.is_fused else keys

    def up_vectors(self, layer: int) -> Float[Tensor, "d_ffn d_model"] | None:
        """[d_ffn d_model] row i is the product with which neuron i's gate multiplies; None for FFNs without gates."""
        if self._family.ups is None:
            return None
        ups = self._rows(layer, self._family.ups, of="outputs")
        return ups[self.shape.d_ffn :].contiguous() if self._family.is_fused else ups

    def key_bias(self, layer: int) -> Float[Tensor, " d_ffn"]:
        """[d_ffn] what is added to a neuron's, or its gate's, pre-activation; 0 where the model has no biases."""
        return self._bias(layer, self._family.keys, width=self.shape.d_ffn)[: self.shape.d_ffn]

    def value_bias(self, layer: int) -> Float[Tensor, " d_model"]:
        """[d_model] what the FFN adds to the stream beside its neurons; 0 where the model has no biases."""
        return self._written(layer, self._bias(layer, self._family.values, width=self.shape.d_model))

    def ffn_norm(self, layer: int) -> Norm | None:
        """The norm before the FFN; None for post-norm blocks and others whose FFN reads the stream as it is."""
        path = self._family.ffn_norm
        if self._is_post_norm or path is None:
            return None
        return self._norm(self._layers[layer].get_submodule(path), self._name(layer, path))

    def _written(self, layer: int, rows: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """[rows d_model] what an FFN returns, as it is added to the stream but for a position's divisor."""
        norm, scale = self._written_norm(layer), self._built.written_scale
        rows = rows if norm is None else rows * norm.gamma
        return rows if scale == 1 else rows * scale

    def _written_norm(self, layer: int) -> Norm | None:
        path = self._family.written_norm
        return None if path is None else self._norm(self._layers[layer].get_submodule(path), self._name(layer, path))

    def final_norm(self) -> Norm | None:
        """The norm before the unembedding; None where the model has none."""
        if self._head.final_norm is None:
            return None
        return self._norm(self._head.final_norm, str(self._family.final_norm))

    def transform(self) -> Transform | None:
        """What a masked model's head does to a stream before the unembedding; None for the others."""
        return self._head.transform()

    def token_bias(self) -> Float[Tensor, " vocab"] | None:
        """[vocab] what a masked model's head adds to the logit of each token; None for the others."""
        return self._head.token_bias()

    @property
    def logit_cap(self) -> float | None:
        """The c of c * tanh(logit / c), by which the head bounds its logits; None where it does not."""
        return self._family.logit_cap(self._built.config)

    @property
    def has_parts(self) -> bool:
        """Whether the blocks' attention, FFN and norms can be looked at one by one."""
        return self._family.attention_norm is not None

    def block_bytes(self, layer: int) -> int:
        """How much memory the weights of block `layer` take while they are there."""
        return sum(tensor.numel() for tensor in self._layers[layer].parameters()) * self.dtype.itemsize

    def blocks_bytes(self, *, is_resident: bool) -> int:
        """How much memory the weights of all blocks take, or of one where each is read anew at its use."""
        return sum(self.block_bytes(layer) for layer in range(self.shape.n_layers if is_resident else 1))

    @property
    def embedding_bytes(self) -> int:
        """How much memory the embeddings and the unembedding take, whole and in the run's number format."""
        return self.shape.n_parameters_embedding * self.dtype.itemsize

    def _described(self) -> Shape:
        config, family = self._built.config, self._family
        head = None if self._parameters.is_tied else family.head
        tables = (family.tokens, family.positions, family.segments, head)
        embeddings = [f"{path}.weight" for path in tables if path is not None]
        settings = {name: getattr(config, name, None) for name in family.settings}
        activation = getattr(config, family.activation)
        return Shape(
            architecture=family.architecture,
            activation=activation,
            norm_position=self._norm_position(),
            position_encoding=self._position_encoding(),
            n_layers=len(self._layers),
            d_model=config.hidden_size,
            d_ffn=self._width(),
            n_heads=config.num_attention_heads,
            vocab_size=config.vocab_size,
            context_length=config.max_position_embeddings,
            n_parameters=self._parameters.count(),
            n_parameters_embedding=self._parameters.count(embeddings),
            has_exact_zeros=activation in EXACT_ZEROS,
            has_parallel_residual=self._is_parallel,
            settings=json.dumps(settings, sort_keys=True) if settings else "",
        )

    def _norm_position(self) -> Literal["pre", "post", "both", "written"]:
        if self._family.written_norm is None:
            return "post" if self._is_post_norm else "pre"
        return "written" if self._family.ffn_norm is None else "both"

    def _width(self) -> int:
        values = self._layers[0].get_submodule(self._family.values)
        assert isinstance(values.weight, Tensor)
        return values.weight.shape[0 if self._family.has_input_rows else 1]

    def _position_encoding(self) -> Literal["learned", "none", "rotary"]:
        if self._rotary is not None:
            return "rotary"
        return "learned" if self._embeddings.tells_positions else "none"

    def _rows(self, layer: int, path: str, *, of: Literal["inputs", "outputs"]) -> Float[Tensor, "d_ffn d_model"]:
        """The weight of a linear map with one row an input, or one an output, whichever way it is stored."""
        weight = self._loader.float32(self._name(layer, f"{path}.weight"))
        stored = "inputs" if self._family.has_input_rows else "outputs"
        return (weight if stored == of else weight.T).contiguous()

    def _bias(self, layer: int, path: str, *, width: int) -> Float[Tensor, " width"]:
        module = self._layers[layer].get_submodule(path)
        if not isinstance(module.bias, Tensor):
            return torch.zeros(width, device=self.device)
        return self._loader.float32(self._name(layer, f"{path}.bias"))

    def _norm(self, module: nn.Module, path: str) -> Norm:
        if not isinstance(module, nn.LayerNorm):
            gamma = self._loader.float32(f"{path}.weight") + self._family.norm_offset
            return Norm(gamma, torch.zeros_like(gamma), eps_of(module), is_centred=False)
        if not module.elementwise_affine:
            width = self.shape.d_model
            return Norm(torch.ones(width, device=self.device), torch.zeros(width, device=self.device), module.eps)
        return Norm(self._loader.float32(f"{path}.weight"), self._loader.float32(f"{path}.bias"), module.eps)

    def _name(self, layer: int, path: str) -> str:
        return f"{self._family.layers}.{layer}.{path}"
