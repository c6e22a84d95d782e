"""Two sets of prompts as a model's neurons tell them apart, beside shuffled labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.problems import NotFound
from neurothek.catalog.tables.contrasts import ALWAYS_ON, SIGNIFICANT, Contrasted
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import frame_of, records
from neurothek.queries.names.models import KnownModel

_FACTS = """\
-- What is known of a model's neurons beside a contrast.
select layer, neuron, address, top_tokens, bottom_tokens, effective_frequency,
from neurons
where model = $model
order by layer, neuron
"""

_SUMMARIES = """\
-- The contrasts that the warehouse keeps of a model.
select contrast, prompts_a, prompts_b, positions, n_a, n_b, n_distinct, n_tested, n_significant, n_significant_shuffled,
    n_significant_shuffled_most, n_controls, n_shuffles, seed,
from contrasts_summary
where model = $model
order by contrast
"""

_NEURONS = """\
-- The neurons of one contrast.
select address, layer, neuron, mean_a, mean_b, difference, z, p, q, is_significant, is_always_on, promotes,
from contrasts
where model = $model and contrast = $contrast
order by abs(z) desc nulls last, layer, neuron
"""

_FEW_LABELINGS = 1_000

_LARGER_IS_A = pl.col("mean_a").abs() >= pl.col("mean_b").abs()

_WHERE = {"last": "at the last token of each prompt", "all": "over all tokens of each prompt"}


@dataclass(frozen=True, repr=False)
class ContrastPage(TabularAnswer):
    """How far the activations of a model's neurons on two sets of prompts lie apart.

    Attributes:
        model: its name.
        contrast: `prompts_a` and `prompts_b`, what the prompts are; `positions`, where activations are taken; `n_a` and
            `n_b`, how many prompts there are, `n_distinct` of both together distinct; `n_tested`, neurons whose
            activation differs between prompts; `n_significant`, those with q of at most 0.05;
            `n_significant_shuffled`, how many of these there are on average where shuffled labels are taken for the
            true ones, `n_controls` times, and `n_significant_shuffled_most`, the most; `n_shuffles`, shuffles that p is
            taken from; `seed` of all shuffles.
        neurons: a row per neuron of the model: `address`, `layer`, `neuron`, `mean_a`, `mean_b`, `difference`, `z`,
            `p`, `q`, `is_significant`, `is_always_on` and `promotes`, the first tokens it promotes at the sign of its
            larger mean; the largest size of z first.
        top: how many neurons each table shows.
        name: the name under which the warehouse keeps it; None if it does not.
    """

    model: str
    contrast: Mapping[str, Any]
    neurons: pl.DataFrame
    top: int = 10
    name: str | None = None

    @property
    def summary(self) -> str:
        """How many neurons tell the prompts apart, and how many would by chance."""
        it = self.contrast
        n, most = it["n_significant"], it["n_significant_shuffled_most"]
        n_prompts = it["n_a"] + it["n_b"]
        repeated = (
            f" Only {it['n_distinct']:,} of the {n_prompts:,} prompts are distinct: they are not independent, and"
            " q says too much."
            if it["n_distinct"] < n_prompts
            else ""
        )
        return (
            f"{self.model}: {it['n_a']:,} prompts of {it['prompts_a']} (A) and {it['n_b']:,} of {it['prompts_b']} (B),"
            f" {_WHERE[it['positions']]}. {n:,} of {it['n_tested']:,} neurons tell them apart (q <= {SIGNIFICANT:g});"
            f" with shuffled labels {it['n_significant_shuffled']:.3g} on average, {most:,} at most, of"
            f" {it['n_controls']} shuffles (seed {it['seed']}).{repeated}"
        )

    def sections(self) -> list[Section]:
        """The neurons that are highest on A, those that are highest on B, and how many there are by layer."""
        higher = self.neurons.filter(pl.col("z") > 0).sort(
            "z", "difference", "layer", "neuron", descending=[True, True, False, False]
        )
        lower = self.neurons.filter(pl.col("z") < 0).sort("z", "difference", "layer", "neuron")
        return [
            self._section("higher on A", higher),
            self._section("higher on B", lower, self._remark()),
            Section("by layer", self._by_layer()),
        ]

    def _section(self, title: str, rows: pl.DataFrame, remark: str = "") -> Section:
        table = rows.head(self.top).select(
            # Without the model's name, of which all are: on a narrow terminal addresses would be cut.
            pl.format("L{}N{}", "layer", "neuron").alias("neuron"),
            pl.col("mean_a").alias("A"),
            pl.col("mean_b").alias("B"),
            "z",
            "q",
            pl.col("is_always_on").alias("always on"),
            pl.when(_LARGER_IS_A).then(pl.lit("A")).otherwise(pl.lit("B")).alias("larger"),
            "promotes",
        )
        n = rows.filter("is_significant").height
        return Section(f"{title}: {n:,} with q <= {SIGNIFICANT:g}", table, remark)

    def _remark(self) -> str:
        labelings = comb(self.contrast["n_a"] + self.contrast["n_b"], self.contrast["n_a"])
        few = ""
        if labelings < _FEW_LABELINGS:
            few = f"\nso few prompts can be labelled in only {labelings:,} ways: chance does as well; give more prompts"
        return (
            "A, B: mean activations; z: their difference in standard deviations over all ways to label the prompts;\n"
            "q: share of false discoveries, by the z of all neurons under shuffled labels;\n"
            f"always on: effective frequency above {ALWAYS_ON:g} on the shown corpus;\n"
            f"promotes: at the sign of its larger mean, that on the prompts that the column larger names{few}"
        )

    def _by_layer(self) -> pl.DataFrame:
        is_higher = pl.col("is_significant") & (pl.col("z") > 0)
        return (
            self.neurons.sort("layer")
            .group_by("layer", maintain_order=True)
            .agg(
                pl.col("z").count().alias("tested"),
                pl.col("is_significant").sum().alias("tell apart"),
                is_higher.sum().alias("higher on A"),
                (pl.col("is_significant") & ~is_higher).sum().alias("higher on B"),
                # Not 0 where nobody measured it.
                pl.when(pl.col("is_always_on").count() > 0)
                .then((pl.col("is_significant") & pl.col("is_always_on")).sum())
                .alias("always on"),
            )
        )

    def data(self) -> dict[str, Any]:
        """The contrast for programs: `contrast` with its counts, and `neurons`, all of them."""
        return {"contrast": {"model": self.model, "name": self.name, **self.contrast}, "neurons": self.neurons}


@with_its_sql
def contrast_page(
    connection: duckdb.DuckDBPyConnection,
    model: KnownModel,
    contrast: Mapping[str, Any],
    measured: Contrasted,
    *,
    top: int = 10,
) -> ContrastPage:
    """Join a contrast that is not kept with what is known of the model's neurons.

    Args:
        connection: a reader.
        model: the model.
        contrast: `prompts_a`, `prompts_b`, `positions`, `n_distinct`, `n_shuffles` and `seed`.
        measured: what was measured.
        top: how many neurons each table shows.
    """
    facts = frame_of(connection, _FACTS, {"model": model.name})
    rows = measured.neurons.join(facts, on=["layer", "neuron"], how="left", maintain_order="left")
    larger = pl.when(_LARGER_IS_A).then("mean_a").otherwise("mean_b")
    neurons = rows.with_columns(
        (pl.col("mean_a").cast(pl.Float64) - pl.col("mean_b")).alias("difference"),
        (pl.col("q") <= SIGNIFICANT).fill_null(value=False).alias("is_significant"),
        (pl.col("effective_frequency") > ALWAYS_ON).alias("is_always_on"),
        pl.when(larger < 0).then("bottom_tokens").otherwise("top_tokens").alias("promotes"),
    )
    counts = measured.n_significant_shuffled
    described = {
        "prompts_a": contrast["prompts_a"],
        "prompts_b": contrast["prompts_b"],
        "positions": contrast["positions"],
        "n_a": len(measured.n_tokens_a),
        "n_b": len(measured.n_tokens_b),
        "n_distinct": contrast["n_distinct"],
        "n_tested": measured.n_tested,
        "n_significant": measured.n_significant,
        "n_significant_shuffled": sum(counts) / len(counts),
        "n_significant_shuffled_most": max(counts),
        "n_controls": len(counts),
        "n_shuffles": contrast["n_shuffles"],
        "seed": contrast["seed"],
    }
    neurons = neurons.sort(pl.col("z").abs(), "layer", "neuron", descending=[True, False, False], nulls_last=True)
    return ContrastPage(model.name, described, neurons.select(_COLUMNS), top)


_COLUMNS = (
    "address",
    "layer",
    "neuron",
    "mean_a",
    "mean_b",
    "difference",
    "z",
    "p",
    "q",
    "is_significant",
    "is_always_on",
    "promotes",
)


@with_its_sql
def stored_contrast(
    connection: duckdb.DuckDBPyConnection, model: KnownModel, name: str, *, top: int = 10
) -> ContrastPage:
    """A contrast that the warehouse keeps.

    Args:
        connection: a reader.
        model: the model.
        name: of the contrast.
        top: how many neurons each table shows.

    Raises:
        NotFound: the warehouse keeps none of this name for the model.
    """
    by_name = {row.pop("contrast"): row for row in records(connection, _SUMMARIES, {"model": model.name})}
    if name not in by_name:
        raise NotFound.among("contrast", name, by_name, where=f"of {model.name}")
    neurons = frame_of(connection, _NEURONS, {"model": model.name, "contrast": name})
    return ContrastPage(model.name, by_name[name], neurons, top, name)
