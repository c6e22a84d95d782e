"""The parts of a block at work: what attention, FFN and the two norms read and return, and linear maps in their place.

Each part is taken without the residual it is added to. In post-norm blocks the norms read what attention and FFN were
added to, and attention reads what enters the block.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from neurothek.ingest.models.families.family import Family

Part = Literal["attention", "ffn", "norm_1", "norm_2"]
PARTS: tuple[Part, ...] = ("attention", "ffn", "norm_1", "norm_2")
"""norm_1 is the one of the attention, norm_2 the one of the FFN."""

Stream = Float[Tensor, "batch time d_model"]
Matrix = Float[Tensor, "d_model d_model"]


@dataclass(frozen=True)
class Passed:
    """What a part read and returned."""

    entered: Stream  # what it read
    left: Stream  # what it returned


class SubModules:
    """The parts of one block; they are looked at, or replaced, while the block runs."""

    def __init__(self, module: nn.Module, family: Family, *, is_post_norm: bool) -> None:
        assert family.attention_norm is not None
        assert family.ffn_norm is not None
        self._is_post_norm = is_post_norm
        self._attention = module.get_submodule(family.attention)
        self._keys, self._values = module.get_submodule(family.keys), module.get_submodule(family.values)
        self._norms: dict[Part, nn.Module] = {
            "norm_1": module.get_submodule(family.attention_norm),
            "norm_2": module.get_submodule(family.ffn_norm),
        }

    @contextmanager
    def watched(self, stream: Stream) -> Iterator[dict[Part, Passed]]:
        """What the parts read and return while the block runs over `stream`; filled as it runs."""
        seen: dict[Part, Passed] = {}

        def see(part: Part, entered: Tensor, left: Tensor) -> Tensor:
            seen[part] = Passed(entered, left)
            return left

        with self._passing(stream, PARTS, see):
            yield seen

    @contextmanager
    def replaced(self, stream: Stream, matrices: Mapping[Part, Matrix]) -> Iterator[None]:
        """Each part named returns its matrix times what it reads, at all positions, while the block runs."""

        def put(part: Part, entered: Tensor, left: Tensor) -> Tensor:
            # The map was fitted in float32, whatever the block computes in.
            return functional.linear(entered.float(), matrices[part]).to(left.dtype)

        with self._passing(stream, tuple(matrices), put):
            yield

    @contextmanager
    def _passing(
        self, stream: Stream, parts: Sequence[Part], take: Callable[[Part, Tensor, Tensor], Tensor]
    ) -> Iterator[None]:
        """Hands what parts read and return to `take`, and lets them return what it gives back."""
        exchange = _Exchange(stream, parts, take, passes_norm_on=not self._is_post_norm)
        with ExitStack() as hooks:
            handles = [
                *(module.register_forward_hook(partial(exchange.norm, part)) for part, module in self._norms.items()),
                self._attention.register_forward_hook(exchange.attention),
                self._keys.register_forward_pre_hook(exchange.keys),
                self._values.register_forward_hook(exchange.values),
            ]
            for handle in handles:
                hooks.callback(handle.remove)
            yield


class _Exchange:
    """The hooks of one block's parts; they know of each other what a part's own arguments do not tell."""

    def __init__(
        self,
        stream: Stream,
        parts: Sequence[Part],
        take: Callable[[Part, Tensor, Tensor], Tensor],
        *,
        passes_norm_on: bool,
    ) -> None:
        """Hand what `parts` read and return to `take`; `passes_norm_on`: attention reads what norm_1 returns."""
        self._shape, self._parts, self._take, self._passes_norm_on = stream.shape, parts, take, passes_norm_on
        self._read: dict[Part, Tensor] = {"attention": stream}

    def norm(self, part: Part, _: nn.Module, given: Sequence[Any], result: Any) -> Any:  # noqa: ANN401 - what it gets
        """After a norm."""
        output = self._exchanged(part, given[0], result)
        if part == "norm_1" and self._passes_norm_on:
            self._read["attention"] = output
        return output

    def attention(self, _: nn.Module, given: Sequence[Any], result: Any) -> Any:  # noqa: ANN401 - what it gets
        """After the attention."""
        return self._exchanged("attention", self._read["attention"], result)

    def keys(self, _: nn.Module, given: Sequence[Any]) -> None:
        """Before the FFN."""
        self._read["ffn"] = given[0]

    def values(self, _: nn.Module, given: Sequence[Any], result: Any) -> Any:  # noqa: ANN401 - what it gets
        """After the FFN."""
        return self._exchanged("ffn", self._read["ffn"], result)

    def _exchanged(self, part: Part, entered: Tensor, result: Any) -> Any:  # noqa: ANN401 - a tensor, or that and weights
        if part not in self._parts:
            return result
        left: Tensor = result if isinstance(result, Tensor) else result[0]
        # OPT flattens batch and time before its FFN.
        given = self._take(part, entered.reshape(self._shape), left.reshape(self._shape)).reshape(left.shape)
        return given if isinstance(result, Tensor) else (given, *result[1:])
