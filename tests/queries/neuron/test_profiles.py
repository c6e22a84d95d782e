"""Position profiles as people read them: frequencies against a loop over positions, and lines of blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.queries.names.models import MeasuredCorpus
from neurothek.queries.neuron.logits import LEVELS, WIDTH, frequencies, position_rows, sparkline
from neurothek.queries.neuron.page_rows import NeuronRows


def test_profile_numbers() -> None:
    assert frequencies([3, 4], 2, 5) == [3 / 6, 4 / 4]
    assert frequencies([0, 0], 0, 5) is None
    assert sparkline(None) is None
    assert sparkline([0, 0.124, 0.126, 0.5, 1]) == "▁▁▂▅█"
    assert sparkline([1, 0] * 32) == "▅" * 32


@given(
    n_positions=st.integers(1, 300),
    n_sequences=st.integers(1, 9),
    n_bins=st.integers(1, 64),
    data=st.data(),
)
def test_a_bin_has_the_mean_frequency_of_its_positions(
    n_positions: int, n_sequences: int, n_bins: int, data: st.DataObject
) -> None:
    n_bins = min(n_bins, n_positions)
    counts = data.draw(st.lists(st.integers(0, n_sequences), min_size=n_positions, max_size=n_positions))
    bins: list[list[int]] = [[] for _ in range(n_bins)]
    for position, count in enumerate(counts):
        bins[n_bins * position // n_positions].append(count)
    found = frequencies([sum(one) for one in bins], n_sequences, n_positions)
    assert found == pytest.approx([sum(one) / len(one) / n_sequences for one in bins], abs=1e-12)


def test_without_a_sequence_there_are_no_frequencies() -> None:
    assert frequencies([], 0, 0) is None
    assert frequencies([1] * 64, 1, 64) == [1.0] * 64


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=200))
def test_a_line_is_as_long_as_there_are_shares_and_no_longer_than_its_width(shares: list[float]) -> None:
    line = sparkline(shares)
    assert line is not None
    assert len(line) == min(WIDTH, len(shares))
    assert {*line} <= {*LEVELS}
    if len(shares) <= WIDTH:
        for share, level in zip(shares, line, strict=True):
            # An eighth each; the last holds 1 too.
            assert LEVELS.index(level) == min(7, int(share * 8))


@given(shares=st.lists(st.floats(0, 1), min_size=1, max_size=64))
def test_more_activity_is_no_lower_line(shares: list[float]) -> None:
    higher = [min(1.0, share + 0.25) for share in shares]
    low, high = sparkline(shares), sparkline(higher)
    assert low is not None
    assert high is not None
    assert all(LEVELS.index(a) <= LEVELS.index(b) for a, b in zip(low, high, strict=True))


def test_nothing_is_no_line_or_an_empty_one() -> None:
    assert sparkline(None) is None
    assert sparkline([]) == ""


def test_the_whole_corpus_is_told_first_whatever_its_domains_are_called() -> None:
    corpus = MeasuredCorpus("m", "c", 1, is_shown=True, n_tokens=40, sequence_length=5, activation_rule=None)
    domains = ("prose", "all", "academic", "code")
    rows = [
        {"domain": domain, "counts_64": [1, 2], "n_sequences": number, "first_position": 1}
        for number, domain in enumerate(domains)
    ]
    page = NeuronRows(corpus, is_shown=True, facts={}, tokens=[], of={"positions": rows}, texts={}, counts=None)
    found = position_rows(page)
    assert [row["domain"] for row in found] == ["all", "academic", "code", "prose"]
    assert {row["last_position"] for row in found} == {4}
    for row in found:
        assert row["frequencies"] == frequencies([1, 2], row["n_sequences"], 4)
        assert row["profile"] == sparkline(row["frequencies"])
