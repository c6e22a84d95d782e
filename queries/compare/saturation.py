"""Where predictions are settled, side by side: the saturation profile of models of several sizes."""

from collections.abc import Mapping, Sequence

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, SMALL, TEXT
from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.statements import conform
from neurothek.queries.views.of_models import rows_of_models

SATURATION_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "layer": SMALL,
    "depth": DOUBLE,
    "n_examples": BIG,
    "n_saturated": BIG,
    "saturated_share": DOUBLE,
    "n_by_ffn": BIG,
    "n_cumulative": BIG,
    "cumulative_share": DOUBLE,
    "n_eliminations": BIG,
    "corpus": TEXT,
}
_MOST_STRETCHES = 10
_TITLE = "saturation: share of the examples whose prediction is settled, by depth"
_REMARK = "settled: the final token stays at the top from there on; by FFN: an FFN below the last brought it there"


def saturation(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> pl.DataFrame:
    """One row per model and layer, with the columns of `SATURATION_COLUMNS`; models without events have none."""
    return conform(rows_of_models(connection, "saturation_by_layer", models, "layer"), SATURATION_COLUMNS)


def saturation_sections(profile: pl.DataFrame) -> list[Section]:
    """One row per model, one column per stretch of depth, if any model's events were measured."""
    return [] if profile.is_empty() else [Section(_TITLE, saturation_table(profile), _REMARK)]


def saturation_table(profile: pl.DataFrame) -> pl.DataFrame:
    """The share that is settled in each stretch of relative depth, and the share that FFNs settled.

    There are as many stretches as the shallowest model has layers, ten at most, so that every model has a layer in
    each.
    """
    names = profile.get_column("model").unique(maintain_order=True)
    fewest = min(profile.group_by("model").len().get_column("len").to_list())
    n_stretches = min(_MOST_STRETCHES, fewest)
    placed = profile.with_columns((pl.col("depth") * n_stretches).floor().cast(pl.Int64).alias("stretch"))
    table = pl.DataFrame({"model": names}).join(
        profile.group_by("model").agg(
            pl.col("n_examples").first().alias("examples"),
            (pl.col("n_by_ffn").sum() / pl.col("n_examples").first()).alias("by FFN"),
        ),
        on="model",
        maintain_order="left",
    )
    for stretch in range(n_stretches):
        label = f"{round(stretch * 100 / n_stretches)}-{round((stretch + 1) * 100 / n_stretches)}%"
        share = (
            placed.filter(stretch=stretch)
            .group_by("model")
            .agg((pl.col("n_saturated").sum() / pl.col("n_examples").first()).alias(label))
        )
        table = table.join(share, on="model", how="left", maintain_order="left")
    return table
