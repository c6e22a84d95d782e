"""Measurements before they are published: checked shards as Parquet files, one folder per run, safe against kills."""

import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb
import filelock
import polars as pl

from neurothek.catalog.files import written
from neurothek.catalog.problems import Busy, Unavailable
from neurothek.catalog.store.connections import beside, keyboard_interrupts, literal_path
from neurothek.catalog.tables.table import Table

MANIFEST = "manifest.json"

_PROBE_SECONDS = 1.0

_HANDED, _HANDED_ROWS, _BUFFER_BYTES = "handed_over", 8_192, 1 << 16
"""What rows are called while a statement reads them, how many are in memory at a time, and how much of a column."""

# Rows longer than the first are stored in groups of about the second.
_WIDE_BYTES, _GROUP_BYTES = 1 << 10, 1 << 20

_KEY = re.compile(r"[0-9a-f]{64}")
"""Names of the locks of runs: where the folder is a link to another, no others in it are ours."""

_NAME = re.compile(r"[\w@+-][\w@.+-]*")
"""Names of folders of runs: none leads out of the folder that they lie in."""

_TEXTS = ("corpus", "other_model", "problem", "arithmetic", "lease")
"""What a manifest may say in words, or not at all."""

State = Literal["running", "failed", "interrupted", "measured"]


def _busy_run(job: str, model: str) -> Busy:
    """Two processes want to measure the same run."""
    run = f"{job} of {model}"
    return Busy(f"{run} is being measured by another process", "wait for it, then repeat the command", path=run)


def unwritable_staging(folder: Path, error: Exception) -> Unavailable:
    """The disk does not take a shard."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error).splitlines()[0]
    why = text.rpartition("underlying IO error: ")[2]
    return Unavailable(
        f"a measurement could not be written to {folder} ({why})",
        "finished work is kept: free some space or choose another disk with --staging, then repeat the command",
        what="staging",
        name=folder,
        why=why,
    )


@dataclass(frozen=True)
class RunManifest:
    """Who a staged run is: what the `runs` command shows of it before it is published."""

    run_key: str  # sha256 of everything that changes the run's numbers; the folder's name
    job: str  # name of the job
    job_version: int  # its version
    model: str  # name of the model
    corpus: str | None  # name of the corpus, None for jobs that read only weights
    parameters: Mapping[str, Any]  # what changes numbers, as JSON values
    dtype: str  # number format of the model
    started_at: datetime  # when the first part began (UTC)
    # what else the last bits depend on, e.g. the size of batches: no part of the key, but shards of one run are
    # measured alike; None where nothing does.
    arithmetic: str | None = None
    other_model: str | None = None  # name of the other model, None for jobs about one
    lease: str = ""  # which opening of the folder this is; whoever opens it later gives it another one


class StagedRun:
    """One run's folder: what is measured and not yet published. A shard that exists is done."""

    def __init__(self, folder: Path, manifest: RunManifest) -> None:
        self.folder = folder
        self.manifest = manifest

    def has(self, shard: str, tables: Sequence[str]) -> bool:
        """Whether every table of the shard is written."""
        return all(self.path(shard, table).exists() for table in tables)

    def path(self, shard: str, table: str) -> Path:
        """Where the rows of one table of one shard lie."""
        return self.folder / f"{shard}.{table}.parquet"

    def write(self, shard: str, frames: Mapping[str, pl.DataFrame], *, is_passing: bool = False) -> None:
        """Write a shard's frames, each under a temporary name that is then renamed.

        Args:
            shard: its name.
            frames: its rows, by table.
            is_passing: whether the rows are read once, soon, and then dropped.
        """
        for table, frame in frames.items():
            try:
                with written(self.path(shard, table)) as temporary:
                    write_parquet(frame, temporary, is_passing=is_passing)
            except (OSError, pl.exceptions.ComputeError) as error:
                # The Parquet writer reports a full disk as an error of its own.
                raise unwritable_staging(self.folder, error) from error

    def is_ours(self) -> bool:
        """Whether no other process has opened the folder since, or deleted it: for those who write without its lock."""
        manifest = _read_manifest(self.folder)
        return manifest is not None and manifest.get("lease") == self.manifest.lease

    def drop(self, shard: str, table: str) -> None:
        """Delete the rows of one table of a shard, if they are there."""
        self.path(shard, table).unlink(missing_ok=True)

    def read(self, shard: str, table: str) -> pl.DataFrame:
        """The rows of one table of a finished shard."""
        return pl.read_parquet(self.path(shard, table))

    def scan(self, shard: str, table: str) -> pl.LazyFrame:
        """The rows of one table of a finished shard, not read yet."""
        return pl.scan_parquet(self.path(shard, table))

    def sort(self, shard: str, table: Table, shards: Sequence[str], *, memory_bytes: int) -> Path:
        """Merge shards into one file sorted as the table lies on disk, spilling beyond the memory budget."""
        target = self.path(shard, table.name)
        if target.exists():
            return target
        settings = {
            "memory_limit": f"{duckdb_bytes(memory_bytes)}B",
            "temp_directory": str(self.folder / "spill"),
        }
        with beside(self.folder, settings) as connection:
            files = [literal_path(self.path(name, table.name)) for name in shards]
            rows = f"select * from read_parquet($files) order by {', '.join(table.order)}"
            try:
                with written(target) as temporary, keyboard_interrupts(connection):
                    query = f"copy ({rows}) to '{_quoted(temporary)}' (format parquet)"
                    connection.execute(query, {"files": files})
            except (duckdb.IOException, OSError) as error:
                raise unwritable_staging(self.folder, error) from error
        return target

    def mark(self, state: State, problem: str | None = None) -> None:
        """Record how the run stands, for the `runs` command."""
        try:
            _write_manifest(self.folder, self.manifest, state, problem)
        except OSError as error:
            raise unwritable_staging(self.folder, error) from error

    def discard(self) -> None:
        """Delete the folder: its rows are published or no longer wanted."""
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def adding(staging: Path, model: str) -> Iterator[None]:
    """Keep other processes from adding to what the warehouse has of a model, which each of them would replace."""
    try:
        staging.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(staging / f"{hashlib.sha256(model.encode()).hexdigest()}.lock")
        lock.acquire(timeout=_PROBE_SECONDS)
    except filelock.Timeout as error:
        raise _busy_run("an intervention", model) from error
    except OSError as error:
        raise unwritable_staging(staging, error) from error
    try:
        yield
    finally:
        lock.release()
        _tidy(staging)


@contextmanager
def staged_run(staging: Path, manifest: RunManifest) -> Iterator[StagedRun]:
    """Open the run's folder under its lock, taking up what an earlier process left there."""
    folder = staging / manifest.run_key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(staging / f"{manifest.run_key}.lock")
        # Somebody who lists the runs holds the lock for a moment to see whether it is free.
        lock.acquire(timeout=_PROBE_SECONDS)
    except filelock.Timeout as error:
        raise _busy_run(manifest.job, manifest.model) from error
    except OSError as error:
        raise unwritable_staging(staging, error) from error
    try:
        yield _take_up(folder, manifest)
    finally:
        lock.release()
        _tidy(staging)


def write_parquet(frame: pl.DataFrame, path: Path, *, is_passing: bool = False) -> None:
    """Write rows as shards are written; those of which `is_passing` are not packed, which takes longer than a disk."""
    frame.write_parquet(
        path,
        compression="uncompressed" if is_passing else "zstd",
        compression_level=None if is_passing else 1,
        statistics=False,
        row_group_size=_rows_in_a_group(frame),
    )


@contextmanager
def rows_of(connection: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> Iterator[str]:
    """A name by which one statement reads the rows of Parquet files, in order: the connection itself opens no file."""
    import pyarrow as pa  # noqa: PLC0415  (a quarter of a second, where something is published)
    import pyarrow.parquet as pq  # noqa: PLC0415  (likewise)

    schema = pq.read_schema(files[0])
    # The pool of PyArrow's own keeps what it is given back.
    pa.set_memory_pool(pa.system_memory_pool())

    def batches() -> Iterator[pa.RecordBatch]:
        for path in files:
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER_BYTES) as file:
                for batch in file.iter_batches(_HANDED_ROWS, use_threads=False):
                    yield batch if batch.schema.equals(schema) else batch.select(schema.names).cast(schema)

    connection.register(_HANDED, pa.RecordBatchReader.from_batches(schema, batches()))
    try:
        yield _HANDED
    finally:
        # A statement that failed has ended its transaction, and the name with it.
        with suppress(duckdb.TransactionException):
            connection.unregister(_HANDED)


def _take_up(folder: Path, manifest: RunManifest) -> StagedRun:
    if folder.is_symlink():
        # A link could lead anywhere, and files are written and deleted below.
        folder.unlink()
    folder.mkdir(exist_ok=True)
    # Hidden files are unfinished ones; the lock is held, so whoever wrote them is gone.
    for stray in folder.glob(".*"):
        stray.unlink(missing_ok=True)
    earlier, manifest = _read_manifest(folder), replace(manifest, lease=secrets.token_hex(8))
    if earlier is not None and earlier.get("arithmetic") != manifest.arithmetic:
        # Whoever wrote them without the lock writes no more from here on.
        _write_manifest(folder, replace(manifest, arithmetic=earlier.get("arithmetic")), "running", None)
        # Before the manifest is written anew, so that a kill in between leaves nothing that looks alike.
        for shard in folder.glob("*.parquet"):
            shard.unlink()
    elif earlier is not None:
        manifest = RunManifest(**{**vars(manifest), "started_at": datetime.fromisoformat(earlier["started_at"])})
    run = StagedRun(folder, manifest)
    run.mark("running")
    return run


def _tidy(staging: Path) -> None:
    """Remove the lock files of runs that are gone, and the staging folder when it is empty."""
    for lock in staging.glob("*.lock"):
        is_ours = not staging.is_symlink() or _KEY.fullmatch(lock.stem)
        if is_ours and not lock.with_suffix("").exists():
            lock.unlink(missing_ok=True)
    if staging.exists() and not any(staging.iterdir()):
        staging.rmdir()


def staged_manifests(staging: Path) -> list[dict[str, Any]]:
    """What lies in staging, as the manifests say it; a run marked as running whose process is gone is 'interrupted'."""
    manifests = []
    for folder in sorted(path for path in staging.glob("*") if path.is_dir() and not path.is_symlink()):
        manifest = _read_manifest(folder)
        if manifest is None:
            continue
        if manifest["state"] == "running" and not _is_held(staging / f"{folder.name}.lock"):
            manifest["state"] = "interrupted"
        manifests.append(manifest)
    return manifests


def discard_model(staging: Path, model: str) -> None:
    """Delete what is staged of a model, alone or with others, unless a process is measuring it."""
    of_model = [one for one in staged_manifests(staging) if model in (one["model"], one.get("other_model"))]
    discard_runs(staging, [manifest["run_key"] for manifest in of_model])


def discard_runs(staging: Path, run_keys: Sequence[str]) -> None:
    """Delete the folders of published runs, if any are left and no process holds them."""
    for key in run_keys:
        if _NAME.fullmatch(key) and (staging / key).exists() and not _is_held(staging / f"{key}.lock"):
            shutil.rmtree(staging / key, ignore_errors=True)
    if staging.exists():
        _tidy(staging)


def duckdb_bytes(memory_bytes: int) -> int:
    """What DuckDB may take of a budget: half of it, since it does not count all it uses; less it cannot work with."""
    return max(memory_bytes // 2, 128 << 20)


def _rows_in_a_group(frame: pl.DataFrame) -> int | None:
    """Rows to be stored together: few where rows are wide, so that some can be read without the others."""
    row_bytes = frame.estimated_size() / max(frame.height, 1)
    return max(1, int(_GROUP_BYTES / row_bytes)) if row_bytes > _WIDE_BYTES else None


def _is_held(path: Path) -> bool:
    if not path.exists():
        return False
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return True
    lock.release()
    return False


def _write_manifest(folder: Path, manifest: RunManifest, state: State, problem: str | None) -> None:
    content = {**vars(manifest), "started_at": manifest.started_at.isoformat(), "state": state, "problem": problem}
    content["parameters"] = dict(manifest.parameters)
    with written(folder / MANIFEST) as temporary:
        temporary.write_text(json.dumps(content, indent=2), "utf-8")


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        # The rest is only shown, but these are computed with.
        datetime.fromisoformat(content["started_at"])
        is_ours = (
            content["run_key"] == folder.name
            and isinstance(content["parameters"], dict)
            and content["state"] in get_args(State)
            and all(isinstance(content[name], str) for name in ("job", "model", "dtype"))
            and isinstance(content["job_version"], int)
            and all(isinstance(content.get(name), str | None) for name in _TEXTS)
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # Power was lost while it was written: the shards beside it are whole, and it is written anew.
        return None
    return content if is_ours else None


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def now() -> datetime:
    """The present time in UTC, without a zone, as the warehouse keeps times."""
    return datetime.now(UTC).replace(tzinfo=None)
