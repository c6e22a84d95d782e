"""What was found between two models: published from either side, gone with either, taken along, never half there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.exchange.merging import merge
from neurothek.catalog.problems import Conflict, Invalid
from neurothek.catalog.publishing.staging import RunManifest, now, staged_manifests, staged_run
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import remove, rename
from neurothek.catalog.upkeep.checks import check
from neurothek.queries.views import install
from tests.support import publications as made
from tests.support.templates import copy_of

SEEDS = {"tiny": 0, "other": 1, "third": 2}
LAWS = {"counterparts are ranked", "counterparts overlap as their lists", "dimensions exist"}
N_ROWS = 2 * 12 * 5


def filled(path: Path, *models: str) -> Warehouse:
    """A warehouse with the projections of some models."""
    warehouse = Warehouse(path, views=install)
    for name in models:
        record = made.model(name, weights=f"weights of {name}")
        made.publish_job(warehouse, "projections", made.weights_frames(SEEDS[name]), record=record)
    return warehouse


def compare(warehouse: Warehouse, one: str, other: str, **options: str) -> dict[str, int]:
    return made.publish_counterparts(warehouse, one, other, seeds=(SEEDS[one], SEEDS[other]), **options)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    """Three models, every two of which were compared."""
    copy_of("pairs", _compared, tmp_path / "w.duckdb")
    made_here = Warehouse(tmp_path / "w.duckdb", views=install)
    with made_here.lingering():
        yield made_here


def _compared(path: Path) -> None:
    warehouse = filled(path, *SEEDS)
    for pair in (("tiny", "other"), ("tiny", "third"), ("other", "third")):
        compare(warehouse, *pair)


def rows(warehouse: Warehouse, query: str) -> list[tuple[Any, ...]]:
    with warehouse.current_reader() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found


PAIRS = "select model, other_model, count(*) from counterparts group by all order by all"
NAMED = "select * exclude (overlap) from counterparts order by all"


def pairs(*named: tuple[str, str]) -> list[tuple[str, str, int]]:
    return sorted((one, other, N_ROWS // 2) for pair in named for one, other in (pair, pair[::-1]))


def broken(warehouse: Warehouse) -> set[str]:
    names = {finding.name for finding in check(warehouse)}
    return {name for name in names if name in LAWS or name.endswith(" of counterparts")}


def test_a_pair_is_published_from_either_side(tmp_path: Path) -> None:
    warehouse = filled(tmp_path / "w.duckdb", "tiny", "other")
    assert compare(warehouse, "tiny", "other") == {"counterparts": N_ROWS}
    assert rows(warehouse, PAIRS) == pairs(("tiny", "other"))
    assert broken(warehouse) == set()
    runs = rows(warehouse, "select model, other_model, corpus, n_rows from runs where job = 'counterparts' order by 1")
    assert runs == [("other", "tiny", None, N_ROWS // 2), ("tiny", "other", None, N_ROWS // 2)]


def test_a_pair_replaces_itself_alone(warehouse: Warehouse) -> None:
    before = rows(warehouse, NAMED)
    compare(warehouse, "third", "tiny", key="again")
    assert rows(warehouse, NAMED) == before
    assert broken(warehouse) == set()
    again = "select model, other_model from runs where run_key like 'again%' order by all"
    assert rows(warehouse, again) == [("third", "tiny"), ("tiny", "third")]
    assert rows(warehouse, "select count(*) from store.runs where job = 'counterparts'") == [(6,)]


@pytest.mark.long
@pytest.mark.parametrize("job", [None, "projections", "counterparts"])
def test_a_pair_goes_with_either_model_and_with_its_lists(warehouse: Warehouse, job: str | None) -> None:
    assert remove(warehouse, "other", job=job)["counterparts"] == 2 * N_ROWS
    assert rows(warehouse, PAIRS) == pairs(("tiny", "third"))
    assert rows(warehouse, "select count(*) from store.runs where job = 'counterparts'") == [(2,)]
    assert broken(warehouse) == set()


def test_other_jobs_and_corpora_leave_pairs_alone(warehouse: Warehouse) -> None:
    before = rows(warehouse, PAIRS)
    record = made.model("tiny", weights="weights of tiny")
    made.publish_job(warehouse, "activity", made.activity_frames(), record=record, text=made.corpus())
    remove(warehouse, "tiny", corpus="text")
    remove(warehouse, "tiny", job="clusters")
    assert rows(warehouse, PAIRS) == before
    with pytest.raises(Invalid, match="counterparts reads no text"):
        remove(warehouse, "tiny", job="counterparts", corpus="text")


def test_lists_measured_anew_leave_no_pair_that_rests_on_others(warehouse: Warehouse) -> None:
    record = made.model("tiny", weights="weights of tiny")
    made.publish_job(warehouse, "projections", made.weights_frames(9), record=record, key="anew")
    assert rows(warehouse, PAIRS) == pairs(("other", "third"))
    assert broken(warehouse) == set()


def test_the_same_lists_measured_again_keep_their_pairs(warehouse: Warehouse) -> None:
    """As where an earlier release measured less of them: the run has the key it had."""
    before = rows(warehouse, PAIRS)
    record = made.model("tiny", weights="weights of tiny")
    made.publish_job(warehouse, "projections", made.weights_frames(SEEDS["tiny"]), record=record)
    assert rows(warehouse, PAIRS) == before
    assert broken(warehouse) == set()


def test_lists_that_changed_meanwhile_are_not_published_on(warehouse: Warehouse) -> None:
    remove(warehouse, "tiny", job="projections")
    with pytest.raises(Conflict, match="tiny or other was removed or measured again"):
        compare(warehouse, "tiny", "other")
    assert rows(warehouse, PAIRS) == pairs(("other", "third"))
    assert broken(warehouse) == set()


def test_a_rename_changes_names_only(warehouse: Warehouse) -> None:
    rename(warehouse, "other", "another")
    assert rows(warehouse, PAIRS) == pairs(("tiny", "another"), ("tiny", "third"), ("another", "third"))
    addresses = rows(warehouse, "select distinct other_address from counterparts where other_model = 'another'")
    assert all(str(address).startswith("another/") for (address,) in addresses)


def test_an_export_comes_back(warehouse: Warehouse, tmp_path: Path) -> None:
    export(warehouse, tmp_path / "out")
    back = Warehouse(tmp_path / "back.duckdb", views=install)
    import_folder(back, tmp_path / "out")
    for table in ("counterparts", "runs"):
        query = f"from store.{table} order by all"
        assert rows(back, query) == rows(warehouse, query)


def test_a_merge_finds_both_models_by_their_names(warehouse: Warehouse, tmp_path: Path) -> None:
    """There tiny is 0 and other 1; here other is 0 and tiny comes as 1."""
    ours = filled(tmp_path / "ours.duckdb", "other")
    merged = merge(ours, warehouse.path)
    assert (merged.models, merged.extended) == (("tiny", "third"), ("other",))
    assert rows(ours, NAMED) == rows(warehouse, NAMED)
    assert broken(ours) == set()
    again = merge(ours, warehouse.path)
    assert (again.n_runs, again.n_rows) == (0, 0)
    assert rows(ours, NAMED) == rows(warehouse, NAMED)


def test_a_merge_takes_a_pair_of_models_that_are_there(warehouse: Warehouse, tmp_path: Path) -> None:
    ours = filled(tmp_path / "ours.duckdb", "third", "other", "tiny")
    compare(ours, "tiny", "third")
    merged = merge(ours, warehouse.path)
    # One pair is known: two runs from either side of the two others come.
    assert (merged.models, merged.extended, merged.n_runs) == ((), ("third", "other", "tiny"), 4)
    assert rows(ours, NAMED) == rows(warehouse, NAMED)
    assert broken(ours) == set()


def test_a_pair_compared_otherwise_is_refused(warehouse: Warehouse, tmp_path: Path) -> None:
    ours = filled(tmp_path / "ours.duckdb", "tiny", "other")
    compare(ours, "tiny", "other", key="otherwise")
    before = ours.path.read_bytes()
    with pytest.raises(Conflict, match="both warehouses measured counterparts of "):
        merge(ours, warehouse.path)
    assert ours.path.read_bytes() == before


def test_what_is_staged_of_a_pair_goes_with_either_model(warehouse: Warehouse) -> None:
    for one, other in (("tiny", "other"), ("third", "tiny"), ("other", "third")):
        manifest = RunManifest(one + other, "counterparts", 1, one, None, {}, "float32", now(), other_model=other)
        with staged_run(warehouse.staging, manifest):
            pass
    remove(warehouse, "tiny")
    assert [manifest["model"] for manifest in staged_manifests(warehouse.staging)] == ["other"]
