"""A paper collected: its exhibits in order, drawings that show the rows of the views, and claims beside them."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from neurothek.dashboards.papers.reproduced import ReproducedExhibit
from neurothek.queries.papers.paper_names import PAPER_NAMES, PaperName
from tests.dashboards.papers.conftest import CASES, FAMILY, NAMES, Found, Readers

# The papers are collected once, by one worker.
pytestmark = pytest.mark.xdist_group("reproduce")


@pytest.mark.parametrize("case", CASES)
def test_every_exhibit_is_there_in_order(case: str, found: Found) -> None:
    one = found[case]
    assert [shown.exhibit for shown in one.exhibits] == list(one.paper.exhibits)
    for shown in one.exhibits:
        assert tuple(figure.picture for figure in shown.figures) == shown.exhibit.pictures
        assert all((figure.chart is None) == bool(figure.why_not) for figure in shown.figures)
        assert tuple(judged.claim for judged in shown.claims) == shown.exhibit.claims


def test_the_models_are_those_that_were_named(found: Found) -> None:
    assert (found["geva"].models, found["geva"].claims.family) == (tuple(NAMES), FAMILY)
    assert set(found["n-grams"].models) == {"planted", "shuffled"}


def test_most_pictures_are_drawn(found: Found) -> None:
    figures = [figure for one in found.values() for shown in one.exhibits for figure in shown.figures]
    drawn = {figure.picture.slug for figure in figures if figure.chart is not None}
    missing = {figure.picture.slug for figure in figures} - drawn
    # The hand-made models have no early checkpoints, and none has norms after its blocks.
    assert missing == {"during-training", "norms-after"}


@pytest.mark.parametrize("paper", PAPER_NAMES)
def test_statements_yield_the_rows_by_themselves(paper: PaperName, found: Found, readers: Readers) -> None:
    for one in found[paper].exhibits:
        for table in one.tables:
            assert "$models" not in table.sql
            assert readers[paper].sql(table.sql).pl().height == table.rows.height


NUMBERS = (
    *("dead_share", "mean_frequency", "n_detectors", "n_detected", "n_cumulative", "share", "positional_share"),
    *("frequent_share",),
    *("r2", "precision_1", "precision_5", "precision_10", "surprisal", "layers_run", "norm_overlap"),
    *("dominant_share", "random_share", "token_share", "extreme_share", "value_vector_share"),
)


def rows_drawn(shown: ReproducedExhibit) -> Iterator[Mapping[str, Any]]:
    for chart in (figure.chart for figure in shown.figures if figure.chart is not None):
        for data in chart.to_dict(validate=False)["datasets"].values():
            yield from (row for row in data if "model" in row)


@pytest.mark.parametrize("case", CASES)
def test_every_number_drawn_is_one_of_the_views(case: str, found: Found) -> None:
    n_compared = 0
    for shown in found[case].exhibits:
        known: dict[tuple[str, str], set[float]] = {}
        for table in shown.tables:
            for row in table.rows.to_dicts():
                for name in NUMBERS:
                    if isinstance(row.get(name), int | float):
                        known.setdefault((row["model"], name), set()).add(round(float(row[name]), 9))
        for drawn in rows_drawn(shown):
            for name in NUMBERS:
                value = drawn.get(name)
                if (drawn["model"], name) in known and isinstance(value, int | float) and math.isfinite(value):
                    n_compared += 1
                    assert round(float(value), 9) in known[drawn["model"], name], (shown.exhibit.label, name, drawn)
    assert n_compared > 5
