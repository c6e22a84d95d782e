"""Near-copies among contexts: one of each is left, with the number of the others, and what differs stays."""

import random

import pytest

from neurothek.queries.neuron.near_copies import one_of_each

LETTERS = "abcdefghijklmnopqrstuvwxyz "


def place(before: str, token: str, after: str, activation: float) -> dict[str, object]:
    return {"before": before, "token": token, "after": after, "activation": activation}


def test_copies_are_counted_at_the_first_of_them() -> None:
    licence = "Permission is hereby granted, free of charge, to any person obtaining a copy"
    rows = [
        place(licence, " of", " this software", 9.0),
        place("a quite different sentence about rivers and the sea", " of", " glass", 8.0),
        place(licence.replace("hereby ", ""), " of", " this software and", 7.0),
        place(f"2024. {licence}", " of", " this software", 6.0),
    ]
    found = one_of_each(rows)
    assert [(row["activation"], row["n_copies"]) for row in found] == [(9.0, 2), (8.0, 0)]
    # The rows that were given stay as they were.
    assert "n_copies" not in rows[0]


def test_windows_are_compared_around_their_place() -> None:
    near = [
        " the",
        " cat",
        " sat",
        " on",
        " a",
        " mat",
        " and",
        " purred",
        " all",
        " through",
        " the",
        " long",
        " night",
    ]
    # What lies more than sixty letters before the place is as good as none.
    for at, copies in (13, [1]), (2, [0, 0]):
        rows = [{"tokens": [text, *near], "place": at} for text in ("x" * 70, "y" * 70)]
        assert [row["n_copies"] for row in one_of_each(rows)] == copies
    reversed_rows = [{"tokens": near, "place": 6}, {"tokens": near[::-1], "place": 6}]
    assert [row["n_copies"] for row in one_of_each(reversed_rows)] == [0, 0]


@pytest.mark.parametrize("seed", range(5))
def test_random_texts_are_no_copies(seed: int) -> None:
    draw = random.Random(seed)
    texts = ["".join(draw.choices(LETTERS, k=60)) for _ in range(10)]
    assert [row["n_copies"] for row in one_of_each([place(text, "a", "b", 1.0) for text in texts])] == [0] * 10


def test_nothing_stays_nothing() -> None:
    assert one_of_each([]) == []
