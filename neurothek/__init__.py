"""A warehouse of language-model neurons: `open` one and query it; `main` is the command line."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neurothek.api.warehouse import Neurothek, __version__, open  # noqa: A004 - neurothek.open reads as what it does
    from neurothek.catalog.advice import DEFAULT_WAREHOUSE
    from neurothek.catalog.problems import NeurothekError
    from neurothek.cli.main import main

__all__ = ["DEFAULT_WAREHOUSE", "Neurothek", "NeurothekError", "__version__", "main", "open"]

_HOMES = {
    "DEFAULT_WAREHOUSE": "catalog.advice",
    "NeurothekError": "catalog.problems",
    "main": "cli.main",
    **dict.fromkeys(("Neurothek", "__version__", "open"), "api.warehouse"),
}


if not TYPE_CHECKING:  # a checker would take any name for one of these

    def __getattr__(name: str) -> object:
        """Import what is asked for: a child process that needs one module of the package need not load all."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
