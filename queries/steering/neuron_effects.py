"""The answer of `intervene --one-by-one`: what each neuron is worth to the loss, beside random ones of its layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from queries.ask.answer import Section, TabularAnswer, with_its_sql
from queries.views.of_models import rows_of_models

_N_SHOWN = 20
_REMARK = (
    "random: the effects of random neurons of the layer that fire, itself left out;\n"
    "percentile: percent of these whose effect is smaller: near 50, the neuron matters no more than another"
)


@dataclass(frozen=True, repr=False)
class NeuronEffects(TabularAnswer):
    """What single neurons of a model are worth.

    Attributes:
        model: its name.
        neurons: one row a neuron that was asked for, with the columns of the view `neuron_effects`, the largest first.
    """

    model: str
    neurons: pl.DataFrame

    @property
    def summary(self) -> str:
        """What is said above the table."""
        if self.neurons.is_empty():
            return f"{self.model}: these neurons were turned off on a corpus that is not its shown one"
        first = self.neurons.row(0, named=True)
        return (
            f"{self.model}: {self.neurons.height:,} neurons, each turned off alone on {first['n_tokens']:,} tokens of"
            f" {first['corpus']}"
        )

    def sections(self) -> list[Section]:
        """The neurons with the largest effects."""
        shown = self.neurons.head(_N_SHOWN).select(
            pl.col("address").alias("neuron"),
            pl.col("effect_on_loss").alias("effect"),
            pl.col("effect_percentile").alias("percentile"),
            pl.col("random_effect").alias("random mean"),
            pl.col("random_effect_most").alias("random most"),
            "kl",
        )
        more = self.neurons.height - shown.height
        title = "what turning each off adds to the loss"
        return [Section(f"{title}, the largest {shown.height}" if more else title, shown, _REMARK)]

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {"neuron_effects": self.neurons.to_dicts()}


@with_its_sql
def neuron_effects_of(
    connection: duckdb.DuckDBPyConnection, model: str, neurons: Sequence[tuple[int, int]]
) -> NeuronEffects:
    """What some neurons of a model are worth, the largest effect first."""
    asked = pl.DataFrame(list(neurons), schema={"layer": pl.Int16, "neuron": pl.Int32}, orient="row")
    measured = rows_of_models(connection, "neuron_effects", [model], "effect_on_loss desc", "layer", "neuron")
    return NeuronEffects(model, measured.join(asked, on=["layer", "neuron"], how="semi", maintain_order="left"))
