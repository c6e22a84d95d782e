"""Streams of random numbers: which numbers they give, and that no two of them meet."""

import itertools

import numpy as np
import pytest

from neurothek.ingest.numerics.random_stream import Purpose, random_stream

PLACES = [(), (1,), (0, 1), (1, 1), (2, 0), (11, 399)]


def words(purpose: Purpose, *place: int, seed: int = 0, n: int = 64) -> list[int]:
    bits = random_stream(seed, purpose, *place).bit_generator
    assert isinstance(bits, np.random.Philox)
    drawn: list[int] = bits.random_raw(n).tolist()
    return drawn


@pytest.mark.parametrize("purpose", list(Purpose))
@pytest.mark.parametrize("place", PLACES)
def test_a_stream_is_philox_counted_from_its_place(purpose: Purpose, place: tuple[int, ...]) -> None:
    first, second = [*place, 0, 0][:2]
    theirs = np.random.Philox(key=7, counter=[0, int(purpose), first, second])
    assert words(purpose, *place, seed=7) == theirs.random_raw(64).tolist()


def test_no_two_streams_have_a_word_in_common() -> None:
    """64 bits by chance: of 12,000 words two are alike once in 10^11 seeds."""
    drawn = [
        word
        for seed, purpose, place in itertools.product((0, 1, 2), Purpose, PLACES)
        for word in words(purpose, *place, seed=seed, n=100)
    ]
    assert len(set(drawn)) == len(drawn)


def test_a_stream_is_the_same_whatever_was_drawn_before() -> None:
    alone = random_stream(3, Purpose.EXAMPLE, 2, 5).standard_normal(10)
    random_stream(3, Purpose.EXAMPLE, 2, 4).standard_normal(1_000)
    assert random_stream(3, Purpose.EXAMPLE, 2, 5).standard_normal(10).tolist() == alone.tolist()
    assert random_stream(3, Purpose.EXAMPLE, 2, 5).standard_normal(3).tolist() == alone[:3].tolist()


def test_runs_that_were_measured_keep_their_numbers() -> None:
    """Purposes 0 to 4 are of jobs whose version stays: their numbers are part of what runs mean."""
    kept = {name: int(purpose) for name, purpose in Purpose.__members__.items() if purpose <= 4}
    assert kept == {"EXAMPLE": 0, "EXAMPLE_ORDER": 1, "SENTENCE_ORDER": 2, "SENTENCE_POSITION": 3, "EXIT_SPLIT": 4}
    assert random_stream(0, Purpose.EXAMPLE_ORDER).permutation(8).tolist() == PERMUTATION


PERMUTATION = np.random.Generator(np.random.Philox(key=0, counter=[0, 1, 0, 0])).permutation(8).tolist()
