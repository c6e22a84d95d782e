"""What the sizes of a family show, in a sentence, and what it rests on."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.variants import variant_of_sizes
from neurothek.queries.compare.comparability import MeasurementSetup, why_not_comparable
from neurothek.queries.compare.other_sizes import other_size
from neurothek.queries.compare.trends import HEADLINES, MEASURES, Direction, Measure, Number, Trend, direction_of

ConclusionKind = Literal["trend", "one size", "not comparable", "no size", "not measured"]

UNMEASURED = "its activity was not measured"

_UNITS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


@dataclass(frozen=True)
class Conclusion:
    """What the models of one family show."""

    family: str  # its name
    kind: ConclusionKind  # whether there is a trend with size to tell of, or why not
    models: tuple[str, ...]  # the plain sizes that are told of, smallest first
    trends: tuple[Trend, ...]  # their numbers, in the order of `MEASURES`; those that no model has are left out
    # models of the family that are not told of, each with the reason; where its sizes cannot be compared, these alone,
    # with the one that the others differ from
    left_out: Mapping[str, str]
    names: Mapping[str, str]  # how sentences call the models
    sizes: tuple[int, ...]  # parameters of each of the models, without embeddings
    tokens_seen: tuple[int, ...]  # counted positions behind the numbers of each of the models
    # training tokens over all parameters of each of the models; None where unknown
    tokens_per_parameter: tuple[float | None, ...]
    corpora: tuple[str, ...]  # names of the texts
    variant: str | None = None  # the quantization of all of them; None for plain sizes

    @property
    def headlines(self) -> list[Trend]:
        """The numbers that the sentence tells of."""
        return [trend for trend in self.trends if trend.measure in HEADLINES]

    @property
    def sentence(self) -> str:
        """What the sizes show; where they show nothing, why."""
        match self.kind:
            case "trend" | "one size" if not self.headlines:
                return f"The activation frequency of the neurons of {_together(self.models)} is unknown."
            case "trend":
                first, last = self.names[self.models[0]], self.names[self.models[-1]]
                return f"From {first} to {last}, {_together(map(self._clause, self.headlines))}."
            case "one size":
                numbers = _together(trend.clause for trend in self.headlines)
                advice = _advice(self.models[0], self.variant)
                return f"{self.models[0]} has {numbers}. One size shows no trend{advice}."
            case "not comparable":
                return f"The sizes of {self.family} are not comparable, so no trend is given: {self._reasons()}."
            case "no size":
                return f"No plain size of {self.family} is among these models, so no trend is given: {self._reasons()}."
        unmeasured = [model for model, why in self.left_out.items() if why == UNMEASURED]
        return f"The activity of {_together(unmeasured)} was not measured."

    @property
    def rests_on(self) -> list[str]:
        """What the sentence rests on, a sentence each: the text, their training, what the sizes count."""
        if not self.models:
            return []
        training = [training_sentence(self.tokens_per_parameter)] if self.kind == "trend" else []
        return [self._text(), *training, self._parameters()]

    @property
    def omission(self) -> str:
        """Which models it does not tell of, and why; nothing where it tells of all."""
        return f"Left out: {self._reasons()}." if self.models and self.left_out else ""

    def trend(self, measure: Measure) -> Trend | None:
        """The numbers of a measure; None where no model has it."""
        return next((trend for trend in self.trends if trend.measure == measure), None)

    def _clause(self, trend: Trend) -> str:
        if trend.models == self.models:
            return trend.clause
        return f"{trend.clause} ({_together(self.names[model] for model in trend.models)})"

    def _reasons(self) -> str:
        return "; ".join(f"{model} ({why})" for model, why in self.left_out.items())

    def _text(self) -> str:
        low, high = min(self.tokens_seen), max(self.tokens_seen)
        who = "It" if len(self.models) == 1 else "Each" if low == high else "They"
        tokens = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        return f"{who} saw {tokens} tokens of {_together(tuple(map(spoken_corpus, self.corpora)))}."

    def _parameters(self) -> str:
        sizes = zip(self.models, self.sizes, strict=True)
        counts = ", ".join(f"{self.names[model]} has {short(size)}" for model, size in sizes)
        return f"Without embeddings, {counts} parameters{f', as {self.variant}' if self.variant else ''}."


def training_sentence(tokens_per_parameter: Sequence[float | None]) -> str:
    """How far models of several sizes were trained: whether size is the only difference between them.

    Args:
        tokens_per_parameter: training tokens over all parameters, the smallest model first; None where unknown.
    """
    ratios = [number for number in tokens_per_parameter if number is not None]
    if len(ratios) < len(tokens_per_parameter):
        return "The number of training tokens is unknown for some, so size may not be the only difference."
    way: Direction = direction_of([Number(number) for number in ratios])
    if way in ("rises", "falls"):
        moves = {"rises": "rise", "falls": "fall"}[way]
        ends = f"from {_per_parameter(ratios[0])} to {_per_parameter(ratios[-1])}"
        return f"Training tokens per parameter {moves} {ends}, so size is not the only difference."
    least, largest = _per_parameter(min(ratios)), _per_parameter(max(ratios))
    if way == "stays flat":
        return f"Training tokens per parameter are about the same ({least} to {largest})."
    return f"Training tokens per parameter lie between {least} and {largest}, so size is not the only difference."


def _advice(model: str, variant: str | None) -> str:
    other = other_size(model)
    alike = "" if variant is None else f", in the same quantization ({variant})"
    return "" if other is None else f": measure another of its family, such as {other}{alike}"


_MANY = 100
"""Training tokens per parameter from here on go without decimals."""


def conclude(models: pl.DataFrame) -> tuple[Conclusion, ...]:
    """What the sizes of each family show, the family of the smallest model first.

    Whether sizes may be compared is judged among those of their family.

    Args:
        models: rows with the columns of the view `scaling`, smallest first.
    """
    rows = models.to_dicts()
    families = list(dict.fromkeys(row["family"] for row in rows))
    is_one = len(families) == 1
    return tuple(_of_family(family, [row for row in rows if row["family"] == family], is_one) for family in families)


def short(number: float) -> str:
    """A number of parameters or tokens with two or three digits: 0.15M, 793K, 2.7M, 125M."""
    for size, unit in _UNITS:
        if number >= size:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 10 else f"{scaled:.0f}{unit}"
    return f"{number:.0f}"


def _of_family(family: str, rows: Sequence[Mapping[str, Any]], is_one: bool) -> Conclusion:
    variant = variant_of_sizes(row["variant"] for row in rows)
    plain = [row for row in rows if row["variant"] == variant]
    measured = [row for row in plain if row["n_tokens_seen"] is not None and row["dtype"] is not None]
    why_not = why_not_comparable([_setup(row) for row in measured])
    sizes = [row for row in measured if why_not[row["model"]] is None]
    kind = _kind(plain, measured, sizes)
    sizes_there = sizes if kind in ("trend", "one size") else []
    reasons = {row["model"]: _why_left_out(row, variant, why_not) for row in rows if row not in sizes_there}
    if kind == "not comparable":
        reasons = {row["model"]: why_not[row["model"]] or "the reference" for row in measured}
    trends = [_trend(measure, sizes_there) for measure in MEASURES]
    return Conclusion(
        family=family,
        kind=kind,
        models=tuple(row["model"] for row in sizes_there),
        trends=tuple(trend for trend in trends if trend is not None),
        left_out=reasons,
        names={row["model"]: _name(row["model"], family) if is_one else row["model"] for row in rows},
        sizes=tuple(row["size"] for row in sizes_there),
        tokens_seen=tuple(row["n_tokens_seen"] for row in sizes_there),
        tokens_per_parameter=tuple(row["tokens_per_parameter"] for row in sizes_there),
        corpora=tuple(dict.fromkeys(row["corpus"] for row in sizes_there)),
        variant=variant,
    )


def _kind(
    plain: Sequence[Mapping[str, Any]], measured: Sequence[Mapping[str, Any]], sizes: Sequence[Mapping[str, Any]]
) -> ConclusionKind:
    if not plain:
        return "no size"
    if not measured:
        return "not measured"
    if len(sizes) > 1:
        return "trend"
    return "one size" if len(measured) == 1 else "not comparable"


def _why_left_out(row: Mapping[str, Any], variant: str | None, why_not: Mapping[str, str | None]) -> str:
    if row["variant"] != variant:
        return f"a variant: {row['variant']}"
    return why_not.get(row["model"]) or UNMEASURED


def _setup(row: Mapping[str, Any]) -> MeasurementSetup:
    names = ("model", "family", "size", "variant", "corpus", "text_sha256", "sequence_length", "activation_rule")
    return MeasurementSetup(
        **{name: row[name] for name in (*names, "counting_rule", "dtype")}, n_tokens=row["n_tokens_seen"]
    )


def _trend(measure: Measure, rows: Iterable[Mapping[str, Any]]) -> Trend | None:
    having = [(row, value) for row in rows if (value := measure.of(row)) is not None]
    numbers = [
        Number(value, None if measure.counts is None else (row[measure.counts[0]], row[measure.counts[1]]))
        for row, value in having
    ]
    return Trend(measure, tuple(row["model"] for row, _ in having), tuple(numbers)) if having else None


def _name(model: str, family: str) -> str:
    """A model's name without the family's, where it begins with that."""
    return model.removeprefix(f"{family}-") or model


def _per_parameter(number: float) -> str:
    return f"{number:,.1f}" if number < _MANY else f"{number:,.0f}"


def _together(words: Iterable[str]) -> str:
    """Words in a row: a, b and c."""
    *first, last = list(words)
    return f"{', '.join(first)} and {last}" if first else last
