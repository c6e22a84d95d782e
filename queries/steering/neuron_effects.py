"""What single neurons are worth to the loss, beside random ones of their layers, for `intervene --one-by-one`."""

from collections.abc import Sequence

import duckdb
import polars as pl

from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.queries.ask.answer import Section
from neurothek.queries.views.of_models import rows_of_models

_N_SHOWN = 20
_REMARK = (
    "random: the effects of random neurons of the layer that fire, itself left out;\n"
    "percentile: percent of these whose effect is smaller: near 50, the neuron matters no more than another;\n"
    f"it takes {LEAST_SETS} of them"
)


def neurons_turned_off(
    connection: duckdb.DuckDBPyConnection, model: str, neurons: Sequence[tuple[int, int]]
) -> pl.DataFrame:
    """Rows of the view `neuron_effects` about some neurons of a model, the largest effect first.

    Args:
        connection: a reader.
        model: name of the model.
        neurons: layer and neuron of each.
    """
    asked = pl.DataFrame(list(neurons), schema={"layer": pl.Int16, "neuron": pl.Int32}, orient="row")
    measured = rows_of_models(connection, "neuron_effects", [model], "effect_on_loss desc", "layer", "neuron")
    return measured.join(asked, on=["layer", "neuron"], how="semi", maintain_order="left")


def told_of_neurons(model: str, neurons: pl.DataFrame) -> str:
    """What is said above the table of single neurons."""
    if neurons.is_empty():
        return f"{model}: these neurons were turned off on a corpus that is not its shown one"
    first = neurons.row(0, named=True)
    n = neurons.height
    return (
        f"{model}: {n:,} {'neuron' if n == 1 else 'neurons, each'} turned off alone on {first['n_tokens']:,} tokens of"
        f" {first['corpus']}"
    )


def section_of_neurons(neurons: pl.DataFrame) -> Section:
    """The neurons with the largest effects."""
    shown = neurons.head(_N_SHOWN).select(
        pl.col("address").alias("neuron"),
        pl.col("effect_on_loss").alias("effect"),
        pl.col("effect_percentile").alias("percentile"),
        pl.col("random_effect").alias("random mean"),
        pl.col("random_effect_most").alias("random most"),
        "kl",
    )
    title = "what turning each off adds to the loss"
    is_cut = neurons.height > shown.height
    return Section(f"{title}, the largest {shown.height}" if is_cut else title, shown, _REMARK)
