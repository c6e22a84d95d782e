"""Staging: a shard that exists is whole, a run is measured by one process, and leftovers are told apart."""

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.problems import Busy, Unavailable
from neurothek.catalog.publishing.staging import RunManifest, now, staged_manifests, staged_run
from neurothek.catalog.tables.weights import POSTINGS
from tests.support import publications as made

MANIFEST = RunManifest("k" * 64, "projections", 1, "tiny", None, {"k": 50}, "float32", now())


def test_what_is_written_is_read_back_and_survives_the_process(tmp_path: Path) -> None:
    frames = made.weights_frames()
    with staged_run(tmp_path / "s", MANIFEST) as run:
        assert not run.has("layer-0000", list(frames))
        run.write("layer-0000", frames)
    with staged_run(tmp_path / "s", replace(MANIFEST, started_at=now())) as again:
        assert again.has("layer-0000", list(frames))
        assert again.read("layer-0000", "postings").equals(frames["postings"])
        assert again.manifest.started_at == MANIFEST.started_at, "a resumed run began when its first part began"
        again.discard()
    assert not (tmp_path / "s").exists(), "nothing is left behind"


def test_a_shard_of_several_tables_is_done_only_when_all_are(tmp_path: Path) -> None:
    frames = made.weights_frames()
    with staged_run(tmp_path, MANIFEST) as run:
        run.write("a", {"postings": frames["postings"]})
        assert not run.has("a", ["postings", "projections"])


def test_half_written_files_of_a_killed_process_are_removed(tmp_path: Path) -> None:
    with staged_run(tmp_path, MANIFEST) as run:
        (run.folder / ".a.postings.parquet.123").write_bytes(b"half")
    with staged_run(tmp_path, MANIFEST) as run:
        assert [path.name for path in run.folder.iterdir()] == ["manifest.json"]


def test_one_process_measures_a_run(tmp_path: Path) -> None:
    with (
        staged_run(tmp_path, MANIFEST),
        pytest.raises(Busy, match="projections of tiny is being measured"),
        staged_run(tmp_path, MANIFEST),
    ):
        pass


def test_looking_at_runs_does_not_stop_one_from_starting(tmp_path: Path) -> None:
    with staged_run(tmp_path, MANIFEST):
        pass
    seen_enough = threading.Event()

    def look() -> None:
        while not seen_enough.is_set():
            staged_manifests(tmp_path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(50):
            with staged_run(tmp_path, MANIFEST):
                pass
    finally:
        seen_enough.set()
        looking.join()


def test_looking_writes_nothing_and_half_a_manifest_is_none(tmp_path: Path) -> None:
    with staged_run(tmp_path, MANIFEST) as run:
        pass
    (tmp_path / f"{MANIFEST.run_key}.lock").unlink(missing_ok=True)
    before = sorted(tmp_path.rglob("*"))
    staged_manifests(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    (run.folder / "manifest.json").write_text('{"run_key": ')
    assert staged_manifests(tmp_path) == []
    with staged_run(tmp_path, MANIFEST):
        assert [manifest["state"] for manifest in staged_manifests(tmp_path)] == ["running"]


def test_manifests_tell_how_a_run_stands(tmp_path: Path) -> None:
    with staged_run(tmp_path, MANIFEST) as run:
        assert [manifest["state"] for manifest in staged_manifests(tmp_path)] == ["running"]
    assert [manifest["state"] for manifest in staged_manifests(tmp_path)] == ["interrupted"]
    with staged_run(tmp_path, MANIFEST) as run:
        run.mark("failed", "no memory")
    (manifest,) = staged_manifests(tmp_path)
    assert (manifest["state"], manifest["problem"], manifest["job"]) == ("failed", "no memory", "projections")
    assert manifest["parameters"] == json.loads(json.dumps({"k": 50}))


def test_sorting_equals_pythons_own(tmp_path: Path) -> None:
    postings = made.weights_frames()["postings"]
    shuffled = postings.sample(fraction=1.0, shuffle=True, seed=3)
    with staged_run(tmp_path, MANIFEST) as run:
        run.write("a", {"postings": shuffled.head(30)})
        run.write("b", {"postings": shuffled.tail(-30)})
        path = run.sort("sorted", POSTINGS, ["a", "b"], memory_bytes=1 << 28)
    assert pl.read_parquet(path).equals(postings)


def test_a_disk_that_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with staged_run(tmp_path, MANIFEST) as run:
        monkeypatch.setattr(pl.DataFrame, "write_parquet", refuse)
        with pytest.raises(Unavailable, match="No space left on device"):
            run.write("a", made.weights_frames())
        assert [path.name for path in run.folder.iterdir()] == ["manifest.json"]


def test_a_staging_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(Unavailable, match="a measurement could not be written to"),
        staged_run(tmp_path / "file" / str(os.getpid()), MANIFEST),
    ):
        pass
