"""The drawing of all logits: bars where there are tokens, tails told apart, ends named."""

import math

import polars as pl
import pytest

from neurothek.dashboards.charts.logits import MOST_NAMES, drawn_bins, logit_histogram, named_ends
from neurothek.queries.neuron.logits import logits_frame

COUNTS = {0: 2, 20: 5, 33: 900, 34: 80, 50: 3, 65: 1}
LOGITS = logits_frame([{"logit_counts": [COUNTS.get(number, 0) for number in range(66)]}])
TOKENS = pl.DataFrame(
    {
        "side": ["promoted"] * 4 + ["suppressed"],
        "rank": [1, 2, 3, 4, 1],
        "token": [" school", " schools", "pupil\n", "teach", "<x>"],
        "z_score": [8.1, 8.0, 4.3, 4.2, -9.5],
    }
)


def test_bins_without_tokens_are_left_out_and_open_ones_are_as_wide_as_others() -> None:
    bins = drawn_bins(LOGITS)
    assert bins.get_column("n_tokens").to_list() == [2, 5, 900, 80, 3, 1]
    assert bins.select("low", "high").rows() == [
        (-8.25, -8.0),
        (-3.25, -3.0),
        (0.0, 0.25),
        (0.25, 0.5),
        (4.25, 4.5),
        (8.0, 8.25),
    ]
    body, tail = ["body"] * 3, ["promoted tail"] * 2
    assert bins.get_column("part").to_list() == ["suppressed tail", *body, *tail]


def test_the_line_is_a_normal_distribution_of_as_many() -> None:
    def below(z: float) -> float:
        return (1 + math.erf(z / math.sqrt(2))) / 2

    bins = drawn_bins(LOGITS)
    total = sum(COUNTS.values())
    wanted = [total * (below(high) - below(low)) for low, high in bins.select("low", "high").rows()]
    # Open bins hold the whole tail.
    wanted[0], wanted[-1] = total * below(-8), total * below(-8)
    assert bins.get_column("expected").to_list() == pytest.approx(wanted, rel=1e-6, abs=1e-12)


def test_the_ends_are_named_where_there_is_room() -> None:
    names = named_ends(drawn_bins(LOGITS), TOKENS).rows()
    # " schools" stands too near " school", "teach" too near "pupil".
    assert [name for name, _, _ in names] == ["·school", "pupil↵", "<x>"]
    assert [(z, n) for _, z, n in names] == [(8.1, 1), (4.3, 3), (-8.125, 2)]
    assert all(len(side) <= MOST_NAMES for side in (names[:2], names[2:]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_histogram_is_drawn_on_a_logarithmic_axis(theme: str) -> None:
    drawn = logit_histogram(LOGITS, TOKENS, theme).to_dict()
    bars = drawn["layer"][0]
    assert bars["encoding"]["y"]["scale"]["type"] == "log"
    assert bars["encoding"]["color"]["scale"]["domain"] == ["suppressed tail", "body", "promoted tail"]
    assert bars["encoding"]["x"]["scale"]["domain"] == [-8.25, 9.0]
    # Where a bin is open its edge says so, and no name stands where there is no bar.
    assert bars["encoding"]["x"]["axis"]["labelExpr"] == (
        "datum.value === -8 ? '≤ ' + datum.label : datum.value === 8 ? '≥ ' + datum.label : datum.label"
    )


def test_a_flat_neuron_and_one_without_names_can_be_drawn() -> None:
    flat = logits_frame([{"logit_counts": [0] * 33 + [70] + [0] * 32}])
    drawn = logit_histogram(flat, TOKENS.clear()).to_dict()
    assert drawn["layer"][0]["encoding"]["x"]["scale"]["domain"] == [-5.0, 5.75]
    assert drawn["layer"][0]["encoding"]["x"]["axis"]["labelExpr"] == "datum.label"
