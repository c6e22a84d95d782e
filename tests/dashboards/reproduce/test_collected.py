"""A paper collected: its exhibits in order, drawings that show the rows of the views, and claims beside them."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from neurothek.dashboards.reproduce.collected import EXHIBITS, Shown
from neurothek.queries.claims.claim import PAPERS, Paper
from neurothek.queries.claims.verdicts import CLAIMS
from tests.dashboards.reproduce.conftest import CASES, FAMILY, NAMES, Found, Readers


@pytest.mark.parametrize("case", CASES)
def test_every_exhibit_is_there_in_order(case: str, found: Found) -> None:
    one = found[case]
    assert [shown.exhibit for shown in one.shown] == list(EXHIBITS[one.paper])
    for shown in one.shown:
        assert {*shown.drawn} | {*shown.why_not} == {*shown.exhibit.pictures}
        assert not {*shown.drawn} & {*shown.why_not}
        assert all(shown.why_not.values())


def test_the_models_are_those_that_were_named(found: Found) -> None:
    assert (found["geva"].models, found["geva"].claims.family) == (tuple(NAMES), FAMILY)
    assert set(found["n-grams"].models) == {"planted", "shuffled"}


def test_most_pictures_are_drawn(found: Found) -> None:
    drawn = {slug for one in found.values() for shown in one.shown for slug in shown.drawn}
    missing = {slug for one in found.values() for shown in one.shown for slug in shown.why_not} - drawn
    # The hand-made models have no early checkpoints, and none has norms after its blocks.
    assert missing == {"during-training", "norms-after"}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_stands_at_its_exhibits(paper: Paper, found: Found) -> None:
    shown = {judged.claim.text for one in found[paper].shown for judged in one.claims}
    assert shown == {claim.text for claim in CLAIMS if claim.paper == paper}


@pytest.mark.parametrize("paper", PAPERS)
def test_statements_yield_the_rows_by_themselves(paper: Paper, found: Found, readers: Readers) -> None:
    for one in found[paper].shown:
        for table in one.tables:
            assert "$models" not in table.sql
            assert readers[paper].sql(table.sql).pl().height == table.rows.height


NUMBERS = (
    *("dead_share", "mean_frequency", "n_detectors", "n_detected", "n_cumulative", "share", "positional_share"),
    *("frequent_share",),
    *("r2", "precision_1", "precision_5", "precision_10", "surprisal", "layers_run", "norm_overlap"),
    *("dominant_share", "random_share", "token_share", "extreme_share", "value_vector_share"),
)


def rows_drawn(shown: Shown) -> Iterator[Mapping[str, Any]]:
    for chart in shown.drawn.values():
        for data in chart.to_dict(validate=False)["datasets"].values():
            yield from (row for row in data if "model" in row)


@pytest.mark.parametrize("case", CASES)
def test_every_number_drawn_is_one_of_the_views(case: str, found: Found) -> None:
    n_compared = 0
    for shown in found[case].shown:
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
