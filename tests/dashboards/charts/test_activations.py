"""The histogram of one neuron's activations: a bar for each bin but that of 0, in the order of the activations."""

import polars as pl

from dashboards.charts.activations import activation_histogram

BINS = pl.DataFrame(
    {
        "bin": [-3, 0, 2, 10, 34],
        "low": [-0.0078125, 0.0, 0.00390625, 0.0625, 256.0],
        "high": [-0.005859375, 0.0, 0.005859375, 0.09375, None],
        "n_tokens": [4, 900, 1, 90, 5],
        "n_tokens_counted": [1_000] * 5,
    }
)


def test_bars_are_the_bins_but_that_of_zero() -> None:
    drawn = activation_histogram(BINS, "#000001", "#000002").to_dict()
    (rows,) = drawn["datasets"].values()
    assert [row["n_tokens"] for row in rows] == [4, 1, 90, 5]
    assert [row["share"] for row in rows] == [0.004, 0.001, 0.09, 0.005]
    assert [row["sign"] for row in rows] == ["below 0", "above 0", "above 0", "above 0"]
    assert drawn["encoding"]["x"]["sort"] == [row["activation"] for row in rows]
    assert rows[-1]["activation"] == "256 to ∞"
    assert drawn["encoding"]["color"]["scale"]["range"] == ["#000001", "#000002"]


def test_a_bin_of_one_token_has_a_bar() -> None:
    drawn = activation_histogram(BINS, "#000001", "#000002").to_dict()
    (rows,) = drawn["datasets"].values()
    assert {row["least"] for row in rows} == {drawn["encoding"]["y"]["scale"]["domainMin"]} == {0.8}
