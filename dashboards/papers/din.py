"""The figures of Din et al. 2023 for the models of a warehouse: linear shortcuts, parts replaced, leaving early."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.pictures import Drawing
from neurothek.dashboards.charts.predictions import exits as exit_charts
from neurothek.dashboards.charts.predictions import shortcuts
from neurothek.dashboards.charts.predictions.shortcuts import heat_map
from neurothek.dashboards.papers.figure import (
    PANEL_HEIGHT,
    PANEL_WIDTH,
    SeriesFigure,
    captioned,
    corpora_in,
    model_panels,
    models_in,
    not_comparable,
    number_in,
)
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.statements import statement
from neurothek.queries.views.neuron_facts import of_models

SERIES = "shortcuts"
WHOLE = ("mat", "id")
PARTS = ("mat", "mat_attn", "mat_ffn", "mat_ln1_ln2")

_ALONG_CURVES = ("size", "model", "method", "layers_run", "parameter")
_NUMBERS = (("precision_1", "precision@1"), ("precision_5", "precision@5"), ("precision_10", "precision@10"))
_HOW = {"mat": "its least-squares map", "id": "the state as it is"}
_SOURCE = "After Din et al. 2023, Jump to Conclusions, for these models."
_NOT_FITTED = "no linear shortcuts were fitted"
_NO_PARTS = "no parts were replaced by linear maps"
_NOT_LEFT = "early exits were not measured"


@dataclass(frozen=True)
class ShortcutRows:
    """What these figures are drawn from: rows of the views of the same names, of the models compared."""

    fit: pl.DataFrame  # of `shortcut_fit`
    quality: pl.DataFrame  # of `shortcut_quality`
    exits: pl.DataFrame  # of `exit_tradeoff`
    # the options of `ingest` that ask for the corpus they are of; none where no corpus was asked for
    on: tuple[str, ...] = ()

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, models: Sequence[str], on: Sequence[str] = ()) -> "ShortcutRows":
        """Read them."""
        asked = {"models": list(models)}
        fits = [
            run_query(connection, statement("shortcut_fit", "dashboards"), {"model": model, "method": method})
            for model in models
            for method in WHOLE
        ]
        return cls(
            fit=pl.concat(fits),
            quality=run_query(connection, of_models("shortcut_quality", ("size", "model", "method", "state")), asked),
            exits=run_query(connection, of_models("exit_tradeoff", _ALONG_CURVES), asked),
            on=tuple(on),
        )


class ShortcutFigure(SeriesFigure):
    """One of the series on linear shortcuts, counted among these."""

    prefix = SERIES
    alike = "figures of linear shortcuts"


def shortcut_figures(rows: ShortcutRows, look: Look, *, corpus: str | None = None) -> list[ShortcutFigure]:
    """All of them in order; those that cannot be drawn say why.

    Args:
        rows: what they show.
        look: colours and dashes of the models.
        corpus: the corpus that was asked for; None: each model's shown one.
    """
    on_corpus = "" if corpus is None else f" on {corpus}"
    brings = command_line("ingest", "MODEL", *rows.on, "--job", "shortcuts", "--job", "exits")
    nothing = f"none were fitted{on_corpus}; fit them with `{brings}`"
    is_nothing = rows.fit.is_empty() and rows.quality.is_empty() and rows.exits.is_empty()
    figures = []
    for number, (slug, (draw, needed, why_not)) in enumerate(_FIGURES.items(), start=1):
        data = needed(rows)
        chart = None if data.is_empty() else draw(data, look)
        reason = nothing if is_nothing else f"{why_not}{on_corpus}"
        figures.append(ShortcutFigure(number, slug, chart, "" if chart is not None else reason))
    return figures


def _fits(method: str) -> Callable[[pl.DataFrame, Look], Drawing]:
    def draw(fits: pl.DataFrame, look: Look) -> Drawing:
        return captioned(
            model_panels(fits, lambda rows: heat_map(rows, "light")),
            f"How well a state predicts each one above it: {_HOW[method]}",
            f"Mean r^2 of the coordinates, on {number_in(fits, 'n_validation')} sentences of {corpora_in(fits)}"
            f" held out from the {number_in(fits, 'n_fit')} to fit; below 0 is worse than predicting the mean.",
            *not_comparable(fits, look),
            _SOURCE,
        )

    return draw


def _precision(quality: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        _side_by_side(quality, _NUMBERS, look),
        "How often a shortcut's token is among the model's first tokens",
        f"Thick lines mat, thin lines id; bands are Wilson 95% intervals, on {number_in(quality, 'n')} sentences of"
        f" {corpora_in(quality)}.",
        *look.caption(models_in(quality)),
        _SOURCE,
    )


def _surprisal(quality: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        _side_by_side(quality, (("surprisal", "mean surprisal"),), look),
        "How surprised the model is at a shortcut's token",
        "Thick lines mat, thin lines id; bands are 95% intervals of the mean,"
        f" on {number_in(quality, 'n')} sentences of {corpora_in(quality)}.",
        *look.caption(models_in(quality)),
        _SOURCE,
    )


def _parts(number: str) -> Callable[[pl.DataFrame, Look], Drawing]:
    bands = "95% intervals of the mean" if number == "surprisal" else "Wilson 95% intervals"

    def draw(quality: pl.DataFrame, look: Look) -> Drawing:
        return captioned(
            model_panels(quality, lambda rows: shortcuts.of_one_model(rows, number)),
            "Linear maps that replace one part of every block above a state",
            f"mat replaces whole blocks. Bands are {bands},"
            f" on {number_in(quality, 'n')} sentences of {corpora_in(quality)}.",
            *not_comparable(quality, look),
            _SOURCE,
        )

    return draw


def _by_size(exits: pl.DataFrame, look: Look) -> Drawing:
    chart = exit_charts.tradeoff_by_model(exits.filter(pl.col("method") == "mat"), look, orient="right")
    return captioned(
        chart.properties(width=2 * PANEL_WIDTH),
        "What leaving early by the confidence of mat costs",
        "A point is a threshold on confidence; dotted: 95%."
        f" On {number_in(exits, 'n')} sentences of {corpora_in(exits)}.",
        *look.caption(models_in(exits)),
        _SOURCE,
    )


def _by_method(exits: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        model_panels(exits, exit_charts.tradeoff_of_model),
        "What leaving early costs: where a shortcut is confident, or always at one state",
        f"The thin dotted rule is at 95%. On {number_in(exits, 'n')} sentences of {corpora_in(exits)}.",
        *not_comparable(exits, look),
        _SOURCE,
    )


Needed = Callable[[ShortcutRows], pl.DataFrame]
_FIGURES: Mapping[str, tuple[Callable[[pl.DataFrame, Look], Drawing], Needed, str]] = {
    "fit-mat": (_fits("mat"), lambda rows: _of(rows.fit, "mat"), _NOT_FITTED),
    "fit-id": (_fits("id"), lambda rows: _of(rows.fit, "id"), _NOT_FITTED),
    "precision": (_precision, lambda rows: _of(rows.quality, *WHOLE), _NOT_FITTED),
    "surprisal": (_surprisal, lambda rows: _of(rows.quality, *WHOLE), _NOT_FITTED),
    "parts": (_parts("precision_1"), lambda rows: _with_parts(rows.quality), _NO_PARTS),
    "exits-by-size": (_by_size, lambda rows: _of(rows.exits, "mat"), _NOT_LEFT),
    "exits-by-method": (_by_method, lambda rows: rows.exits, _NOT_LEFT),
    **{
        slug: (_parts(number), lambda rows: _with_parts(rows.quality), _NO_PARTS)
        for slug, number in (
            ("parts-surprisal", "surprisal"),
            ("parts-5", "precision_5"),
            ("parts-10", "precision_10"),
        )
    },
}


def _of(rows: pl.DataFrame, *methods: str) -> pl.DataFrame:
    return rows.filter(pl.col("method").is_in(methods))


def _with_parts(quality: pl.DataFrame) -> pl.DataFrame:
    """Rows of the models of which some part was replaced."""
    replaced = _of(quality, *PARTS[1:]).select("model").unique()
    return _of(quality, *PARTS).join(replaced, on="model", how="semi", maintain_order="left")


def _side_by_side(quality: pl.DataFrame, numbers: Sequence[tuple[str, str]], look: Look) -> alt.HConcatChart:
    panels = [
        shortcuts.by_model(quality, number, look).properties(
            width=PANEL_WIDTH, height=PANEL_HEIGHT, title=alt.TitleParams(title, fontSize=12)
        )
        for number, title in numbers
    ]
    whole: alt.HConcatChart = alt.hconcat(*panels)
    return whole
