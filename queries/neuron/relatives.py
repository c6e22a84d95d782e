"""Neurons similar to one, in its model and in others, and the interventions that changed it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.tables.interventions import LEAST_SETS
from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section, first_of
from neurothek.queries.ask.statements import ask_records, framed, records
from neurothek.queries.names.models import NeuronAddress

_NEURON_NEIGHBOURS = """\
-- The neurons whose value vectors point most nearly in the direction of one neuron's; of a gated model what they write
-- where they do as it does at its pole.
select
    rank,
    other_address as address,
    cosine,
    case
        when $pole is null then null
        when ($pole = 'negative') = (cosine < 0) then 'positive'
        else 'negative'
    end as pole,
    case
        when $pole is not null and ($pole = 'negative') <> (cosine < 0) then other_bottom_tokens
        else other_top_tokens
    end as top_tokens,
from neighbours
where model = $model and layer = $layer and neuron = $neuron
order by rank
"""

_NEURON_MATES = """\
-- The cluster of one neuron, with the other neurons of it, nearest to its centre first; one row where it is alone.
select
    clusters_summary.*,
    members.address as mate,
    members.centre_cosine,
    members.pole,
    case when members.pole = 'negative' then members.bottom_tokens else members.top_tokens end as top_tokens,
from clusters_summary
left join cluster_members as members
    on
        members.model = $model
        and members.clustering_id = $clustering_id
        and members.cluster_id = $cluster_id
        and not (members.layer = $layer and members.neuron = $neuron)
where
    clusters_summary.model = $model
    and clusters_summary.clustering_id = $clustering_id
    and clusters_summary.cluster_id = $cluster_id
order by
    case when members.pole is null then members.centre_cosine else abs(members.centre_cosine) end desc,
    members.layer,
    members.neuron
"""

_NEURON_UNIVERSALITY = """\
-- The neurons of other models that are active where one neuron is, the largest excess first.
select other_model, corpus, other_address as address, correlation, similarity, null_correlation, excess, is_mutual,
from universality
where model = $model and layer = $layer and neuron = $neuron and similarity is not null
order by excess desc, other_model, corpus_id
"""

MATE_COLUMNS: Mapping[str, pl.DataType] = {
    "address": TEXT,
    "centre_cosine": DOUBLE,
    "pole": TEXT,
    "top_tokens": pl.List(TEXT),
}
NEIGHBOUR_COLUMNS: Mapping[str, pl.DataType] = {
    "rank": SMALL,
    "address": TEXT,
    "cosine": DOUBLE,
    "pole": TEXT,
    "top_tokens": pl.List(TEXT),
}
COUNTERPART_COLUMNS: Mapping[str, pl.DataType] = {
    "other_model": TEXT,
    "rank": SMALL,
    "address": TEXT,
    "overlap": DOUBLE,
    "null_99": DOUBLE,
    "is_beyond_null": FLAG,
    "is_mutual": FLAG,
    "pole": TEXT,
    "top_tokens": pl.List(TEXT),
}

UNIVERSALITY_COLUMNS: Mapping[str, pl.DataType] = {
    "other_model": TEXT,
    "corpus": TEXT,
    "address": TEXT,
    "correlation": DOUBLE,
    "similarity": DOUBLE,
    "null_correlation": DOUBLE,
    "excess": DOUBLE,
    "is_mutual": FLAG,
}
_MOST_NAMED = 3
"""Neurons of other models that a sentence names."""

_OF_MATES = ("mate", "centre_cosine", "pole", "top_tokens")

COMPARED_COLUMNS: Mapping[str, pl.DataType] = {
    "other_model": TEXT,
    "n_above_chance": BIG,
    "best_overlap": DOUBLE,
    "null_99": DOUBLE,
}
COUNTERPARTS_REMARK = (
    "overlap: of the lists of tokens, 1 where they are equal; null_99: overlap that 99% of random vectors do not"
    " exceed; is_mutual: each is the other's best match"
)


@dataclass(frozen=True)
class Relatives:
    """The relatives of one neuron; empty where its model was not clustered, or not compared with others."""

    mates: pl.DataFrame  # the other neurons of its cluster, nearest to the cluster's centre first
    neighbours: pl.DataFrame  # the neurons of largest cosine in the whole model
    # the neurons of other models, at most five of each, that it overlaps with more than random vectors do, with the
    # columns of `COUNTERPART_COLUMNS`; `pole` of a gated one is the sign of the coefficient at which it does what the
    # asked one does at its own, and `top_tokens` what it promotes there
    counterparts: pl.DataFrame
    # those among the five nearest of each other model that it does not: they are not counterparts
    below_chance: pl.DataFrame
    # one row a model that its model was compared with, with the columns of `COMPARED_COLUMNS`: how many counterparts it
    # has there, its largest overlap (0 where it shares no listed token with any), and the one that random vectors reach
    # (null there)
    compared: pl.DataFrame
    # the neurons of other models whose activations correlate most with its own, one of each, the largest excess first,
    # with the columns of `UNIVERSALITY_COLUMNS`
    universality: pl.DataFrame
    # its row of the view `clusters_summary`, in the shown clustering; None before there is one
    cluster: Mapping[str, Any] | None

    def sentence(self) -> str:
        """Its cluster in one sentence, or nothing."""
        if self.cluster is None:
            return ""
        named = f"cluster {self.cluster['cluster_id']} of {self.cluster['n_clusters']:,}"
        if self.cluster["size"] == 1:
            return f"Alone in {named}."
        layers = self.cluster["n_layers"]
        where = f"in {layers} layers" if layers > 1 else "in one layer"
        cohesion = f"mean cosine {self.cluster['cohesion']:.3f}"
        if self.cluster["null_95"] is not None:
            chance = "beyond chance" if self.cluster["is_beyond_null"] else "within chance"
            cohesion += f", {chance} (95% of clusters of random directions: at most {self.cluster['null_95']:.3f})"
        return f"In {named}: {self.cluster['size']:,} neurons {where}, {cohesion}."

    def universal(self) -> str:
        """Whose activations of other models follow its own, in one sentence; nothing where that was not measured."""
        rows = self.universality.to_dicts()
        if not rows:
            return ""
        named = [
            f"{row['address']} (correlation {row['correlation']:.2f}; rotated basis {row['null_correlation']:.2f})"
            for row in rows[:_MOST_NAMED]
        ]
        more = f", and in {len(rows) - _MOST_NAMED:,} more" if len(rows) > _MOST_NAMED else ""
        return f"In other models most like it in activation: {', '.join(named)}{more}."

    def none_above_chance(self) -> list[str]:
        """A sentence for each model in which it has no counterpart, though the two models were compared."""
        return [
            f"none above chance in {row['other_model']}: {_why(row)}"
            for row in self.compared.to_dicts()
            if not row["n_above_chance"]
        ]

    def sections(self, limit: int, *, show_all: bool = False) -> list[Section]:
        """All tables that have rows; `show_all` adds what is no nearer than random vectors."""
        result = []
        if not self.mates.is_empty():
            remark = "centre_cosine: cosine of the value vector with the sum of the cluster's directions"
            result.append(first_of("other neurons of its cluster", _named(self.mates), limit, remark))
        if not self.neighbours.is_empty():
            result.append(first_of("nearest value vectors", _named(self.neighbours), limit))
        # The rank within a model is the order of the rows, and the model stands in the address.
        columns = ("address", "overlap", "null_99", "is_mutual", "pole", "top_tokens")
        if not self.compared.is_empty():
            explained = [] if self.counterparts.is_empty() else [COUNTERPARTS_REMARK]
            remark = "\n".join([*explained, *self.none_above_chance()])
            result.append(Section("counterparts in other models", _named(self.counterparts.select(columns)), remark))
        if show_all and not self.below_chance.is_empty():
            title = "nearest in other models, no more similar than random vectors"
            result.append(Section(title, _named(self.below_chance.select(columns)), COUNTERPARTS_REMARK))
        return result


def _named(neurons: pl.DataFrame) -> pl.DataFrame:
    """The neurons with the pole at which each does what the asked one does, where any of them is gated."""
    return neurons.drop("pole") if neurons["pole"].is_null().all() else neurons


def neuron_relatives(
    connection: duckdb.DuckDBPyConnection,
    parameters: Mapping[str, Any],
    facts: Mapping[str, Any],
    has: Collection[str],
) -> Relatives:
    """Of the neuron with these parameters.

    Args:
        connection: a reader.
        parameters: model, layer and neuron.
        facts: its row of the view `neurons`.
        has: those of the views `neighbours`, `counterparts` and `universality` that have rows of it, and `compared`
            where its model was compared with another by lists.
    """
    place = {"clustering_id": facts["clustering_id"], "cluster_id": facts["cluster_id"]}
    is_clustered = facts["cluster_id"] is not None
    members = records(connection, _NEURON_MATES, {**parameters, **place}) if is_clustered else []
    mates = [{**row, "address": row["mate"]} for row in members if row["mate"] is not None]
    beside = (
        ask_records(connection, "neuron_counterparts", parameters) if {"compared", "counterparts"} & set(has) else []
    )
    nearest = [row for row in beside if row["rank"] is not None]
    others = list(dict.fromkeys(row["other_model"] for row in beside)) if "compared" in has else []
    pole = {"pole": facts["pole"]}
    neighbours = records(connection, _NEURON_NEIGHBOURS, {**parameters, **pole}) if "neighbours" in has else []
    return Relatives(
        mates=framed(mates, MATE_COLUMNS),
        neighbours=framed(neighbours, NEIGHBOUR_COLUMNS),
        counterparts=framed([row for row in nearest if row["is_beyond_null"]], COUNTERPART_COLUMNS),
        below_chance=framed([row for row in nearest if not row["is_beyond_null"]], COUNTERPART_COLUMNS),
        universality=framed(
            records(connection, _NEURON_UNIVERSALITY, parameters) if "universality" in has else [], UNIVERSALITY_COLUMNS
        ),
        compared=framed([_compared(other, nearest) for other in others], COMPARED_COLUMNS),
        cluster={name: members[0][name] for name in members[0] if name not in _OF_MATES} if members else None,
    )


def _compared(other: str, nearest: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of one other model; its rows begin with the best."""
    rows = [row for row in nearest if row["other_model"] == other]
    return {
        "other_model": other,
        "n_above_chance": sum(row["is_beyond_null"] for row in rows),
        "best_overlap": rows[0]["overlap"] if rows else 0.0,
        "null_99": rows[0]["null_99"] if rows else None,
    }


def _why(row: Mapping[str, Any]) -> str:
    if row["null_99"] is None:
        return "it shares no listed token with any neuron there"
    return f"the nearest overlaps by {row['best_overlap']:.3f}, 99% of random vectors by up to {row['null_99']:.3f}"


INTERVENTION_COLUMNS: Mapping[str, pl.DataType] = {
    "intervention": TEXT,
    "n_neurons": INTEGER,
    "effect": DOUBLE,
    "percentile": DOUBLE,
    "random_effect": DOUBLE,
    "random_effect_least": DOUBLE,
    "random_effect_most": DOUBLE,
    "n_tokens": BIG,
}
MOST_LISTED = 10
"""Interventions that a page lists."""

INTERVENTIONS_REMARK = (
    "effect: what changing all their neurons adds to the loss, nats a token; random: the same for random sets of as"
    f" many neurons; percentile: percent of these sets whose effect is smaller, of {LEAST_SETS} or more"
)


@dataclass(frozen=True)
class Changed:
    """What changing one neuron did; empty where it was not changed."""

    # what turning it off alone did, with the keys of `INTERVENTION_COLUMNS` from `effect` on, and `domain`, where it is
    # active most often, `effect_on_domain` and `effect_elsewhere`; None where that was not measured
    alone: Mapping[str, Any] | None
    # the interventions that it was part of, the largest effect first, with the columns of `INTERVENTION_COLUMNS`
    together: pl.DataFrame

    def sentence(self) -> str:
        """What the neuron alone is worth; nothing where that was not measured."""
        if self.alone is None:
            return ""
        row = self.alone
        clause = f"Turned off alone, it changes the loss by {row['effect']:+.3g} nats a token"
        if None not in (row["effect_on_domain"], row["effect_elsewhere"]):
            on_domain = f"{row['effect_on_domain']:+.3g} on {row['domain']}, where it is active most often"
            clause += f" ({on_domain}, {row['effect_elsewhere']:+.3g} elsewhere)"
        if row["random_effect_least"] is None:
            return f"{clause}; its layer has no random neurons to compare it with."
        others = f"({row['random_effect_least']:+.3g} to {row['random_effect_most']:+.3g})"
        if row["percentile"] is None:
            return f"{clause}; its layer has fewer than {LEAST_SETS} random neurons to compare it with {others}."
        return f"{clause}: percentile {row['percentile']:.3g} among random neurons of its layer {others}."

    def sections(self) -> list[Section]:
        """The interventions that it was part of."""
        if self.together.is_empty():
            return []
        table = self.together.drop("n_tokens")
        return [first_of("interventions that included it", table, MOST_LISTED, INTERVENTIONS_REMARK)]


def neuron_changed(
    connection: duckdb.DuckDBPyConnection, neuron: NeuronAddress, facts: Mapping[str, Any], has: Collection[str]
) -> Changed:
    """What changing a neuron did; asked only where its facts or its rows say that something was measured."""
    parameters = {
        "model": neuron.model,
        "model_id": neuron.model_id,
        "layer": neuron.layer,
        "neuron": neuron.neuron,
    }
    is_changed = facts["effect_on_loss"] is not None or "interventions" in has
    rows = ask_records(connection, "neuron_changed", parameters) if is_changed else []
    alone = [row for row in rows if row["intervention"] is None]
    together = [row for row in rows if row["intervention"] is not None]
    for row in alone:
        del row["intervention"], row["n_neurons"]
    for row in together:
        del row["domain"], row["effect_on_domain"], row["effect_elsewhere"]
    return Changed(alone[0] if alone else None, framed(together, INTERVENTION_COLUMNS))
