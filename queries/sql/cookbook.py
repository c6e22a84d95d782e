"""The cookbook's questions, each in words and answered by one query, asked of whichever models are there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

_CHAPTER = re.compile(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^### (\d+)\. ([^\n]+)\n(?:(?!^###).)*?^```sql\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RELATION = re.compile(r"\b(?:from|join)\s+([a-z_]+)")
_SMALLER, _LARGER = "tiny-1m", "tiny-2m"
"""Models that the document's queries name."""


@dataclass(frozen=True)
class Recipe:
    """A question of the cookbook."""

    number: int  # its number there
    chapter: str  # title of the chapter it stands in
    words: str  # the question
    query: str  # the query that answers it

    @property
    def relations(self) -> list[str]:
        """What the query reads from, in order: views, and what it names itself."""
        return _RELATION.findall(self.query)

    def about(self, models: Sequence[str]) -> str:
        """The query, asked of the smallest and the largest of some models instead of the document's.

        Args:
            models: names of models, smallest first; none leaves the query as it is.
        """
        names = {_SMALLER: models[0], _LARGER: models[-1]} if models else {}
        return re.sub(f"{_SMALLER}|{_LARGER}", lambda match: names.get(match[0], match[0]), self.query)


@cache
def questions() -> tuple[Recipe, ...]:
    """All questions, in their order."""
    return tuple(
        Recipe(int(number), chapter, words, query.strip())
        for chapter, text in _CHAPTER.findall(_text())
        for number, words, query in _QUESTION.findall(text)
    )


def _text() -> str:
    """The document: it lies beside this file once installed, and among the other documents in a checkout."""
    installed = resources.files("neurothek.queries.sql").joinpath("cookbook.md")
    document = installed if installed.is_file() else Path(__file__).resolve().parents[2] / "docs" / "cookbook.md"
    return document.read_text("utf-8")
