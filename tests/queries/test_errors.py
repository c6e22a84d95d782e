"""Errors of questions: every class is at hand under its name, also when a process of its own raised it."""

import inspect
import pkgutil

import pytest

from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.store.damage import WarehouseDamaged
from neurothek.queries import errors


def test_every_error_is_exported_and_found_by_its_name() -> None:
    found = set()
    for module in pkgutil.iter_modules(errors.__path__, f"{errors.__name__}."):
        classes = inspect.getmembers(__import__(module.name, fromlist=["*"]), inspect.isclass)
        found |= {name for name, kind in classes if kind.__module__ == module.name}
    assert len(found) > 40
    assert found == set(errors.__all__) - {"error_named"}
    for name in found:
        kind = errors.error_named(name)
        assert kind is getattr(errors, name)
        assert issubclass(kind, NeurothekError)


@pytest.mark.parametrize(
    "name", [WarehouseDamaged.__name__, "NeurothekError", "MemoryError", "hint", "_near", "vars", ""]
)
def test_a_name_that_is_no_error_of_a_question_is_the_base_of_all(name: str) -> None:
    assert errors.error_named(name) is NeurothekError
