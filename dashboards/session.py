"""The interface that pages call, set by whoever opens the dashboard: nothing here knows `neurothek.api`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from neurothek.catalog.advice import command_line
from neurothek.catalog.store.warehouse import Warehouse

if TYPE_CHECKING:
    from neurothek.catalog.hub.addresses import Address
    from neurothek.catalog.tables.traces import RaisingOrder
    from neurothek.queries.search.by_likeness import AlikeResult
    from neurothek.queries.search.by_reading import ReadingResult
    from neurothek.queries.search.by_score import ScoredResult
    from neurothek.queries.search.by_trigger import TriggeredResult
    from neurothek.queries.search.by_word import SearchResult
    from neurothek.queries.search.question import Question
    from neurothek.queries.trace.attribution import AttributionPage
    from neurothek.queries.trace.grid import AlongPage, GridPage
    from neurothek.queries.trace.switch import SwitchPage, TogetherPage
    from neurothek.queries.trace.trace import Lens, TracePage


class Backend(Protocol):
    """A warehouse, and the answers about it for which a model has to run."""

    @property
    def path(self) -> Path:
        """Where the warehouse lies."""

    @property
    def address(self) -> Address | None:
        """Of a published catalog, where it is; None of a file."""

    @property
    def warehouse(self) -> Warehouse:
        """The file."""

    def answer(
        self, question: Question, *, like: str | None = None
    ) -> SearchResult | TriggeredResult | ReadingResult | AlikeResult:
        """A search, as the command answers it."""

    def score(self, question: Question) -> ScoredResult:
        """Exact scores of one word."""

    def trace(
        self,
        model: str,
        prompt: str,
        *,
        position: int | None = None,
        token: str | None = None,
        lens: Lens = "id",
        raising: int = 10,
        sort: RaisingOrder = "centred",
        effects: bool = False,
        corpus: str | None = None,
    ) -> TracePage:
        """How a model builds its prediction at one position of a prompt."""

    def attribute(
        self,
        model: str,
        prompt: str,
        *,
        toward: str | None = None,
        instead: str | None = None,
        position: int | None = None,
        top: int = 10,
        ablate: bool = False,
        corpus: str | None = None,
    ) -> AttributionPage:
        """The neurons of all layers by their effect on the logit of one token less that of another."""

    def trace_grid(
        self,
        model: str,
        prompt: str,
        *,
        dominant: int = 0,
        most: int | None = 64,
        neuron: str | None = None,
        set: float = 0.0,  # noqa: A002 - as Python callers name it
        lens: Lens = "id",
        corpus: str | None = None,
    ) -> GridPage:
        """What a model predicts after each layer at each of the last positions of a prompt."""

    def activations(self, neuron: str, prompt: str) -> AlongPage:
        """One neuron's activation on each token of a prompt."""

    def switch(
        self,
        model: str,
        prompt: str,
        neuron: str,
        *,
        set: float = 0.0,  # noqa: A002 - as Python callers name it
        position: int | None = None,
        continuation: int = 0,
    ) -> SwitchPage:
        """What the next tokens become when one neuron is set to a value, and when random ones are."""

    def switch_together(
        self,
        model: str,
        prompt: str,
        *neurons: str,
        set: float = 0.0,  # noqa: A002 - as Python callers name it
        position: int | None = None,
        continuation: int = 0,
    ) -> TogetherPage:
        """The same when several neurons are set to a value, each alone and all together."""


_BACKENDS: list[Backend] = []


def set_backend(backend: Backend) -> None:
    """Have all pages of this process call the backend; called before the first page is opened."""
    _BACKENDS[:] = [backend]


def backend() -> Backend:
    """The backend that was set."""
    if not _BACKENDS:
        raise RuntimeError(f"no warehouse was set for the dashboard: open it with `{command_line('dashboard')}`")
    return _BACKENDS[0]
