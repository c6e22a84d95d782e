"""What a page reads: views as they are shown, or as they are on the corpus that a person chose."""

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

import duckdb

from neurothek.queries.views.on_corpus import on_corpus


class Reading:
    """A page's lease and the corpus that its views tell of: a context, at whose end nothing is left open.

    What it takes to show another corpus is done when a question is first asked of it: most answers are kept.

    Attributes:
        shown_connection: the page's lease, whose views tell of each model's shown corpus.
        models: names of the models that the page is about.
        corpus: name of the corpus; None: each model's shown one.
    """

    def __init__(self, shown_connection: duckdb.DuckDBPyConnection, models: Sequence[str], corpus: str | None) -> None:
        """Nothing is asked yet."""
        self.shown_connection = shown_connection
        self.models = tuple(models)
        self.corpus = corpus
        self._lease = ExitStack()
        self._corpus_connection: duckdb.DuckDBPyConnection | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells its answers from those about other corpora."""
        return () if self.corpus is None else (self.corpus, self.models)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """Where its questions are asked."""
        if self._corpus_connection is None:
            self._corpus_connection = self._lease.enter_context(
                on_corpus(self.shown_connection, self.models, self.corpus)
            )
        return self._corpus_connection

    def __enter__(self) -> Self:
        """Nothing is asked yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give back what was leased."""
        self._lease.close()


Reader = duckdb.DuckDBPyConnection | Reading
"""What statements of pages are asked of."""
