"""Who is like one neuron: of its cluster, by the direction of its value vector, and by its tokens in other models."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from catalog.table import DOUBLE, FLAG, SMALL, TEXT
from queries.sections import Section
from queries.statement import ask_records, framed

MATE_COLUMNS: Mapping[str, pl.DataType] = {
    "address": TEXT,
    "centre_cosine": DOUBLE,
    "top_tokens": pl.List(TEXT),
}
NEIGHBOUR_COLUMNS: Mapping[str, pl.DataType] = {
    "rank": SMALL,
    "address": TEXT,
    "cosine": DOUBLE,
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
    "top_tokens": pl.List(TEXT),
}


COUNTERPARTS_REMARK = (
    "overlap: of the lists of tokens, 1 where they are equal; null_99: what 99% of random vectors do not exceed;"
    " is_mutual: each is the other's first"
)


@dataclass(frozen=True)
class Relatives:
    """The relatives of one neuron; empty where its model was not clustered, or not compared with others.

    Attributes:
        mates: the other neurons of its cluster, nearest to the cluster's centre first.
        neighbours: the neurons of largest cosine in the whole model.
        counterparts: the best neurons of other models, with the columns of `COUNTERPART_COLUMNS`.
        cluster: its row of the view `clusters_summary`, in the shown clustering; None before there is one.
    """

    mates: pl.DataFrame
    neighbours: pl.DataFrame
    counterparts: pl.DataFrame
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
        cohesion = f"mean cosine {self.cluster['cohesion']:.2f}"
        return f"In {named}: {self.cluster['size']:,} neurons {where}, {cohesion}."

    def sections(self, limit: int) -> list[Section]:
        """All tables, where there is something in them."""
        found = []
        if not self.mates.is_empty():
            remark = "centre_cosine: cosine of the value vector with the sum of the cluster's directions"
            found.append(Section("others of its cluster", self.mates.head(limit), remark))
        if not self.neighbours.is_empty():
            found.append(Section("nearest value vectors", self.neighbours.head(limit)))
        if not self.counterparts.is_empty():
            # The rank within a model is the order of the rows, and the model stands in the address.
            columns = ("address", "overlap", "null_99", "is_mutual", "top_tokens")
            found.append(
                Section("counterparts in other models", self.counterparts.select(columns), COUNTERPARTS_REMARK)
            )
        return found


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
        has: those of the views `neighbours` and `counterparts` that have rows of it.
    """

    def rows(name: str) -> list[dict[str, Any]]:
        return ask_records(connection, f"neuron_{name}", parameters) if name in has else []

    place = {"clustering_id": facts["clustering_id"], "cluster_id": facts["cluster_id"]}
    is_clustered = facts["cluster_id"] is not None
    clusters = (
        ask_records(connection, "neuron_cluster", {"model": parameters["model"], **place}) if is_clustered else []
    )
    mates = ask_records(connection, "neuron_mates", {**parameters, **place}) if is_clustered else []
    return Relatives(
        framed(mates, MATE_COLUMNS),
        framed(rows("neighbours"), NEIGHBOUR_COLUMNS),
        framed(rows("counterparts"), COUNTERPART_COLUMNS),
        clusters[0] if clusters else None,
    )
