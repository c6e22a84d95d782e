"""What pages show of linear shortcuts: how well states predict each other, and what a model predicts from each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import altair as alt
import polars as pl
import streamlit as st

from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.predictions import shortcuts
from neurothek.dashboards.charts.predictions.shortcuts import heat_map
from neurothek.dashboards.widgets.figures import anchor_of, data_of_models, data_of_query, show_figure
from neurothek.dashboards.widgets.html import plain
from neurothek.dashboards.widgets.page import Theme, beside
from neurothek.dashboards.widgets.reading import Reader, Reading
from neurothek.queries.names.models import KnownModel, sizes_of

SHORTCUT_FIT = """\
-- How well one state of a model predicts another, by one method.
select *,
from shortcut_fit
where model = $model and method = $method
order by source_state, target_state"""

SUB_MODULE_FITS = """\
-- How well a linear map stands for each part of a layer of one model, on its shown corpus.
select
    measured_corpora.model,
    fits.layer,
    (fits.layer + 0.5::double) / models.n_layers as depth,
    fits.sub_module,
    fits.r2,
    fits.n_fit,
    fits.n_validation,
    measured_corpora.corpus,
from store.sub_module_fits as fits
inner join measured_corpora
    on measured_corpora.model_id = fits.model_id and measured_corpora.corpus_id = fits.corpus_id
inner join store.models as models on models.model_id = fits.model_id
where measured_corpora.is_shown and measured_corpora.model = $model
order by fits.sub_module, fits.layer"""

UNDETERMINED = """\
-- Models whose linear shortcuts were fitted to fewer directions than states have: each map is the one of least norm.
select
    fits.model,
    max(fits.rank) as rank,
    max(fits.n_fit) as n_fit,
    any_value(models.d_model) as d_model,
from shortcut_fit as fits
inner join models on models.model = fits.model
where fits.method = 'mat' and list_contains($models::varchar[], fits.model)
group by fits.model
having max(fits.rank) < any_value(models.d_model)
order by any_value(models.size), fits.model"""

SOURCE = "After Din et al. 2023, Jump to Conclusions."
PART_FITS_SOURCE = "The maps are those of Din et al. 2023, Jump to Conclusions; the figure is this project's."
BESIDE_OTHERS = anchor_of("shortcut_quality_precision_1")
"""Where Compare shows the shortcuts of models beside each other."""

FIT = (
    "How well {how} predicts a state above it: mean r² of the coordinates, on {n_validation} sentences of {corpus} "
    "held out from the {n_fit} to fit; below 0 is worse than predicting the mean."
)
HOW = {"mat": "the least-squares map of a state", "id": "a state as it is"}
"""Methods that have a heat map, and what they are."""

TITLES = {"mat": "Linear map (mat)", "id": "Identity (id)"}
"""What their heat maps are called."""

PRECISION_BY_SIZE = (
    "How often a shortcut predicts the model's own token: thick lines mat, thin lines id; bands are Wilson 95% "
    "intervals, on {n} sentences of {corpus}."
)
SURPRISAL_BY_SIZE = (
    "Surprisal of the shortcuts' tokens: thick lines mat, thin lines id; bands are 95% intervals of the "
    "mean, on {n} sentences of {corpus}."
)
PRECISION = (
    "How often a shortcut's token is the model's first, with Wilson 95% intervals, or among its first 5 or 10, on {n} "
    "sentences of {corpus}. From the last state every method is the model itself."
)
SURPRISAL = (
    "Minus the logarithm of the probability that the model gives to a shortcut's token: mean with its 95% interval, on "
    "{n} sentences of {corpus}."
)
PARTS = (
    "Linear maps replace one part of every block above the state; mat replaces whole blocks. On {n} sentences of "
    "{corpus}, 95% intervals."
)
PART_FITS = (
    "How well a linear map predicts the output of a part of a layer from its input, on {n_validation} sentences of "
    "{corpus}; {n_fit} to fit."
)
WHOLE = ("mat", "id")
"""The shortcuts that lead to the last state in one step."""


def measured(reader: Reader, names: Sequence[str]) -> list[str]:
    """Those of the models whose shortcuts were fitted, smallest first."""
    rows = data_of_models(reader, "shortcut_quality", names, "method", "state").frame
    models: list[str] = rows.get_column("model").unique(maintain_order=True).to_list()
    return models


def compare_shortcuts(reader: Reading, names: Sequence[str], look: Callable[[Theme], Look]) -> None:
    """What models predict from their states, model beside model."""
    data = data_of_models(reader, "shortcut_quality", names, "method", "state")
    rows = data.frame.filter(pl.col("method").is_in(WHOLE))
    values = {"n": numbers(rows, "n"), "corpus": corpora(rows)}
    say_undetermined(reader, names)
    left, right = st.columns(2, gap="medium")
    for column, number, title, caption in (
        (left, "precision_1", "Precision of shortcuts by depth", PRECISION_BY_SIZE),
        (right, "surprisal", "Surprisal of shortcuts by depth", SURPRISAL_BY_SIZE),
    ):
        with column:
            draw = partial(_by_model, rows, number, look)
            rows_data = data.showing(f"{data.name}_{number}", rows)
            show_figure(title, draw, caption.format(**values), rows_data, source=SOURCE)


def sizes_beside(model: KnownModel, measured: Sequence[KnownModel]) -> list[KnownModel]:
    """The models that one is compared with: the plain sizes, and itself.

    Args:
        model: which one.
        measured: those whose shortcuts were fitted, smallest first.
    """
    sizes = sizes_of(measured)
    return [other for other in measured if other in sizes or other == model]


def shortcuts_sentence(rows: pl.DataFrame, model: str) -> str:
    """How often a model's own token is read off its states, in a sentence: early, and just before the end.

    Args:
        rows: of the view `shortcut_quality`.
        model: which one.
    """
    clauses = []
    for method, name in (("mat", "by a linear map (mat)"), ("id", "from the state as it is (id)")):
        of_model = rows.filter(model=model, method=method).sort("state")
        if of_model.height > 1:
            first, last = of_model.row(0, named=True), of_model.row(-2, named=True)
            shares = f"{first['precision_1']:.0%} of the time at state {first['state']}, {last['precision_1']:.0%} at"
            clauses.append(f"{name} {shares} state {last['state']}")
    what = f"The token that {model} predicts can be read off its earlier states"
    return f"{what}: {'; '.join(clauses)}." if clauses else ""


def say_undetermined(reader: Reading, names: Sequence[str]) -> None:
    """Say of which models too few sentences were read for their maps to be determined."""
    rows = data_of_query(reader, "undetermined_shortcuts", UNDETERMINED, {"models": list(names)}).frame
    if sentences := [undetermined(row) for row in rows.to_dicts()]:
        st.caption(plain(" ".join(sentences)))


def undetermined(row: Mapping[str, Any]) -> str:
    """That a model's maps could be others, in a sentence.

    Args:
        row: of `UNDETERMINED`.
    """
    return (
        f"Too few sentences for {row['model']}: the {row['n_fit']:,} to fit determine {row['rank']:,} of the "
        f"{row['d_model']:,} directions of a state, and of the maps that fit them mat is the one of least norm; more "
        "sentences may change all numbers of mat."
    )


def heat_maps(reader: Reading, model: str) -> None:
    """How well the states of a model predict each other, a map per method."""
    fits = {
        method: data_of_query(reader, "shortcut_fit", SHORTCUT_FIT, {"model": model, "method": method})
        for method in HOW
    }
    filled = {method: data for method, data in fits.items() if not data.frame.is_empty()}
    for column, (method, data) in zip(st.columns(max(1, len(filled)), gap="medium"), filled.items(), strict=True):
        values = {name: numbers(data.frame, name) for name in ("n_fit", "n_validation")}
        corpus = corpora(data.frame)
        with column:
            show_figure(
                f"{TITLES[method]} of {model}",
                partial(heat_map, data.frame),
                FIT.format(how=HOW[method], corpus=corpus, **values),
                data.showing(f"shortcut_fit_{method}"),
                source=SOURCE,
                own_legend=True,
            )


def shortcuts_of_model(reader: Reading, model: str) -> None:
    """What one model predicts from each of its states, by the shortcuts that jump to the last one."""
    data = data_of_models(reader, "shortcut_quality", [model], "method", "state")
    rows = data.frame.filter(pl.col("method").is_in(WHOLE))
    if rows.is_empty():
        return
    values = {"n": numbers(rows, "n"), "corpus": corpora(rows)}
    left, right = st.columns(2, gap="medium")
    with left:
        rows_data = data.showing("precision_by_state", rows)
        title = f"Precision by state, {model}"
        show_figure(
            title,
            lambda _: shortcuts.precision_of_model(rows),
            PRECISION.format(**values),
            rows_data,
            source=SOURCE,
            own_legend=True,
        )
    with right:
        rows_data = data.showing("surprisal_by_state", rows)
        show_figure(
            f"Surprisal by state, {model}",
            lambda _: shortcuts.of_one_model(rows, "surprisal"),
            SURPRISAL.format(**values),
            rows_data,
            source=SOURCE,
            own_legend=True,
        )


def parts(reader: Reading, model: str) -> None:
    """What is lost where one part of every block is replaced by linear maps; says so where none was tried."""
    data = data_of_models(reader, "shortcut_quality", [model], "method", "state")
    rows = data.frame.filter(pl.col("method") != "id")
    if set(rows.get_column("method")) <= set(WHOLE):
        st.caption(plain(f"No part of {model} was replaced by linear maps: its job was run without those methods."))
        return
    values = {"n": numbers(rows, "n"), "corpus": corpora(rows)}
    with beside("parts"):
        left, middle, right = st.columns(3, gap="medium")
    for column, number, title in (
        (left, "precision_1", "Precision, parts of"),
        (middle, "surprisal", "Surprisal, parts of"),
    ):
        with column:
            show_figure(
                f"{title} {model}",
                partial(_of_model, rows, number),
                PARTS.format(**values),
                data.showing(f"parts_{number}", rows),
                source=SOURCE,
                own_legend=True,
            )
    with right:
        _part_fits(reader, model)


def numbers(frame: pl.DataFrame, column: str) -> str:
    """One number where it is the same in all rows, else from which to which."""
    distinct = sorted(set(frame.get_column(column)))
    return f"{distinct[0]:,}" if len(distinct) == 1 else f"{distinct[0]:,} to {distinct[-1]:,}"


def corpora(frame: pl.DataFrame) -> str:
    """Names of the corpora that rows are about."""
    return ", ".join(map(spoken_corpus, frame.get_column("corpus").unique(maintain_order=True)))


def _part_fits(reader: Reading, model: str) -> None:
    fits = data_of_query(reader, "sub_module_fits", SUB_MODULE_FITS, {"model": model})
    if fits.frame.is_empty():
        return
    values = {name: numbers(fits.frame, name) for name in ("n_fit", "n_validation")} | {"corpus": corpora(fits.frame)}
    show_figure(
        f"Fits, parts of {model}",
        lambda _: shortcuts.part_fits(fits.frame),
        PART_FITS.format(**values),
        fits,
        source=PART_FITS_SOURCE,
        own_legend=True,
    )


def _by_model(rows: pl.DataFrame, number: str, look: Callable[[Theme], Look], theme: Theme) -> alt.LayerChart:
    return shortcuts.by_model(rows, number, look(theme))


def _of_model(rows: pl.DataFrame, number: str, _: Theme) -> alt.LayerChart:
    return shortcuts.of_one_model(rows, number)
