"""What a neuron's page says of its contexts: numbers of the rows."""

import polars as pl

from neurothek.dashboards.parts.one_neuron.contexts import histogram_caption


def test_the_sentence_of_the_histogram_is_made_of_its_rows() -> None:
    bins = pl.DataFrame({"bin": [0, 3], "n_tokens": [750, 250], "n_tokens_counted": [1_000, 1_000]})
    assert histogram_caption(bins) == "Of 1,000 tokens; it is exactly 0 on 75.0%. Each bar is half a power of two wide."
    assert histogram_caption(bins.filter(bin=3)) == "Of 1,000 tokens. Each bar is half a power of two wide."
