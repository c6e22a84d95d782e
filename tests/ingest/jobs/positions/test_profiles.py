"""Numbers of position profiles against loops over the definition, planted shapes and the bias of chance."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.ingest.jobs.positions.profiles import Profiles, bin_starts, binned, measure_profiles, shortest_run
from tests.support.profiles import by_the_definition, labels

CLOSE = 1e-12
"""Sums of at most 2,048 doubles of size 1 in another order differ by less."""


def check(counts: np.ndarray, n: int, length: int) -> None:
    measured = measure_profiles(counts, n, sequence_length=length)
    for number, row in enumerate(counts.tolist()):
        for name, expected in by_the_definition(row, n, length).items():
            value = getattr(measured, name)[number]
            if expected is None:
                assert math.isnan(value), name
            elif isinstance(expected, int):
                assert value == expected, name
            elif name.startswith("weakest"):
                assert value == expected, name  # the same quotient of whole numbers
            elif name == "roughness":
                # The root of a difference: an error of 1e-16 below the root is 1e-8 above it near 0.
                assert value**2 == pytest.approx(expected**2, abs=CLOSE)
            else:
                assert value == pytest.approx(expected, abs=CLOSE), name


@settings(max_examples=150)
@given(data=st.data())
def test_random_profiles(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    n_positions = data.draw(st.integers(1, 40))
    # The ends of the scale often: runs need them.
    count = st.one_of(st.just(0), st.just(n), st.integers(0, n))
    stretches = data.draw(st.lists(st.tuples(count, st.integers(1, 9)), min_size=1, max_size=12))
    row = [value for value, repeat in stretches for _ in range(repeat)]
    row = (row * n_positions)[:n_positions]
    check(np.array([row], dtype=np.int64), n, n_positions + data.draw(st.integers(0, 1)))


def test_long_profiles_of_every_shape() -> None:
    draw = np.random.default_rng(5)
    position = np.arange(511)
    shares = [
        np.full(511, 0.3),
        (position < 100) * 0.98 + 0.01,
        0.5 + 0.5 * np.sign(np.sin(position / 40)),
        0.5 + 0.5 * np.sin(position / 200),
        draw.random(511),
    ]
    counts = np.stack([draw.binomial(120, np.clip(share, 0, 1)) for share in shares])
    check(counts, 120, 512)


def kind(measured: Profiles, number: int = 0) -> str:
    """The label and its strength by the definition's thresholds."""
    row = {name: values[number].item() for name, values in vars(measured).items()}
    return ", ".join(labels({name: None if math.isnan(value) else value for name, value in row.items()}, 400))


def sampled(share: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """[1 positions] counts of n independent sequences."""
    return np.random.default_rng(seed).binomial(n, share)[None]


P = np.arange(255)
PLANTED = {
    "both extremes, strong": np.where((P >= 60) & (P < 140), 1.0, 0.0),
    "both extremes, weak": np.where(P < 140, 0.97, 0.03),
    "oscillatory, strong": np.where(P // 50 % 2 == 0, 1.0, 0.0),
    "oscillatory, weak": np.where(P // 50 % 2 == 0, 0.96, 0.04),
    "one extreme, strong": np.where(P < 100, 0.0, 0.5),
    "one extreme, weak": np.where(P < 100, 0.97, 0.4),
    "other, strong": 0.5 + 0.35 * np.sin(P / 40),
    "other, weak": 0.5 + 0.35 * np.where(np.random.default_rng(1).random(255) < 0.5, 1, -1),
}


def test_planted_shapes_are_found(subtests: pytest.Subtests) -> None:
    for planted, shape in PLANTED.items():
        with subtests.test(planted):
            assert kind(measure_profiles(sampled(shape, 400), 400, sequence_length=256)) == planted


def test_shuffled_over_positions_nothing_is_positional(subtests: pytest.Subtests) -> None:
    """Every sequence keeps its number of active positions and loses where they were."""
    for planted, shape in PLANTED.items():
        with subtests.test(planted):
            draw = np.random.default_rng(2)
            active = draw.random((400, 255)) < shape
            shuffled = draw.permuted(active, axis=1).sum(axis=0)[None]
            assert kind(measure_profiles(shuffled, 400, sequence_length=256)) == "not positional, not positional"


@pytest.mark.parametrize("n_sequences", [20, 100, 500])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.95])
def test_the_bias_of_chance_is_corrected(n_sequences: int, share: float) -> None:
    """Independent neurons: as counted they seem to know the position; corrected they hover around 0."""
    counts = np.random.default_rng(3).binomial(n_sequences, share, size=(500, 1023))
    measured = measure_profiles(counts, n_sequences, sequence_length=1024)
    # Half of a chi-square of 1,022 degrees over n T': its mean stands out from 0 by 20 standard deviations.
    assert measured.mutual_information.mean() > 0.5 * 0.9 * min(1, share * n_sequences / 5) / n_sequences
    if n_sequences >= 100:
        assert measured.mutual_information_corrected.max() < 0.01
    if share * n_sequences >= 10 and (1 - share) * n_sequences >= 10:
        assert measured.mutual_information_corrected.mean() < 0.1 * measured.mutual_information.mean()


def test_bounds_and_ends() -> None:
    dead_and_always = np.stack([np.zeros(300, np.int64), np.full(300, 50)])
    measured = measure_profiles(dead_and_always, 50, sequence_length=300)
    assert measured.mutual_information.tolist() == measured.mutual_information_corrected.tolist() == [0, 0]
    half = np.where(np.arange(300) < 150, 50, 0)[None]
    assert measure_profiles(half, 50, sequence_length=300).mutual_information[0] == pytest.approx(
        math.log(2), abs=CLOSE
    )


def test_three_first_positions_pass_at_256_and_not_at_2048() -> None:
    """The definition's example of why sequences of different lengths are not compared."""
    for length, n_on, passes in ((256, 3, True), (256, 2, False), (2048, 17, False), (2048, 18, True)):
        counts = np.where(np.arange(length) < n_on, 1000, 0)[None]
        information = measure_profiles(counts, 1000, sequence_length=length).mutual_information_corrected[0]
        assert (information > 0.05) == passes, (length, n_on, information)


def test_without_a_sequence_nothing_is_defined() -> None:
    measured = measure_profiles(np.zeros((2, 7), dtype=np.int64), 0, sequence_length=8)
    assert np.isnan(measured.mutual_information).all()
    assert np.isnan(measured.roughness).all()
    assert measured.n_on_runs.tolist() == measured.n_off_runs.tolist() == measured.n_switches.tolist() == [0, 0]


@pytest.mark.parametrize(("length", "shortest"), [(8, 4), (256, 4), (257, 5), (2048, 32)])
def test_the_shortest_run(length: int, shortest: int) -> None:
    assert shortest_run(length) == shortest


def test_bins_are_even_and_lose_nothing(subtests: pytest.Subtests) -> None:
    for n_positions in [1, 5, 63, 64, 65, 255, 2047]:
        with subtests.test(n_positions=n_positions):
            counts = np.arange(2 * n_positions).reshape(2, n_positions)
            expected = np.zeros((2, min(64, n_positions)), dtype=np.int64)
            for position in range(n_positions):
                expected[:, position * expected.shape[1] // n_positions] += counts[:, position]
            assert (binned(counts) == expected).all()
            sizes = np.diff([*bin_starts(n_positions), n_positions])
            assert sizes.max() - sizes.min() <= 1
