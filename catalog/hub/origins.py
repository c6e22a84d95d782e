"""Where the bytes of a catalog come from: a folder, or whatever fsspec reads, with its refusals told in sentences.

An origin is asked for the files that a manifest names, by their paths, and for nothing else.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol

from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.hub.addresses import FOLDER, HUB, Address, dataset_of, store_of
from neurothek.catalog.hub.published import invalid_catalog
from neurothek.catalog.problems import NeurothekError, Unavailable
from neurothek.catalog.spelling import one_line

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

PROBE_SECONDS = 2.0
"""A hub that has not answered after this long is taken for unreachable; its own library retries for 23 seconds."""

OFFLINE = "HF_HUB_OFFLINE is set, as it is for pages of the dashboard"

_TAGS = ("ETag", "etag", "blob_id", "sha", "md5", "mtime", "LastModified", "last_modified", "created")
"""What stores call that which changes with a file's content, surest first."""


class Origin(Protocol):
    """What reads files below one folder."""

    @property
    def is_local(self) -> bool:
        """Whether reading costs nothing that is worth keeping."""

    def tag(self, path: str) -> tuple[int | None, str]:
        """Size of a file, and what changes with its content."""

    def read(self, path: str, start: int, end: int) -> bytes:
        """Some bytes of a file; fewer where it ends before."""


def origin_of(address: Address) -> Origin:
    """What reads the catalog at the address; of the hub, the revision that is there now."""
    if address.protocol == FOLDER:
        return _Folder(address)
    if address.protocol == HUB:
        return _on_the_hub(address)
    return _Store(address, store_of(address), f"{address.protocol}://{address.place}")


@dataclass(frozen=True)
class _Folder:
    """A folder of this machine; a link in it leads nowhere."""

    address: Address

    @property
    def is_local(self) -> bool:
        return True

    def tag(self, path: str) -> tuple[int | None, str]:
        with _refusals(self.address, path):
            status = self._file(path).stat()
        return status.st_size, str(status.st_mtime_ns)

    def read(self, path: str, start: int, end: int) -> bytes:
        with _refusals(self.address, path):
            descriptor = os.open(self._file(path), os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                return os.pread(descriptor, end - start, start)
            finally:
                os.close(descriptor)

    def _file(self, path: str) -> Path:
        root = Path(self.address.place)
        place = root
        for part in PurePosixPath(path).parts:
            place /= part
            if place.is_symlink():
                raise invalid_catalog(self.address, f"its {one_line(path)} is a link, or lies behind one")
        if place.exists() and not place.is_file():
            raise invalid_catalog(self.address, f"its {one_line(path)} is no file")
        return place


@dataclass(frozen=True)
class _Store:
    """A folder that fsspec reads."""

    address: Address
    files: AbstractFileSystem
    root: str

    @property
    def is_local(self) -> bool:
        return False

    def tag(self, path: str) -> tuple[int | None, str]:
        with _refusals(self.address, path):
            info = self.files.info(f"{self.root}/{path}")
        size = info.get("size")
        tags = [str(info[name]) for name in _TAGS if info.get(name)]
        return size if isinstance(size, int) else None, tags[0] if tags else ""

    def read(self, path: str, start: int, end: int) -> bytes:
        from fsspec.asyn import AsyncFileSystem  # noqa: PLC0415 - where a catalog is read

        # Else a file would read ahead by megabytes of its own accord.
        exactly: dict[str, Any] = {} if isinstance(self.files, AsyncFileSystem) else {"cache_type": "none"}
        with _refusals(self.address, path):
            content = self.files.cat_file(f"{self.root}/{path}", start=start, end=end, **exactly)
        return bytes(content)


def _on_the_hub(address: Address) -> _Store:
    from huggingface_hub import HfApi  # noqa: PLC0415 - where the hub is asked

    reason = hub_unreachable()
    if reason is not None:
        raise _unreachable(address, reason)
    name, revision, folder = dataset_of(address)
    with _refusals(address, ""):
        # A revision never changes: what is read of one catalog is of one moment.
        commit = HfApi().dataset_info(name, revision=revision).sha
        files = store_of(address)
    root = f"datasets/{name}@{commit}"
    return _Store(address, files, f"{root}/{folder}" if folder else root)


def hub_unreachable() -> str | None:
    """Why the hub cannot be asked, or None if it answers; takes at most about `PROBE_SECONDS`."""
    import httpx2  # noqa: PLC0415 - where the hub is asked
    from huggingface_hub import constants, get_session  # noqa: PLC0415

    if constants.is_offline_mode():
        return OFFLINE
    answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def ask() -> None:
        try:
            get_session().head(constants.ENDPOINT, timeout=PROBE_SECONDS)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            answers.put(reason_of(error))
        else:
            answers.put(None)

    # A thread of its own, because looking up a name knows no timeout.
    threading.Thread(target=ask, daemon=True).start()
    try:
        return answers.get(timeout=PROBE_SECONDS)
    except queue.Empty:
        return f"no answer within {PROBE_SECONDS:.0f} seconds"


def reason_of(error: BaseException) -> str:
    """What an error says, as a part of a sentence."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _unreachable(address: Address, why: str) -> Unavailable:
    return Unavailable(
        f"{one_line(str(address))} cannot be reached ({one_line(why)})",
        "go online, or name a file or a folder of this machine",
        what="catalog",
        name=str(address),
        why=why,
    )


@contextmanager
def _refusals(address: Address, path: str) -> Iterator[None]:
    """Turn what a store says into sentences."""
    import httpx2  # noqa: PLC0415 - where a catalog is read

    try:
        yield
    except NeurothekError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _missing(address, path) from error
    except (OSError, httpx2.HTTPError, ValueError, RuntimeError) as error:
        # Libraries of stores have errors of their own, which derive from these.
        if getattr(getattr(error, "response", None), "status_code", None) in (401, 403, 404):
            raise _missing(address, path) from error
        raise _unreachable(address, reason_of(error)) from error


def _missing(address: Address, path: str) -> NeurothekError:
    if path in ("", MANIFEST):
        return Unavailable(
            f"there is no catalog at {one_line(str(address))}",
            "check the spelling; a private dataset needs a login (`hf auth login`) or HF_TOKEN",
            what="catalog",
            name=str(address),
        )
    return invalid_catalog(address, f"its {one_line(path)} is missing")
