"""Every error that a question can cause, each one sentence: what was asked, what was found, what to do."""

from collections.abc import Sequence

from catalog.errors import NeurothekError
from queries.suggestions import hint, listed


class UnknownView(NeurothekError):
    """No view has the name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"there is no view {name}; {hint(name, known)}")
