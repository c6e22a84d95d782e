"""Small measurements from end to end: a text of two domains, a request for it, and every table that came out."""

import dataclasses
import random
import shutil
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.sources import builtin
from neurothek.ingest.forward.sweep import Order
from neurothek.ingest.pipeline.compare_pair import compare_pair
from neurothek.ingest.pipeline.ingest_model import ingest_model
from neurothek.ingest.pipeline.outcomes import ModelReport, PairReport
from neurothek.ingest.planning import model_plan, pairs
from neurothek.ingest.planning.sweep_plan import SweepPlan, plan_sweep
from neurothek.ingest.request import IngestRequest, ModelSource, TextRequest
from neurothek.queries.views import install
from tests.support.models import Kind, build

TEXT = "the school is near river and old has a new roof one two three six total sum value 12 30 42"
WORDS = TEXT.split()

JOBS = ("projections", "activity", "contexts")
"""What tests measure that are not about a job."""

LONG_WORDS, SHORT_DOCUMENTS = 420, 14


def long_document() -> str:
    """A document of many sequences."""
    chosen = random.Random(1)
    return " ".join(chosen.choice(WORDS) for _ in range(LONG_WORDS))


def short_documents() -> list[str]:
    """Documents that are shorter than a sequence."""
    chosen = random.Random(2)
    return [" ".join(chosen.choice(WORDS) for _ in range(5 + 2 * n)) for n in range(SHORT_DOCUMENTS)]


def write_corpus(folder: Path) -> tuple[str, ...]:
    """Both as files under `folder`; returns what to give to --corpus: the domains `long` and `short`."""
    (folder / "long.txt").write_text(long_document())
    (folder / "short").mkdir()
    for number, document in enumerate(short_documents()):
        (folder / "short" / f"{number:02d}.txt").write_text(document)
    return (f"long={folder / 'long.txt'}", f"short={folder / 'short'}")


@contextmanager
def small_library(folder: Path) -> Iterator[None]:
    """A few of Python's own packages in place of all: reading the whole library takes seconds."""
    library = Path(sysconfig.get_path("stdlib"))
    for package in ("json", "email", "http", "logging", "pydoc_data"):
        shutil.copytree(library / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    caches = (builtin.library_sha256, builtin._hashed, builtin._library)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sysconfig, "get_path", lambda _: str(folder))
        for cache in caches:
            cache.cache_clear()
        yield
    for cache in caches:
        cache.cache_clear()


def open_warehouse(path: Path) -> Warehouse:
    """The warehouse as `neurothek.open` opens it, but without patience."""
    return Warehouse(path, views=install, wait_seconds=5.0)


def request(corpora: tuple[str, ...], *, text: dict[str, Any] | None = None, **fields: Any) -> IngestRequest:
    """A request for this text in small batches; `text` and `fields` override."""
    asked = TextRequest(**{"corpora": corpora, **(text or {})})
    return IngestRequest(**{"jobs": JOBS, "text": asked, "batch_tokens": 200, "device": "cpu", **fields})


def measure(warehouse: Warehouse, model: Path | str, asked: IngestRequest) -> ModelReport:
    """Measure one model, given as on the command line."""
    return ingest_model(warehouse, asked, ModelSource.parse(str(model)))


def measured_models(folder: Path, kinds: Sequence[Kind], **shape: Any) -> tuple[str, ...]:
    """Build a tiny model of each kind in the folder, and measure weights and activity into its `w.duckdb`; the text."""
    corpora = write_corpus(folder)
    warehouse = open_warehouse(folder / "w.duckdb")
    for kind in kinds:
        build(folder / kind, kind, d_ffn=24, seed=2, **shape)
        measure(warehouse, folder / kind, request(corpora, jobs=("projections", "activity")))
    return corpora


def compare(warehouse: Warehouse, *models: str, **fields: Any) -> list[PairReport]:
    """Find the counterparts between models of the warehouse, given as on the command line."""
    asked = IngestRequest(**{"jobs": ("counterparts",), "device": "cpu", **fields})
    # As the command has it: a file is opened once for all that is read of it.
    with warehouse.lingering():
        found = pairs.asked_models(warehouse, asked, models)
        return [compare_pair(warehouse, asked, pair, progress=Silent()) for pair in pairs.pairs_of(found)]


def force(patch: pytest.MonkeyPatch, order: Order, *, is_resident: bool = False) -> None:
    """Have every sweep go this way, whatever the memory."""

    def forced(*arguments: Any, **options: Any) -> SweepPlan:
        return dataclasses.replace(plan_sweep(*arguments, **options), order=order, is_resident=is_resident)

    patch.setattr(model_plan, "plan_sweep", forced)


def table(warehouse: Warehouse, name: str, condition: str = "true") -> pl.DataFrame:
    """The rows of a table of the schema `store`, in the order in which they lie."""
    with warehouse.reader() as connection:
        rows: pl.DataFrame = connection.sql(f"select * from store.{name} where {condition}").pl()
    return rows


def everything(warehouse: Warehouse) -> dict[str, pl.DataFrame]:
    """Every table of the schema `store` but the times at which its runs were measured."""
    with warehouse.reader() as connection:
        names = [name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()]
        frames = {name: connection.sql(f"select * from store.{name}").pl() for name in sorted(names)}
    del frames["schema_versions"]
    frames["runs"] = frames["runs"].drop("started_at", "finished_at")
    return frames


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    """Both hold the same rows, bit for bit and in the same order."""
    assert found.keys() == expected.keys()
    different = [name for name, frame in expected.items() if not found[name].equals(frame)]
    assert not different, {name: (found[name].shape, expected[name].shape) for name in different}
