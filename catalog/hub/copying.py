"""A published catalog as a warehouse file: all of it is fetched and judged, then imported as an export is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.hub.addresses import Address, Place
from neurothek.catalog.hub.origins import Origin, origin_of
from neurothek.catalog.hub.published import MOST_BYTES, MOST_MATRIX_BYTES, invalid_catalog, read_published
from neurothek.catalog.problems import Invalid, Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store.warehouse import Warehouse

if TYPE_CHECKING:
    from neurothek.catalog.exchange.manifest import Manifest
    from neurothek.catalog.store.schema import ViewInstaller

_BLOCK_BYTES = 8 << 20


def copy_catalog(place: Place, file: Path, views: ViewInstaller, *, progress: Progress | None = None) -> Manifest:
    """Bring a catalog into a new or empty warehouse; nothing is written of one that is not what its manifest says."""
    if not isinstance(place, Address):
        raise Invalid(
            f"{place} is no published catalog",
            "to copy a file, use the system's own copy",
            option="ADDRESS",
            value=place,
        )
    progress = progress or Silent()
    target = Warehouse(file, views=views)
    target.require_writable()
    origin = origin_of(place)
    text = origin.read(MANIFEST, 0, MOST_BYTES + 1)
    published = read_published(text, place, whichever=True)
    with tempfile.TemporaryDirectory(dir=target.path.parent, prefix=f".{target.path.name}.") as name:
        folder = Path(name)
        tables = [table.files[0].path for table in published.manifest.tables.values() if table.files]
        progress.start("fetching", len(tables) + len(published.manifest.maps))
        for path in tables:
            _fetch(origin, path, folder, published.files[path].n_bytes, place)
            progress.advance(note=path)
        for path in published.manifest.maps:
            _fetch(origin, path, folder, _size_of(origin, path, place), place)
            progress.advance(note=path)
        progress.finish()
        (folder / MANIFEST).write_bytes(text)
        try:
            return import_folder(target, folder, progress=progress)
        except Unreadable as error:
            # An import would name the folder that lies here for the moment.
            raise invalid_catalog(place, error.why or error.message) from error


def _size_of(origin: Origin, path: str, address: Address) -> int:
    size, _ = origin.tag(path)
    if size is None or size > MOST_MATRIX_BYTES:
        raise invalid_catalog(address, f"its {path} has no size, or one that no matrix has")
    return size


def _fetch(origin: Origin, path: str, folder: Path, n_bytes: int, address: Address) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        for start in range(0, n_bytes, _BLOCK_BYTES):
            content = origin.read(path, start, min(n_bytes, start + _BLOCK_BYTES))
            if len(content) != min(_BLOCK_BYTES, n_bytes - start):
                raise invalid_catalog(address, f"its {path} is not as long as its manifest says")
            file.write(content)
