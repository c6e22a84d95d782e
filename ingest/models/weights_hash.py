"""The fingerprint of weight files, remembered between runs so that 100 GB are read once and not each time."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from neurothek.catalog.progress import Progress
from neurothek.ingest.user_cache import read_notes, write_notes

CHUNK_BYTES = 1 << 24

_NOTES = "weights.json"

# File systems stamp times in steps of up to 2 seconds: a younger file may change without a new time or size.
SETTLED_NANOSECONDS = 2_000_000_000

SHA256 = re.compile(r"[0-9a-f]{64}")


def weights_fingerprint(files: Sequence[Path], *, inspect: Callable[[Path], None], progress: Progress) -> str:
    """sha256 over the sorted (file name, file sha256) of `files`.

    Args:
        files: the weight files.
        inspect: looks into a file and raises if it is unfit. It is called once for each content of a file: a
            remembered hash says that the file was found fit.
        progress: is told the bytes read.
    """
    hashes = KnownHashes()
    digests = {file: hashes.sha256(file) for file in files}
    unknown = [file for file, digest in digests.items() if digest is None]
    if unknown:
        progress.start("Reading weights", sum(file.stat().st_size for file in unknown))
        for file in unknown:
            digests[file] = _learn(hashes, file, inspect, progress)
        progress.finish()
        hashes.save()
    return _together(digests)


def has_fingerprint(
    files: Sequence[Path], fingerprint: str, *, most_bytes: int | None, progress: Progress
) -> bool | None:
    """Whether files have the fingerprint of weights that were measured, which were found fit: then they are remembered.

    Args:
        files: the weight files.
        fingerprint: that of `weights_fingerprint`.
        most_bytes: how much of files that are not remembered may be read; None: all. Beyond it the answer is None.
        progress: is told the bytes read.
    """
    hashes = KnownHashes()
    digests = {file: hashes.sha256(file) or _blob_name(file) for file in files}
    unknown = {file: file.stat() for file, digest in digests.items() if digest is None}
    size = sum(stat.st_size for stat in unknown.values())
    if most_bytes is not None and size > most_bytes:
        return None
    if unknown:
        progress.start("Reading weights", size)
        digests |= {file: sha256(file, progress) for file in unknown}
        progress.finish()
    if _together(digests) != fingerprint:
        return False
    for file, stat in unknown.items():
        hashes.add(file, stat, str(digests[file]))
    if unknown:
        hashes.save()
    return True


def _together(digests: Mapping[Path, str | None]) -> str:
    total = hashlib.sha256()
    for file in sorted(digests, key=lambda file: file.name):
        total.update(f"{file.name}\0{digests[file]}\n".encode())
    return total.hexdigest()


def stamp(stat: os.stat_result) -> list[int]:
    """What tells a file from what it was: size, time of the last writing, and when and where the system changed it.

    Whoever copies or unpacks a file may set the time of its last writing, and reproducible archives give all files the
    same; the system's own time nobody sets.
    """
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _learn(hashes: "KnownHashes", file: Path, inspect: Callable[[Path], None], progress: Progress) -> str:
    before = file.stat()
    digest = _blob_name(file)
    if digest is None:
        digest = sha256(file, progress)
    else:
        progress.advance(before.st_size)
    inspect(file)
    hashes.add(file, before, digest)
    return digest


def sha256(file: Path, progress: Progress) -> str:
    """The sha256 of a file's bytes."""
    digest, buffer = hashlib.sha256(), memoryview(bytearray(CHUNK_BYTES))
    with file.open("rb", buffering=0) as opened:
        while size := opened.readinto(buffer):
            digest.update(buffer[:size])
            progress.advance(size)
    return digest.hexdigest()


def _blob_name(file: Path) -> str | None:
    """The hash that the hub's cache gave the file as its name, None for any other file."""
    blob = file.resolve()
    is_blob = file.is_symlink() and blob.parent.name == "blobs" and blob.parent.parent.name.startswith("models--")
    return blob.name if is_blob and SHA256.fullmatch(blob.name) else None


class KnownHashes:
    """Hashes of files by path and `stamp`, kept in the user's cache: hashing again is slower and never wrong."""

    def __init__(self) -> None:
        self._remembered = read_notes(_NOTES)
        self._fresh: dict[str, list[object]] = {}

    def sha256(self, file: Path) -> str | None:
        """The hash of `file` as it lies there now, None if unknown."""
        stat = file.stat()
        match self._remembered.get(str(file.resolve())):
            case [*stamped, str(digest)] if stamped == stamp(stat):
                return digest
        return None

    def add(self, file: Path, stat: os.stat_result, digest: str) -> None:
        """Note the hash of `file`, whose `stat` was taken before it was read, if the file has settled."""
        if stat.st_mtime_ns + SETTLED_NANOSECONDS < time.time_ns():
            self._fresh[str(file.resolve())] = [*stamp(stat), digest]

    def save(self) -> None:
        """Write what was noted beside what other processes wrote meanwhile, and forget files that are gone."""
        notes = read_notes(_NOTES) | self._fresh
        write_notes(_NOTES, {path: entry for path, entry in notes.items() if Path(path).is_file()})


def known_sha256(file: Path, progress: Progress) -> str:
    """The sha256 of one file's bytes, read once and remembered."""
    hashes = KnownHashes()
    remembered = hashes.sha256(file)
    if remembered is not None:
        return remembered
    stat = file.stat()
    progress.start("Reading weights", stat.st_size)
    digest = sha256(file, progress)
    progress.finish()
    hashes.add(file, stat, digest)
    hashes.save()
    return digest
