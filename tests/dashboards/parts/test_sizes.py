"""Figures that compare sizes: tokens and sequences in words, kinds summed over layers."""

import polars as pl
import pytest

from dashboards.papers.material import Material
from dashboards.parts.sizes import by_kind, sequences, tokens_seen
from queries.compare.kinds import KINDS


def seen(**numbers: int | None) -> str:
    schema = {"model": pl.String, "n_tokens_seen": pl.Int64}
    return tokens_seen(pl.DataFrame(list(numbers.items()), schema=schema, orient="row"))


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"a": 1234}, "1,234"),
        ({"a": 1234, "b": 1234}, "1,234"),
        ({"a": 1234, "b": None}, "1,234"),
        ({"a": 1234, "b": 5}, "a 1,234, b 5"),
        ({"b": 5, "a": 1234, "c": 5}, "b 5, a 1,234, c 5"),
        ({"a": None}, ""),
        ({}, ""),
    ],
)
def test_tokens_are_one_number_where_all_saw_as_many(numbers: dict[str, int | None], said: str) -> None:
    assert seen(**numbers) == said


@pytest.mark.parametrize(
    ("numbers", "said"), [([], ""), ([None], ""), ([120, 120], "120"), ([2600, None, 120, 2600], "120, 2,600")]
)
def test_sequences_are_told_once_and_in_order(numbers: list[int | None], said: str) -> None:
    assert sequences(pl.DataFrame({"n_sequences": pl.Series(numbers, dtype=pl.Int64)})) == said


def test_kinds_are_summed_over_layers(whole: Material) -> None:
    """Against the positional neurons themselves, one by one."""
    counted = by_kind(whole.kinds.positions.filter(pl.col("n_positional").is_not_null()))
    found = {(row["model"], row["kind"]): (row["n_neurons"], row["n_strong"]) for row in counted.to_dicts()}
    assert {kind for _, kind in found} == {*KINDS}
    for (model, kind), numbers in found.items():
        own = whole.positional.filter(model=model, position_kind=kind)
        assert numbers == (own.height, own.filter(position_strength="strong").height)
    assert sum(n for n, _ in found.values()) == whole.positional.height > 5
