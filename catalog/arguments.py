"""Arguments of calls from Python: one that cannot be meant is refused in a sentence, before anything is opened."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from neurothek.catalog.installation import left_out
from neurothek.catalog.problems import Invalid, Unreadable
from neurothek.catalog.spelling import is_text
from neurothek.catalog.suggestions import hint as nearest_or_all

Signature = ParamSpec("Signature")
Result = TypeVar("Result")

_LONGEST = 80
_LONGEST_PATH, _LONGEST_NAME, _LONGEST_SHOWN = 4095, 255, 60

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_MOST_BYTES = 2**60
"""No machine has more, and DuckDB takes no limit much above it."""


class WrongCall(Invalid, TypeError):
    """A call with arguments that it has not, or without some that it needs.

    Also the TypeError that Python raises for such a call, for those who expect it of any function.
    """


def bad_argument(name: str, value: object, hint: str = "", *, why: str = "") -> Invalid:
    """An argument of the wrong kind or out of range.

    Args:
        name: the argument's.
        value: what was given.
        hint: what to give instead.
        why: what is wrong with the value, where the hint does not say it.
    """
    text = repr(value).replace("\n", " ")
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    message = f"{name}={text} is not valid"
    return Invalid(f"{message}; {why}" if why else message, hint, option=name, value=value)


def unknown_argument(call: str, name: str, names: Iterable[str]) -> WrongCall:
    """A call has no argument of that name."""
    return WrongCall(f"{call}() has no argument {name}", nearest_or_all(name, names), option=name)


def validated(function: Callable[Signature, Result]) -> Callable[Signature, Result]:
    """Refuse arguments of another kind than the function is annotated with.

    A quoted annotation, of a class that is imported for type checkers only, is left to the function.
    """

    @wraps(function)
    def call(*arguments: Signature.args, **named: Signature.kwargs) -> Result:
        signature = inspect.signature(function)
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            raise _wrong_call(function, str(error)) from None
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD or isinstance(parameter.annotation, str):
                continue
            for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
                require(parameter.annotation, **{name: one})
            bound.arguments[name] = plain(value)
        try:
            return function(*bound.args, **bound.kwargs)
        except ModuleNotFoundError as error:
            raise (left_out(error) or error) from error

    return call


def _wrong_call(function: Callable[..., object], problem: str) -> WrongCall:
    """Arguments that a function has not, or that it lacks; the warehouse, which comes first, is not given in a call."""
    parameters = list(inspect.signature(function).parameters.values())
    given = [str(one.replace(annotation=one.empty)) for one in parameters if one.name != "base"]
    hint = f"call it as {function.__name__}({', '.join(given)})"
    return WrongCall(f"{function.__name__}: {problem}", hint, option=function.__name__)


def require(kind: Any, /, **arguments: object) -> None:  # noqa: ANN401 - a type as it is annotated
    """Refuse arguments that are not of a kind.

    Args:
        kind: a class, or a union, Literal, `Sequence[str]` and the like of them, as annotations are.
        arguments: values by their names.
    """
    for name, value in arguments.items():
        if not fits(value, kind):
            raise bad_argument(name, value, f"give {kind_in_words(kind)}")


def fits(value: object, kind: Any) -> bool:  # noqa: ANN401 - a type as it is annotated
    """Whether a value is of a kind; True is no number, and a text no sequence of texts."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind in _IS:
        return _IS[kind](value)
    if origin in (UnionType, Union):
        # A path may be given as text, but not as any text.
        return any(fits(value, one) for one in inner if one is not str or Path not in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is None:
        return isinstance(value, kind)
    return _holds(value, origin, inner)


def _holds(value: object, origin: Any, inner: Sequence[Any]) -> bool:  # noqa: ANN401 - a type as it is annotated
    """Whether a value is a collection of a kind, and what it holds of others."""
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(key, inner[0]) for key in value)
    if isinstance(value, str) or not isinstance(value, _SEQUENCES if origin in (tuple, Sequence) else origin):
        return False
    if origin is tuple and inner[-1] is not Ellipsis:
        return isinstance(value, Sequence) and len(value) == len(inner) and all(map(fits, value, inner))
    # An iterator would be used up by looking.
    return not isinstance(value, _SEQUENCES) or all(fits(one, inner[0]) for one in value)


def kind_in_words(kind: Any) -> str:  # noqa: ANN401 - a type as it is annotated
    """A kind in words, such as "text or None"."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (UnionType, Union):
        return " or ".join(dict.fromkeys(kind_in_words(one) for one in inner if one is not str or Path not in inner))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if origin is tuple and inner[-1] is not Ellipsis:
        return f"a pair, such as ({', '.join(_EXAMPLES[one] for one in inner)})"
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a dict of values by their names"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"a list or tuple, such as [{_EXAMPLES.get(inner[0], '…')}]"
    return _WORDS.get(kind) or f"a {kind.__name__}"


def plain(value: object) -> object:
    """A number of another library as Python's own, alone or in a tuple; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if fits(value, int):
        return int(value)  # type: ignore[call-overload]  # a whole number, as fits says
    return float(value) if _is_real(value) else value  # type: ignore[arg-type]  # a number, likewise


def _is_real(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, Integral)


def expanded(path: str | os.PathLike[str]) -> Path:
    """A path as a person wrote it, with `~` for a home folder."""
    try:
        result = Path(path).expanduser()
    except RuntimeError as error:
        raise _no_path(path, "there is no such home folder") from error
    if len(os.fsencode(result)) > _LONGEST_PATH or any(len(os.fsencode(part)) > _LONGEST_NAME for part in result.parts):
        raise _no_path(path, "it is too long")
    return result


def _no_path(path: str | os.PathLike[str], why: str) -> Unreadable:
    """No file can lie at a path."""
    text = str(path)
    text = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
    return Unreadable(f"{text!r} cannot be a path: {why}", "give another path", path=path, why=why)


def parse_size(text: str) -> int | None:
    """Bytes of a size such as 4GB, 500MB or 1073741824; None if it is none."""
    text = text.strip().lower().removesuffix("b")
    try:
        size = int(float(text.rstrip("kmgt")) * _UNITS.get(text[-1:], 1))
    except (ValueError, OverflowError):
        return None
    return size if 0 < size <= _MOST_BYTES else None


_INFINITE = 2**1024
"""The first whole number that is no double."""

_SEQUENCES = (Sequence, set, frozenset)

_IS: Mapping[Any, Callable[[Any], bool]] = {
    Any: lambda _: True,
    None: lambda value: value is None,
    str: lambda value: isinstance(value, str) and is_text(value),
    # Numbers of numpy are numbers, too.
    int: lambda value: isinstance(value, Integral) and not isinstance(value, bool),
    float: lambda value: _is_real(value) or (fits(value, int) and abs(int(value)) < _INFINITE),
    Path: lambda value: isinstance(value, str | PathLike) and is_text(str(value)) and "\0" not in str(value),
}
_WORDS = {
    str: "UTF-8 text",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    Path: "a path",
    type(None): "None",
}
_EXAMPLES = {str: '"one"', int: "1", float: "0.5"}
