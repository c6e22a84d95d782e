"""Findings of judging a claim: its outcome, and the numbers in words."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from neurothek.queries.papers.intervals import Interval, Verdict, over, pooled, share

Outcome = Literal[
    "holds",
    "does not hold",
    "undecided",
    "needs more text",
    "needs larger models",
    "needs another model",
    "does not apply",
    "not measured",
]
"""Outcomes.

holds, does not hold: the numbers say so. undecided: they were measured, and say neither.
needs more text: these models were read too little text to be asked; the numbers say how much it takes.
needs larger models: the text suffices, and the models have too few of what the claim is about, or are smaller than
those that it is about.
needs another model: the claim is held against a model that is not there: a second size, a variant, an untrained model
of the same shape.
does not apply: these models are of another kind than those that the claim is about: their neurons are never exactly 0,
they have no final norm or a single layer.
not measured: a job has not been run, or nobody has judged; the numbers name the command.
"""

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""All of them, in this order."""

LEAST_OBJECTS = 10
"""Of fewer detectors or positional neurons nothing is said: larger models are needed, or more text [ours]."""


class NotApplicable(Exception):
    """These models cannot be asked: the reason says what they lack, the outcome what that makes of a claim."""

    def __init__(self, reason: str, outcome: Outcome = "not measured") -> None:
        super().__init__(reason)
        self.outcome = outcome


@dataclass(frozen=True)
class Finding:
    """What judging a claim on a family finds."""

    outcome: Outcome  # whether it holds there
    numbers: str  # what was found, with intervals; why it was not judged, where it was not
    n: int | None = None  # observations behind an open verdict; None where the verdict is not open

    @property
    def verdict(self) -> str:
        """The outcome; where it is open, on how much."""
        return self.outcome if self.n is None else f"{self.outcome}, n = {self.n:,}"


def decided(verdict: Verdict, n: int, numbers: str) -> Finding:
    """A verdict with what it rests on."""
    return Finding(verdict, numbers, n if verdict == "undecided" else None)


def if_enough(n_objects: int, verdict: Verdict, numbers: str) -> Finding:
    """A verdict, unless there is too little to judge."""
    if n_objects < LEAST_OBJECTS:
        return Finding("needs larger models", numbers)
    return decided(verdict, n_objects, numbers)


def in_all(
    parts: Sequence[Interval],
    numbers: str,
    *,
    show: Callable[[Interval], str],
    whole: Interval | None = None,
    n: int | None = None,
) -> Finding:
    """A claim that a quantity is above 0 at every one of several places: sizes, layers or states.

    It holds where no part lies against it, more than half of them lie in its favour, and so does the whole; it does not
    hold where a part or the whole lies against it [ours]. That every part must be decided would leave open what 23 of
    24 states say with none against it.

    Args:
        parts: what was found at each place.
        numbers: the same in words.
        show: writes the whole.
        whole: over all places; None: the parts pooled as independent ones. Parts that rest on the same observations
            need their own.
        n: observations behind all of it; None: the sum over the parts.
    """
    n = sum(one.n for one in parts) if n is None else n
    if len(parts) < 2:
        return decided(parts[0].is_positive if parts else "undecided", n, numbers)
    together = pooled(parts) if whole is None else whole
    in_favour, against = (sum(one.is_positive == verdict for one in parts) for verdict in ("holds", "does not hold"))
    counts = f"{in_favour} of {len(parts)} in favour, {against or 'none'} against, together {show(together)}"
    verdict: Verdict = "undecided"
    if against or together.is_positive == "does not hold":
        verdict = "does not hold"
    elif 2 * in_favour > len(parts):
        verdict = together.is_positive
    return decided(verdict, n, f"{numbers}; {counts}")


def above_half(count: tuple[int, int]) -> Interval:
    """How far a share lies above one half."""
    return over(share(*count), 0.5)


def of_half(count: tuple[int, int]) -> str:
    """A count and its share in words, for a claim that it is more than one half."""
    return f"{count[0]:,} of {count[1]:,}, {beside_half(above_half(count))}"


def beside_half(interval: Interval) -> str:
    """How far a share lies above one half, as that share beside the half."""
    # What adds up to 0 but for rounding has no sign.
    value, low, high = (round(end + 0.5, 9) + 0.0 for end in (interval.value, interval.low, interval.high))
    whole = Interval(value, low, high, interval.n)
    return f"{points(whole)}, half is 50%"


def points(interval: Interval) -> str:
    """A share and its interval in per cent; of nothing there is none."""
    if math.isnan(interval.value):
        return "no share"
    return f"{100 * interval.value:.2f}% [{100 * interval.low:.2f}, {100 * interval.high:.2f}]"


def difference(interval: Interval) -> str:
    """A difference of shares and its interval, in percentage points; with a share of nothing there is none."""
    if math.isnan(interval.value):
        return "no shares to compare"
    return f"{100 * interval.value:+.2f} points [{100 * interval.low:+.2f}, {100 * interval.high:+.2f}]"


def in_favour(interval: Interval) -> str:
    """A difference that is turned so that what lies above 0 speaks for the claim, in percentage points."""
    return difference(interval).replace(" points", " points in favour")


def signed(interval: Interval) -> str:
    """A number and its interval, with their signs."""
    return f"{interval.value:+.3f} [{interval.low:+.3f}, {interval.high:+.3f}]"


def times(interval: Interval) -> str:
    """A ratio and its interval, of a difference of logarithms to base ten."""
    return f"{10**interval.value:.2f} times [{10**interval.low:.2f}, {10**interval.high:.2f}]"
