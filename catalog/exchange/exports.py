"""The store as a folder of Parquet files that other programs read: a file per model, as stored, all or nothing."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import expanded
from neurothek.catalog.exchange.manifest import MANIFEST, ExportedColumn, ExportedFile, ExportedTable, Manifest
from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Conflict, Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing import summaries
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.matrices import StoredMatrix, stored_matrices, take
from neurothek.catalog.store.schema import version_of
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import DIMENSIONS, OWNERS

ROW_GROUP = 122_880
"""Rows that are in memory at a time; as many as DuckDB keeps together."""

MAPS = "shortcuts"
"""Folder of kept matrices within an export."""

INTERNAL = frozenset({"schema_versions", "installed_views"})
"""Tables that say how the file was made, and nothing of models."""

_WHOLE = frozenset(table.name for table in DIMENSIONS) | {"pins", "cluster_pins", "unit_sets", "unit_layers"}


def store_tables(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, ExportedColumn]]:
    """The tables of the schema `store` in the order of their making: table -> column -> what it is.

    What is kept of views is left out: it follows from the rest.
    """
    query = """
        select
            table_name, column_name, if(data_type like 'ENUM%', 'VARCHAR', data_type),
            coalesce(comment, ''), is_nullable
        from duckdb_columns()
        where schema_name = 'store' and database_name = current_database()
        order by table_oid, column_index
    """
    tables: dict[str, dict[str, ExportedColumn]] = {}
    for table, column, kind, description, is_nullable in connection.execute(query).fetchall():
        if table not in INTERNAL and not table.startswith(summaries.PREFIX):
            tables.setdefault(table, {})[column] = ExportedColumn(kind, description, is_nullable)
    return tables


def export(
    warehouse: Warehouse, folder: Path, *, texts: Mapping[str, str] | None = None, progress: Progress | None = None
) -> Manifest:
    """Write every table of the store as Parquet, with a manifest; the folder appears when all of it is there.

    Args:
        warehouse: what to export.
        folder: a folder that is new or empty.
        texts: path below the folder -> text of further files.
        progress: watches the tables.
    """
    if warehouse.why_only_read is not None:
        raise warehouse.why_only_read
    with warehouse.current_reader() as connection, folder_to_fill(folder, "export") as unfinished:
        manifest = _write_store(connection, unfinished, progress or Silent())
        manifest = with_maps(manifest, stored_matrices(connection), warehouse.maps, unfinished)
        files = {MANIFEST: manifest.text(), "README.md": _card(manifest), **(texts or {})}
        for path, text in files.items():
            (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / path).write_text(text, "utf-8")
    return manifest


@contextmanager
def folder_to_fill(folder: Path, what: str) -> Iterator[Path]:
    """A folder to fill, which is new or empty and takes its name when it is full; it is gone if that fails."""
    folder = expanded(folder).absolute()
    if folder.is_symlink():
        if not folder.exists():
            raise Unreadable(
                f"{folder} is a broken link", f"choose a new folder for the {what}", path=folder, why="a broken link"
            )
        # Renaming would put the export in the place of the link.
        folder = folder.resolve()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Conflict(
            f"{folder} already exists and is not empty",
            f"choose a new folder for the {what}",
            what="folder",
            name=folder,
        )
    with _appearing(folder) as unfinished:
        yield unfinished


@contextmanager
def _appearing(folder: Path) -> Iterator[Path]:
    """A folder to fill that takes its name when it is full, and is gone if that fails."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir()
    try:
        yield unfinished
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write_store(connection: duckdb.DuckDBPyConnection, folder: Path, progress: Progress) -> Manifest:
    tables = store_tables(connection)
    query = "select table_name, comment from duckdb_tables() where schema_name = 'store'"
    comments = dict(connection.execute(query).fetchall())
    progress.start("exporting", len(tables))
    written = {}
    for name, columns in tables.items():
        files = tuple(_write_table(connection, name, columns, folder))
        n_rows = sum(file.n_rows for file in files)
        written[name] = ExportedTable(comments[name] or "", n_rows, columns, files)
        progress.advance(note=name)
    progress.finish()
    return Manifest(version_of(connection), written)


def with_maps(manifest: Manifest, maps: Sequence[StoredMatrix], folder: Path, unfinished: Path) -> Manifest:
    """Copy the kept matrices; one that is not there, or not as it was kept, is named as missing."""
    missing = take(maps, folder, unfinished / MAPS)
    names = {one: one.path(PurePosixPath(MAPS)).as_posix() for one in maps}
    return replace(
        manifest,
        maps=tuple(name for one, name in names.items() if one not in missing),
        missing_maps=tuple(names[one] for one in missing),
    )


def _write_table(
    connection: duckdb.DuckDBPyConnection, name: str, columns: Mapping[str, ExportedColumn], folder: Path
) -> Iterator[ExportedFile]:
    (folder / "tables" / name).mkdir(parents=True)
    parts: list[tuple[str, str]] = []
    owner = OWNERS.get(name)
    if owner is not None and name not in _WHOLE:
        ids = connection.execute(f"select distinct {owner} from store.{name} order by 1").fetchall()
        parts = [(f"model-{number}", f" where {owner} = {number}") for (number,) in ids]
    for part, condition in parts or [("rows", "")]:
        path = f"tables/{name}/{part}.parquet"
        n_rows = _write_rows(connection, f"select {exported(columns)} from store.{name}{condition}", folder / path)
        yield ExportedFile(path, n_rows, sha256_of(folder / path))


def exported(columns: Mapping[str, ExportedColumn]) -> str:
    """The columns of a table as they are exported, with commas between them."""
    return ", ".join(f'cast("{name}" as {column.type}) as "{name}"' for name, column in columns.items())


def _write_rows(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> int:
    if find_spec("pyarrow") is None:
        # Without it a table is in memory as a whole, a model at a time.
        frame = as_frame(connection.sql(query))
        frame.write_parquet(path, compression="zstd", row_group_size=ROW_GROUP)
        return frame.height
    import pyarrow.parquet as pq  # noqa: PLC0415 - a quarter of a second, which whoever reads a catalog does without

    rows = connection.sql(query).to_arrow_reader(ROW_GROUP)
    n_rows = 0
    with pq.ParquetWriter(path, rows.schema, compression="zstd") as file:
        for batch in rows:
            file.write_batch(batch, row_group_size=ROW_GROUP)
            n_rows += batch.num_rows
    return n_rows


def _card(manifest: Manifest) -> str:
    """A page for people, whose head tells Hugging Face's datasets which files make a table."""
    head = [f"- config_name: {name}\n  data_files: tables/{name}/*.parquet" for name in manifest.tables]
    body = [f"| {name} | {table.n_rows:,} | {table.description} |" for name, table in manifest.tables.items()]
    return "\n".join(
        [
            "---\nconfigs:",
            *head,
            "---\n# Neurons of language models\n",
            "An export of a neurothek warehouse. Each table is a folder of Parquet files, one per model where its rows"
            f" are of models; `{MANIFEST}` describes every column. `{command_line('import', 'FOLDER')}` brings it back,"
            " `views` holds the views as SQL.\n",
            "| table | rows | |\n|---|--:|---|",
            *body,
            "",
        ]
    )
