"""Rings of tests: the outer one starts processes, draws pages, runs commands, and measures or moves models.

The ring of a test follows from what its function and its fixtures call, however deep inside `tests`; nobody marks it.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

_PLACES = frozenset(
    {"subprocess", "multiprocessing", "concurrent.futures.process", "streamlit.testing.v1.app_test", "click.testing"}
) | {"neurothek.dashboards.reproduce.collected"}
"""Modules whose functions and classes start a process, draw a page or a paper, or run a command."""

_WHOLE = frozenset({"ingest", "ingest_all", "ingest_model", "ingest_models", "measure", "intervene", "train"}) | {
    *("export", "import_folder", "merge", "sweep", "measure_all", "explain_neurons")
}
"""Names of functions that measure, train or move whole models, or have a server judge hundreds of texts."""

_CHILDREN = frozenset({"ask_people", "stream_people", "Limits", "plan_intervention", "run_intervention"}) | {
    *("CommandScorer", "open_scorer", "read_steering", "TypeCheckError", "Client")
}
"""Names that stand for a query in a process of its own, or an assistant's, for a model that is changed and measured, or
for shapes that are checked at every call, which takes a tenth of all time."""


def is_outer(item: pytest.Item) -> bool:
    """Whether a test belongs to the outer ring."""
    if not isinstance(item, pytest.Function):
        return False
    fixtures = (one.func for name in item.fixturenames for one in item._fixtureinfo.name2fixturedefs.get(name, ()))
    return any(reaches(inspect.unwrap(function)) for function in (item.function, *fixtures))


@functools.cache
def reaches(function: Callable[..., Any]) -> bool:
    """Whether a function calls what only the outer ring may, itself or through other functions of the tests."""
    seen: set[FunctionType] = set()
    waiting: list[object] = [function]
    while waiting:
        one = waiting.pop()
        if not isinstance(one, FunctionType) or one in seen:
            continue
        seen.add(one)
        for name in _names(one.__code__):
            value = one.__globals__.get(name)
            if name in _WHOLE | _CHILDREN or _is_outer_value(value):
                return True
            waiting.extend(_functions(value))
    return False


def _names(code: CodeType) -> Iterator[str]:
    """Every global and attribute that the code mentions, nested functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_outer_value(value: object) -> bool:
    """Whether a value is one of the places, comes from one, or from a module that starts processes."""
    place = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", None))
    return place in _PLACES or getattr(sys.modules.get(place), "subprocess", None) is sys.modules.get(
        "subprocess", value
    )


def _functions(value: object) -> Iterator[FunctionType]:
    """The functions behind a name, where it is one of the tests' own."""
    if not str(getattr(value, "__module__", "")).startswith("tests"):
        return
    if isinstance(value, type):
        yield from (one for one in vars(value).values() if isinstance(one, FunctionType))
    elif isinstance(one := inspect.unwrap(value) if callable(value) else None, FunctionType):
        yield one
