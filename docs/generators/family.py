"""The mini-OPT family as claims are asked of it: its neurons, what a claim is, and how numbers are said."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from docs.generators.intervals import Interval, Verdict, all_of, share
from neurothek import Neurothek

LEAST_OBJECTS = 10
"""Of fewer detectors or positional neurons nothing is said: larger models are needed [ours]."""

NEURONS = """
select
    neurons.model, neurons.variant, neurons.size, neurons.layer, models.n_layers, neurons.is_dead, neurons.frequency,
    neurons.n_active, neurons.unigrams_95, neurons.is_token_detector, neurons.position_kind, neurons.position_strength
from neurons
inner join models on models.model = neurons.model
where neurons.family = 'mini-opt' and neurons.n_tokens_seen is not null
order by neurons.size, neurons.model, neurons.layer, neurons.neuron
"""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, judged.

    Attributes:
        section: where the paper makes it; "ours" of what it does not claim.
        text: what it says, in our words.
        rule: what is asked for it to hold.
        numbers: what was found, with intervals.
        verdict: whether it holds on these models.
    """

    section: str
    text: str
    rule: str
    numbers: str
    verdict: str


def claims_table(claims: Iterable[Claim]) -> list[str]:
    """The lines of a table in Markdown, a claim a row."""
    lines = ["| section | claim | rule | found | verdict |", "|---|---|---|---|---|"]
    return lines + [
        f"| {one.section} | {one.text} | {one.rule} | {one.numbers} | **{one.verdict}** |" for one in claims
    ]


class Minis:
    """The neurons of the family, by model."""

    def __init__(self, warehouse: Neurothek) -> None:
        """Read them from a warehouse."""
        self.warehouse = warehouse
        self.neurons = warehouse.sql(NEURONS).with_columns(
            (2 * pl.col("layer") + 1 <= pl.col("n_layers")).alias("in_first_half"),
            (3 * pl.col("layer") < pl.col("n_layers")).alias("in_first_third"),
            (~pl.col("position_kind").is_in(["not positional", "too few sequences"])).alias("is_positional"),
        )
        models = self.neurons.select("model", "variant", "size").unique(maintain_order=True)
        self.sizes = models.filter(pl.col("variant").is_null()).get_column("model").to_list()
        self.seed = self._variant(models, "seed")
        self.no_position = self._variant(models, "no-position")
        steps = models.filter(pl.col("variant").str.starts_with("step"))
        order = steps.with_columns(pl.col("variant").str.extract(r"(\d+)").cast(pl.Int64).alias("step")).sort("step")
        self.steps = order.get_column("model").to_list()

    @staticmethod
    def _variant(models: pl.DataFrame, name: str) -> str:
        return str(models.filter(pl.col("variant").str.starts_with(name)).get_column("model")[0])

    @property
    def base(self) -> str:
        """The plain model of the size of the variants."""
        sizes = dict(self.neurons.select("model", "size").unique().iter_rows())
        return next(str(model) for model in self.sizes if sizes[model] == sizes[self.no_position])

    def of(self, model: str, *conditions: pl.Expr) -> pl.DataFrame:
        """Neurons of a model."""
        return self.neurons.filter(pl.col("model") == model, *conditions)

    def count(self, model: str, what: pl.Expr, *conditions: pl.Expr) -> tuple[int, int]:
        """How many of a model's neurons are so, and of how many."""
        own = self.of(model, *conditions).select(what.alias("is_so")).get_column("is_so")
        return int(own.sum()), own.len()


DEAD, FIRST_HALF, FIRST_THIRD = pl.col("is_dead"), pl.col("in_first_half"), pl.col("in_first_third")
POSITIONAL, DETECTOR = pl.col("is_positional"), pl.col("is_token_detector")
STRONG = POSITIONAL & (pl.col("position_strength") == "strong")
OSCILLATORY = pl.col("position_kind") == "oscillatory"
BOTH = pl.col("position_kind") == "both extremes"


def points(found: Interval) -> str:
    """A share and its interval in per cent."""
    return f"{100 * found.value:.2f}% [{100 * found.low:.2f}, {100 * found.high:.2f}]"


def difference(found: Interval) -> str:
    """A difference of shares and its interval, in percentage points."""
    return f"{100 * found.value:+.2f} points [{100 * found.low:+.2f}, {100 * found.high:+.2f}]"


def said(verdict: Verdict, n: int) -> str:
    """The verdict; where it is open, on how much."""
    return f"undecided, n = {n:,}" if verdict == "undecided" else verdict


def short(model: str) -> str:
    """A model's name without the family's."""
    return model.removeprefix("mini-opt-")


def by_steps(minis: Minis, step: Callable[[str, str], Interval], show: Callable[[Interval], str]) -> tuple[str, str]:
    """A quantity from each size to the next larger one: what was found, and the verdict."""
    found = {f"{short(small)} to {short(large)}": step(small, large) for small, large in pairwise(minis.sizes)}
    verdict = all_of([one.is_positive for one in found.values()])
    numbers = "; ".join(f"{name} {show(one)}" for name, one in found.items())
    return numbers, said(verdict, sum(one.n for one in found.values()))


def with_dead(minis: Minis) -> list[str]:
    """The sizes that have dead neurons."""
    return [model for model in minis.sizes if minis.count(model, DEAD)[0]]


def if_enough(n_objects: int, verdict: Verdict, n: int) -> str:
    """A verdict, unless there is too little to judge."""
    return "needs larger models" if n_objects < LEAST_OBJECTS else said(verdict, n)


def majority(counts: Sequence[tuple[int, int]]) -> str:
    """Whether a share is above one half in every one of several counts."""
    found = [share(*count) for count in counts]
    if all(one.low > 0.5 for one in found):
        return "holds"
    return "does not hold" if any(one.high < 0.5 for one in found) else said("undecided", sum(one.n for one in found))
