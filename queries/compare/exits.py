"""How early models can be left, side by side: rules that learn when, and what shortcuts save at a precision."""

from collections.abc import Mapping, Sequence

import duckdb
import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, INTEGER, SMALL, TEXT
from neurothek.queries.ask.answer import Section
from neurothek.queries.ask.statements import conform
from neurothek.queries.views.neuron_facts import rows_of_models

EARLY_EXIT_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "n_layers": SMALL,
    "method": TEXT,
    "n_clusters_asked": INTEGER,
    "n_seeds": BIG,
    "n": BIG,
    "accuracy": DOUBLE,
    "accuracy_sd": DOUBLE,
    "exited_share": DOUBLE,
    "exited_accuracy": DOUBLE,
    "layers_saved": DOUBLE,
    "layers_saved_sd": DOUBLE,
    "saved_share": DOUBLE,
    "layers_saved_correct": DOUBLE,
    "layers_saved_correct_sd": DOUBLE,
    "corpus": TEXT,
}
TRADEOFF_COLUMNS: Mapping[str, pl.DataType] = {
    "model": TEXT,
    "n_layers": SMALL,
    "method": TEXT,
    "parameter": DOUBLE,
    "n": BIG,
    "precision_1": DOUBLE,
    "precision_1_low": DOUBLE,
    "precision_1_high": DOUBLE,
    "layers_run": DOUBLE,
    "layers_run_low": DOUBLE,
    "layers_run_high": DOUBLE,
    "run_share": DOUBLE,
    "layers_saved": DOUBLE,
    "saved_share": DOUBLE,
    "layers_at_95": DOUBLE,
    "layers_saved_at_95": DOUBLE,
    "saved_share_at_95": DOUBLE,
    "corpus": TEXT,
}
WORDS: Mapping[str, str] = {
    "cluster_ranks": "clusters by rank",
    "cluster_sets": "clusters as sets",
    "logistic_stream": "classifier: stream",
    "logistic_ffn": "classifier: FFN",
    "logistic_sum": "classifier: sum",
    "mat": "mat",
    "id": "id",
    "fixed_mat": "mat, fixed",
    "fixed_id": "id, fixed",
}
"""What people call the methods."""

_RULES_REMARK = (
    "+-: standard deviation over seeds; saved: mean number of layers not run; right: the same for correct examples;\n"
    "early: share left before the last layer; correct: share of these that are correct"
)
_SAVED_REMARK = (
    "mean number of layers not run where 95% of the exits keep the model's token; -: no curve crosses 95% from below"
)


_IN_ORDER = (
    "list_position(['cluster_ranks', 'cluster_sets', 'logistic_stream', 'logistic_ffn', 'logistic_sum'], method)"
)


def early_exits(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> pl.DataFrame:
    """One row per model and method, with the columns of `EARLY_EXIT_COLUMNS`; models without exits have none."""
    return conform(rows_of_models(connection, "early_exits", models, _IN_ORDER), EARLY_EXIT_COLUMNS)


def exit_tradeoff(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> pl.DataFrame:
    """One row per model, method and parameter, with the columns of `TRADEOFF_COLUMNS`, along the curves."""
    return conform(
        rows_of_models(connection, "exit_tradeoff", models, "method", "layers_run", "parameter"), TRADEOFF_COLUMNS
    )


def exit_sections(rules: pl.DataFrame, tradeoff: pl.DataFrame) -> list[Section]:
    """The rules of every model, and what its shortcuts save, where they were measured."""
    sections = []
    if not rules.is_empty():
        sections.append(Section("early exit by sub-updates, and by classifiers", _rules_table(rules), _RULES_REMARK))
    if not tradeoff.is_empty():
        sections.append(Section("layers saved at 95% precision by shortcuts", _saved_table(tradeoff), _SAVED_REMARK))
    return sections


def _rules_table(rules: pl.DataFrame) -> pl.DataFrame:
    return rules.select(
        "model",
        pl.col("method").replace_strict(WORDS, return_dtype=pl.String),
        _with_spread("accuracy", digits=3).alias("accuracy"),
        _with_spread("layers_saved", digits=2).alias("saved"),
        pl.col("layers_saved_correct").alias("right"),
        pl.col("exited_share").alias("early"),
        pl.col("exited_accuracy").alias("correct"),
    )


def _with_spread(column: str, *, digits: int) -> pl.Expr:
    """A mean and, where there are several seeds, its standard deviation over them."""
    mean, sd = (pl.col(name).round(digits).cast(pl.String) for name in (column, f"{column}_sd"))
    return pl.when(pl.col(f"{column}_sd").is_null()).then(mean).otherwise(pl.concat_str(mean, pl.lit(" +- "), sd))


def _saved_table(tradeoff: pl.DataFrame) -> pl.DataFrame:
    """One row per model, a column per method."""
    methods = [method for method in WORDS if method in set(tradeoff.get_column("method"))]
    saved = [pl.col("layers_saved_at_95").filter(method=method).first().alias(WORDS[method]) for method in methods]
    return tradeoff.group_by("model", maintain_order=True).agg(
        pl.col("n_layers").first().alias("layers"), *saved, pl.col("n").first().alias("sentences")
    )
