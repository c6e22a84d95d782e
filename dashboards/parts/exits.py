"""What pages show of leaving models early: what shortcuts save, and rules that learn when to stop."""

from collections.abc import Callable, Sequence

import polars as pl
import streamlit as st

from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.predictions import exits
from neurothek.dashboards.parts.shortcuts import SOURCE, corpora
from neurothek.dashboards.widgets import tables
from neurothek.dashboards.widgets.figures import Data, data_of_models, data_of_query, show_figure, show_source
from neurothek.dashboards.widgets.page import Theme, missing
from neurothek.dashboards.widgets.reading import Reading

_EARLY_EXITS = """\
-- What rules that leave some models early cost and save.
select
    model, method, accuracy, accuracy_sd, layers_saved, layers_saved_sd, layers_saved_correct, exited_share,
    exited_accuracy, n_layers, n_clusters_asked, n_seeds, n, corpus,
from early_exits
where list_contains($models::varchar[], model)
order by size, model, method"""

BY_MODEL = (
    "How often leaving early by the least-squares shortcut keeps the model's own token, at each threshold on its "
    "confidence, against the layers that ran; dotted: 95%. On {n} sentences of {corpus}."
)
OF_MODEL = (
    "How often leaving early keeps the model's own token, against the layers that ran, on {n} sentences of {corpus}. "
    "Dotted lines: always left at one state. {saved}"
)
RULES = (
    "An example is left where the clusters of its dominant sub-updates, or a classifier for each layer, say that its "
    "prediction is settled: share that keeps the model's own prediction, and mean number of layers not run, over "
    "{seeds} splits, on {corpus}. Table 6 of Geva et al. 2022."
)
_ALONG = ("method", "layers_run", "parameter")
METHOD = "mat"
"""The shortcut that models are compared by."""


def compare_exits(reader: Reading, names: Sequence[str], look: Callable[[Theme], Look]) -> set[str]:
    """Early exit, model beside model; of which models it was measured."""
    curves = data_of_models(reader, "exit_tradeoff", names, *_ALONG)
    rules = data_of_query(reader, "early_exits", _EARLY_EXITS, {"models": list(names)})
    if curves.frame.is_empty() and rules.frame.is_empty():
        return set()
    st.header("Early exit", anchor=False)
    rows = curves.frame.filter(pl.col("method") == METHOD)
    if not rows.is_empty():
        drawn = curves.showing(curves.name, rows)
        show_figure(
            "The cost of exiting early",
            lambda theme: exits.tradeoff_by_model(rows, look(theme)),
            BY_MODEL.format(n=_numbers(rows, "n"), corpus=corpora(rows)),
            drawn,
            source=SOURCE,
        )
    if not rules.frame.is_empty():
        with st.expander("Rules that learn when to exit"):
            show_rules(rules)
    return curves.models | rules.models


def exits_of_model(reader: Reading, model: str) -> None:
    """The curves of one model's shortcuts, if they were measured."""
    curves = data_of_models(reader, "exit_tradeoff", [model], *_ALONG)
    if curves.frame.is_empty():
        missing(
            reader.shown_connection,
            f"Early exits were not measured for {model}.",
            [model],
            jobs=("exits",),
            corpus=reader.corpus,
        )
        return
    show_figure(
        f"The cost of exiting early, {model}",
        lambda _: exits.tradeoff_of_model(curves.frame),
        OF_MODEL.format(
            n=_numbers(curves.frame, "n"), corpus=corpora(curves.frame), saved=saved_in_words(curves.frame)
        ),
        curves,
        own_legend=True,
        source=SOURCE,
    )


def show_rules(rules: Data) -> None:
    """The table of rules, with what it shows and the SQL behind it."""
    tables.show_table(rules.frame.drop("corpus"), key="early_exits")
    st.caption(RULES.format(seeds=_numbers(rules.frame, "n_seeds"), corpus=corpora(rules.frame)))
    show_source(rules)


def saved_in_words(curves: pl.DataFrame) -> str:
    """What 95% precision saves, by method: a sentence."""
    crossing = curves.filter(pl.col("layers_saved_at_95").is_not_null())
    columns = ("method", "layers_saved_at_95", "saved_share_at_95")
    rows = crossing.select(columns).unique().sort("method", descending=True).rows()
    clauses = [f"{method.replace('_', ' ')} {saved:.1f} ({share:.0%})" for method, saved, share in rows]
    return f"Layers saved at 95% precision: {', '.join(clauses)}." if clauses else "No curve crosses 95% from below."


def _numbers(frame: pl.DataFrame, column: str) -> str:
    """One number where it is the same in all rows, else from which to which."""
    numbers = sorted(set(frame.get_column(column)))
    return f"{numbers[0]:,}" if len(numbers) == 1 else f"{numbers[0]:,} to {numbers[-1]:,}"
