"""What a published catalog says of itself: the manifest of an export, and beside it views, sizes and parts of files.

A catalog may come from a stranger. Nothing of what it says is run, and it names no place but files below its own
folder, of which each is a table or a view of this release under the one path that it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from neurothek.catalog.advice import command_line
from neurothek.catalog.exchange.manifest import (
    FORMAT,
    MANIFEST,
    MISWRITTEN,
    ExportedTable,
    Manifest,
    content_of,
    count_of,
    manifest_of,
    table_of,
)
from neurothek.catalog.problems import Unreadable
from neurothek.catalog.spelling import is_text, one_line
from neurothek.catalog.tables import versions

if TYPE_CHECKING:
    from neurothek.catalog.hub.addresses import Address

SECTION = "catalog"
"""The part of the manifest that an export has not."""

MOST_BYTES = 32 << 20
"""Of a manifest: one of a hundred tables, of a million parts in all, has a third of it."""

MOST_MATRIX_BYTES = 1 << 32
"""Of the file of one matrix."""

_MOST_PARTS = 1_000_000
_LARGEST_FILE = 1 << 44
_MATRIX = re.compile(r"shortcuts/[0-9a-f]{64}/\d{4}-\d{4}\.safetensors")
_SMALLEST_FILE = 12
"""Bytes of a Parquet file that holds nothing."""


def invalid_catalog(address: Address | str, problem: str) -> Unreadable:
    """What lies there is no catalog, or one that was changed."""
    return Unreadable(
        f"{one_line(str(address))} cannot be read as a catalog: {problem}",
        "ask its owner to publish it again, or name another with --warehouse",
        path=str(address),
        why=problem,
    )


@dataclass(frozen=True)
class PublishedFile:
    """A file of a catalog.

    Attributes:
        path: where it lies below the folder, with slashes.
        n_rows: its rows.
        n_bytes: its size.
        sha256: of its bytes.
        ends: where its parts end, in bytes: what one question reads together is a part, and is fetched at once.
    """

    path: str
    n_rows: int
    n_bytes: int
    sha256: str
    ends: tuple[int, ...]


@dataclass(frozen=True)
class Published:
    """Content of a catalog.

    Attributes:
        manifest: of the tables, as an export has it.
        views: name -> the rows of a view.
        files: path -> file, of tables and of views.
        models: names of the models that it holds.
        runs: one entry a run: run_key, job, model, corpus, n_rows.
        has_texts: whether texts, contexts and n-grams are among it.
        license: under which it was published, as the hub names licences; None where nothing was said.
        neurothek: the version that wrote it.
    """

    manifest: Manifest
    views: Mapping[str, ExportedTable]
    files: Mapping[str, PublishedFile]
    models: tuple[str, ...]
    runs: tuple[Mapping[str, Any], ...]
    has_texts: bool
    license: str | None
    neurothek: str

    @property
    def n_bytes(self) -> int:
        """Size of all tables and views."""
        return sum(file.n_bytes for file in self.files.values())

    def text(self) -> str:
        """The manifest as JSON, a line an entry."""
        content = json.loads(self.manifest.text())
        fields = asdict(self)
        del fields["manifest"]
        fields["files"] = {
            path: {key: value for key, value in file.items() if key not in ("path", "n_rows")}
            for path, file in fields["files"].items()
        }
        # Parts by the million: no indentation, which would be most of it.
        rest = json.dumps(content, indent=1, ensure_ascii=False)
        return rest[:-2] + f',\n "{SECTION}": {json.dumps(fields, ensure_ascii=False)}\n}}\n'


def read_published(text: bytes, address: Address | str, *, whichever: bool = False) -> Published:
    """Judge a manifest and read it; what lies in the files is judged when they are read.

    Args:
        text: the manifest.
        address: where it is from.
        whichever: whether an earlier release may have published it, as an import reads those.
    """
    if len(text) > MOST_BYTES:
        raise invalid_catalog(address, f"its {MANIFEST} has more than {MOST_BYTES:,} bytes")
    try:
        content = content_of(text.decode("utf-8"))
        if content.get("format") != FORMAT:
            raise invalid_catalog(address, f"its {MANIFEST} is of something else")
        if SECTION not in content:
            again = command_line("import", "FOLDER", "--warehouse", "FILE")
            raise Unreadable(
                f"{one_line(str(address))} is an export, which is not read where it lies",
                f"import it into a file with `{again}`",
                path=str(address),
                why="it is an export",
            )
        version = count_of(content["schema_version"])
        is_read = version <= versions.VERSION if whichever else version == versions.VERSION
        if is_read:
            published = _published(manifest_of(content), content[SECTION])
    except MISWRITTEN as error:
        raise invalid_catalog(address, f"its {MANIFEST} is damaged") from error
    if not is_read:
        raise _other_version(address, version)
    return published


def _other_version(address: Address | str, version: int) -> Unreadable:
    is_newer = version > versions.VERSION
    copy = command_line("copy", str(address), "FILE")
    return Unreadable(
        f"{one_line(str(address))} was published by {'a newer' if is_newer else 'an earlier'} neurothek (schema version"
        f" {version}; this one reads version {versions.VERSION})",
        "install a newer neurothek" if is_newer else f"bring it into a file, which is upgraded, with `{copy}`",
        path=str(address),
        why="another release published it",
    )


def _published(manifest: Manifest, fields: Mapping[str, Any]) -> Published:
    if len(set(manifest.maps)) != len(manifest.maps) or not all(map(_MATRIX.fullmatch, manifest.maps)):
        raise ValueError(manifest.maps[:3])
    views = {_plain(name): table_of(view) for name, view in fields["views"].items()}
    parts = fields["files"]
    files: dict[str, PublishedFile] = {}
    for folder, relations in (("tables/", manifest.tables), ("", views)):
        for name, relation in relations.items():
            # The one path that it may have: no other folder, host or link can be meant.
            allowed = [path_of(folder, _plain(name))] if relation.files else []
            if [file.path for file in relation.files] != allowed:
                raise ValueError(name)
            for file in relation.files:
                more = parts[file.path]
                if file.path in files or more["sha256"] != file.sha256 or file.n_rows != relation.n_rows:
                    raise ValueError(file.path)
                n_bytes = _size(more["n_bytes"])
                files[file.path] = PublishedFile(
                    file.path, file.n_rows, n_bytes, file.sha256, _ends(more["ends"], n_bytes)
                )
            if not relation.files and relation.n_rows:
                raise ValueError(name)
    return Published(
        manifest,
        views,
        files,
        models=tuple(_text(name) for name in fields["models"]),
        runs=tuple({_text(key): value for key, value in run.items()} for run in fields["runs"]),
        has_texts=fields["has_texts"] is True,
        license=None if fields["license"] is None else _text(fields["license"]),
        neurothek=_text(fields["neurothek"]),
    )


def path_of(folder: str, name: str) -> str:
    """Where the rows of a table (`tables/`) or of a view lie below the folder of a catalog."""
    return f"{folder}{name}/rows.parquet"


def _plain(name: object) -> str:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ValueError(name)
    return name


def _text(value: object) -> str:
    if not isinstance(value, str) or not is_text(value):
        raise TypeError(value)
    return value


def _size(value: object) -> int:
    size = count_of(value)
    if not _SMALLEST_FILE <= size <= _LARGEST_FILE:
        raise ValueError(value)
    return size


def _ends(values: object, n_bytes: int) -> tuple[int, ...]:
    if not isinstance(values, list) or len(values) > _MOST_PARTS:
        raise TypeError(values)
    ends = tuple(map(count_of, values))
    if not ends or ends[-1] != n_bytes or ends[0] <= 0 or any(before >= after for before, after in pairwise(ends)):
        raise ValueError(ends[:3])
    return ends
