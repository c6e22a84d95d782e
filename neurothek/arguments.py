"""Calls from Python: one that cannot be meant is refused in a sentence before anything is opened."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from catalog.arguments import plain, require
from catalog.errors import NeurothekError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class CallInvalid(NeurothekError, TypeError):
    """Arguments that a method has not, or that it lacks."""

    def __init__(self, method: Callable[..., Any], problem: str) -> None:
        signature = inspect.signature(method)
        shown = [str(one.replace(annotation=one.empty)) for one in signature.parameters.values() if one.name != "self"]
        super().__init__(f"{method.__name__}: {problem}; call it as {method.__name__}({', '.join(shown)})")


def checked(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A method that refuses arguments of another kind than it is annotated with.

    A quoted annotation, of a class that is imported for type checkers only, is left to the method.
    """

    @wraps(method)
    def call(*arguments: Parameters.args, **named: Parameters.kwargs) -> Result:
        signature = inspect.signature(method)
        try:
            bound = signature.bind(*arguments, **named)
        except TypeError as error:
            raise CallInvalid(method, str(error)) from None
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD or isinstance(parameter.annotation, str) or name == "self":
                continue
            for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
                require(parameter.annotation, **{name: one})
            bound.arguments[name] = plain(value)
        return method(*bound.args, **bound.kwargs)

    return call
