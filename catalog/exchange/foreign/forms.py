"""A foreign catalog as it is handed on, whatever form its files have."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from neurothek.catalog.exchange.foreign.stranger import Strange


@dataclass(frozen=True)
class About:
    """What a catalog says of itself; what it does not say is None."""

    their_model: str | None = None
    version: str | None = None
    method: str | None = None
    n_tokens: int | None = None
    active_when: str | None = None
    positions: str | None = None
    n_layers: int | None = None
    width: int | None = None  # neurons of a layer


@dataclass(frozen=True)
class ForeignNeuron:
    """What a catalog says of one neuron."""

    where: str  # the file and line
    layer: int
    neuron: int
    frequency: float | None = None
    max_activation: float | None = None
    promoted: tuple[str, ...] = ()
    suppressed: tuple[str, ...] = ()


@dataclass(frozen=True)
class ForeignExplanation:
    """What it says in words of one."""

    where: str
    layer: int
    neuron: int
    text: str
    explainer: str | None = None
    method: str | None = None
    score: float | None = None
    score_name: str | None = None


@dataclass(frozen=True)
class Form:
    """How the catalogs of one kind are read."""

    about: Callable[[Strange], About]
    records: Callable[[Strange, About], Iterator[ForeignNeuron | ForeignExplanation]]
