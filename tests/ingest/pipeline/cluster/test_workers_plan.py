"""What a plan says of workers."""

from dataclasses import replace
from pathlib import Path

import pytest

from neurothek.catalog.progress import Silent
from neurothek.ingest.pipeline.cluster.workers_plan import by_workers, memory_of_each
from neurothek.ingest.pipeline.ingest_all import plan_all
from neurothek.ingest.planning.agenda import Prepared, prepare_model
from neurothek.ingest.planning.model_plan import Estimate
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, ModelSource, default_memory
from tests.support import ingests
from tests.support.models import build


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("plan")
    model = build(folder / "opt", "opt", d_ffn=24, n_layers=4)
    asked = ingests.request(ingests.write_corpus(folder), jobs=DEFAULT_JOBS, engine="ray", workers=4)
    return prepare_model(ingests.open_warehouse(folder / "w.duckdb"), asked, ModelSource(str(model)), progress=Silent())


def told(prepared: Prepared, *, hours: tuple[float, float, float] | None = None, **asked: object) -> dict[str, str]:
    work = replace(prepared.work, request=replace(prepared.work.request, **asked))  # type: ignore[arg-type]
    estimate = None if hours is None else Estimate(*(3600 * one for one in hours))
    return dict(by_workers(replace(prepared, work=work), estimate))


def test_one_chunk_keeps_one_of_four_workers_at_work(prepared: Prepared) -> None:
    assert prepared.corpus is not None
    assert len(prepared.corpus.chunks()) == 1
    found = told(prepared, hours=(8.0, 2.0, 1.0), memory_bytes=10**9)
    assert found == {
        "workers": "4 workers with 1.00 GB each; chunks outside, since all weights fit beside the streams of one chunk",
        # Folds are shared by all four.
        "time there": "about 9.50 hours with such workers that share the staging folder,"
        " 1.00 hours of it in this process alone",
    }


def test_weights_are_shared_by_all_workers_whatever_the_text(prepared: Prepared) -> None:
    weights = [(job, identity) for job, identity in prepared.agenda.missing if job.name == "projections"]
    alone = replace(prepared, agenda=replace(prepared.agenda, missing=weights))
    found = told(alone, hours=(0.0, 8.0, 1.0), memory_bytes=10**9)
    assert found == {
        "workers": "4 workers with 1.00 GB each",
        "time there": "about 3.00 hours with such workers that share the staging folder,"
        " 1.00 hours of it in this process alone",
    }
    assert "time there" not in told(alone, memory_bytes=10**9)


def test_workers_of_this_machine_share_its_memory() -> None:
    usual = default_memory()
    assert memory_of_each(IngestRequest(workers=4)) == usual // 4
    assert memory_of_each(IngestRequest(workers=4, memory_bytes=10**9)) == 10**9
    assert memory_of_each(IngestRequest(workers=4, address="auto")) == usual


def test_the_command_plans_for_workers(prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neurothek.ingest.pipeline.engines import choice  # noqa: PLC0415 - patched here

    monkeypatch.setattr(choice, "find_spec", lambda name: object())
    lines, problems = list[str](), list[str]()
    folder = str(prepared.work.checkpoint.folder)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    for asked in (prepared.work.request, replace(prepared.work.request, engine="local", workers=None)):
        assert plan_all(warehouse, asked, [folder], progress=Silent(), show=lines.append, complain=problems.append) == 0
    assert problems == []
    assert [line.split()[0] for line in lines if line.startswith("  workers")] == ["workers"]
    assert not warehouse.exists()
