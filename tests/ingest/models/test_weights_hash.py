"""The fingerprint of weight files and the memory that saves computing it again."""

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from neurothek.catalog.progress import Silent
from neurothek.ingest import user_cache
from neurothek.ingest.models.weights_hash import weights_fingerprint


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(user_cache, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    return tmp_path / "cache" / "weights.json"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files that have lain there for an hour."""
    found = [tmp_path / "b.bin", tmp_path / "a.bin"]
    for path, content in zip(found, (b"second", b"first"), strict=True):
        write_old(path, content)
    return found


def write_old(path: Path, content: bytes, *, age_seconds: int = 3600) -> None:
    path.write_bytes(content)
    then = time.time_ns() - age_seconds * 10**9
    os.utime(path, ns=(then, then))


class Watch(Silent):
    """Counts the bytes that were read."""

    def __init__(self) -> None:
        self.total, self.read = 0, 0

    def start(self, label: str, total: int) -> None:
        self.total += total

    def advance(self, amount: int = 1, note: str = "") -> None:
        self.read += amount


def measure(files: list[Path], inspect: Callable[[Path], None] = lambda file: None) -> tuple[str, int]:
    watch = Watch()
    digest = weights_fingerprint(files, inspect=inspect, progress=watch)
    assert watch.read == watch.total
    return digest, watch.read


def expected(files: list[Path]) -> str:
    lines = [f"{path.name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def test_it_is_the_hash_of_sorted_names_and_hashes(files: list[Path]) -> None:
    assert measure(files)[0] == measure(files[::-1])[0] == expected(files)


def test_names_count(files: list[Path]) -> None:
    before, _ = measure(files)
    renamed = files[0].rename(files[0].with_name("c.bin"))
    assert measure([renamed, files[1]])[0] != before


def test_a_second_time_nothing_is_read(files: list[Path]) -> None:
    digest, read = measure(files)
    assert read == 11
    assert measure(files) == (digest, 0)


def test_a_changed_file_is_read_again(files: list[Path]) -> None:
    before, _ = measure(files)
    write_old(files[0], b"SECOND", age_seconds=1800)  # as long as before: only the time differs
    after, read = measure(files)
    assert read == 6
    assert after == expected(files) != before


def test_a_file_of_the_same_size_and_time_is_read_again(files: list[Path]) -> None:
    before, _ = measure(files)
    then = files[0].stat()
    files[0].write_bytes(b"SECOND")
    os.utime(files[0], ns=(then.st_atime_ns, then.st_mtime_ns))
    after, read = measure(files)
    assert read == 6
    assert after == expected(files) != before


def test_a_young_file_is_not_remembered(files: list[Path]) -> None:
    write_old(files[0], b"second", age_seconds=0)
    measure(files)
    assert measure(files)[1] == 6


def test_an_unfit_file_is_not_remembered(files: list[Path]) -> None:
    def refuse(file: Path) -> None:
        raise ValueError(file.name)

    for _ in range(2):
        with pytest.raises(ValueError, match="bin"):
            measure(files, refuse)
    assert measure(files)[1] == 11


def test_each_content_is_inspected_once(files: list[Path]) -> None:
    seen: list[str] = []
    for _ in range(2):
        measure(files, lambda file: seen.append(file.name))
    assert seen == ["b.bin", "a.bin"]


def test_lost_files_are_forgotten(files: list[Path], cache: Path) -> None:
    measure(files)
    files[0].unlink()
    write_old(files[1], b"changed")
    measure(files[1:])
    assert "b.bin" not in cache.read_text()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 3}', b"\xff\xfe"])
def test_a_broken_cache_is_no_cache(content: bytes, files: list[Path], cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_bytes(content)
    assert measure(files) == (expected(files), 11)
    assert measure(files) == (expected(files), 0)


def test_a_wrong_entry_is_no_entry(files: list[Path], cache: Path) -> None:
    measure(files)
    cache.write_text(cache.read_text().replace(str(files[0].stat().st_mtime_ns), '"now"'))
    assert measure(files) == (expected(files), 6)


def test_a_cache_that_cannot_be_written_is_no_cache(files: list[Path], cache: Path) -> None:
    cache.parent.write_bytes(b"a file where the folder should be")
    assert measure(files) == measure(files) == (expected(files), 11)


def test_a_blob_of_the_hub_is_its_name(tmp_path: Path) -> None:
    digest = "ab" * 32
    blob = tmp_path / "models--org--tiny" / "blobs" / digest
    blob.parent.mkdir(parents=True)
    write_old(blob, b"weights")
    link = tmp_path / "model.safetensors"
    link.symlink_to(blob)
    named = hashlib.sha256(f"model.safetensors\0{digest}\n".encode()).hexdigest()
    assert measure([link])[0] == named
    # Control: the same link to a file that is no blob is hashed.
    link.unlink()
    link.symlink_to(blob.rename(tmp_path / digest))
    assert measure([link])[0] == expected([link])
