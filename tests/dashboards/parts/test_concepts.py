"""What the shares of concepts rest on, in words: vectors summed over their kinds, people counted once."""

import polars as pl
import pytest

from neurothek.dashboards.parts.concepts import named, seen


def shares(*rows: tuple[str, str, int, int]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=["model", "condition", "n_vectors", "n_annotators"], orient="row")


def test_vectors_are_summed_and_people_are_not() -> None:
    said = seen(shares(("a", "value", 1000, 3), ("a", "random", 234, 2), ("b", "value", 5, 1)))
    first, second = said.split(", b")[0], said
    assert "1,234 vectors of a by 3" in first
    assert "5 vectors of b by 1" in second


@pytest.mark.parametrize(("n", "word"), [(1, "annotator"), (2, "annotators"), (3, "annotators")])
def test_one_annotator_is_one(n: int, word: str) -> None:
    assert seen(shares(("a", "value", 1, n))).endswith(f"by {n} {word}")


def test_models_stand_in_the_order_in_which_they_came() -> None:
    said = seen(shares(("z", "value", 1, 1), ("a", "value", 1, 1), ("z", "random", 1, 1)))
    assert said.index(" of z ") < said.index(" of a ")


def test_who_judged_is_said_in_words() -> None:
    assert (named("all"), named("rules"), named("anna")) == ("people", "rules (the program)", "anna")
