"""Which JSON values are scores, and which bytes are an answer."""

import pytest

from ingest.interventions.scorers.answers import Nonsense, json_object, score_of


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, 0.5, 5e-324, -0.0])
def test_numbers_between_0_and_1_are_scores(value: float) -> None:
    found = score_of(value)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize(
    "value",
    [True, False, None, "0.5", [0.5], {}, 1.0000000000000002, -5e-324, float("nan"), float("inf"), 10**400, -(10**400)],
)
def test_anything_else_is_none(value: object) -> None:
    assert score_of(value) is None


def test_an_object_is_read_as_it_stands() -> None:
    assert json_object('{"\u00e9": 0.5, "b": null}\r'.encode()) == {"\u00e9": 0.5, "b": None}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"", "is not JSON (it is empty)"),
        (b"\xff", "is not JSON (\\\\xff)".replace("\\\\", "\\")),
        (b'{"a": 1} {"a": 1}', 'is not JSON ({"a": 1} {"a": 1})'),
        (b'"a\tb"', "is not JSON"),
        (b"null", "is no JSON object (null)"),
        (b'{"a": Infinity}', "holds Infinity, which is no number"),
        (b'{"a\\u001b": 0, "a\\u001b": 0}', "gives 'a\\\\x1b' twice"),
        (b'{"a": ' * 100_000, "is not JSON"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "is not JSON"),
    ],
)
def test_what_is_no_object_is_told_in_words(line: bytes, said: str) -> None:
    with pytest.raises(Nonsense) as caught:
        json_object(line)
    assert str(caught.value).startswith(said)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 200
