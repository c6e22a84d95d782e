"""Rules by which a gradient tells what was added to a prediction, and not only what a small change would do (RelP).

Products and quotients of what depends on the stream are linear in one factor while the other is held: a norm's
divisor, an attention pattern, what a non-linearity multiplies its input by. What a gate and the other factor bring
about together is credited to each by half.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

Call = Callable[..., Any]


class RelevanceRules(TorchFunctionMode):
    """Holds these factors for the duration of the context: values stay what they are, gradients follow the rules.

    What torch computes is looked at, not modules: all families normalize and attend with the same few functions.
    Non-linearities, of which there are many, are held by `secant`.
    """

    def __torch_function__(
        self,
        func: Call,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 - whatever the function returns
        """Call the function by its rule."""
        rule = _RULES.get(func)
        given = dict(kwargs or {})
        return func(*args, **given) if rule is None else rule(func, *args, **given)


def secant(factors: Sequence[Tensor], product: Tensor) -> Tensor:
    """What an FFN made of what its first maps returned, with a gradient by what each was multiplied by, that held.

    At 0, where that is no quotient, a factor has no share.

    Args:
        factors: what goes through the non-linearity, or a gate and the other factor, which share by half.
        product: what became of them.
    """
    result = product.detach()
    shares = [factor * torch.where(factor == 0, 0.0, result / factor).detach() for factor in factors]
    return _with_value(torch.stack(shares).mean(0), result)


def _held(func: Call, *args: Any, **kwargs: Any) -> Tensor:
    result: Tensor = func(*args, **kwargs)
    return result.detach()


def _attention(func: Call, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    result: Tensor = func(query.detach(), key.detach(), value, *args, **kwargs)
    return result


_LAYER_NORM_EPS = 1e-5
"""That of torch, where none is given."""


def _layer_norm(
    func: Call,
    stream: Tensor,
    normalized_shape: tuple[int, ...],
    weight: Tensor | None = None,
    *rest: Any,
    **named: Any,
) -> Tensor:
    result: Tensor = func(stream.detach(), normalized_shape, weight, *rest, **named)
    eps: float = named.get("eps", rest[1] if len(rest) > 1 else _LAYER_NORM_EPS)
    centred = stream - stream.mean(-1, keepdim=True)
    scaled = centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt().detach()
    return _with_value(scaled if weight is None else scaled * weight, result)


def _with_value(linear: Tensor, value: Tensor) -> Tensor:
    """The value, with the gradient of another tensor: not a bit of what is predicted changes."""
    return value + (linear - linear.detach())


_RULES: Mapping[Any, Call] = {
    torch.rsqrt: _held,
    Tensor.rsqrt: _held,
    torch.softmax: _held,
    Tensor.softmax: _held,
    functional.softmax: _held,
    functional.scaled_dot_product_attention: _attention,
    functional.layer_norm: _layer_norm,
}
