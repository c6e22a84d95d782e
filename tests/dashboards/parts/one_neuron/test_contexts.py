"""What a neuron's page says of its contexts: numbers of the rows."""

import polars as pl

from neurothek.dashboards.parts.one_neuron.contexts import histogram_caption, too_few_sequences
from neurothek.queries.views.contents import thresholds


def test_the_sentence_of_the_histogram_is_made_of_its_rows() -> None:
    bins = pl.DataFrame({"bin": [0, 3], "n_tokens": [750, 250], "n_tokens_counted": [1_000, 1_000]})
    assert histogram_caption(bins) == "Of 1,000 tokens; it is exactly 0 on 75.0%. Each bar is half a power of two wide."
    assert histogram_caption(bins.filter(bin=3)) == "Of 1,000 tokens. Each bar is half a power of two wide."


def test_positions_of_few_sequences_are_refused_with_the_number_that_is_needed() -> None:
    least = thresholds("neurons")["least_sequences"]
    assert least == 100
    assert too_few_sequences(8, least) == "8 full-length sequences are too few (100 needed)."
    assert too_few_sequences(1, least) == "1 full-length sequence is too few (100 needed)."
