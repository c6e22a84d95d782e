"""Why a warehouse cannot be used: the path as it is, and what to do about it."""

from pathlib import Path

import pytest

from neurothek.catalog.problems import Unavailable, Unreadable
from neurothek.catalog.store.damage import invalid_warehouse, missing_warehouse, unwritable_warehouse
from tests.support.sentences import commands, sentence

PATH = Path("/my folder/w.duckdb")

EVERY = [
    missing_warehouse(PATH),
    invalid_warehouse(PATH, "it is a folder"),
    unwritable_warehouse(PATH, "No space left on device"),
]


@pytest.mark.parametrize("error", EVERY, ids=lambda error: error.why or error.what)
def test_each_names_the_file_and_says_what_to_do(error: Unavailable | Unreadable) -> None:
    found, _, advice = sentence(error).partition("; ")
    assert str(PATH) in found
    assert advice


def test_a_missing_warehouse_can_be_built() -> None:
    assert commands(missing_warehouse(PATH)) == [["demo"], ["ingest", "MODEL"]]


def test_why_it_cannot_be_written_is_told() -> None:
    assert "No space left on device" in sentence(unwritable_warehouse(PATH, "No space left on device"))
