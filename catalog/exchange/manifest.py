"""What an export says of itself: its tables, their descriptions and files; read back and judged before an import."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Unreadable
from neurothek.catalog.spelling import one_line

MANIFEST = "manifest.json"
FORMAT = "neurothek export"

_MOST = 2**63
"""No number of rows reaches it."""


def invalid_export(folder: Path, problem: str, also: str = "") -> Unreadable:
    """A folder that is not an export, or one that was changed; `also` is what else could be done."""
    again = command_line("export", "NEW_FOLDER", "--warehouse", "FILE")
    hint = f"export the warehouse again with `{again}`{also}"
    return Unreadable(f"{folder} cannot be imported: {problem}", hint, path=folder, why=problem)


@dataclass(frozen=True)
class ExportedColumn:
    """A column of an exported table."""

    type: str  # its type, as DuckDB names it; what is one of a few texts is exported as text
    description: str  # its comment in the database
    is_nullable: bool  # whether null is a value


@dataclass(frozen=True)
class ExportedFile:
    """One Parquet file of a table."""

    path: str  # where it lies below the export's folder, with slashes
    n_rows: int  # its rows
    sha256: str  # of its bytes


@dataclass(frozen=True)
class ExportedTable:
    """A table of the schema `store`, exported."""

    description: str  # its comment in the database
    n_rows: int  # its rows
    columns: Mapping[str, ExportedColumn]  # column name -> type and description, in order
    files: tuple[ExportedFile, ...]  # its files, in the order in which their rows lie


@dataclass(frozen=True)
class Manifest:
    """Content of an export.

    Attributes:
        schema_version: version of the schema that the tables follow.
        tables: table name -> what was exported of it.
        maps: where kept matrices lie below the export's folder, with slashes.
        missing_maps: those that the warehouse knows of and that were not beside it.
    """

    schema_version: int
    tables: Mapping[str, ExportedTable]
    maps: tuple[str, ...] = ()
    missing_maps: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows of all tables."""
        return sum(table.n_rows for table in self.tables.values())

    def text(self) -> str:
        """The manifest as JSON."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an export."""
    path = folder / MANIFEST
    if not path.is_file():
        if not folder.is_dir():
            raise invalid_export(folder, "there is no such folder")
        others = ", or say with --from whose catalog of neurons it is"
        raise invalid_export(folder, f"there is no {MANIFEST} in it", others)
    if path.is_symlink():
        raise invalid_export(folder, f"its {MANIFEST} is a link")
    try:
        content = content_of(path.read_text("utf-8"))
        if content.pop("format") != FORMAT:
            raise invalid_export(folder, f"its {MANIFEST} is of something else")
        manifest = manifest_of(content)
    except (*MISWRITTEN, OSError) as error:
        raise invalid_export(folder, f"its {MANIFEST} is damaged") from error
    _require_own_files(folder, manifest)
    return manifest


MISWRITTEN = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading a manifest that nobody of ours wrote may raise."""


def content_of(text: str) -> dict[str, Any]:
    """The fields of a manifest; those that are no JSON raise one of `MISWRITTEN`."""
    content = json.loads(text, parse_constant=_no_number)
    if not isinstance(content, dict):
        raise TypeError(content)
    return content


def manifest_of(content: Mapping[str, Any]) -> Manifest:
    """What the fields of a manifest say; those that are something else raise one of `MISWRITTEN`."""
    return Manifest(
        schema_version=count_of(content["schema_version"]),
        tables={str(name): table_of(table) for name, table in content["tables"].items()},
        # Exports of earlier releases have none.
        maps=tuple(map(str, content.get("maps", ()))),
        missing_maps=tuple(map(str, content.get("missing_maps", ()))),
    )


def _require_own_files(folder: Path, manifest: Manifest) -> None:
    """Refuse a file that is named twice, or lies elsewhere: by its path, or by a link."""
    targets: set[Path] = set()
    root = folder.resolve()
    paths = [file.path for table in manifest.tables.values() for file in table.files]
    for path in (*paths, *manifest.maps):
        pure = PurePosixPath(path)
        is_outside = pure.is_absolute() or ".." in pure.parts or "\0" in path
        if is_outside or not (target := _followed(folder / path)).is_relative_to(root):
            raise invalid_export(folder, f"its {MANIFEST} names {one_line(path)}, which lies outside the folder")
        if target in targets:
            raise invalid_export(folder, f"its {MANIFEST} names {one_line(path)} twice")
        targets.add(target)


def _followed(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path  # a link that leads back to itself: whoever opens it is refused


def count_of(value: object) -> int:
    """A number of rows or bytes, or of a version."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
        raise ValueError(value)
    return value


def _no_number(text: str) -> object:
    raise ValueError(text)


def table_of(content: Mapping[str, Any]) -> ExportedTable:
    """A table as a manifest has it; fields that are something else raise one of `MISWRITTEN`."""
    return ExportedTable(
        description=str(content["description"]),
        n_rows=count_of(content["n_rows"]),
        columns={str(name): ExportedColumn(**column) for name, column in content["columns"].items()},
        files=tuple(ExportedFile(str(f["path"]), count_of(f["n_rows"]), str(f["sha256"])) for f in content["files"]),
    )
