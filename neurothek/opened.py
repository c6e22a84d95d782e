"""A warehouse by its path, with a connection leased for each answer; a call that cannot be meant is refused at once."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neurothek.catalog.arguments import WrongCall, plain, require
from neurothek.catalog.files import expanded
from neurothek.catalog.problems import NeurothekError, Unavailable

if TYPE_CHECKING:
    import duckdb

    from neurothek.catalog.store.warehouse import Warehouse
    from neurothek.queries.names.models import KnownModel
    from neurothek.queries.search.by_score import AtHand

MOST_BYTES = 2**29
"""Of weights that one answer reads unless it is asked to: half a second of a disk's cache."""

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _wrong_call(method: Callable[..., Any], problem: str) -> WrongCall:
    """Arguments that a method has not, or that it lacks."""
    signature = inspect.signature(method)
    parameters = [str(one.replace(annotation=one.empty)) for one in signature.parameters.values() if one.name != "self"]
    hint = f"call it as {method.__name__}({', '.join(parameters)})"
    return WrongCall(f"{method.__name__}: {problem}", hint, option=method.__name__)


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
            raise _wrong_call(method, str(error)) from None
        for name, value in bound.arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is parameter.VAR_KEYWORD or isinstance(parameter.annotation, str) or name == "self":
                continue
            for one in value if parameter.kind is parameter.VAR_POSITIONAL else (value,):
                require(parameter.annotation, **{name: one})
            bound.arguments[name] = plain(value)
        return method(*bound.args, **bound.kwargs)

    return call


@dataclass(frozen=True, repr=False)
class Opened:
    """A warehouse; it holds a path, and no connection between calls.

    Attributes:
        path: the DuckDB file.
    """

    path: Path

    def __post_init__(self) -> None:
        """A path may be given as text."""
        object.__setattr__(self, "path", expanded(self.path))

    @property
    def warehouse(self) -> "Warehouse":
        """The door to the file, with this release's views."""
        from neurothek.catalog.store.warehouse import Warehouse
        from neurothek.queries.views import install as installer

        return Warehouse(self.path, views=installer)

    @contextmanager
    def reader(self) -> "Iterator[duckdb.DuckDBPyConnection]":
        """Lease a locked read-only connection for one answer.

        Raises:
            Unavailable: there is no file.
            Unreadable: it cannot be read as a warehouse.
            Busy: others hold it.
        """
        with self.warehouse.current_reader() as connection:
            yield connection

    def _weights_at_hand(self, models: "Sequence[KnownModel]") -> "AtHand":
        """The weights of models that answer within a second: on this machine, seen before, and small together."""
        from neurothek.ingest.models.mapped_weights import map_measured
        from neurothek.queries.search.by_score import AtHand

        mapped, why_not, n_bytes = {}, {}, 0
        for model in models:
            try:
                opened_weights = map_measured(model)
            except NeurothekError as error:
                if isinstance(error, Unavailable) and error.what == "weights":
                    why_not[model.name] = error.why
                else:
                    why_not[model.name] = str(error)
            else:
                n_bytes += opened_weights.n_bytes
                if n_bytes <= MOST_BYTES:
                    mapped[model.model_id] = opened_weights
                else:
                    why_not[model.name] = f"{n_bytes >> 20:,} MiB to read, more than {MOST_BYTES >> 20:,}"
        return AtHand(mapped, why_not)

    def __repr__(self) -> str:
        """Its path, and whether there is a file yet."""
        missing = "" if self.path.exists() else ", which does not exist yet: ingest creates it"
        return f"{type(self).__name__}({str(self.path)!r}){missing}"

    def _repr_html_(self) -> str:
        """Its path, and the models that it holds; what keeps it from being read, if anything does."""
        from neurothek.queries.ask.answer import Section, html_page
        from neurothek.queries.views.contents import models_frame

        if not self.path.exists():
            return html_page((), (), head=repr(self))
        try:
            with self.reader() as connection:
                models = Section("models", models_frame(connection), "there are no models in it yet")
        except NeurothekError as error:
            return html_page((), (str(error),), head=repr(self))
        return html_page((models,), (), head=repr(self))
