"""Tables of shortcuts: intervals with both ends, fits told alike of layers and of their parts."""

import pytest

from neurothek.catalog.tables import shortcuts
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.tables.shortcuts import SHORTCUT_MAPS, SHORTCUT_PREDICTIONS, SHORTCUTS, SUB_MODULE_FITS
from neurothek.catalog.tables.table import DOUBLE, Table

TABLES = {name: value for name, value in vars(shortcuts).items() if isinstance(value, Table)}


def test_the_job_fills_all_of_them_and_no_other() -> None:
    assert {table.name for table in TABLES.values()} == {table.name for table in JOB_TABLES["shortcuts"]}
    assert {table.scope for table in TABLES.values()} == {"model_corpus"}


def test_a_number_with_an_interval_has_both_ends() -> None:
    ends = {name.rpartition("_")[0] for name in SHORTCUT_PREDICTIONS.schema if name.endswith(("_low", "_high"))}
    assert ends == {"precision_1", "precision_5", "precision_10", "surprisal"}
    for name in ends:
        assert [SHORTCUT_PREDICTIONS.schema[f"{name}{end}"] for end in ("", "_low", "_high")] == [DOUBLE] * 3
    assert not SHORTCUT_PREDICTIONS.rows.nullable


def test_a_fit_is_told_alike_of_a_layer_and_of_its_parts() -> None:
    own = {name: kind for name, kind in SHORTCUTS.schema.items() if name not in SHORTCUTS.key}
    assert {name: kind for name, kind in SUB_MODULE_FITS.schema.items() if name not in SUB_MODULE_FITS.key} == own
    # A number of sentences is never unknown; a part is always fitted.
    assert SUB_MODULE_FITS.rows.nullable < SHORTCUTS.rows.nullable < {*own}


def test_only_files_cannot_be_measured_again_bit_for_bit(subtests: pytest.Subtests) -> None:
    for table in TABLES.values():
        with subtests.test(table=table):
            assert table.is_repeatable == (table is not SHORTCUT_MAPS)
            assert table.place is not None
