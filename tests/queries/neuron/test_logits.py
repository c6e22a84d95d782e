"""How the scores of a neuron spread: its page and the view against loops over the scores it was made from."""

import math

import duckdb
import polars as pl

from neurothek.queries.neuron.logits import LOGIT_COLUMNS, logits_frame, logits_sentence, tails
from neurothek.queries.neuron.page import neuron_page
from tests.support.tiny import FLAT, WITHOUT_HISTOGRAMS, Neuron, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()


def z_scores(neuron: Neuron) -> list[float]:
    scores = MADE.scores[neuron]
    mean = math.fsum(scores) / len(scores)
    sd = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / len(scores))
    return [(score - mean) / sd if sd else 0.0 for score in scores]


def n_between(values: list[float], lower: float | None, upper: float | None) -> int:
    return sum((lower is None or value >= lower) and (upper is None or value < upper) for value in values)


def test_a_page_holds_how_all_scores_spread(full: duckdb.DuckDBPyConnection) -> None:
    for neuron in neurons_of(0):
        page = neuron_page(full, address(neuron))
        assert dict(page.logits.schema) == dict(LOGIT_COLUMNS)
        assert page.logits.height == 66
        values = z_scores(neuron)
        for lower, upper, n_tokens in page.logits.rows():
            assert n_tokens == n_between(values, lower, upper)
        assert page.data()["logits"].equals(page.logits)


def test_the_view_tells_the_same(full: duckdb.DuckDBPyConnection) -> None:
    rows = full.sql("from logit_histograms order by all").pl()
    models = {address(next(iter(neurons_of(number)))).split("/")[0]: number for number in range(5)}
    assert set(rows["model"]) == {name for name, number in models.items() if number != WITHOUT_HISTOGRAMS}
    for (model, layer, neuron), bins in rows.group_by("model", "layer", "neuron"):
        assert isinstance(layer, int)
        assert isinstance(neuron, int)
        values = z_scores((models[str(model)], layer, neuron))
        assert bins["bin"].to_list() == list(range(1, 67))
        for lower, upper, n_tokens in bins.select("z_from", "z_to", "n_tokens").rows():
            assert n_tokens == n_between(values, lower, upper)


def test_an_earlier_release_left_none(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, address((WITHOUT_HISTOGRAMS, 0, 0)))
    assert page.logits.is_empty()
    assert dict(page.logits.schema) == dict(LOGIT_COLUMNS)
    assert logits_sentence(page.logits, page.facts) == ""
    assert logits_frame([]).is_empty()


def counts(**by_place: int) -> list[dict[str, list[int]]]:
    return [{"logit_counts": [by_place.get(f"bin_{number}", 0) for number in range(66)]}]


def test_tails_begin_four_standard_deviations_out() -> None:
    """Bin 17 begins at -4 and bin 49 at 4."""
    frame = logits_frame(counts(bin_0=1, bin_16=2, bin_17=4, bin_33=1000, bin_48=8, bin_49=16, bin_65=32))
    assert frame.filter(pl.col("n_tokens") == 4)["z_from"].item() == -4
    assert frame.filter(pl.col("n_tokens") == 16)["z_from"].item() == 4
    assert tails(frame) == (3, 48)
    told = logits_sentence(frame, {"kurtosis": 5.0, "skewness": 0.5})
    assert "Of 1,063 tokens, 48 lie 4 standard deviations above the mean or higher and 3 as far below" in told
    # The upper tail of a normal distribution beyond 4 is 3.167e-5 (tables of its integral): 0.0337 of 1,063.
    assert "0.034 would on either side. Excess kurtosis 5.00, skewness 0.50." in told


def test_equal_scores_are_said_to_be_equal(full: duckdb.DuckDBPyConnection) -> None:
    page = neuron_page(full, address(FLAT))
    n_tokens = len(MADE.scores[FLAT])
    assert logits_sentence(page.logits, page.facts) == f"All {n_tokens} tokens have the same score."
