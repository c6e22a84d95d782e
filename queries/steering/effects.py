"""The answer of `intervene`: what each intervention did to the loss, and where, never without its random sets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import polars as pl

from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import ask_records
from neurothek.queries.steering.neuron_effects import neurons_turned_off, section_of_neurons, told_of_neurons
from neurothek.queries.steering.tables import (
    REMARK,
    SHARES_REMARK,
    by_domain,
    effects_table,
    examples_table,
    shares_table,
    watched_table,
)
from neurothek.queries.views.of_models import rows_of_models


@dataclass(frozen=True, repr=False)
class Effects(TabularAnswer):
    """What interventions on one model did.

    Attributes:
        model: its name.
        interventions: one row an intervention, with the columns of the view `interventions`.
        steering: where each matters, with the columns of the view `steering`.
        shares: how many continuations have an attribute, with the columns of the view `attribute_shares`.
        continuations: what was written, with the columns of the view `continuations`.
        names: the interventions that were asked for; the frames have these alone.
        neurons: those that were turned off one by one, with the columns of the view `neuron_effects`, the largest
            effect first; None where neurons were changed together.
    """

    model: str
    interventions: pl.DataFrame
    steering: pl.DataFrame
    shares: pl.DataFrame
    continuations: pl.DataFrame
    names: tuple[str, ...]
    neurons: pl.DataFrame | None = None

    @property
    def summary(self) -> str:
        """What is said above the tables."""
        if self.neurons is not None:
            return told_of_neurons(self.model, self.neurons)
        if self.interventions.is_empty():
            return f"{self.model}: these interventions were measured on a corpus that is not its shown one"
        first = self.interventions.row(0, named=True)
        return (
            f"{self.model} on {first['n_tokens']:,} tokens of {first['corpus']}: with no neuron changed its loss is"
            f" {first['loss_untouched']:.4f} nats a token, a perplexity of {first['perplexity_untouched']:.2f}"
        )

    def sections(self) -> list[Section]:
        """Its tables with their titles."""
        if self.neurons is not None:
            return [section_of_neurons(self.neurons)]
        found = [
            Section("what changing the neurons adds to the loss", effects_table(self.interventions), REMARK),
            Section("the same by domain", by_domain(self.steering)),
        ]
        watched = watched_table(self.interventions)
        if not watched.is_empty():
            found.append(Section("probability of the tokens asked for", watched))
        if not self.continuations.is_empty():
            found.append(
                Section("share of continuations that score 0.5 or more", shares_table(self.shares), SHARES_REMARK)
            )
            found.append(Section("what is written after the first prompts", examples_table(self.continuations)))
        first, *others = found
        return [first, *(replace(section, frame=self._unnamed(section.frame)) for section in others)]

    def _unnamed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A table without the name of the intervention where there is but one, which the first table says."""
        return frame.drop("intervention") if len(self.names) == 1 else frame

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        if self.neurons is not None:
            return {"neuron_effects": self.neurons.to_dicts()}
        return {
            "interventions": self.interventions.to_dicts(),
            "steering": self.steering.to_dicts(),
            "attribute_shares": self.shares.to_dicts(),
            "continuations": self.continuations.to_dicts(),
        }


def has_continuations(connection: duckdb.DuckDBPyConnection, model_id: int, corpus_id: int) -> bool:
    """Whether the warehouse holds texts that a model wrote with neurons changed, on a corpus."""
    (row,) = ask_records(connection, "written_texts", {"model_id": model_id, "corpus_id": corpus_id})
    return bool(row["is_there"])


@with_its_sql
def effects_of(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    names: Sequence[str],
    neurons: Sequence[tuple[int, int]] = (),
) -> Effects:
    """What some interventions on a model did, in the order of their names as given.

    Args:
        connection: a reader.
        model: name of the model.
        names: of the interventions.
        neurons: layer and neuron of those that were turned off one by one instead.
    """
    in_order = pl.DataFrame({"intervention": list(names)}, schema={"intervention": pl.String})

    def of_names(rows: pl.DataFrame) -> pl.DataFrame:
        return in_order.join(rows, on="intervention", maintain_order="left")

    interventions = rows_of_models(connection, "interventions", [model])
    steering = rows_of_models(connection, "steering", [model], "domain", "position_from")
    shares = rows_of_models(connection, "attribute_shares", [model], "scorer", "attribute", "method")
    written = rows_of_models(connection, "continuations", [model], "prompt_number", "method", "set_number")
    return Effects(
        model,
        of_names(interventions),
        of_names(steering),
        of_names(shares),
        of_names(written),
        tuple(names),
        neurons_turned_off(connection, model, neurons) if neurons else None,
    )
