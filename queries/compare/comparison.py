"""Models side by side: headline numbers, and how they change with depth."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, SMALL, TEXT
from neurothek.catalog.variants import variant_of_sizes
from neurothek.queries.ask.answer import Section, TabularAnswer, with_its_sql
from neurothek.queries.ask.statements import ask, conform
from neurothek.queries.compare.comparability import MeasurementSetup, why_not_comparable
from neurothek.queries.compare.conclusion import Conclusion, conclude
from neurothek.queries.compare.exits import (
    EARLY_EXIT_COLUMNS,
    TRADEOFF_COLUMNS,
    early_exits,
    exit_sections,
    exit_tradeoff,
)
from neurothek.queries.compare.kinds import Typology, halves, typology
from neurothek.queries.names.models import (
    SIZE,
    MeasuredCorpus,
    choose_corpora,
    choose_models,
    measured_corpora,
    shown_corpora,
)
from neurothek.queries.names.unmeasured import Unmeasured, unmeasured
from neurothek.queries.views.neuron_facts import rows_of_models
from neurothek.queries.views.on_corpus import on_corpus

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
_REMARK = (
    "settled: the final token stays at the top from there on; by FFN: an FFN below the last layer's brought it there"
)


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


UNIVERSALITY_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "other_model": TEXT,
    "corpus": TEXT,
    "layer": SMALL,
    "depth": DOUBLE,
    "n_neurons": BIG,
    "n_above": BIG,
    "share_above": DOUBLE,
    "share_above_low": DOUBLE,
    "share_above_high": DOUBLE,
    "share_above_null": DOUBLE,
    "n_universal": BIG,
    "mean_similarity": DOUBLE,
    "mean_excess": DOUBLE,
    "mean_excess_low": DOUBLE,
    "mean_excess_high": DOUBLE,
}
_UNIVERSALITY_REMARK = (
    "above 0.5: share of neurons whose activations correlate above 0.5 with one of the other model; rotated: the same"
    " with randomly rotated activations; excess: correlation above that of the rotated basis"
)


def universality(connection: duckdb.DuckDBPyConnection, models: Sequence[str], corpus: str | None) -> pl.DataFrame:
    """One row per layer and other model of these, with the columns of `UNIVERSALITY_COLUMNS`.

    Args:
        connection: a reader.
        models: the models.
        corpus: the corpus that was asked for; None: any.
    """
    in_order = ("model", "other_model", "corpus_id", "layer")
    rows = rows_of_models(connection, "universality_by_layer", models, order=in_order)
    on = pl.lit(value=True) if corpus is None else pl.col("corpus") == corpus.partition("@")[0]
    return conform(rows.filter(pl.col("other_model").is_in(list(models)) & on), UNIVERSALITY_COLUMNS)


TRAIT_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "n_tested": BIG,
    "selective_share": DOUBLE,
    "shuffled_share": DOUBLE,
    "n_neurons": BIG,
    "beyond_random_share": DOUBLE,
    "n_entropy_neurons": BIG,
    "n_frequency_neurons": BIG,
    "n_massive_layers": BIG,
    "n_super_weights": BIG,
    "n_scored": BIG,
    "writer_share": DOUBLE,
    "writer_chance": DOUBLE,
    "corpus": TEXT,
}
_TRAITS = (
    "selective: for one domain of the text, beside shuffled ones; beyond random: longer where no logit moves than 500"
    " random vectors, by chance 0.2%; entropy neurons are those of them that are not short; massive: layers whose FFN"
    " adds a number of 1,000 times the mean; writers: neurons that make the model say their own tokens once turned up,"
    " more than 95% of other neurons' lists"
)


def traits(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> pl.DataFrame:
    """One row per model, with the columns of `TRAIT_COLUMNS`; models of which no trait was measured have none."""
    return conform(rows_of_models(connection, "traits_by_model", models), TRAIT_COLUMNS)


def trait_sections(rows: pl.DataFrame) -> list[Section]:
    """One row per model, if any trait was measured; what none of them has is left out."""
    if rows.is_empty():
        return []
    headings = {
        "selective_share": "selective",
        "shuffled_share": "shuffled",
        "beyond_random_share": "beyond random",
        "n_entropy_neurons": "entropy neurons",
        "n_frequency_neurons": "frequency neurons",
        "n_massive_layers": "massive",
        "n_super_weights": "super weights",
        "writer_share": "writers",
        "writer_chance": "writers by chance",
    }
    names = [name for name in headings if rows.get_column(name).null_count() < rows.height]
    table = rows.select("model", *(pl.col(name).alias(headings[name]) for name in names))
    return [Section("traits of neurons", table, _TRAITS)]


def universality_sections(layers: pl.DataFrame) -> list[Section]:
    """One row per model and other model, if any two were compared."""
    if layers.is_empty():
        return []
    n = pl.col("n_neurons")
    table = layers.group_by("model", "other_model", "corpus", maintain_order=True).agg(
        n.sum().alias("neurons"),
        (pl.col("n_above").sum() / n.sum()).alias("above 0.5"),
        ((pl.col("share_above_null") * n).sum() / n.sum()).alias("rotated"),
        ((pl.col("mean_excess") * n).sum() / n.sum()).alias("excess"),
        pl.col("n_universal").sum().alias("excess above 0.5"),
    )
    return [Section("neurons that other models have, too", table, _UNIVERSALITY_REMARK)]


Metric = Literal["dead_share", "never_active_share", "mean_frequency", "negligible_share", "median_effective_frequency"]

LAYER_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "layer": SMALL,
    "depth": DOUBLE,
    "n_neurons": BIG,
    "n_never_active": BIG,
    "never_active_share": DOUBLE,
    "n_dead": BIG,
    "dead_share": DOUBLE,
    "mean_frequency": DOUBLE,
    "median_frequency": DOUBLE,
    "median_effective_frequency": DOUBLE,
    "n_negligible": BIG,
    "negligible_share": DOUBLE,
    "n_tokens_seen": BIG,
    "corpus": TEXT,
}
_MOST_BINS = 10
_EFFECTIVE = "(sum |m|)^2 / (N * sum m^2): half of the neurons have at most this; no threshold says what is active"
_NEGLIGIBLE = "never 1% of the output of their FFN: what dead neurons are where no coefficient is exactly 0"
_HALVES = "1st: layers whose middle lies at or below half the depth; freq: mean over the neurons that fired"


@dataclass(frozen=True, repr=False)
class Comparison(TabularAnswer):
    """Some models side by side, smallest first.

    Attributes:
        models: one row per model with the columns of the view `scaling`; `comparable` is judged among these models.
        layers: one row per model and layer, with the columns of `LAYER_COLUMNS`.
        typology: the kinds of neurons, of each model on its corpus.
        saturation: where their predictions are settled, with the columns of `SATURATION_COLUMNS`.
        early_exits: what rules that stop them early cost and save, with the columns of `EARLY_EXIT_COLUMNS`.
        exit_tradeoff: precision of shortcuts against the layers that run, with the columns of `TRADEOFF_COLUMNS`.
        traits: how many neurons are for one domain, move no logit or follow token frequency, with the columns of
            `TRAIT_COLUMNS`.
        universality: how many neurons of each layer other models have, too, with the columns of
            `UNIVERSALITY_COLUMNS`.
        corpus: the corpus that was asked for; None: each model's shown one.
        unmeasured: what was not measured on that corpus, and how to measure it.
        common_corpus: a corpus that makes more of the models comparable; None if there is none.
    """

    models: pl.DataFrame
    layers: pl.DataFrame
    typology: Typology
    saturation: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(SATURATION_COLUMNS)))
    early_exits: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(EARLY_EXIT_COLUMNS)))
    exit_tradeoff: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(TRADEOFF_COLUMNS)))
    traits: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(TRAIT_COLUMNS)))
    universality: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(UNIVERSALITY_COLUMNS)))
    corpus: str | None = None
    unmeasured: tuple[Unmeasured, ...] = ()
    common_corpus: str | None = None

    def why_not(self) -> dict[str, str]:
        """Models that were measured on text but may not be compared with the others, each with the reason."""
        rows = self.models.filter(~pl.col("comparable") & pl.col("n_tokens_seen").is_not_null())
        return dict(zip(rows.get_column("model"), rows.get_column("why_not"), strict=True))

    @property
    def conclusions(self) -> tuple[Conclusion, ...]:
        """What the sizes of each family show."""
        return conclude(self.models)

    @property
    def summary(self) -> str:
        """What they show in sentences, a line for each family of which text was read; `notes` say what is left out."""
        measured = [one for one in self.conclusions if one.kind != "not measured"]
        return "\n".join(" ".join([one.sentence, *one.rests_on]) for one in measured)

    @property
    def notes(self) -> list[str]:
        """Which models may not be compared, and which are variants."""
        notes = []
        rows = self.models.select("model", "family", "variant", "comparable", "why_not").to_dicts()
        for row in rows:
            if not row["comparable"]:
                where = f" on {self.corpus}" if self.corpus is not None else ""
                notes.append(f"{row['model']} is not comparable{where}: {row['why_not']}")
            if row["variant"] != variant_of_sizes(one["variant"] for one in rows if one["family"] == row["family"]):
                notes.append(f"{row['model']} is a variant ({row['variant']}), not a size")
        return notes

    @property
    def hints(self) -> list[str]:
        """What to type: for what was not measured on the corpus, and to compare more of them."""
        sentences = [str(one) for one in self.unmeasured]
        if self.common_corpus is not None:
            sentences.append(
                f"more of these models were measured on {self.common_corpus}; use --corpus to compare on it"
            )
        return sentences

    def table(self) -> pl.DataFrame:
        """The headline numbers that people read."""
        with_zeros, without = self._by_zeros()
        # Without exact zeros half of the activations count: a frequency says nothing there.
        has_zeros = pl.col("n_dead").is_not_null()
        columns = {
            "dead": pl.col("dead_share") if with_zeros or not without else None,
            "negligible": pl.col("negligible_share") if without else None,
            "frequency": pl.when(has_zeros).then("mean_frequency") if with_zeros or not without else None,
            "median": pl.when(has_zeros).then("median_frequency") if with_zeros or not without else None,
            "effective": pl.col("median_effective_frequency") if without else None,
        }
        return self.models.select(
            "model",
            pl.col("size").alias(SIZE),
            pl.col("n_neurons").alias("neurons"),
            pl.col("n_tokens_seen").alias("tokens"),
            *(column.alias(name) for name, column in columns.items() if column is not None),
            "comparable",
            pl.col("tokens_per_parameter").alias("tokens/param"),
            "corpus",
        )

    def by_depth(self, metric: Metric, models: Sequence[str] | None = None) -> pl.DataFrame:
        """One row per stretch of relative depth, one column per model: `metric` pooled over the layers within.

        There are as many stretches as the shallowest of the models, all unless given, has layers, ten at most, so that
        every model has a layer in each.
        """
        layers = self.layers if models is None else self.layers.filter(pl.col("model").is_in(models))
        counted, weight = {
            "dead_share": (pl.col("n_dead").cast(pl.Float64), pl.col("n_neurons")),
            "never_active_share": (pl.col("n_never_active").cast(pl.Float64), pl.col("n_neurons")),
            "mean_frequency": (
                pl.col("mean_frequency") * (pl.col("n_neurons") - pl.col("n_never_active")),
                pl.col("n_neurons") - pl.col("n_never_active"),
            ),
            "negligible_share": (pl.col("n_negligible").cast(pl.Float64), pl.col("n_neurons")),
            # Of medians there is no pooled one: their mean.
            "median_effective_frequency": (
                pl.col("median_effective_frequency") * pl.col("n_neurons"),
                pl.col("n_neurons"),
            ),
        }[metric]
        per_model = layers.group_by("model").len().get_column("len")
        n_bins = min([_MOST_BINS, *(int(n_layers) for n_layers in per_model)])
        binned = layers.with_columns((pl.col("depth") * n_bins).floor().cast(pl.Int64).alias("stretch"))
        is_known = counted.is_not_null()
        pooled = binned.group_by("model", "stretch").agg(
            # A mean of no neurons is unknown, not 0.
            pl.when(is_known.any()).then(counted.sum() / weight.filter(is_known).sum()).alias("value")
        )
        names = [name for name in self.models.get_column("model") if name in set(pooled.get_column("model"))]
        label = pl.concat_str(
            (pl.col("stretch") * 100 / n_bins).round().cast(pl.Int64),
            pl.lit("-"),
            ((pl.col("stretch") + 1) * 100 / n_bins).round().cast(pl.Int64),
            pl.lit("%"),
        )
        wide = pooled.pivot(on="model", on_columns=names, index="stretch", values="value").sort("stretch")
        return wide.select(label.alias("depth"), *names)

    def sections(self) -> list[Section]:
        """The headline numbers, what changes with depth, and the kinds of neurons."""
        head = Section("models", self.table(), "\n".join([*self.notes, *self.hints]))
        # A masked model has no activity, and yet shortcuts to leave it by.
        activity = [] if self.layers.is_empty() else self._of_activity()
        result = [
            head,
            *activity,
            *saturation_sections(self.saturation),
            *exit_sections(self.early_exits, self.exit_tradeoff),
            *trait_sections(self.traits),
            *universality_sections(self.universality),
        ]
        if self.corpus is None:
            return result
        return [replace(section, title=f"{section.title}, on {self.corpus}") for section in result]

    def _by_zeros(self) -> tuple[list[str], list[str]]:
        """Models with exact zeros, of which neurons can be dead, and those without, as far as they read text."""
        measured = self.models.filter(pl.col("n_tokens_seen").is_not_null())
        with_zeros = measured.filter(pl.col("n_dead").is_not_null()).get_column("model")
        without = measured.filter(pl.col("n_dead").is_null()).get_column("model")
        return with_zeros.to_list(), without.to_list()

    def _of_activity(self) -> list[Section]:
        with_zeros, without = self._by_zeros()
        sections = []
        if with_zeros:
            layers = self.layers.filter(pl.col("model").is_in(with_zeros))
            sections += [
                Section("share of dead neurons by depth", self._down("dead_share", with_zeros)),
                Section("mean frequency of the neurons that fired, by depth", self._down("mean_frequency", with_zeros)),
                Section("halves of the network", self._in_order(halves(layers)), _HALVES),
            ]
        if without:
            effective = self._down("median_effective_frequency", without)
            sections += [Section("effective frequency of the median neuron, by depth", effective, _EFFECTIVE)]
        if without and self.layers.get_column("n_negligible").is_not_null().any():
            negligible = self._down("negligible_share", without)
            sections += [Section("share of negligible neurons by depth", negligible, _NEGLIGIBLE)]
        return [*sections, *self.typology.sections()]

    def _down(self, metric: Metric, models: Sequence[str]) -> pl.DataFrame:
        """One row per model, one column per stretch of depth: there may be more models than a screen has columns."""
        return self.by_depth(metric, models).transpose(include_header=True, header_name="model", column_names="depth")

    def data(self) -> dict[str, pl.DataFrame]:
        """The comparison for programs."""
        exits = {"early_exits": self.early_exits, "exit_tradeoff": self.exit_tradeoff}
        frames = {"models": self.models, "layers": self.layers, **self.typology.data(), "saturation": self.saturation}
        return frames | exits | {"traits": self.traits, "universality": self.universality}

    def _in_order(self, rows: pl.DataFrame) -> pl.DataFrame:
        return self.models.select("model").join(rows, on="model", how="inner", maintain_order="left")


@with_its_sql
def compare(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str] = (), *, corpus: str | None = None
) -> Comparison:
    """Put models side by side on their shown corpora, or on the one called `corpus`."""
    names = [model.name for model in choose_models(connection, models)]
    with on_corpus(connection, names, corpus) as prepared:
        return _side_by_side(prepared, names, corpus)


def together(comparisons: Sequence[Comparison]) -> tuple[list[Section], dict[str, pl.DataFrame]]:
    """Comparisons on one corpus or several, one after the other: their sections, and their rows by name."""
    sections = [section for comparison in comparisons for section in comparison.sections()]
    parts = [comparison.data() for comparison in comparisons]
    return sections, {name: pl.concat(part[name] for part in parts) for name in parts[0]}


def _side_by_side(connection: duckdb.DuckDBPyConnection, names: Sequence[str], corpus: str | None) -> Comparison:
    chosen = shown_corpora(connection, names)
    why_not = why_not_comparable(_setups(connection, chosen.values()))
    n_comparable = list(why_not.values()).count(None)
    return Comparison(
        models=_judged(rows_of_models(connection, "scaling", names), why_not),
        layers=conform(rows_of_models(connection, "layer_activity", names, order=("model", "layer")), LAYER_COLUMNS),
        typology=typology(connection, names),
        saturation=saturation(connection, names),
        early_exits=early_exits(connection, names),
        exit_tradeoff=exit_tradeoff(connection, names),
        traits=traits(connection, names),
        universality=universality(connection, names, corpus),
        corpus=corpus,
        unmeasured=() if corpus is None else tuple(unmeasured(connection, names, corpus)),
        common_corpus=None if corpus is not None else _common_corpus(connection, names, n_comparable),
    )


def _setups(connection: duckdb.DuckDBPyConnection, corpora: Iterable[MeasuredCorpus]) -> list[MeasurementSetup]:
    corpora = list(corpora)
    pairs = {"models": [one.model for one in corpora], "corpus_ids": [one.corpus_id for one in corpora]}
    return [MeasurementSetup(**row) for row in ask(connection, "measurement_ways", pairs).to_dicts()]


def _common_corpus(connection: duckdb.DuckDBPyConnection, names: Sequence[str], n_comparable: int) -> str | None:
    """The corpus on which most of the models may be compared, if these are more than `n_comparable`."""
    best = None
    for corpus in sorted({one.corpus for one in measured_corpora(connection, names)}):
        why_not = why_not_comparable(_setups(connection, choose_corpora(connection, names, corpus).values()))
        if list(why_not.values()).count(None) > n_comparable:
            best, n_comparable = corpus, list(why_not.values()).count(None)
    return best


def _judged(scaling: pl.DataFrame, why_not: Mapping[str, str | None]) -> pl.DataFrame:
    """The headline numbers with the verdict among these models only."""
    names = scaling.get_column("model").to_list()
    reasons = [why_not.get(name, "its activity was not measured") for name in names]
    return scaling.with_columns(
        pl.Series("comparable", [reason is None for reason in reasons], dtype=pl.Boolean),
        pl.Series("why_not", reasons, dtype=pl.String),
    )
