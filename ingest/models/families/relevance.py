"""Rules by which a gradient tells what was added to a prediction, and not only what a small change would do (RelP).

Products and quotients of what depends on the stream are linear in one factor while the other is held: a norm's
divisor, an attention pattern, what a non-linearity multiplies its input by. What a gate and the other factor bring
about together is credited to each by half.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

Call = Callable[..., Any]


class RelevanceRules(TorchFunctionMode):
    """Holds these factors for the duration of the context: values stay what they are, gradients follow the rules.

    What torch computes is looked at, not modules: all families compute with the same few functions.
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


def halved(activations: Tensor) -> Tensor:
    """The same activations, whose gradient is half: of a product that two factors bring about."""
    return activations.detach() + 0.5 * (activations - activations.detach())


def secant(before: Tensor, after: Tensor) -> Tensor:
    """What a non-linearity made of its input, whose gradient is by what it multiplied the input by, that held.

    At 0, where that is no quotient, both are 0 and have no share.
    """
    given, result = before.detach(), after.detach()
    factor = torch.where(given == 0, torch.zeros_like(result), result / given)
    return _with_value(before * factor, result)


def _held(func: Call, *args: Any, **kwargs: Any) -> Tensor:
    result: Tensor = func(*args, **kwargs)
    return result.detach()


def _attention(func: Call, query: Tensor, key: Tensor, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    result: Tensor = func(query.detach(), key.detach(), value, *args, **kwargs)
    return result


def _activation(func: Call, stream: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return secant(stream, func(stream.detach(), *args, **kwargs))


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
    torch.softmax: _held,
    torch.tanh: _held,
    torch.erf: _held,
    torch.sigmoid: _held,
    Tensor.softmax: _held,
    functional.softmax: _held,
    functional.scaled_dot_product_attention: _attention,
    functional.silu: _activation,
    functional.gelu: _activation,
    functional.layer_norm: _layer_norm,
}
