"""Notes come back as they were written; what cannot be read is nothing, and what cannot be written is let go."""

from pathlib import Path

import pytest

from neurothek.ingest.user_cache import read_notes, write_notes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("neurothek.ingest.user_cache.user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache"


def test_notes_come_back(folder: Path) -> None:
    assert read_notes("a.json") == {}
    write_notes("a.json", {"x": [1, "é"]})
    write_notes("b.json", {"y": None})
    assert (read_notes("a.json"), read_notes("b.json")) == ({"x": [1, "é"]}, {"y": None})
    write_notes("a.json", {})
    assert read_notes("a.json") == {}
    assert sorted(path.name for path in folder.iterdir()) == ["a.json", "b.json"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_what_holds_no_notes_holds_nothing(content: bytes, folder: Path) -> None:
    folder.mkdir()
    (folder / "a.json").write_bytes(content)
    assert read_notes("a.json") == {}


def test_what_cannot_be_written_is_let_go(folder: Path) -> None:
    folder.write_text("no folder")
    write_notes("a.json", {"x": 1})
    assert read_notes("a.json") == {}
    assert folder.read_text() == "no folder"
    folder.unlink()
    (folder / "a.json").mkdir(parents=True)
    write_notes("a.json", {"x": 1})
    assert [path.name for path in folder.iterdir()] == ["a.json"]
