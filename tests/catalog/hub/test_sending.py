"""Where catalogs are put: a stubbed hub, whose calls are asserted, and a store in memory that breaks off."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek import Neurothek
from neurothek.catalog.hub import origins, sending
from neurothek.catalog.problems import Conflict, Failed, Unavailable

pytestmark = pytest.mark.long


BESIDE = {"README.md", "figure.svg", "manifest.json", "views.sql"}
"""Files that are no tables."""


class Hub:
    """What `HfApi` is called with, and what it answers; it never had a token."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.files = [".gitattributes"]
        self.is_private = False
        self.sent: list[list[str]] = []
        self.breaks = self.stays_public = False

    def create_repo(self, name: str, **options: Any) -> str:
        self.calls.append(("create_repo", {"name": name, **options}))
        self.is_private = bool(options["private"]) and not self.stays_public
        return f"https://huggingface.co/datasets/{name}"

    def dataset_info(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(private=self.is_private, sha="0" * 40)

    def list_repo_files(self, name: str, **_: Any) -> list[str]:
        return self.files

    def upload_folder(self, *, folder_path: Path, **options: Any) -> None:
        if self.breaks:
            raise OSError("the connection was reset")
        ignored = options.get("ignore_patterns", [])
        paths = sorted(path.relative_to(folder_path).as_posix() for path in folder_path.rglob("*") if path.is_file())
        self.sent.append([path for path in paths if path not in ignored])
        self.calls.append(("upload_folder", options))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub()
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: hub)
    monkeypatch.setattr(sending, "hub_unreachable", lambda: None)
    return hub


def beside(local: Neurothek) -> list[str]:
    return sorted(path.name for path in local.path.parent.iterdir())


def test_a_dataset_is_made_and_its_manifest_comes_last(local: Neurothek, hub: Hub) -> None:
    before = beside(local)
    published = local.publish("org/name", private=True)
    (_, made), (_, first), (_, second) = hub.calls
    assert made == {"name": "org/name", "repo_type": "dataset", "private": True, "exist_ok": True}
    assert first["ignore_patterns"] == ["README.md", "manifest.json"]
    assert {first["repo_id"], second["repo_id"]} == {"org/name"}
    assert {first["repo_type"], second["repo_type"]} == {"dataset"}
    assert second["delete_patterns"] == ["*/rows.parquet", "shortcuts/*", "*.svg"]
    # The login is the library's own: nothing of ours hands one over.
    assert all("token" not in options for _, options in hub.calls)
    assert set(hub.sent[0]) == published.files.keys() | BESIDE - {"README.md", "manifest.json"}
    assert set(hub.sent[1]) == published.files.keys() | BESIDE
    assert beside(local) == before


def test_what_is_no_catalog_is_left_alone(local: Neurothek, hub: Hub) -> None:
    hub.files = [".gitattributes", "README.md", "train.csv"]
    with pytest.raises(Conflict, match=r"holds train\.csv, which is of no catalog, and nothing was uploaded"):
        local.publish("org/name")
    hub.files = ["README.md", "tables/models/rows.parquet", "manifest.json"]
    hub.stays_public = True
    with pytest.raises(Conflict, match="is public, and nothing was uploaded"):
        local.publish("org/name", private=True)
    assert hub.sent == []


def test_an_upload_that_stops_is_repeated(local: Neurothek, hub: Hub) -> None:
    before = beside(local)
    hub.breaks = True
    with pytest.raises(Failed, match="stopped: the connection was reset; run the same command again, what was upl"):
        local.publish("org/name")
    assert beside(local) == before
    hub.breaks, hub.files = False, [".gitattributes", "views.sql", "tables/models/rows.parquet"]
    local.publish("org/name")
    assert len(hub.sent) == 2


def test_without_a_network_it_is_told_at_once(local: Neurothek, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (origins, sending):
        monkeypatch.setattr(place, "hub_unreachable", lambda: "no route to host")
    with pytest.raises(Unavailable, match=r"nothing was published: the hub cannot be reached \(no route to host\)"):
        local.publish("org/name", dry_run=False)
    there = neurothek.open("hf://datasets/org/name")
    with pytest.raises(Unavailable, match=r"hf://datasets/org/name cannot be reached \(no route to host\); go online"):
        there.search("school")


@pytest.fixture
def breaking(in_memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFileSystem]:
    """It takes ten files, and no more."""
    put, taken = MemoryFileSystem.put_file, []

    def put_ten(self: MemoryFileSystem, local: str, remote: str, **options: Any) -> None:
        taken.append(remote)
        if len(taken) > 10:
            raise KeyboardInterrupt
        put(self, local, remote, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", put_ten)
    yield in_memory
    monkeypatch.undo()


def test_an_interrupted_publication_leaves_nothing(local: Neurothek, breaking: MemoryFileSystem) -> None:
    before = beside(local)
    with pytest.raises(KeyboardInterrupt):
        local.publish(to="memory://out")
    assert list(breaking.store) == []
    assert beside(local) == before


def test_an_interrupted_folder_is_not_there(local: Neurothek, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("neurothek.catalog.hub.card.card", stop)
    with pytest.raises(KeyboardInterrupt):
        local.publish(to=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_store_takes_a_catalog_once(local: Neurothek, in_memory: MemoryFileSystem) -> None:
    published = local.publish(to="memory://out")
    paths = {path.removeprefix("/out/") for path in in_memory.store}
    assert paths == published.files.keys() | BESIDE
    assert neurothek.open("memory://out").models().height == local.models().height
    with pytest.raises(Conflict, match="memory://out already holds a catalog"):
        local.publish(to="memory://out")
    # One that was killed left files and no manifest.
    in_memory.rm_file("/out/manifest.json")
    local.publish(to="memory://out")
    assert "/out/manifest.json" in in_memory.store
    in_memory.pipe_file("/mine/notes.txt", b"mine")
    with pytest.raises(Conflict, match=r"holds notes\.txt"):
        local.publish(to="memory://mine")
