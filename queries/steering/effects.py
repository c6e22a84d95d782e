"""The answer of `intervene`: what each intervention did to the loss, and where, never without its random sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import choose_model
from neurothek.queries.views.neuron_facts import rows_of_models

_WRITTEN_TEXTS = """\
-- Whether a model wrote texts with neurons changed, on a corpus.
select count(*) > 0 as is_there
from store.continuations
where model_id = $model_id and corpus_id = $corpus_id
"""


@dataclass(frozen=True, repr=False)
class Effects(TabularAnswer):
    """Effects of interventions on one model.

    Attributes:
        model: its name.
        interventions: one row an intervention, with the columns of the view `interventions`.
        steering: where each matters, with the columns of the view `steering`.
        shares: how many continuations have an attribute, with the columns of the view `attribute_shares`.
        continuations: what was written, with the columns of the view `continuations`.
        names: the interventions that were asked for; the frames have these alone.
        neurons: those that were turned off one by one, with the columns of the view `neuron_effects`, the largest
            effect first; None where neurons were changed together.
        neurons_by_domain: the same by domain, with the columns of the view `neuron_effects_by_domain`; None likewise.
        is_gated: whether a neuron of the model counts as active where its gate is open.
    """

    model: str
    interventions: pl.DataFrame
    steering: pl.DataFrame
    shares: pl.DataFrame
    continuations: pl.DataFrame
    names: tuple[str, ...]
    neurons: pl.DataFrame | None = None
    neurons_by_domain: pl.DataFrame | None = None
    is_gated: bool = False

    @property
    def summary(self) -> str:
        """What is said above the tables."""
        if self.neurons is not None:
            return neurons_sentence(self.model, self.neurons)
        if self.interventions.is_empty():
            return f"{self.model}: these interventions were measured on a corpus that is not its shown one"
        first = self.interventions.row(0, named=True)
        return (
            f"{self.model} on {first['n_tokens']:,} tokens of {spoken_corpus(first['corpus'])}: with no neuron changed"
            f" its loss is {first['loss_untouched']:.4f} nats a token, a perplexity of"
            f" {first['perplexity_untouched']:.2f}"
        )

    def sections(self) -> list[Section]:
        """Its tables with their titles."""
        if self.neurons is not None and self.neurons_by_domain is not None:
            of_text = section_of_neurons(self.neurons, is_gated=self.is_gated)
            of_domains = neurons_table(self.neurons_by_domain, of_text.frame["neuron"].to_list())
            return [of_text, *([Section("the same by domain", of_domains)] if len(of_domains.columns) > 2 else [])]
        result = [
            Section("what changing the neurons adds to the loss", effects_table(self.interventions), REMARK),
            Section("the same by domain", by_domain(self.steering)),
        ]
        watched = watched_table(self.interventions)
        if not watched.is_empty():
            result.append(Section("probability of the tokens asked for", watched))
        if not self.continuations.is_empty():
            result.append(
                Section("share of continuations that score 0.5 or more", shares_table(self.shares), SHARES_REMARK)
            )
            result.append(Section("what is written after the first prompts", examples_table(self.continuations)))
        first, *others = result
        return [first, *(replace(section, frame=self._unnamed(section.frame)) for section in others)]

    def _unnamed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A table without the name of the intervention where there is but one, which the first table says."""
        return frame.drop("intervention") if len(self.names) == 1 else frame

    def data(self) -> dict[str, Any]:
        """Everything, for programs."""
        if self.neurons is not None and self.neurons_by_domain is not None:
            return {
                "neuron_effects": self.neurons.to_dicts(),
                "neuron_effects_by_domain": self.neurons_by_domain.to_dicts(),
            }
        return {
            "interventions": self.interventions.to_dicts(),
            "steering": self.steering.to_dicts(),
            "attribute_shares": self.shares.to_dicts(),
            "continuations": self.continuations.to_dicts(),
        }


def has_continuations(connection: duckdb.DuckDBPyConnection, model_id: int, corpus_id: int) -> bool:
    """Whether the warehouse holds texts that a model wrote with neurons changed, on a corpus."""
    (row,) = records(connection, _WRITTEN_TEXTS, {"model_id": model_id, "corpus_id": corpus_id})
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
        neurons_turned_off(connection, "neuron_effects", model, neurons) if neurons else None,
        neurons_turned_off(connection, "neuron_effects_by_domain", model, neurons) if neurons else None,
        choose_model(connection, model).is_signed,
    )


_N_SHOWN = 20
_RANDOM = "random: the effects of random neurons of the layer that fire, itself left out;\n"
_RANDOM_GATED = "random: the effects of random neurons of the layer whose gate opens, itself left out;\n"
_REMARK = (
    "percentile: percent of these whose effect is smaller: near 50, the neuron matters no more than another;\n"
    f"it takes {LEAST_SETS} of them"
)


def neurons_turned_off(
    connection: duckdb.DuckDBPyConnection, view: str, model: str, neurons: Sequence[tuple[int, int]]
) -> pl.DataFrame:
    """Rows of a view of effects about some neurons of a model, the largest effect first.

    Args:
        connection: a reader.
        view: `neuron_effects` or `neuron_effects_by_domain`.
        model: name of the model.
        neurons: layer and neuron of each.
    """
    chosen = pl.DataFrame(list(neurons), schema={"layer": pl.Int16, "neuron": pl.Int32}, orient="row")
    measured = rows_of_models(connection, view, [model], "effect_on_loss desc", "layer", "neuron")
    return measured.join(chosen, on=["layer", "neuron"], how="semi", maintain_order="left")


def neurons_sentence(model: str, neurons: pl.DataFrame) -> str:
    """What is said above the table of single neurons."""
    if neurons.is_empty():
        return f"{model}: these neurons were turned off on a corpus that is not its shown one"
    first = neurons.row(0, named=True)
    n = neurons.height
    return (
        f"{model}: {n:,} {'neuron' if n == 1 else 'neurons, each'} turned off alone on {first['n_tokens']:,} tokens of"
        f" {spoken_corpus(first['corpus'])}"
    )


def section_of_neurons(neurons: pl.DataFrame, *, is_gated: bool = False) -> Section:
    """The neurons with the largest effects, beside those of random ones that are active on the text."""
    table = neurons.head(_N_SHOWN).select(
        pl.col("address").alias("neuron"),
        pl.col("effect_on_loss").alias("effect"),
        pl.col("effect_percentile").alias("percentile"),
        pl.col("random_effect").alias("random mean"),
        pl.col("random_effect_most").alias("random most"),
        "kl",
    )
    title = "what turning each off adds to the loss"
    is_cut = neurons.height > table.height
    remark = f"{_RANDOM_GATED if is_gated else _RANDOM}{_REMARK}"
    return Section(f"{title}, the largest {table.height}" if is_cut else title, table, remark)


def neurons_table(by_domain: pl.DataFrame, addresses: Sequence[str]) -> pl.DataFrame:
    """One row per neuron, in the order of their addresses: the effect on each domain, a column a domain."""
    domains = sorted(by_domain["domain"].unique())
    table = by_domain.rename({"address": "neuron", "neuron": "number"}).pivot(
        "domain", index="neuron", values="effect_on_loss"
    )
    in_order = pl.DataFrame({"neuron": list(addresses)}, schema={"neuron": pl.String})
    return in_order.join(table, on="neuron", maintain_order="left").select("neuron", *domains)


_EFFECT = ("effect", "percentile", "random_effect", "random_effect_most", "random_effect_least")
_HEADINGS: Mapping[str, str] = {
    "n_neurons": "neurons",
    "random_effect": "random mean",
    "random_effect_least": "random least",
    "random_effect_most": "random most",
}

REMARK = (
    "random: the effects of random sets of as many neurons, matched by layer and frequency;\n"
    "percentile: percent of these sets whose effect is smaller: near 50, these neurons matter no more than random ones"
)


def effects_table(interventions: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention: what changing its neurons adds to the loss."""
    return interventions.select("intervention", "n_neurons", *_EFFECT, "kl", "perplexity").rename(_HEADINGS)


def by_domain(steering: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention and domain: the effect over all positions."""
    weight = pl.col("n_tokens")
    columns = ("effect", "random_effect", "kl")
    means = [((pl.col(name) * weight).sum() / weight.sum()).alias(name) for name in columns]
    grouped = steering.group_by("intervention", "domain", maintain_order=True)
    return grouped.agg(*means, weight.sum().alias("tokens")).rename({"random_effect": "random mean"})


SHARES_REMARK = (
    "low and high: Wilson 95% interval; random: the mean over random sets, with the least and the largest of a set;\n"
    "percentile: percent of random sets with a smaller share: near 50, these neurons do no more than random ones"
)

_METHODS = ("untouched", "changed", "random", "word_filter", "self_debiasing")
_N_EXAMPLES = 3


def watched_table(interventions: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention that asks for tokens: their probability together, before and after."""
    watched = interventions.filter(pl.col("watched").is_not_null())
    return watched.select(
        "intervention",
        pl.col("watched").str.json_decode(pl.List(pl.String)).alias("tokens"),
        pl.col("mass_watched_untouched").alias("untouched"),
        pl.col("mass_watched").alias("changed"),
        pl.col("random_mass_watched").alias("random mean"),
    )


def shares_table(shares: pl.DataFrame) -> pl.DataFrame:
    """One row per intervention, attribute and method, in the order in which methods are compared."""
    is_random = pl.col("method") == "random"
    ends = [
        pl.when(is_random).then(pl.col(f"share_{of_sets}")).otherwise(pl.col(f"share_{end}")).alias(end)
        for end, of_sets in (("low", "least"), ("high", "most"))
    ]
    return _by_method(shares, "intervention", "scorer", "attribute").select(
        "intervention",
        "attribute",
        "method",
        "share",
        *ends,
        "percentile",
        pl.col("n_continuations").alias("texts"),
        pl.col("n_blank").alias("blank"),
    )


def examples_table(continuations: pl.DataFrame) -> pl.DataFrame:
    """What is written after the first prompts by every method, of the random sets the first."""
    few = continuations.filter((pl.col("prompt_number") <= _N_EXAMPLES) & (pl.col("set_number") <= 1))
    return _by_method(few, "intervention", "prompt_number").select("intervention", "prompt", "method", "continuation")


def _by_method(rows: pl.DataFrame, *first: str) -> pl.DataFrame:
    """Rows by some columns, those of equal ones in the order in which methods are compared."""
    place = pl.col("method").replace_strict({method: number for number, method in enumerate(_METHODS)})
    return rows.with_columns(place.alias("place")).sort(*first, "place", maintain_order=True).drop("place")
