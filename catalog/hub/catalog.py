"""A published catalog in the place of a warehouse: what only reads cannot tell the two apart.

The connection that a reader leases is to this release's shell, which reads the catalog's files through the one file
system that it can reach: no other file, no network, and no setting can be changed. What people type is answered by a
process that has none of the catalog's files either, and asks this one for their bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.hub.addresses import FOLDER, Address
from neurothek.catalog.hub.fetched_matrices import fetch_matrix
from neurothek.catalog.hub.file_system import PROTOCOL, CatalogFiles, Reads
from neurothek.catalog.hub.origins import origin_of
from neurothek.catalog.hub.parts import Parts, cache_of
from neurothek.catalog.hub.published import MOST_BYTES, Published, invalid_catalog, path_of, read_published
from neurothek.catalog.hub.shell import DATABASE, rows_of_view, shell_of
from neurothek.catalog.problems import NeurothekError, Refused, memory_refused
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.connections import close, keyboard_interrupts, lock_down, settings_of
from neurothek.catalog.store.damage import is_damage
from neurothek.catalog.store.leases import shared_reader
from neurothek.catalog.store.schema import Judgement
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables import versions

if TYPE_CHECKING:
    from neurothek.catalog.hub.origins import Origin
    from neurothek.catalog.hub.parts import Source
    from neurothek.catalog.progress import Progress
    from neurothek.catalog.store.matrices import StoredMatrix
    from neurothek.catalog.store.schema import ViewInstaller

_TRUSTED_SECONDS = 60.0
"""How long a manifest that was read is taken for the one that is there."""

_MOST_MEMORY = "60%"
"""Of this machine's, for our own questions: a list that a file claims to hold may be of any length."""

_SHOWN_OF_A_REASON = 300

_FILE_NAMED = re.compile(rf'Failed to read file "{PROTOCOL}://(\w+)"')


@dataclass(frozen=True)
class Opened:
    """A catalog as it was read: its address, manifest and files.

    Attributes:
        address: where it is.
        published: its manifest.
        origin: what reads where it lies.
        source: what reads the files of its tables and views.
        reads: the same, which remembers what went wrong.
        folder: the cache folder of it.
        files: relation -> path and size of the file that holds its rows.
    """

    address: Address
    published: Published
    origin: Origin
    source: Source
    reads: Reads
    folder: Path
    files: Mapping[str, tuple[str, int]]


@dataclass(frozen=True)
class Catalog(Warehouse):
    """A warehouse that is read where it lies; `path` is the shell that shows it."""

    opened: Opened | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """The path is ours: no links are followed."""

    @property
    def content(self) -> Opened:
        """What was opened."""
        assert self.opened is not None, "only `open_catalog` makes them"
        return self.opened

    @property
    def label(self) -> str:
        """The address."""
        return str(self.content.address)

    def exists(self) -> bool:
        """It is there: its manifest was read."""
        return True

    def require_writable(self) -> NoReturn:
        """Refuse: nothing is written to a catalog."""
        raise only_read(self.label)

    def require_whole(self, *, progress: Progress | None = None) -> NoReturn:
        """Refuse: to read every block is to copy it."""
        raise only_read(self.label)

    @contextmanager
    def writer(self, *, settings: Sequence[tuple[str, str]] = ()) -> Iterator[duckdb.DuckDBPyConnection]:
        """Refuse."""
        raise only_read(self.label)
        yield  # type: ignore[unreachable]  # makes it a generator, as the base's is

    def settle(self) -> None:
        """There is no log."""

    def handed_over(self) -> dict[str, Any]:
        """What a process that answers people's queries needs to show the catalog."""
        opened = self.content
        files = {relation: list(file) for relation, file in opened.files.items()}
        return {"path": str(self.path), "catalog": {"address": str(opened.address), "files": files}}

    def fetch_matrices(self, matrices: Sequence[StoredMatrix]) -> None:
        """Bring matrices that were published to where those of a warehouse lie: once, into the cache folder."""
        for one in matrices:
            fetch_matrix(self.content, one, self.maps)

    @property
    def why_only_read(self) -> Refused:
        """That it is a catalog."""
        return only_read(self.label)

    @property
    def served(self) -> Source:
        """What reads the files: another process has no way to them."""
        return self.content.source

    @contextmanager
    def complaints(self) -> Iterator[None]:
        """Raise what DuckDB says in the block as a sentence about the catalog, or what kept a file from it."""
        reads = self.content.reads
        try:
            yield
        # Some errors of DuckDB's are of bytes that are no text.
        except (duckdb.Error, OSError, UnicodeDecodeError, NeurothekError) as error:
            # Somebody may have told of a failure by DuckDB's text of it.
            failure, reads.failure = reads.failure, None
            if failure is not None and failure is not error:
                raise failure from error
            if isinstance(error, duckdb.OutOfMemoryException):
                raise memory_refused(error) from error
            if isinstance(error, NeurothekError) or (isinstance(error, OSError) and error.errno is not None):
                raise
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> NeurothekError:
        text = str(error)
        if "were altered" in text:
            return invalid_catalog(self.label, "a file of it has columns of other types than its table")
        named = _FILE_NAMED.search(text)
        if named is not None and named[1] in self.content.files:
            return invalid_catalog(self.label, f"its {self.content.files[named[1]][0]} is damaged")
        first = one_line(text.split("\n", 1)[0].removeprefix("Traceback (most recent call last):"))
        reason = first[:_SHOWN_OF_A_REASON]
        return invalid_catalog(self.label, f"a file of it is damaged ({reason})" if is_damage(error) else reason)

    @contextmanager
    def _lease(self) -> Iterator[tuple[duckdb.DuckDBPyConnection, Judgement]]:
        with (
            self.complaints(),
            shared_reader(self.path, self._open_shell, lambda state: state == self.reader_settings) as (connection, _),
            keyboard_interrupts(connection),
        ):
            yield connection, Judgement(versions.VERSION, (), has_our_views=True)

    def _open_shell(self) -> tuple[duckdb.DuckDBPyConnection, tuple[tuple[str, str], ...]]:
        assert self.views is not None, "a catalog has the views of this release, and no others"
        opened = self.content
        files = CatalogFiles(opened.reads, opened.files, shell_of(self.views).blanks)
        settings = settings_of(read_only=True, settings=self.reader_settings)
        # Which files can be reached can only be said while all can.
        del settings["enable_external_access"]
        connection = duckdb.connect(str(self.path), read_only=True, config=settings)
        try:
            connection.register_filesystem(files)
            connection.execute("set global allowed_directories = $places", {"places": [f"{PROTOCOL}://"]})
            connection.execute("set global enable_external_access = false")
            lock_down(connection, self.reader_settings or (("memory_limit", _MOST_MEMORY),))
        except BaseException:
            close(connection)
            raise
        return connection, self.reader_settings


def only_read(address: str) -> Refused:
    """A command that writes was given a catalog."""
    return Refused(
        f"{one_line(address)} is a published catalog, which is only read",
        f"bring it into a file of your own with `{command_line('copy', address, 'FILE')}`, and name that with"
        " --warehouse",
        what=address,
        why="catalogs are only read",
    )


_OPENED: dict[str, tuple[float, Opened]] = {}
_GUARD = threading.Lock()


def open_catalog(address: Address, views: ViewInstaller) -> Catalog:
    """The catalog at an address: its manifest is read, and nothing else of it; elsewhere not twice in a moment."""
    key = str(address.absolute())
    with _GUARD:
        read_at, opened = _OPENED.get(key, (0.0, None))
        is_fresh = address.protocol != FOLDER and time.monotonic() - read_at <= _TRUSTED_SECONDS
        if opened is None or not is_fresh:
            opened = _opened(address, opened)
            _OPENED[key] = time.monotonic(), opened
    shell = shell_of(views).database
    return Catalog(_linked(shell, opened.folder / f"{DATABASE}.duckdb"), views, opened=opened)


def catalog_for_people(
    fields: Mapping[str, Any], source: Source, views: ViewInstaller, settings: tuple[tuple[str, str], ...]
) -> Catalog:
    """The catalog that another process handed over, whose source asks that process."""
    shell = shell_of(views).database
    address = Address("", "", str(fields["address"]))
    files = {str(name): (str(path), int(size)) for name, (path, size) in fields["files"].items()}
    opened = Opened(address, _NOTHING, _NOTHING, source, Reads(source), shell.parent, files)
    return Catalog(shell, views, reader_settings=settings, opened=opened)


_NOTHING: Any = None
"""In the place of a manifest and an origin, which the process that asked has."""


def _opened(address: Address, before: Opened | None) -> Opened:
    origin = origin_of(address)
    # One byte more than is allowed: a manifest of any size is not read to its end.
    text = origin.read(MANIFEST, 0, MOST_BYTES + 1)
    digest = hashlib.sha256(text).hexdigest()
    folder = cache_of(address.absolute(), digest)
    if before is not None and before.folder == folder:
        return before
    published = read_published(text, address)
    return _content(address, origin, published, folder)


@contextmanager
def open_folder(
    folder: Path, published: Published, views: ViewInstaller, *, settings: tuple[tuple[str, str], ...] = ()
) -> Iterator[Catalog]:
    """A catalog that is being written, by what is there of it: its manifest is not written yet.

    Args:
        folder: where its files are.
        published: what they are.
        views: as this release has them.
        settings: of DuckDB, as (name, value).
    """
    address = Address(FOLDER, str(folder), str(folder))
    with tempfile.TemporaryDirectory(prefix="neurothek-") as scratch:
        shell = _linked(shell_of(views).database, Path(scratch) / f"{DATABASE}.duckdb")
        opened = _content(address, origin_of(address), published, Path(scratch))
        yield Catalog(shell, views, reader_settings=settings, opened=opened)


def _content(address: Address, origin: Origin, published: Published, folder: Path) -> Opened:
    parts = Parts(address, origin, published, None if origin.is_local else folder)
    places = {name: path_of("tables/", name) for name in published.manifest.tables}
    places |= {rows_of_view(name): path_of("", name) for name in published.views}
    files = {name: published.files[path] for name, path in places.items() if path in published.files}
    sizes = {name: (file.path, file.n_bytes) for name, file in files.items()}
    return Opened(address, published, origin, parts, Reads(parts), folder, sizes)


def _linked(shell: Path, path: Path) -> Path:
    """The shell under a name of the catalog's own: a process opens a database once, for one catalog."""
    if path.exists():
        if path.samefile(shell):
            return path
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        unfinished.hardlink_to(shell)
    except OSError:
        shutil.copyfile(shell, unfinished)
    unfinished.replace(path)
    return path
