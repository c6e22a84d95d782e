"""The figures of Din et al. 2023 for the models of a warehouse: linear shortcuts, parts replaced, leaving early."""

from collections.abc import Callable, Mapping, Sequence

import altair as alt
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
    Figure,
    Setting,
    Sketch,
    captioned,
    corpora_in,
    draw_sheets,
    model_panels,
    models_in,
    not_comparable,
    number_in,
)
from neurothek.queries.papers import din as paper
from neurothek.queries.papers.exhibit import Picture, Sheet

PARTS = ("mat", "mat_attn", "mat_ffn", "mat_ln1_ln2")

_NUMBERS = (("precision_1", "precision@1"), ("precision_5", "precision@5"), ("precision_10", "precision@10"))
_HOW = {"mat": "its least-squares map", "id": "the state as it is"}
_SOURCE = "After Din et al. 2023, Jump to Conclusions, for these models."


def _fits(method: str) -> Callable[[pl.DataFrame, Look], Drawing]:
    def draw(fits: pl.DataFrame, look: Look) -> Drawing:
        return captioned(
            model_panels(fits, lambda rows: heat_map(rows, "light")),
            f"Accuracy of a state for each state above it: {_HOW[method]}",
            f"Mean r^2 of the coordinates, on {number_in(fits, 'n_validation')} sentences of {corpora_in(fits)}"
            f" held out from the {number_in(fits, 'n_fit')} to fit; below 0 is worse than predicting the mean.",
            *not_comparable(fits, look),
            _SOURCE,
        )

    return draw


def _precision(quality: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        _side_by_side(quality, _NUMBERS, look),
        "Precision of the shortcuts",
        f"Thick lines mat, thin lines id; bands are Wilson 95% intervals, on {number_in(quality, 'n')} sentences of"
        f" {corpora_in(quality)}.",
        *look.caption(models_in(quality)),
        _SOURCE,
    )


def _surprisal(quality: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        _side_by_side(quality, (("surprisal", "mean surprisal"),), look),
        "Surprisal of the shortcuts' tokens",
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
    chart = exit_charts.tradeoff_by_model(exits, look, orient="right")
    return captioned(
        chart.properties(width=2 * PANEL_WIDTH),
        "The cost of early exit by the confidence of mat",
        "A point is a threshold on confidence; dotted: 95%."
        f" On {number_in(exits, 'n')} sentences of {corpora_in(exits)}.",
        *look.caption(models_in(exits)),
        _SOURCE,
    )


def _by_method(exits: pl.DataFrame, look: Look) -> Drawing:
    return captioned(
        model_panels(exits, exit_charts.tradeoff_of_model),
        "The cost of early exit: where a shortcut is confident, or always at one state",
        f"The thin dotted rule is at 95%. On {number_in(exits, 'n')} sentences of {corpora_in(exits)}.",
        *not_comparable(exits, look),
        _SOURCE,
    )


def _with_parts(quality: pl.DataFrame) -> pl.DataFrame:
    """Rows of the models of which some part was replaced."""
    replaced = quality.filter(pl.col("method").is_in(PARTS[1:])).select("model").unique()
    parts = quality.filter(pl.col("method").is_in(PARTS))
    return parts.join(replaced, on="model", how="semi", maintain_order="left")


def _side_by_side(quality: pl.DataFrame, numbers: Sequence[tuple[str, str]], look: Look) -> alt.HConcatChart:
    panels = [
        shortcuts.by_model(quality, number, look).properties(
            width=PANEL_WIDTH, height=PANEL_HEIGHT, title=alt.TitleParams(title, fontSize=12)
        )
        for number, title in numbers
    ]
    whole: alt.HConcatChart = alt.hconcat(*panels)
    return whole


def _fitted(draw: Callable[[pl.DataFrame, Look], Drawing]) -> Sketch:
    return Sketch(draw, lambda setting: f"no linear shortcuts were fitted{setting.corpus_suffix}")


def _left(draw: Callable[[pl.DataFrame, Look], Drawing]) -> Sketch:
    return Sketch(draw, lambda setting: f"early exits were not measured{setting.corpus_suffix}")


def _replaced(number: str) -> Sketch:
    nothing = "no parts were replaced by linear maps"
    return Sketch(_parts(number), lambda setting: f"{nothing}{setting.corpus_suffix}", of=_with_parts)


SKETCHES: Mapping[Picture, Sketch] = {
    paper.FIT_MAT: _fitted(_fits("mat")),
    paper.FIT_ID: _fitted(_fits("id")),
    paper.PRECISION: _fitted(_precision),
    paper.SURPRISAL: _fitted(_surprisal),
    paper.EXITS_BY_SIZE: _left(_by_size),
    paper.EXITS_BY_METHOD: _left(_by_method),
    paper.PARTS: _replaced("precision_1"),
    paper.PARTS_SURPRISAL: _replaced("surprisal"),
    paper.PARTS_5: _replaced("precision_5"),
    paper.PARTS_10: _replaced("precision_10"),
}


def draw_shortcuts(sheets: Mapping[Sheet, pl.DataFrame], setting: Setting) -> list[Figure]:
    """All of them by number; where nothing was fitted at all, with the command that brings them."""
    figures = draw_sheets(paper.DIN.exhibits, SKETCHES, sheets, setting)
    if all(one.chart is None for one in figures):
        brings = command_line("ingest", "MODEL", *setting.on, "--job", "shortcuts", "--job", "exits")
        why_not = f"none were fitted{setting.corpus_suffix}; fit them with `{brings}`"
        figures = [Figure(one.picture, None, why_not) for one in figures]
    return sorted(figures, key=lambda one: one.picture.number or 0)
