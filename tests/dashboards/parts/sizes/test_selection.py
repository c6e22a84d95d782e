"""How the text that models read is told: tokens and sequences in words."""

import polars as pl
import pytest

from neurothek.dashboards.parts.sizes.selection import on_tokens, sequences


def seen(**numbers: int | None) -> str:
    schema = {"model": pl.String, "n_tokens_seen": pl.Int64}
    return on_tokens(pl.DataFrame(list(numbers.items()), schema=schema, orient="row"))


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"a": 1234}, "on the 1,234 tokens seen"),
        ({"a": 1234, "b": 1234}, "on the 1,234 tokens seen"),
        ({"a": 1234, "b": None}, "on the 1,234 tokens seen"),
        ({"a": 1234, "b": 5}, "on the tokens seen (a 1,234, b 5)"),
        ({"b": 5, "a": 1234, "c": 5}, "on the tokens seen (b 5, a 1,234, c 5)"),
    ],
)
def test_tokens_are_one_number_where_all_saw_as_many(numbers: dict[str, int | None], said: str) -> None:
    assert seen(**numbers) == said


@pytest.mark.parametrize(
    ("numbers", "said"), [([], ""), ([None], ""), ([120, 120], "120"), ([2600, None, 120, 2600], "120, 2,600")]
)
def test_sequences_are_told_once_and_in_order(numbers: list[int | None], said: str) -> None:
    assert sequences(pl.DataFrame({"n_sequences": pl.Series(numbers, dtype=pl.Int64)})) == said
