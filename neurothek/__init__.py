"""A warehouse of language-model neurons: `open` one and ask; `main` is the command line."""

from catalog.advice import DEFAULT_WAREHOUSE
from catalog.errors import NeurothekError
from neurothek.command_line import main
from neurothek.front_door import Neurothek, __version__, open  # noqa: A004 - neurothek.open reads as what it does

__all__ = ["DEFAULT_WAREHOUSE", "Neurothek", "NeurothekError", "__version__", "main", "open"]
