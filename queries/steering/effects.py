"""The answer of `intervene`: what each intervention did to the loss, and where, never without its random sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from queries.ask.answer import Section, TabularAnswer, with_its_sql
from queries.views.of_models import rows_of_models

_EFFECT = ("effect", "random_effect", "random_effect_least", "random_effect_most", "percentile")
_HEADINGS: Mapping[str, str] = {
    "n_neurons": "neurons",
    "random_effect": "random mean",
    "random_effect_least": "random least",
    "random_effect_most": "random most",
}


@dataclass(frozen=True, repr=False)
class Effects(TabularAnswer):
    """What interventions on one model did.

    Attributes:
        model: its name.
        interventions: one row an intervention, with the columns of the view `interventions`.
        steering: where each matters, with the columns of the view `steering`.
        names: the interventions that were asked for; the frames have these alone.
    """

    model: str
    interventions: pl.DataFrame
    steering: pl.DataFrame
    names: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What is said above the tables."""
        if self.interventions.is_empty():
            return f"{self.model}: these interventions were measured on a corpus that is not its shown one"
        first = self.interventions.row(0, named=True)
        return (
            f"{self.model} on {first['n_tokens']:,} tokens of {first['corpus']}: with no neuron changed its loss is"
            f" {first['loss_untouched']:.4f} nats a token, a perplexity of {first['perplexity_untouched']:.2f}"
        )

    def sections(self) -> list[Section]:
        """Its tables with their titles."""
        effects = self.interventions.select("intervention", "n_neurons", *_EFFECT, "kl", "perplexity").rename(_HEADINGS)
        by_domain = self.by_domain()
        return [
            Section("what changing the neurons adds to the loss", effects, _REMARK),
            Section("the same by domain", by_domain),
        ]

    def by_domain(self) -> pl.DataFrame:
        """The effect in every domain, over all positions: one row an intervention and domain."""
        weight = pl.col("n_tokens")
        means = [
            ((pl.col(name) * weight).sum() / weight.sum()).alias(name) for name in ("effect", "random_effect", "kl")
        ]
        grouped = self.steering.group_by("intervention", "domain", maintain_order=True)
        return grouped.agg(*means, weight.sum().alias("tokens")).rename({"random_effect": "random mean"})

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "interventions": self.interventions.to_dicts(),
            "steering": self.steering.to_dicts(),
        }


_REMARK = (
    "random: the effects of random sets of as many neurons, matched by layer and frequency;\n"
    "percentile: percent of these sets whose effect is smaller: near 50 the neurons are as good as any"
)


@with_its_sql
def effects_of(connection: duckdb.DuckDBPyConnection, model: str, names: Sequence[str]) -> Effects:
    """What some interventions on a model did, in the order of their names as given."""
    in_order = pl.DataFrame({"intervention": list(names)}, schema={"intervention": pl.String})
    interventions = rows_of_models(connection, "interventions", [model])
    steering = rows_of_models(connection, "steering", [model], "domain", "position_from")
    return Effects(
        model,
        in_order.join(interventions, on="intervention", maintain_order="left"),
        in_order.join(steering, on="intervention", maintain_order="left"),
        tuple(names),
    )
