"""Where a published catalog lies: a dataset of the hub, a folder of this machine or of any store that fsspec reads.

An address stands in the place of a warehouse's path. It is told from a path by `://`, or by the manifest in a folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.arguments import expanded
from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.problems import Invalid, MissingExtra, Unavailable
from neurothek.catalog.spelling import is_text, one_line

if TYPE_CHECKING:
    import os

    from fsspec import AbstractFileSystem

HUB, FOLDER = "hf", "file"

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://(.+)", re.DOTALL)
_DATASET = re.compile(r"datasets/(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[\w./-]+?))?(?P<folder>(?:/[\w.-]+)*)/?")
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")

_LISTED = ("hf", "s3", "gs", "gcs", "az", "abfs", "http", "https", "memory", "file")
"""Protocols that an error names; any other that fsspec knows does as well, but for those that unpack or forward."""

_FORWARDING = frozenset(
    {"blockcache", "cached", "data", "dir", "filecache", "generic", "git", "reference", "simplecache", "tar", "zip"}
)


@dataclass(frozen=True)
class Address:
    """An address of a catalog, spelled as a person wrote it.

    Attributes:
        protocol: "hf", "file", "s3", "https" and so on.
        place: what follows it; of a folder the whole path.
        spelling: the address as it is shown and typed.
    """

    protocol: str
    place: str
    spelling: str

    def __str__(self) -> str:
        """As it was written."""
        return self.spelling

    def __fspath__(self) -> str:
        """Likewise: what is recommended to type names it like a file."""
        return self.spelling

    @property
    def name(self) -> str:
        """Last part of the place."""
        return self.place.rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Name by which queries may call the database that shows the catalog."""
        return "memory"

    def exists(self) -> bool:
        """Whether there may be one: nobody is asked."""
        return True

    def absolute(self) -> Address:
        """The same from whatever folder it is used."""
        if self.protocol != FOLDER:
            return self
        place = str(Path(self.place).absolute())
        return Address(FOLDER, place, place)

    def resolve(self) -> Address:
        """Likewise."""
        return self.absolute()


Place = Path | Address
"""Where a warehouse is: a file of this machine, or a catalog."""


def place_of(text: str | os.PathLike[str] | Address) -> Place:
    """The file or the catalog that a person means.

    A folder is a catalog, unless there is no manifest in it: then it is a path that cannot be a warehouse's.
    """
    if isinstance(text, Address):
        return text
    written = text if isinstance(text, str) else str(text)
    match = _SCHEME.fullmatch(written)
    if match is not None:
        return _address(match[1], match[2], written)
    path = expanded(text)
    try:
        is_catalog = path.is_dir() and (path / MANIFEST).is_file()
    except OSError:
        is_catalog = False
    return Address(FOLDER, str(path), written) if is_catalog else path


def published_address(text: str) -> Address:
    """Where a catalog is to be put: a folder that may not be there yet, or an address."""
    match = _SCHEME.fullmatch(text)
    if match is not None:
        return _address(match[1], match[2], text)
    return Address(FOLDER, str(expanded(text)), text)


def of_dataset(name: str) -> Address:
    """The address of a dataset of the hub by its name, `ORG/NAME`."""
    if not _REPOSITORY.fullmatch(name):
        raise Invalid(
            f"{one_line(name)!r} is no name of a dataset on the hub",
            "write ORG/NAME, or name a folder or an address with --to",
            option="ORG/NAME",
            value=name,
        )
    return Address(HUB, f"datasets/{name}", f"hf://datasets/{name}")


def _address(protocol: str, place: str, written: str) -> Address:
    if not is_text(written) or "\0" in written or "::" in written or protocol in _FORWARDING:
        raise _invalid(written, f"write one address, such as {', '.join(f'{one}://' for one in _LISTED[:4])}")
    if protocol == FOLDER:
        return Address(FOLDER, str(expanded(place)), written)
    if "@" in place.partition("/")[0]:
        raise _invalid(written, "leave user and password out of it: they are read from the settings of the store")
    if protocol == HUB and not _DATASET.fullmatch(place):
        raise _invalid(written, "a catalog on the hub is hf://datasets/ORG/NAME, or hf://datasets/ORG/NAME@REVISION")
    return Address(protocol, place.rstrip("/"), written)


def _invalid(written: str, hint: str) -> Invalid:
    return Invalid(f"{one_line(written)!r} is no address of a catalog", hint, option="--warehouse", value=written)


def dataset_of(address: Address) -> tuple[str, str | None, str]:
    """Of an address on the hub: the dataset's name, the revision that is asked for, and the folder in it."""
    match = _DATASET.fullmatch(address.place)
    assert match is not None, "addresses are judged as they are made"
    return match["name"], match["revision"], match["folder"].strip("/")


_LIBRARIES = {"s3": "s3fs", "gs": "gcsfs", "http": "aiohttp", "https": "aiohttp", "az": "adlfs"}
"""Protocol -> the library that fsspec reads it by."""


def store_of(address: Address, **options: Any) -> AbstractFileSystem:
    """What reads the files there; nothing is asked of it yet."""
    import fsspec  # noqa: PLC0415 - a tenth of a second, where a catalog is read

    try:
        return fsspec.filesystem(address.protocol, **options)
    except ImportError as error:
        raise MissingExtra(
            f"{one_line(address.spelling)} cannot be read without a library for {address.protocol}://"
            f" ({' '.join(str(error).split())})",
            f"install it with `pip install {_LIBRARIES.get(address.protocol, f'fsspec[{address.protocol}]')}`",
            what="library",
            name=address.protocol,
        ) from error
    except ValueError as error:
        raise Unavailable(
            f"{one_line(address.spelling)} cannot be read: nothing here reads {address.protocol}://",
            f"use one of {', '.join(_LISTED)}",
            what="protocol",
            name=address.protocol,
        ) from error
