"""Two names for the same weights are compared like any two models: from either side, under the one run key of both."""

from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.jobs.counterparts import job
from neurothek.ingest.jobs.counterparts.job import CounterpartsJob
from neurothek.ingest.planning import pair_plan
from tests.support import ingests, models, overlaps
from tests.support.overlaps import Lists

N_LAYERS, D_FFN = 2, 6
N_ROWS = 5 * N_LAYERS * D_FFN
TWINS = ((0, 1), (1, 0))


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """One model under three names."""
    folder = models.build(tmp_path / "tiny", "opt", d_ffn=D_FFN, n_layers=N_LAYERS, d_model=16)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for name in ("one", "twin", "third"):
        ingests.measure(warehouse, f"{name}={folder}", ingests.request((), jobs=("projections",)))
    return warehouse


def lists_of(warehouse: Warehouse, model_id: int) -> dict[tuple[int, int], Lists]:
    rows = ingests.table(warehouse, "projections", f"set_id = {model_id}")
    places = rows.select("layer", "neuron").rows()
    return dict(zip(places, rows.select("top_token_ids", "bottom_token_ids").rows(), strict=True))


def counterparts_of(warehouse: Warehouse, model_id: int, other_id: int) -> dict[tuple[int, int, int], dict[str, Any]]:
    found = ingests.table(warehouse, "counterparts", f"set_id = {model_id} and other_set_id = {other_id}")
    return {(row["layer"], row["neuron"], row["rank"]): row for row in found.iter_rows(named=True)}


def test_two_names_for_the_same_weights_are_compared_from_either_side(warehouse: Warehouse) -> None:
    (report,) = ingests.compare(warehouse, "one", "twin")
    assert report.n_rows == 2 * N_ROWS
    assert f" {N_LAYERS * D_FFN} pairs are mutual best matches" in report.findings[0]
    for ids in TWINS:
        found = counterparts_of(warehouse, *ids)
        expected = overlaps.counterparts(*(lists_of(warehouse, model_id) for model_id in ids))
        assert found.keys() == expected.keys()
        for place, row in expected.items():
            same = {column: found[place][column] for column in row}
            # Weights on a grid of 2^-46 move an overlap of a hundred tokens by less than this.
            assert same == row | {"overlap": pytest.approx(row["overlap"], abs=1e-12)}
        for layer, neuron in lists_of(warehouse, ids[0]):
            first = found[layer, neuron, 1]
            assert (first["other_layer"], first["other_neuron"], first["overlap"]) == (layer, neuron, 1.0)
    runs = ingests.table(warehouse, "runs", "job = 'counterparts'")
    # Nothing that changes a number differs between the two directions.
    assert runs.select("model_id", "other_model_id", "n_rows").rows() == [(0, 1, N_ROWS), (1, 0, N_ROWS)]
    assert runs["run_key"].n_unique() == 1
    assert check(warehouse) == []
    assert not warehouse.staging.exists()


@pytest.mark.long
def test_a_second_time_nothing_is_done_and_each_pair_of_three_names_has_its_rows(warehouse: Warehouse) -> None:
    assert [report.n_rows for report in ingests.compare(warehouse, "twin", "one", "third")] == [2 * N_ROWS] * 3
    before = ingests.everything(warehouse)
    assert [report.n_rows for report in ingests.compare(warehouse, "one", "third", "twin")] == [None] * 3
    ingests.assert_same(ingests.everything(warehouse), before)
    assert check(warehouse) == []


def test_what_was_staged_of_twins_is_taken_up(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pair_plan, "publish_pair", killed)
        with pytest.raises(KeyboardInterrupt):
            ingests.compare(warehouse, "one", "twin")
    with monkeypatch.context() as patch:
        # Nothing is drawn or compared again.
        patch.setattr(job, "compare", killed)
        patch.setattr(CounterpartsJob, "random_lists", killed)
        (report,) = ingests.compare(warehouse, "one", "twin")
    assert report.n_rows == 2 * N_ROWS
    assert not warehouse.staging.exists()
