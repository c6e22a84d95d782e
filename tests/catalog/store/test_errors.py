"""Why a warehouse cannot be used: the path as it is, and what to do about it."""

from pathlib import Path

import pytest

from neurothek.catalog.store.errors import (
    WarehouseBusy,
    WarehouseHeld,
    WarehouseInvalid,
    WarehouseMissing,
    WarehouseUnwritable,
)
from tests.support.sentences import commands, sentence

PATH = Path("/my folder/w.duckdb")

EVERY = [
    WarehouseMissing(PATH),
    WarehouseInvalid(PATH, "it is a folder"),
    WarehouseBusy(PATH, "the process 7", 20.4),
    WarehouseHeld(PATH),
    WarehouseUnwritable(PATH, "No space left on device"),
]


@pytest.mark.parametrize("error", EVERY, ids=lambda error: type(error).__name__)
def test_each_names_the_file_and_says_what_to_do(error: WarehouseMissing) -> None:
    found, _, advice = sentence(error).partition("; ")
    assert str(PATH) in found
    assert advice


def test_a_missing_warehouse_can_be_built() -> None:
    assert commands(WarehouseMissing(PATH)) == [["demo"], ["ingest", "MODEL"]]


def test_who_holds_it_and_for_how_long_is_told() -> None:
    said = sentence(WarehouseBusy(PATH, "the process 7", 20.4))
    assert "the process 7" in said
    assert "20 s" in said
    assert "No space left on device" in sentence(WarehouseUnwritable(PATH, "No space left on device"))
