"""One block of a model at work: the stream it returns and the coefficients of its neurons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from neurothek.ingest.models.families.family import Family
from neurothek.ingest.models.families.norms import Rotary
from neurothek.ingest.models.families.relevance import RelevanceRules, secant
from neurothek.ingest.models.families.sub_modules import SubModules
from neurothek.ingest.models.families.torch_modules import Cache


@dataclass(frozen=True)
class BlockOutput:
    """What one block did to a batch."""

    # the residual stream after the block; of the last block before the final norm
    stream: Float[Tensor, "batch time d_model"]
    # the neurons' activations after the non-linearity; of a gated FFN act(gate) * up
    coefficients: Float[Tensor, "batch time d_ffn"]
    # the stream between attention and FFN: what the FFN adds to, or what it reads in post-norm blocks; in parallel
    # blocks, whose FFN reads what enters the block, that plus the attention's output
    pre_ffn: Float[Tensor, "batch time d_model"]
    # what the FFN adds to the stream, its biases included; in post-norm blocks before the norm of the sum
    added: Float[Tensor, "batch time d_model"]
    # the pre-activations of the gates, None where the FFN has none
    gates: Float[Tensor, "batch time d_ffn"] | None = None
    # what the FFN's output is divided by before it is added to the stream; None where it is added as it is
    divisors: Float[Tensor, "batch time"] | None = None

    @property
    def written(self) -> Float[Tensor, "batch time d_ffn"]:
        """[batch time d_ffn] what each neuron's value vector is multiplied by in what is added to the stream."""
        return self.coefficients if self.divisors is None else self.coefficients / self.divisors[..., None]


@dataclass(frozen=True, eq=False)
class Change:
    """What becomes of some neurons of a block."""

    neurons: Int[Tensor, " neurons"]  # which ones, each once
    values: Float[Tensor, " neurons"] | None  # what they are set to; None: they keep their own value, times `factor`
    factor: float = 1.0  # what their own values are multiplied by
    # whether it happens before the non-linearity, or to the activation after it; FFNs with gates know only the latter
    is_before: bool = False
    where: Bool[Tensor, "batch time"] | None = None  # the positions of a batch at which it happens; None: everywhere
    positions: range | None = None  # the positions of every sequence at which it happens; None: everywhere

    def of(self, activations: Tensor, *, shape: tuple[int, int], start: int) -> Tensor:
        """The activations [batch time d_ffn], or [batch*time d_ffn], as they become.

        Args:
            activations: as they are.
            shape: batch and time.
            start: the position of the first ids.
        """
        changed = activations.clone()
        selected = activations[..., self.neurons]
        values = selected * self.factor if self.values is None else self.values.to(selected.dtype).expand_as(selected)
        where = self._where(shape, start, selected.device)
        if where is not None:
            values = torch.where(where.reshape(*selected.shape[:-1], 1), values, selected)
        changed[..., self.neurons] = values
        return changed

    def _where(self, shape: tuple[int, int], start: int, device: torch.device) -> Bool[Tensor, "batch time"] | None:
        if self.positions is None:
            return self.where
        numbers = torch.arange(start, start + shape[1], device=device)
        is_there = ((numbers >= self.positions.start) & (numbers < self.positions.stop)).expand(shape)
        return is_there if self.where is None else is_there & self.where


@dataclass(frozen=True, eq=False)
class RowChanges:
    """What becomes of neurons of a block in some sequences of a batch, in each its own."""

    by_row: Mapping[int, Change]  # number of the sequence -> what becomes of neurons there; all before, or all after

    @property
    def is_before(self) -> bool:
        """Whether it happens before the non-linearity."""
        return next(iter(self.by_row.values())).is_before

    def of(self, activations: Tensor, *, shape: tuple[int, int], start: int) -> Tensor:
        """The activations as they become, like those of `Change`."""
        changed = activations.reshape(*shape, activations.shape[-1]).clone()
        for row, change in self.by_row.items():
            changed[row : row + 1] = change.of(changed[row : row + 1], shape=(1, shape[1]), start=start)
        return changed.reshape(activations.shape)


@dataclass(frozen=True)
class Layout:
    """How a block of a family is put together."""

    family: Family  # the family
    is_post_norm: bool  # whether it normalizes after adding to the stream
    is_parallel: bool  # whether attention and FFN both read what enters the block
    window: int | None  # how many positions its attention sees, itself included; None: all before
    angles: str | None = None  # which kind of angles it rotates by; None where all blocks rotate alike
    written_scale: float = 1.0  # what all that is added to the stream is multiplied by
    is_capped: bool = False  # whether its attention bounds its logits, which is computed from a mask of numbers


class Block:
    """One block with its weights in place."""

    def __init__(self, module: nn.Module, layout: Layout, rotary: Rotary | None) -> None:
        self._module, self._layout, self._rotary = module, layout, rotary
        family = layout.family
        self._values = module.get_submodule(family.values)
        self._keys = module.get_submodule(family.keys)
        self._attention = module.get_submodule(family.attention)
        is_read_as_it_is = layout.is_post_norm or family.ffn_norm is None
        self._reader = self._keys if is_read_as_it_is else module.get_submodule(str(family.ffn_norm))
        self._written_norm = None if family.written_norm is None else module.get_submodule(family.written_norm)
        # Of the batch that runs, for what is changed in it.
        self._shape, self._start = (0, 0), 0

    @torch.inference_mode()
    def __call__(
        self,
        stream: Float[Tensor, "batch time d_model"],
        lengths: Sequence[int] | None = None,
        *,
        cache: Cache | None = None,
        start: int = 0,
    ) -> BlockOutput:
        """Run the block on right-padded sequences, or on what follows those that a cache remembers.

        Where attention is causal no padding is masked: what stands at a real position depends on real positions only,
        and what stands at padding means nothing. A masked model sees what comes after, and must be told where a
        sequence ends.

        Args:
            stream: what enters the block.
            lengths: how many ids each sequence has; None: nothing is padded. Causal models do not ask.
            cache: keys and values of the positions before `start`, to which those of the stream are added; only of
                causal models.
            start: the position of the stream's first ids; where it is not 0, they are one a sequence.
        """
        assert start == 0 or stream.shape[1] == 1
        self._shape, self._start = (stream.shape[0], stream.shape[1]), start
        layout = self._layout
        with ExitStack() as hooks:
            coefficients = hooks.enter_context(_collected(self._values, _input))
            gates = hooks.enter_context(_collected(self._keys, _output)) if layout.family.is_gated else []
            between = (self._attention, _output) if layout.is_parallel else (self._reader, _input)
            pre_ffn = hooks.enter_context(_collected(*between))
            norm = self._written_norm
            outputs = [] if norm is None else hooks.enter_context(_collected(norm, _input))
            remembered = {} if cache is None else {layout.family.cache: cache}
            added = hooks.enter_context(_collected(self._values if norm is None else norm, _output))
            after = self._module(stream, **self._arguments(stream, lengths, start), **remembered)
        # OPT flattens batch and time before its FFN.
        rows = stream.shape[:2]
        activations, scale = coefficients[0].view(*rows, -1), layout.written_scale
        return BlockOutput(
            stream=after,
            coefficients=activations,
            pre_ffn=stream + pre_ffn[0] if layout.is_parallel else pre_ffn[0].view(stream.shape),
            added=added[0].view(stream.shape) if scale == 1 else added[0].view(stream.shape) * scale,
            # Where one map computes both factors, the gates come first.
            gates=gates[0].view(*rows, -1)[..., : activations.shape[-1]] if gates else None,
            divisors=rms(outputs[0], eps_of(norm)) if norm is not None else None,
        )

    def with_relevance(
        self, stream: Float[Tensor, "batch time d_model"]
    ) -> tuple[Float[Tensor, "batch time d_model"], Float[Tensor, "..."], Float[Tensor, " batch"] | None]:
        """Run the block so that gradients reach what enters it, by the rules of `RelevanceRules`.

        Args:
            stream: what enters, of sequences without padding.

        Returns:
            What leaves; the neurons' activations in its graph, [batch time d_ffn] or [batch*time d_ffn]; and what the
            FFN's output is divided by at the last position, None where it is added as it is.
        """
        self._shape, self._start = (stream.shape[0], stream.shape[1]), 0
        seen: list[Tensor] = []
        family = self._layout.family
        ups = None if family.ups is None or family.is_fused else self._module.get_submodule(family.ups)

        def collect(_: nn.Module, given: tuple[Any, ...]) -> tuple[Any, ...]:
            # Whatever non-linearity there is stands between the two maps.
            factors = [before[0]] if family.ups is None else [before[0], *others]
            if family.is_fused:
                factors = list(before[0].chunk(2, dim=-1))
            seen.append(secant(factors, given[0]))
            return (seen[0], *given[1:])

        arguments = self._arguments(stream, None, 0)
        if self._rotary is not None:
            # Those of an earlier pass without gradients may be there.
            angles = self._rotary(stream, start=0, kind=self._layout.angles)
            arguments["position_embeddings"] = tuple(one.clone() for one in angles)
        norm = self._written_norm
        with ExitStack() as hooks:
            before = hooks.enter_context(_collected(self._keys, _output))
            others = [] if ups is None else hooks.enter_context(_collected(ups, _output))
            handle = self._values.register_forward_pre_hook(collect)
            hooks.callback(handle.remove)
            outputs = [] if norm is None else hooks.enter_context(_collected(norm, _input))
            hooks.enter_context(RelevanceRules())
            after = self._module(stream, **arguments)
        divisors = None if norm is None else rms(outputs[0].detach()[:, -1:], eps_of(norm))[:, 0]
        return _output((), after), seen[0], divisors

    @contextmanager
    def changed(self, change: Change | RowChanges) -> Iterator[None]:
        """Some of its neurons are changed for the duration of the context; the coefficients it tells are the changed.

        The change is what the FFN's second map is given, or what its first one returns.
        """

        def become(activations: Tensor) -> Tensor:
            return change.of(activations, shape=self._shape, start=self._start)

        if change.is_before:
            assert not self._layout.family.is_gated
            handle = self._keys.register_forward_hook(lambda _, given, returned: become(returned))
        else:
            handle = self._values.register_forward_pre_hook(lambda _, given: (become(given[0]), *given[1:]))
        try:
            yield
        finally:
            handle.remove()

    @property
    def parts(self) -> SubModules:
        """Its attention, FFN and norms; only of families that say where the attention's norm is."""
        return SubModules(self._module, self._layout.family, is_post_norm=self._layout.is_post_norm)

    def _arguments(
        self, stream: Float[Tensor, "batch time d_model"], lengths: Sequence[int] | None, start: int
    ) -> dict[str, object]:
        """What the block is told beside the stream; without a mask it sees what its family's blocks see."""
        arguments: dict[str, object] = {}
        if self._rotary is not None:
            arguments["position_embeddings"] = self._rotary(stream, start=start, kind=self._layout.angles)
        end = start + stream.shape[1]
        if self._layout.is_capped:
            seen = window_mask(end, self._layout.window or end, stream.device, start=start, always=True)
            assert seen is not None
            hidden = torch.zeros(seen.shape, dtype=stream.dtype, device=stream.device)
            arguments["attention_mask"] = hidden.masked_fill_(~seen, torch.finfo(stream.dtype).min)
        elif self._layout.window is not None:
            arguments["attention_mask"] = window_mask(end, self._layout.window, stream.device, start=start)
        if self._layout.family.is_masked and lengths is not None:
            arguments["attention_mask"] = padding_mask(lengths, stream.shape[1], stream.device)
        return arguments


def _input(arguments: Sequence[Any], result: object) -> Tensor:
    given: Tensor = arguments[0]
    return given


def _output(arguments: Sequence[Any], result: Tensor | Sequence[Any]) -> Tensor:
    returned: Tensor = result if isinstance(result, Tensor) else result[0]
    return returned


@contextmanager
def _collected(module: nn.Module, of: Callable[..., Tensor]) -> Iterator[list[Tensor]]:
    """Collects what `module` is called with, or what it returns."""
    seen: list[Tensor] = []
    handle = module.register_forward_hook(partial(_collect, seen, of))
    try:
        yield seen
    finally:
        handle.remove()


def _collect(
    seen: list[Tensor],
    of: Callable[..., Tensor],
    _: nn.Module,
    arguments: Sequence[Any],
    result: Tensor | Sequence[Any],
) -> None:
    seen.append(of(arguments, result))


def padding_mask(lengths: Sequence[int], time: int, device: torch.device) -> Bool[Tensor, "batch 1 1 time"] | None:
    """[batch 1 1 time] whether a position can be seen, by all others; None where nothing is padded."""
    if min(lengths) == time:
        return None
    ends = torch.tensor(lengths, device=device)
    return (torch.arange(time, device=device) < ends[:, None])[:, None, None]


def eps_of(norm: nn.Module) -> float:
    """What an RMS norm adds to the mean square; each family of transformers has an RMS norm of its own."""
    eps = getattr(norm, "variance_epsilon", None) or getattr(norm, "eps", None)
    assert isinstance(eps, float)
    return eps


def rms(vectors: Float[Tensor, "batch time d_model"], eps: float) -> Float[Tensor, "batch time"]:
    """[batch time] what an RMS norm divides each vector by, float32: sqrt(mean square + eps)."""
    return (vectors.float().square().mean(-1) + eps).sqrt()


def window_mask(
    time: int, window: int, device: torch.device, *, start: int = 0, always: bool = False
) -> Bool[Tensor, "1 1 rows time"] | None:
    """[1 1 rows time] whether a position (a row, from `start` on) sees another: itself and the `window` - 1 before.

    None if all see all that came before, unless it is `always` made.
    """
    if time <= window and not always:
        return None
    positions = torch.arange(time, device=device)
    back = positions[:, None] - positions[None]
    return ((back >= 0) & (back < window))[None, None, start:]
