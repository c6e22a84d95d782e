"""A folder written by `export` becomes a warehouse again: judged file by file first, then read in one transaction."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.arguments import expanded
from neurothek.catalog.exchange.exports import MAPS, exported, store_tables
from neurothek.catalog.exchange.manifest import (
    MANIFEST,
    ExportedColumn,
    ExportedFile,
    Manifest,
    invalid_export,
    read_manifest,
)
from neurothek.catalog.files import sha256_of
from neurothek.catalog.problems import Conflict
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing import summaries
from neurothek.catalog.publishing.staging import rows_of
from neurothek.catalog.publishing.summaries import add_neurons, rebuild_facts
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store import schema
from neurothek.catalog.store.connections import beside, literal_path
from neurothek.catalog.store.matrices import stored_matrices, take
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.catalog.tables import versions
from neurothek.catalog.tables.registry import ALL
from neurothek.catalog.upkeep.checks import broken, of_kind

_TOLD_BY_OTHERS: Mapping[str, Mapping[str, str]] = {"models": {"size": "n_parameters - n_parameters_embedding"}}
"""Columns that earlier exports lack, and what tells them from the others."""

_TABLES = {table.name: table for table in ALL}


def import_folder(warehouse: Warehouse, folder: Path, *, progress: Progress | None = None) -> Manifest:
    """Read an export into a new or empty warehouse, row for row; one that holds these very rows is left as it is.

    Nothing is written of a folder that is damaged, no export, or of a newer release.
    """
    folder, progress = expanded(folder).absolute(), progress or Silent()
    manifest = read_manifest(folder)
    warehouse.require_writable()
    with beside(folder) as blank:
        schema.create(blank)
        if warehouse.exists():
            with warehouse.current_reader() as connection:
                _require_room(warehouse.path, connection, manifest)
        _judge_tables(folder, manifest, blank)
        _judge_files(folder, manifest, blank, progress)
        if warehouse.exists() and _holds(warehouse, folder, manifest, blank):
            # Somebody repeats an import that was killed between its commit and its end.
            warehouse.settle()
            return manifest
    with warehouse.transaction() as connection:
        _require_empty(warehouse.path, connection)
        _fill(connection, folder, manifest, progress)
        _require_keys(connection, folder)
        _take_maps(connection, folder, manifest, warehouse.maps)
    return manifest


def _require_room(path: Path, connection: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
    """Refuse a warehouse with rows, unless they are as many as the export's in every table."""
    counted = {name: table.n_rows for name, table in manifest.tables.items()}
    for table in store_tables(connection):
        if first_row(connection, f"select count(*) from store.{table}") != (counted.get(table, 0),):
            _require_empty(path, connection)


def _require_empty(path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    for table in store_tables(connection):
        if first_row(connection, f"select 1 from store.{table} limit 1"):
            raise Conflict(
                f"{path} already has rows in {table}, but an import needs a new or empty warehouse",
                f"choose another file, then join the two with `{command_line('merge', 'OTHER')}`",
                what="warehouse",
                name=path,
            )


def _holds(warehouse: Warehouse, folder: Path, manifest: Manifest, blank: duckdb.DuckDBPyConnection) -> bool:
    """Whether a warehouse that is not empty has the rows of the export; those that follow from others may differ."""
    with warehouse.current_reader() as connection:
        for name, table in manifest.tables.items():
            if name == "neuron_facts" or not table.n_rows:
                continue
            # Other rows have the same sum of hashes of 64 bits once in 2^64 times; neither side is held in memory.
            former = _names_since(name, manifest.schema_version)
            columns = {former.get(column, column): one for column, one in table.columns.items()}
            query = f"select count(*), sum(hash({', '.join(columns)})) from (select {exported(columns)} from"
            files = {"files": [literal_path(folder / file.path) for file in table.files]}
            exported_sum = first_row(blank, f"{query} (select {_now(former)} from read_parquet($files)))", files)
            if first_row(connection, f"{query} store.{name})") != exported_sum:
                _require_empty(warehouse.path, connection)
                return False
    return True


def _names_since(table: str, version: int) -> dict[str, str]:
    """Names that a table's columns had in a version of the schema and have no more -> those of this release."""
    columns = _TABLES[table].columns if table in _TABLES else {}
    names = {column.name_in(version, name): name for name, column in columns.items()}
    return {former: name for former, name in names.items() if former != name}


def _now(names: Mapping[str, str]) -> str:
    """The columns of an export under the names of this release."""
    return f"* rename ({', '.join(f'{former} as {name}' for former, name in names.items())})" if names else "*"


def _judge_tables(folder: Path, manifest: Manifest, blank: duckdb.DuckDBPyConnection) -> None:
    """Compare the tables with those of this release; an older export may lack what was added since."""
    if not 1 <= manifest.schema_version <= versions.VERSION:
        raise invalid_export(folder, "it was written by a newer neurothek")
    columns_of = store_tables(blank)
    for name, table in manifest.tables.items():
        types = {column: one.type for column, one in columns_of.get(name, {}).items()}
        needed = {column for column, one in columns_of.get(name, {}).items() if not one.is_nullable}
        needed -= _TOLD_BY_OTHERS.get(name, {}).keys()
        former = _names_since(name, manifest.schema_version)
        exported_types = {former.get(column, column): one.type for column, one in table.columns.items()}
        if not types or not exported_types.items() <= types.items() or not needed <= exported_types.keys():
            raise invalid_export(folder, f"its table {name} is unknown to this release")
        if table.n_rows != sum(file.n_rows for file in table.files):
            raise invalid_export(folder, f"its {MANIFEST} gives two row counts for {name}")
    missing = columns_of.keys() - manifest.tables.keys()
    if missing and manifest.schema_version == versions.VERSION:
        raise invalid_export(folder, f"the table {min(missing)} is missing")


def _judge_files(folder: Path, manifest: Manifest, blank: duckdb.DuckDBPyConnection, progress: Progress) -> None:
    progress.start("reading the export", sum(len(table.files) for table in manifest.tables.values()))
    for table in manifest.tables.values():
        for file in table.files:
            problem = _problem(folder / file.path, file, table.columns, blank)
            if problem:
                raise invalid_export(folder, f"{file.path} {problem}")
            progress.advance(note=file.path)
    progress.finish()


def _problem(
    path: Path, file: ExportedFile, columns: Mapping[str, ExportedColumn], blank: duckdb.DuckDBPyConnection
) -> str | None:
    if not path.is_file():
        return "is missing"
    if sha256_of(path) != file.sha256:
        return "was changed or is damaged"
    try:
        described = blank.execute("describe select * from read_parquet(?)", [literal_path(path)]).fetchall()
        counted = first_row(blank, "select count(*) from read_parquet(?)", [literal_path(path)])
    except duckdb.Error:
        return "is not a Parquet file"
    if [(name, kind) for name, kind, *_ in described] != [(name, one.type) for name, one in columns.items()]:
        return "has different columns from its table"
    return None if counted == (file.n_rows,) else f"does not have {file.n_rows:,} rows"


def _fill(connection: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest, progress: Progress) -> None:
    progress.start("importing", len(manifest.tables))
    for name, table in manifest.tables.items():
        files = [folder / file.path for file in table.files]
        try:
            if files:
                later = (
                    f", {expression} as {column}"
                    for column, expression in _TOLD_BY_OTHERS.get(name, {}).items()
                    if column not in table.columns
                )
                everything = _now(_names_since(name, manifest.schema_version))
                with rows_of(connection, files) as rows:
                    connection.execute(
                        f"insert into store.{name} by name select {everything}{''.join(later)} from {rows}"
                    )
        except duckdb.ConstraintException as error:
            raise invalid_export(folder, f"the table {name} has an empty value in a required column") from error
        except duckdb.ConversionException as error:
            raise invalid_export(folder, f"the table {name} has a value that its column does not allow") from error
        progress.advance(note=name)
    add_neurons(connection)
    renew = rebuild_facts if manifest.schema_version < versions.VERSION else summaries.refresh
    for (model_id,) in connection.execute("select model_id from store.models order by 1").fetchall():
        renew(connection, model_id)
    progress.finish()


def _require_keys(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """A row that is there twice would be counted twice by whoever asks."""
    for finding in broken(connection, among=of_kind("key"), progress=Silent()):
        raise invalid_export(folder, f"the rows of {finding.subject} repeat a key ({one_line(finding.example)})")


def _take_maps(connection: duckdb.DuckDBPyConnection, folder: Path, manifest: Manifest, target: Path) -> None:
    """Copy the kept matrices that the export has; those it was made without are missing here as well."""
    maps = stored_matrices(connection)
    for one in take(maps, folder / MAPS, target):
        name = one.path(PurePosixPath(MAPS)).as_posix()
        if name in manifest.maps:
            raise invalid_export(folder, f"{name} is missing, was changed or is damaged")
