"""The answer of `intervene`: what each intervention did to the loss, and where, never without its random sets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from queries.ask.answer import Section, TabularAnswer, with_its_sql
from queries.steering.tables import (
    REMARK,
    SHARES_REMARK,
    by_domain,
    effects_table,
    examples_table,
    shares_table,
    watched_table,
)
from queries.views.of_models import rows_of_models


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
    """

    model: str
    interventions: pl.DataFrame
    steering: pl.DataFrame
    shares: pl.DataFrame
    continuations: pl.DataFrame
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
        return found

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        return {
            "interventions": self.interventions.to_dicts(),
            "steering": self.steering.to_dicts(),
            "attribute_shares": self.shares.to_dicts(),
            "continuations": self.continuations.to_dicts(),
        }


@with_its_sql
def effects_of(connection: duckdb.DuckDBPyConnection, model: str, names: Sequence[str]) -> Effects:
    """What some interventions on a model did, in the order of their names as given."""
    in_order = pl.DataFrame({"intervention": list(names)}, schema={"intervention": pl.String})
    interventions = rows_of_models(connection, "interventions", [model])
    steering = rows_of_models(connection, "steering", [model], "domain", "position_from")
    shares = rows_of_models(connection, "attribute_shares", [model], "scorer", "attribute")
    written = rows_of_models(connection, "continuations", [model], "prompt_number", "set_number")
    return Effects(
        model,
        *(
            in_order.join(rows, on="intervention", maintain_order="left")
            for rows in (interventions, steering, shares, written)
        ),
        tuple(names),
    )
