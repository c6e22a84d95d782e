"""What kinds of neurons models have: sparse, covered by few n-grams, detectors, suppressing, positional; by depth.

Source: Voita et al. 2023, sections 3 to 5; base rates, kinds of profiles and what cannot be labelled are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import duckdb
import polars as pl

from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.statements import ask, frame_of
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.neuron_facts import SMALLEST_FIRST, of_models

_SUPPRESSION_OF_MODELS = """\
-- How many token detectors of some models suppress their triggers, and how many would by chance.
select
    suppression.model,
    suppression.n_detectors,
    suppression.n_suppressing,
    suppression.observed,
    suppression.observed_low,
    suppression.observed_high,
    suppression.expected,
    suppression.difference,
    suppression.observed_centred,
    suppression.corpus,
from suppression_by_model as suppression
inner join models on models.model = suppression.model
where list_contains($models::varchar[], suppression.model)
order by
    models.size,
    regexp_extract(models.variant, '^\\D+') nulls first,
    try_cast(regexp_extract(models.variant, '\\d+$') as bigint) nulls first,
    suppression.model
"""

KINDS = ("oscillatory", "both extremes", "one extreme", "other")
"""Of positional neurons, the most explicit about the position first."""

_RANGES = {"1-5": (1, 3), "6-50": (4, 6), "51-1k": (7, 8), ">1k": (9, 11), "too few": (0, 0)}
"""Bins of `coverage_bins` that stand together in a narrow table: first and last `bin_order`."""


_OF_VIEWS: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "coverage": ("coverage_bins", ("n", "region", "layer", "bin_order"), ("family",)),
    "detectors": ("detectors_by_layer", ("n", "layer"), ("family", "strict_share")),
    "detected": ("detected_by_layer", ("n", "layer"), ("family", "new_share", "new_vs_previous_share")),
    "positions": ("positions_by_layer", ("layer",), ()),
    "teams": ("position_teams", ("layer", "team desc"), ()),
}
"""What is told of each kind: a view, the order of its rows within a model, and columns that are left out."""


@dataclass(frozen=True)
class Typology:
    """The kinds of neurons of some models on their shown corpora, the rows of the views of these names."""

    coverage: pl.DataFrame  # `coverage_bins`: how many n-grams cover a neuron
    detectors: pl.DataFrame  # `detectors_by_layer`
    detected: pl.DataFrame  # `detected_by_layer`
    suppression: pl.DataFrame  # `suppression_by_model`
    positions: pl.DataFrame  # `positions_by_layer`
    teams: pl.DataFrame  # `position_teams`

    def sections(self) -> list[Section]:
        """A table for each kind of neuron; kinds that were not measured are left out."""
        result = []
        if not self.coverage.is_empty():
            result.append(Section("alive neurons of the first half by the tokens that cover them", *self._coverage()))
        if not self.detectors.is_empty():
            result.append(Section("detectors of n-grams", *self._detectors()))
        if not self.detected.is_empty():
            result.append(Section("tokens that have a detector", *self._detected()))
        if not self.suppression.is_empty():
            result.append(Section("token detectors that suppress their triggers", *self._suppression()))
        if not self.positions.is_empty():
            result.append(Section("positional neurons", *self._positions()))
        if not self.teams.is_empty():
            result.append(Section("teams of strong positional neurons", *self._teams()))
        return result

    def models(self) -> list[str]:
        """The models of which positions are told."""
        return self.positions.get_column("model").unique(maintain_order=True).to_list()

    def data(self) -> dict[str, pl.DataFrame]:
        """The rows for programs."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _coverage(self) -> tuple[pl.DataFrame, str]:
        first_half = self.coverage.filter((pl.col("region") == "first half") & (pl.col("n") == 1))
        table = first_half.group_by("model", maintain_order=True).agg(
            *(
                pl.col("share").filter(pl.col("bin_order").is_between(*bounds)).sum().alias(name)
                for name, bounds in _RANGES.items()
            ),
            pl.col("n_alive").first().alias("alive"),
            pl.col("corpus_coverage").first().alias("corpus"),
        )
        least = thresholds("coverage_bins")["min_activations"]
        return table, (
            "covered: by the fewest tokens that hold 95% of the activations; too few: fewer than"
            f" {least:.0f} activations;\n"
            "corpus: tokens that hold 95% of all positions; bigrams, trigrams: see the view coverage_bins"
        )

    def _detectors(self) -> tuple[pl.DataFrame, str]:
        counts = self.detectors.pivot(
            on="n", on_columns=[1, 2, 3], index="model", values="n_detectors", aggregate_function=_sum()
        ).rename({"1": "tokens", "2": "bigrams", "3": "trigrams"})
        peaks = (
            self.detectors.filter((pl.col("n") == 1) & (pl.col("n_detectors") > 0))
            .sort("n_detectors", descending=True, maintain_order=True)
            .group_by("model", maintain_order=True)
            .agg(pl.col("layer").first().alias("peak layer"), pl.col("n_detectors").first().alias("there"))
        )
        table = counts.join(peaks, on="model", how="left", maintain_order="left")
        return table, "peak layer: where most token detectors are; -: there are none, or they cannot be labelled"

    def _detected(self) -> tuple[pl.DataFrame, str]:
        table = (
            self.detected.filter(pl.col("n") == 1)
            .group_by("model", maintain_order=True)
            .agg(
                pl.col("n_detected").max().alias("most in a layer"),
                pl.col("n_cumulative").max().alias("in all layers"),
                pl.col("cumulative_share").max().alias("share"),
                (pl.col("n_new").sum() / _positive(pl.col("n_detected").sum())).alias("new"),
            )
        )
        return table, (
            "share: of the tokens that occur often enough to be detected;\n"
            "new: of the tokens that a layer detects, those that no layer below detects"
        )

    def _suppression(self) -> tuple[pl.DataFrame, str]:
        table = self.suppression.select(
            "model",
            pl.col("n_detectors").alias("detectors"),
            "observed",
            pl.col("observed_low").alias("low"),
            pl.col("observed_high").alias("high"),
            "expected",
            "difference",
            pl.col("observed_centred").alias("centred"),
        )
        return table, (
            "low, high: Wilson 95% of observed; expected: share for equally frequent tokens;\n"
            "centred: observed after the mean score of the vocabulary is subtracted"
        )

    def _positions(self) -> tuple[pl.DataFrame, str]:
        names = dict(zip(KINDS, ("oscillatory", "both", "one", "other"), strict=True))
        table = self.positions.group_by("model", maintain_order=True).agg(
            _known_sum("n_positional").alias("positional"),
            *(_strong_and_weak(f"n_{kind.replace(' ', '_')}").alias(name) for kind, name in names.items()),
            pl.col("layer").sort_by("n_positional", descending=True, nulls_last=True).first().alias("peak"),
            (_known_sum("n_positional") / pl.col("n_neurons").sum()).alias("share"),
            pl.col("n_sequences").max().alias("sequences"),
        )
        peak = pl.when(pl.col("positional") > 0).then(pl.col("peak")).alias("peak")
        return table.with_columns(peak), (
            "strong + weak ones of each kind, both, one: extremes; peak: layer with the most;\n"
            "-: too few full-length sequences to tell"
        )

    def _teams(self) -> tuple[pl.DataFrame, str]:
        table = self.teams.select(
            "model",
            "layer",
            "team",
            pl.col("n_neurons").alias("neurons"),
            pl.col("n_ranges").alias("ranges"),
            pl.col("covered_share").alias("covered"),
            pl.col("n_redundant").alias("redundant"),
        )
        return table, (
            "covered: share of the positions at which one of them fires (without exact zeros: is strong at its pole)"
            " more often than not;\n"
            "redundant: neurons whose positions are all covered by others"
        )


def halves(layers: pl.DataFrame) -> pl.DataFrame:
    """Dead share and frequency of the first and of the second half of each model's layers, neurons pooled.

    Args:
        layers: rows with model, depth, n_neurons, n_never_active, n_dead and mean_frequency of a layer.
    """
    # A layer is of the first half where 2 * layer + 1 <= n_layers: its middle lies at half the depth or below.
    n_alive = pl.col("n_neurons") - pl.col("n_never_active")
    columns = []
    for place, of in (("1st", pl.col("depth") <= 0.5), ("2nd", pl.col("depth") > 0.5)):
        dead, neurons = pl.col("n_dead").filter(of), pl.col("n_neurons").filter(of)
        is_known = dead.is_not_null().any()
        columns.append(pl.when(is_known).then(dead.sum() / _positive(neurons.sum())).alias(f"dead {place}"))
        fired = (pl.col("mean_frequency") * n_alive).filter(of).sum() / _positive(n_alive.filter(of).sum())
        columns.append(fired.alias(f"freq {place}"))
    return layers.group_by("model", maintain_order=True).agg(columns[0], columns[2], columns[1], columns[3])


def typology(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> Typology:
    """The kinds of neurons of models on their shown corpora, smallest model first."""
    return Typology(
        **{
            field.name: frame_of(connection, kinds_statement(field.name), {"models": list(models)})
            for field in fields(Typology)
        }
    )


def kinds_statement(part: str) -> str:
    """The statement that yields an attribute of `Typology` for the models `$models`."""
    if part == "suppression":
        return _SUPPRESSION_OF_MODELS.strip()
    name, then, without = _OF_VIEWS[part]
    return of_models(name, (*SMALLEST_FIRST, *then), without=without)


def positional_neurons(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> pl.DataFrame:
    """Every positional neuron of models, and its counts at each position where it has two extremes."""
    return ask(connection, "positional_of_models", {"models": list(models)})


def _sum() -> pl.Expr:
    return _sum_of(pl.element())


def _known_sum(column: str) -> pl.Expr:
    return _sum_of(pl.col(column))


def _sum_of(column: pl.Expr) -> pl.Expr:
    """The sum, null and not 0 where nothing is known."""
    return pl.when(column.is_not_null().any()).then(column.sum())


def _strong_and_weak(column: str) -> pl.Expr:
    strong, weak = (_known_sum(f"{column}_{strength}").cast(pl.String) for strength in ("strong", "weak"))
    return pl.concat_str(strong, pl.lit(" + "), weak)


def _positive(column: pl.Expr) -> pl.Expr:
    return pl.when(column > 0).then(column)
