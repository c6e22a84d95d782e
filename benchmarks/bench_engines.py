"""What a worker costs: the same measuring in this process and by one worker of a cluster on this machine."""

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from benchmarks.timing import machine, publish_block, table
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.pipeline.engines.choice import engine_for
from neurothek.ingest.pipeline.engines.engine import Engine
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.pipeline.outcomes import ModelReport
from neurothek.ingest.request import DEFAULT_JOBS, IngestRequest, ModelSource, TextRequest
from neurothek.queries.views import install

MODEL, FIRST = "mini-opt-5m", "mini-opt-0.7m"
TOKENS, ROUNDS = 100_000, 3
JOBS = (*DEFAULT_JOBS, "events")


def main() -> None:
    """Take the figures and publish them."""
    asked = IngestRequest(jobs=JOBS, text=TextRequest(tokens_per_domain=TOKENS), examples=2_000, device="cpu")
    with TemporaryDirectory() as folder, ExitStack() as stack:
        local = stack.enter_context(engine_for(asked))
        started = time.perf_counter()
        by_workers = stack.enter_context(engine_for(replace(asked, engine="ray", workers=1)))
        # Ray and its worker start with the first thing that is measured.
        _measure(Path(folder) / "first.duckdb", replace(asked, jobs=("projections",)), FIRST, by_workers)
        starting = time.perf_counter() - started
        contenders = {"this process": local, "one worker": by_workers}
        seconds, report = _best(Path(folder), contenders, asked)
        with pytest.MonkeyPatch.context() as patch:
            apart, moved = _without_folder(patch, Path(folder), by_workers, asked)
    unit = seconds["this process"]
    rows: list[tuple[str, ...]] = [
        *((name, f"{found:.1f}", f"{found / unit:.2f}") for name, found in seconds.items()),
        ("one worker, without a shared folder", f"{apart:.1f}", f"{apart / unit:.2f}"),
    ]
    text = f"""## A worker of a cluster

{", ".join(JOBS)} of {MODEL} on {report.n_tokens:,} tokens, from opening to
publishing, best of {ROUNDS}. The worker computes with as many threads as this process. Ray and the worker are there
already: starting them took
{starting:.1f} seconds, with the projections of {FIRST}. The goal is 1.1. Without a shared folder
{moved} went through the object store.

{table(("who measures", "seconds", "x this process"), rows)}

{machine()}
"""
    publish_block("engines", text)


def _best(folder: Path, engines: dict[str, Engine], asked: IngestRequest) -> tuple[dict[str, float], ModelReport]:
    """The shortest wall time with each engine, and a report."""
    best = dict.fromkeys(engines, float("inf"))
    for number in range(ROUNDS):
        for name, engine in engines.items():
            started = time.perf_counter()
            report = _measure(folder / f"{number} {name}.duckdb", asked, MODEL, engine)
            best[name] = min(best[name], time.perf_counter() - started)
    return best, report


def _without_folder(patch: pytest.MonkeyPatch, folder: Path, engine: Engine, asked: IngestRequest) -> tuple[float, str]:
    """Wall time, and how much was handed over, where the worker does not see the staging folder."""
    running = vars(engine)["_running"]
    patch.setattr(engine, "_running", replace(running, sees_staging=False))
    started = time.perf_counter()
    report = _measure(folder / "apart.duckdb", asked, MODEL, engine)
    seconds = time.perf_counter() - started
    (told,) = report.details
    return seconds, told.partition(" parts, ")[2].partition(" through")[0]


def _measure(path: Path, asked: IngestRequest, model: str, engine: Engine) -> ModelReport:
    warehouse = Warehouse(path, views=install)
    return ingest_model(warehouse, asked, ModelSource(model), engine=engine)
