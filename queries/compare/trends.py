"""Which way a number of whole models goes from the smallest to the largest, and how that is said."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from neurothek.catalog.terminal.cells import percent
from neurothek.queries.rules.chance import wilson

Direction = Literal["rises", "falls", "stays flat", "goes up and down", "shows no clear trend"]

LEAST_CHANGE = 0.05
"""Two numbers that differ by no more than this share of the larger one are called the same [ours]."""

RULE = (
    "A number rises where it is higher at the largest size than at the smallest, and at no size lower than at the one "
    "before; it falls in the same way. Two numbers count as different where they differ by more than "
    f"{LEAST_CHANGE:.0%} of the larger one, and shares of neurons only if the 95% interval of their difference "
    f"(Newcombe) leaves out 0. A number stays flat where all sizes are within {LEAST_CHANGE:.0%}."
)

_MOST_DIGITS = 6


@dataclass(frozen=True)
class Measure:
    """A number of a whole model, a part of 1: a column of the view `scaling`."""

    column: str  # its name
    title: str  # what it is, in a word or two
    subject: str  # what a sentence says it of
    is_plural: bool  # whether the subject is
    of_one: str  # how it is said of one model, around the number
    # columns of how many neurons have a property, and of how many; None if it is no share of neurons
    counts: tuple[str, str] | None
    jobs: tuple[str, ...]  # what has to be measured
    # whether it says something of models with exact zeros alone (True), or of those without (False); None: of both
    has_zeros: bool | None = None

    def of(self, row: Mapping[str, Any]) -> float | None:
        """The number of a row of `scaling`; None where it was not measured or says nothing of such a model."""
        # Where no coefficient is exactly 0 half of them are "active", and none is dead.
        if self.has_zeros is not None and self.has_zeros is (row["n_dead"] is None):
            return None
        value: float | None = row[self.column]
        return value


HEADLINES = (
    Measure(
        "dead_share", "Dead neurons", "dead neurons", True, "{} dead neurons", ("n_dead", "n_neurons"), ("activity",)
    ),
    Measure(
        "negligible_share",
        "Negligible neurons",
        "negligible neurons",
        True,
        "{} negligible neurons",
        ("n_negligible", "n_neurons"),
        ("poles",),
        has_zeros=False,
    ),
    Measure(
        "median_frequency",
        "Median frequency",
        "the median frequency",
        False,
        "a median frequency of {}",
        None,
        ("activity",),
        has_zeros=True,
    ),
    Measure(
        "median_effective_frequency",
        "Effective frequency",
        "the median effective frequency",
        False,
        "a median effective frequency of {}",
        None,
        ("activity",),
        has_zeros=False,
    ),
)
"""What is told of models first."""

MEASURES = (
    *HEADLINES,
    Measure(
        "token_detector_share",
        "Token detectors",
        "token detectors",
        True,
        "{} token detectors",
        ("n_token_detectors", "n_neurons"),
        ("activity", "ngrams"),
    ),
    Measure(
        "positional_share",
        "Positional neurons",
        "positional neurons",
        True,
        "{} positional neurons",
        ("n_positional", "n_neurons"),
        ("positions",),
    ),
    Measure(
        "mean_saturation_depth",
        "Settling depth",
        "the depth at which predictions settle",
        False,
        "predictions that settle at {} of the depth",
        None,
        ("events",),
    ),
    Measure(
        "effective_share",
        "Neurons of an update",
        "the share of its neurons that makes up a layer's update",
        False,
        "updates made up by {} of the layer's neurons",
        None,
        ("events",),
    ),
)
"""What may be drawn against size, the most telling first."""


@dataclass(frozen=True)
class Number:
    """A number of one model, and how many neurons are behind it where it is a share of them."""

    value: float
    counts: tuple[int, int] | None = None


@dataclass(frozen=True)
class Trend:
    """A number of the sizes of a family."""

    measure: Measure  # what it is
    models: tuple[str, ...]  # those of the sizes that have it, smallest first; one at least
    numbers: tuple[Number, ...]  # theirs

    @property
    def values(self) -> list[float]:
        """The numbers alone."""
        return [number.value for number in self.numbers]

    @property
    def direction(self) -> Direction | None:
        """Which way it goes; None of a single model."""
        return direction_of(self.numbers) if len(self.numbers) > 1 else None

    @property
    def is_sparse(self) -> bool:
        """Whether there is next to nothing to draw: all are 0, or no model has more than one such neuron."""
        counts = [number.counts for number in self.numbers]
        return not any(self.values) or all(one is not None and one[0] <= 1 for one in counts)

    @property
    def clause(self) -> str:
        """What is said of it."""
        of, plural = self.measure.subject, self.measure.is_plural
        shares = percentages(self.values)
        first, last = shares[0], shares[-1]
        match self.direction:
            case "rises" | "falls" as way:
                return f"{of} {way.removesuffix('s') if plural else way} from {first} to {last}"
            case "stays flat":
                low, high = percentages([min(self.values), max(self.values)])
                stays = "stay" if plural else "stays"
                return f"{of} {stays} at {low}" if low == high else f"{of} {stays} flat ({low} to {high})"
            case "goes up and down":
                return f"{of} {'go' if plural else 'goes'} up and down ({', '.join(shares)})"
            case "shows no clear trend":
                return f"{of} {'show' if plural else 'shows'} no clear trend ({', '.join(shares)})"
        return self.measure.of_one.format(first)


def direction_of(numbers: Sequence[Number]) -> Direction:
    """Which way two numbers or more go: see `RULE`."""
    steps = {step(one, other) for one, other in pairwise(numbers)}
    ends = step(numbers[0], numbers[-1])
    if {1, -1} <= steps:
        return "goes up and down"
    values = [number.value for number in numbers]
    if is_same(min(values), max(values)):
        return "stays flat"
    if ends == 1 and -1 not in steps:
        return "rises"
    if ends == -1 and 1 not in steps:
        return "falls"
    return "shows no clear trend"


def step(one: Number, other: Number) -> Literal[-1, 0, 1]:
    """Whether the other number is higher (1), lower (-1), or counts as the same (0)."""
    if is_same(one.value, other.value):
        return 0
    if one.counts is not None and other.counts is not None:
        low, high = difference_interval(other.counts, one.counts)
        if low <= 0 <= high:
            return 0
    return 1 if other.value > one.value else -1


def is_same(one: float, other: float) -> bool:
    """Whether two numbers differ by no more than `LEAST_CHANGE`."""
    return abs(one - other) <= LEAST_CHANGE * max(abs(one), abs(other))


def difference_interval(first: tuple[int, int], second: tuple[int, int]) -> tuple[float, float]:
    """95% interval of the first share minus the second, each a count and of how many [Newcombe 1998, method 10]."""
    (one, one_low, one_high), (other, other_low, other_high) = wilson(*first), wilson(*second)
    difference = one - other
    return (
        difference - math.hypot(one - one_low, other_high - other),
        difference + math.hypot(one_high - one, other - other_low),
    )


def percentages(values: Sequence[float]) -> list[str]:
    """Parts of 1 in per cent, with two digits, or as many as tell apart those that are not called the same."""
    different = {
        (one, other)
        for one in values
        for other in values
        if abs(one - other) > LEAST_CHANGE * max(abs(one), abs(other))
    }
    digits = 2
    while digits < _MOST_DIGITS and any(percent(one, digits) == percent(other, digits) for one, other in different):
        digits += 1
    return [percent(value, digits) for value in values]
