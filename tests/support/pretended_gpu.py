"""A GPU that is none: tensors that say they lie on one, and are computed with here.

What mixes devices, or takes the memory of such a tensor for the processor's, fails as it does with a real one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

GPU = torch.device("privateuseone", 0)
"""PyTorch's name for a device that it does not know."""


@dataclass
class Calls:
    """Operations that a GPU is asked for; each costs some microseconds, however little it does.

    Attributes:
        made: how often each was asked for, views left out.
        waited: those of them whose result the processor has to wait for.
    """

    made: Counter[str] = field(default_factory=Counter)
    waited: Counter[str] = field(default_factory=Counter)

    def note(self, func: OpOverload, args: Sequence[Any], result: object) -> None:
        """Count one operation."""
        name = func.overloadpacket.__name__
        returned = func._schema.returns
        # A number, or a copy in the processor's memory.
        leaves = not isinstance(result, OnGpu | tuple | list)
        if not leaves and returned[0].alias_info is not None and not returned[0].alias_info.is_write:
            return
        self.made[name] += 1
        is_masked = name in _MASKED and any(one is not None and one.dtype == torch.bool for one in args[1])
        if leaves or name in _WAITING or is_masked:
            self.waited[name] += 1


_WAITING = ("nonzero", "nonzero_numpy", "bincount", "masked_select", "unique")
_MASKED = ("index", "index_put_")

_noted: list[Calls] = []


class OnGpu(Tensor):
    """A tensor that says it lies on the GPU.

    Attributes:
        here: what it holds, on the processor.
    """

    here: Tensor

    @staticmethod
    def __new__(cls: "type[OnGpu]", here: Tensor) -> "OnGpu":
        """Put a tensor of the processor there, without a copy."""
        # A tensor of inference mode would share no version with those outside that it is a view of.
        with torch.inference_mode(mode=False):
            made: OnGpu = Tensor._make_wrapper_subclass(
                cls,
                here.size(),
                strides=here.stride(),
                storage_offset=here.storage_offset(),
                dtype=here.dtype,
                layout=here.layout,
                device=GPU,
                requires_grad=here.requires_grad,
            )
        made.here = here
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        """As it is, and where it is not."""
        return f"OnGpu({self.here!r})"

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: OpOverload, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        """Compute here, and say that the result lies there."""
        return compute(func, args, dict(kwargs or {}))


class _Factories(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Makes new tensors, and moves those of the processor, where it is asked for the GPU."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here; to say so at every call would take as long as the call."""
        return False

    def __torch_dispatch__(
        self, func: OpOverload, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> object:
        return compute(func, args, dict(kwargs or {}))


class _Literals(TorchFunctionMode):
    """Makes tensors of Python's numbers, which PyTorch would put on the device past every mode."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        given = dict(kwargs or {})
        if getattr(func, "__name__", "") in ("__getitem__", "__setitem__"):
            return func(args[0], _index(args[1]), *args[2:])
        if func not in (torch.tensor, torch.as_tensor) or isinstance(args[0], Tensor):
            return func(*args, **given)
        device = given.pop("device", None)
        made = func(*args, **given)
        assert isinstance(made, Tensor)
        return made if device is None else made.to(device)


def _index(index: object) -> object:
    """An index whose lists are tensors of the processor."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    return torch.tensor(index) if isinstance(index, list) else index


@contextmanager
def pretended_gpu() -> Iterator[Calls]:
    """The device `GPU` is there, in this thread; what it is asked for."""
    _announce()
    _noted.append(Calls())
    try:
        with _Literals(), _Factories():  # type: ignore[no-untyped-call]
            yield _noted[-1]
    finally:
        _noted.pop()


@cache
def _announce() -> None:
    """Have PyTorch know the device, whose tensors are Python's."""
    _setup_privateuseone_for_python_backend()


def compute(func: OpOverload, args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """The result of an operation: on the GPU if it was asked for there, or if what it works on lies there."""
    flat: list[Any] = []
    _flatten(args, flat)
    _flatten(kwargs.values(), flat)
    is_there = [isinstance(one, OnGpu) for one in flat if isinstance(one, Tensor)]
    wanted = next((one for one in flat if isinstance(one, torch.device)), None)
    if wanted is not None and wanted.type == GPU.type and wanted.index not in (None, 0):
        raise RuntimeError(f"there is no {wanted}")
    if wanted is None and any(is_there) and func is not torch.ops.aten.copy_.default:
        _refuse_mixed(func, args, flat)
    goes = any(is_there) if wanted is None else wanted.type == GPU.type
    result = func(*_each(_here, args), **{name: _each(_here, one) for name, one in kwargs.items()})
    if goes:
        own = {id(one.here): one for one in flat if isinstance(one, OnGpu)}

        def put(found: object) -> object:
            if not isinstance(found, Tensor):
                return found
            return own[id(found)] if id(found) in own else OnGpu(found)

        result = _each(put, result)
    elif isinstance(result, Tensor) and any(is_there) and _shares(result, flat):
        # A copy, as it would be from another memory: what is changed here is not changed there.
        result = result.clone()
    if _noted and (goes or any(is_there)):
        _noted[-1].note(func, args, result)
    return result


def _flatten(values: Iterable[Any], into: list[Any]) -> None:
    """Collect what an operation is given, one by one; it takes lists of tensors, and nothing deeper than lists."""
    for one in values:
        if isinstance(one, list | tuple):
            _flatten(one, into)
        else:
            into.append(one)


def _each(change: Callable[[object], object], value: Any) -> Any:  # noqa: ANN401 - as it came, but for what is changed
    """The same with every element of its lists changed."""
    if isinstance(value, list | tuple):
        return type(value)(_each(change, one) for one in value) if type(value) in (list, tuple) else value
    return change(value)


def _here(value: object) -> object:
    """What stands on the processor for a tensor or a device."""
    if isinstance(value, OnGpu):
        return value.here
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == GPU.type else value


def _refuse_mixed(func: OpOverload, args: Sequence[Any], flat: Sequence[Any]) -> None:
    """Refuse tensors of both devices, but for single numbers and for indices, which a GPU takes of the processor."""
    if func in _INDEXING and isinstance(args[0], OnGpu):
        flat = [args[0], *args[2:]]
    mixed = [one.shape for one in flat if isinstance(one, Tensor) and not isinstance(one, OnGpu) and one.dim() > 0]
    if mixed:
        raise RuntimeError(f"{func} was given tensors of the GPU and of the processor: {mixed}")


_INDEXING = (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default, torch.ops.aten.index_put.default)


def _shares(result: Tensor, flat: Sequence[Any]) -> bool:
    pointers = [one.here.data_ptr() for one in flat if isinstance(one, OnGpu)]
    return result.device.type == "cpu" and result.data_ptr() in pointers
