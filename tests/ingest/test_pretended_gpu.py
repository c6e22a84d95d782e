"""Every job on a made-up device, measured again on the processor: nothing mixes the two, and no number changes."""

from pathlib import Path

import pytest

import neurothek
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.registry import JOBS, NAMES, OF_MASKED, OF_SIGNS, PAIR_NAMES, QUERY_NAMES
from neurothek.ingest.models import transformer
from tests.support.models import Kind
from tests.support.pretended_gpu import GPU, pretended_gpu
from tests.support.two_devices import build_both, change_neurons, measure_one, measure_pair

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", [pytest.param("opt", marks=pytest.mark.series), "llama", "bert"])
def test_what_every_job_measures_on_another_device_the_processor_measures_too(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_both(tmp_path, kind)
    require = transformer.require_device
    monkeypatch.setattr(transformer, "require_device", lambda named: GPU if named == "cuda" else require(named))
    pairs = {job for job in PAIR_NAMES if JOBS[job].fits_masked or kind != "bert"}
    jobs = {*pairs, *(OF_MASKED if kind == "bert" else (*NAMES, *QUERY_NAMES))}
    jobs -= set(OF_SIGNS) if kind == "opt" else set()
    with pretended_gpu() as calls:
        warehouse = measure_one(folder, kind, "cuda")
        if kind != "bert":
            change_neurons(neurothek.open(warehouse.path), folder, "cuda")
        measure_pair(warehouse, folder, "cuda")
    assert calls.made
    found = neurothek.open(warehouse.path).verify("tiny", sample=99)
    parts = [part for part in found if isinstance(part, Agreement)]
    assert len(parts) == len(found), found
    repeatable = {table.name for job in jobs for table in JOB_TABLES[job] if table.is_repeatable}
    assert {part.table for part in parts} == repeatable | {"sequences"}
    assert [part for part in parts if part.n_different] == []
    # It computes with the same library, in other pieces here and there.
    assert max(part.largest_difference for part in parts) < 1e-5
