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
    Drawn,
    NotDrawn,
    Setting,
    captioned,
    corpora_in,
    model_panels,
    models_in,
    not_comparable,
    number_in,
)
from neurothek.queries.papers import din as paper
from neurothek.queries.papers.exhibit import Picture
from neurothek.queries.views.neuron_facts import rows_of_models

WHOLE = ("mat", "id")
PARTS = ("mat", "mat_attn", "mat_ffn", "mat_ln1_ln2")

_OF_PAIRS = (
    "list_position($models::varchar[], model)",
    "list_position(['mat', 'id'], method)",
    "source_state",
    "target_state",
)
_ALONG_CURVES = ("size", "model", "method", "layers_run", "parameter")
_NUMBERS = (("precision_1", "precision@1"), ("precision_5", "precision@5"), ("precision_10", "precision@10"))
_HOW = {"mat": "its least-squares map", "id": "the state as it is"}
_SOURCE = "After Din et al. 2023, Jump to Conclusions, for these models."
_NOT_FITTED = "no linear shortcuts were fitted"
_NOT_LEFT = "early exits were not measured"


@dataclass(frozen=True)
class ShortcutRows:
    """What these figures are drawn from: rows of the views of the same names, of the models compared."""

    fit: pl.DataFrame  # of `shortcut_fit`
    quality: pl.DataFrame  # of `shortcut_quality`
    exits: pl.DataFrame  # of `exit_tradeoff`
    setting: Setting

    @classmethod
    def of(cls, connection: duckdb.DuckDBPyConnection, models: Sequence[str], setting: Setting) -> "ShortcutRows":
        """Read them."""
        return cls(
            fit=rows_of_models(connection, "shortcut_fit", models, order=_OF_PAIRS).filter(
                pl.col("method").is_in(WHOLE)
            ),
            quality=rows_of_models(connection, "shortcut_quality", models, order=("size", "model", "method", "state")),
            exits=rows_of_models(connection, "exit_tradeoff", models, order=_ALONG_CURVES),
            setting=setting,
        )


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


def _drawn(
    draw: Callable[[pl.DataFrame, Look], Drawing], of: Callable[[ShortcutRows], pl.DataFrame], why_not: str
) -> Callable[[ShortcutRows], Drawn]:
    """A drawing of some of the rows; where there are none at all, the command that brings them."""

    def drawn(rows: ShortcutRows) -> Drawn:
        if not of(rows).is_empty():
            return draw(of(rows), rows.setting.look)
        there = rows.setting.there
        if not (rows.fit.is_empty() and rows.quality.is_empty() and rows.exits.is_empty()):
            return NotDrawn(f"{why_not}{there}")
        brings = command_line("ingest", "MODEL", *rows.setting.on, "--job", "shortcuts", "--job", "exits")
        return NotDrawn(f"none were fitted{there}; fit them with `{brings}`")

    return drawn


def _drawn_parts(number: str) -> Callable[[ShortcutRows], Drawn]:
    return _drawn(_parts(number), lambda rows: _with_parts(rows.quality), "no parts were replaced by linear maps")


DRAWINGS: Mapping[Picture, Callable[[ShortcutRows], Drawn]] = {
    paper.FIT_MAT: _drawn(_fits("mat"), lambda rows: _of(rows.fit, "mat"), _NOT_FITTED),
    paper.FIT_ID: _drawn(_fits("id"), lambda rows: _of(rows.fit, "id"), _NOT_FITTED),
    paper.PRECISION: _drawn(_precision, lambda rows: _of(rows.quality, *WHOLE), _NOT_FITTED),
    paper.SURPRISAL: _drawn(_surprisal, lambda rows: _of(rows.quality, *WHOLE), _NOT_FITTED),
    paper.PARTS: _drawn_parts("precision_1"),
    paper.EXITS_BY_SIZE: _drawn(_by_size, lambda rows: _of(rows.exits, "mat"), _NOT_LEFT),
    paper.EXITS_BY_METHOD: _drawn(_by_method, lambda rows: rows.exits, _NOT_LEFT),
    paper.PARTS_SURPRISAL: _drawn_parts("surprisal"),
    paper.PARTS_5: _drawn_parts("precision_5"),
    paper.PARTS_10: _drawn_parts("precision_10"),
}
