"""Rows near unused ones are found, others are not; distances against loops."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from neurothek.catalog.tables.weights import TOKEN_INDICATORS
from neurothek.ingest.jobs.projections.job import indicators_frame
from neurothek.ingest.lens.vocabulary import BytePieces, Vocabulary

N_TOKENS, WIDTH = 200, 24
UNUSED = (10, 11, 12, 13)
PLANTED, ZERO = 50, 60
NO_MASKED = torch.empty(0, WIDTH)


def rows(*, spread: float = 0.01) -> Tensor:
    """Random rows; the unused ones lie about one direction, and one other row was put there."""
    generator = torch.Generator().manual_seed(3)
    table = torch.randn(N_TOKENS, WIDTH, generator=generator)
    direction = torch.randn(WIDTH, generator=generator)
    for token in UNUSED:
        table[token] = direction + spread * torch.randn(WIDTH, generator=generator)
    table[PLANTED] = 3 * table[list(UNUSED)].mean(0)
    table[ZERO] = 0
    return table


def pieces(unused: tuple[int, ...] = UNUSED) -> BytePieces:
    flags = np.zeros(N_TOKENS, dtype=bool)
    flags[list(unused)] = True
    return BytePieces(is_byte=np.zeros(N_TOKENS, dtype=bool), is_unused=flags)


def vocabulary(table: Tensor) -> Vocabulary:
    return Vocabulary.of(table, np.arange(len(table), dtype=np.int32))


def distance(row: list[float], others: list[list[float]]) -> float:
    """1 - cosine with the mean of the others, one coordinate after the other."""
    mean = [math.fsum(column) / len(others) for column in zip(*others, strict=True)]
    dot = math.fsum(a * b for a, b in zip(row, mean, strict=True))
    return 1 - dot / math.hypot(*row) / math.hypot(*mean)


def test_a_row_put_where_unused_ones_are_is_found_and_no_other() -> None:
    table = rows()
    frame = TOKEN_INDICATORS.check(indicators_frame(vocabulary(table), pieces(), NO_MASKED))
    listed = table.double().tolist()
    reference = [listed[token] for token in UNUSED]
    among = [distance(listed[token], [listed[other] for other in UNUSED if other != token]) for token in UNUSED]
    wanted = {token: distance(listed[token], reference) for token in range(N_TOKENS) if token != ZERO}
    wanted |= dict(zip(UNUSED, among, strict=True))
    assert frame["unused_limit"].unique().to_list() == [pytest.approx(2 * max(among), rel=1e-9)]
    for row in frame.to_dicts():
        assert row["row_norm"] == pytest.approx(math.hypot(*listed[row["token_id"]]), rel=1e-12)
        if row["token_id"] == ZERO:
            assert row["unused_distance"] is None
        else:
            # Float64 sums of 24 products.
            assert row["unused_distance"] == pytest.approx(wanted[row["token_id"]], abs=1e-12)
    near = frame.filter(frame["unused_distance"] <= frame["unused_limit"])["token_id"].to_list()
    assert near == [*UNUSED, PLANTED]


def test_unused_rows_that_lie_apart_say_nothing_of_others() -> None:
    """The limit is then half of the median distance, far from which no random row comes by chance alone."""
    frame = indicators_frame(vocabulary(rows(spread=10.0)), pieces(), NO_MASKED)
    distances = sorted(one for one in frame["unused_distance"] if one is not None)
    assert frame["unused_limit"][0] == pytest.approx(distances[(len(distances) - 1) // 2] / 2, rel=1e-9)


def test_rows_without_a_token_stand_in() -> None:
    """Where no token is known to be unused; zero rows among them say nothing."""
    table = rows()
    masked = torch.cat([table[list(UNUSED)], torch.zeros(2, WIDTH)])
    frame = indicators_frame(vocabulary(table), pieces(()), masked)
    listed = table.double().tolist()
    wanted = distance(listed[PLANTED], [listed[token] for token in UNUSED])
    assert frame["unused_distance"][PLANTED] == pytest.approx(wanted, abs=1e-12)
    near = frame.filter(frame["unused_distance"] <= frame["unused_limit"])["token_id"].to_list()
    assert near == [*UNUSED, PLANTED]


@pytest.mark.parametrize("unused", [(), (10, 11)])
def test_too_few_unused_rows_leave_it_open(unused: tuple[int, ...]) -> None:
    frame = TOKEN_INDICATORS.check(indicators_frame(vocabulary(rows()), pieces(unused), torch.zeros(5, WIDTH)))
    assert frame["unused_limit"].null_count() == frame["unused_distance"].null_count() == N_TOKENS
    assert frame["is_unused"].sum() == len(unused)
