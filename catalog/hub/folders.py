"""A warehouse as a catalog: a folder of Parquet files, which an import reads, a viewer shows and a reader opens.

The tables are written first, without texts unless these are asked for; the views are then computed by a reader of the
catalog that they have become. So what a view shows follows from what was published, and from nothing else.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.exchange.exports import exported, folder_to_fill, store_tables, with_maps
from neurothek.catalog.exchange.manifest import MANIFEST, ExportedColumn, ExportedFile, ExportedTable, Manifest
from neurothek.catalog.hub import layout, lines
from neurothek.catalog.hub.addresses import FOLDER, HUB, Address
from neurothek.catalog.hub.catalog import Catalog, open_folder
from neurothek.catalog.hub.published import Published, PublishedFile, path_of
from neurothek.catalog.hub.sending import send_to_hub, send_to_store
from neurothek.catalog.hub.writing import Grouping, write_rows
from neurothek.catalog.problems import Invalid
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store.matrices import stored_matrices
from neurothek.catalog.tables import versions
from neurothek.catalog.upkeep.changes import unknown_model

if TYPE_CHECKING:
    import duckdb

    from neurothek.catalog.store.schema import ViewInstaller
    from neurothek.catalog.store.warehouse import Warehouse

_ALONE = (("threads", "1"),)
"""Sums by several threads differ in their last digits from one computation to the next."""


@dataclass(frozen=True)
class ViewRows:
    """A view whose rows are published.

    Attributes:
        name: of the view.
        key: the columns by which its rows are sorted.
        description: what one row is.
        columns: name -> description.
        query: what computes them, where a warehouse stores the rows as that takes long; None for other views.
    """

    name: str
    key: Sequence[str]
    description: str
    columns: Mapping[str, str]
    query: str | None


@dataclass(frozen=True, kw_only=True)
class CatalogPlan:
    """What is published of a warehouse, and how.

    Attributes:
        views: those whose rows are published, in the order of their dependencies.
        texts: path below the folder -> what makes the text of a further file.
        neurothek: version that publishes.
        models: their names; none: all.
        with_texts: whether texts, contexts and n-grams are published.
        license: as the hub names licences.
    """

    views: Sequence[ViewRows]
    texts: Mapping[str, Callable[[Published, Catalog], str]]
    neurothek: str
    models: Sequence[str] = ()
    with_texts: bool = False
    license: str | None = None


def publish_to(
    warehouse: Warehouse,
    address: Address,
    plan: CatalogPlan,
    *,
    private: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Published:
    """Write a catalog and put it where it is to be read.

    It is written as a whole before anything is sent. The same warehouse makes the same files: where an upload stopped,
    a repeated one finds what was sent.

    Args:
        warehouse: what to publish.
        address: a folder, a dataset of the hub, or a folder of a store.
        plan: what of it.
        private: of a dataset, whether only its owners see it.
        dry_run: whether nothing is sent.
        progress: watches the tables.
    """
    if private and address.protocol != HUB:
        raise Invalid(
            "only a dataset of the hub can be private", "leave --private out", option="--private", value=private
        )
    if address.protocol == FOLDER and not dry_run:
        return publish_folder(warehouse, Path(address.place), plan, progress=progress)
    if warehouse.why_only_read is not None:
        raise warehouse.why_only_read
    with tempfile.TemporaryDirectory(dir=_room(warehouse.path), prefix=f".{warehouse.path.name}.publish-") as name:
        folder = Path(name) / "catalog"
        published = publish_folder(warehouse, folder, plan, progress=progress)
        if not dry_run and address.protocol == HUB:
            send_to_hub(folder, address, private=private)
        elif not dry_run:
            send_to_store(folder, address, progress=progress or Silent())
    return published


def _room(warehouse: Path) -> Path | None:
    """Where a catalog finds room: beside the file, which is as large, if that can be."""
    folder = warehouse.parent
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def publish_folder(
    warehouse: Warehouse, folder: Path, plan: CatalogPlan, *, progress: Progress | None = None
) -> Published:
    """Write a catalog to a new folder, which appears when all of it is there.

    Args:
        warehouse: what to publish.
        folder: new or empty.
        plan: what of it.
        progress: watches the tables.
    """
    progress = progress or Silent()
    if warehouse.why_only_read is not None:
        raise warehouse.why_only_read
    assert warehouse.views is not None, "a catalog shows the views of this release"
    with folder_to_fill(folder, "catalog") as unfinished:
        with warehouse.current_reader() as connection:
            chosen = _numbers_of(connection, plan.models) if plan.models else None
            written, files = _write_tables(connection, unfinished, plan, chosen, progress)
            about = _about(connection, chosen, plan)
            matrices = stored_matrices(connection)
        names = set(about["models"])
        manifest = Manifest(versions.VERSION, written)
        manifest = with_maps(manifest, [one for one in matrices if one.model in names], warehouse.maps, unfinished)
        published = Published(
            manifest,
            {},
            files,
            **about,
            has_texts=plan.with_texts,
            license=plan.license,
            neurothek=plan.neurothek,
        )
        published = _write_views(published, unfinished, plan, warehouse.views, progress)
        with open_folder(unfinished, published, warehouse.views) as catalog:
            texts = {path: write(published, catalog) for path, write in plan.texts.items()}
        for path, text in {**texts, MANIFEST: published.text()}.items():
            (unfinished / path).write_text(text, "utf-8")
    return published


def _write_tables(
    connection: duckdb.DuckDBPyConnection,
    folder: Path,
    plan: CatalogPlan,
    chosen: Sequence[int] | None,
    progress: Progress,
) -> tuple[dict[str, ExportedTable], dict[str, PublishedFile]]:
    tables = store_tables(connection)
    comments = dict(
        connection.execute("select table_name, comment from duckdb_tables() where schema_name = 'store'").fetchall()
    )
    progress.start("writing tables", len(tables))
    written: dict[str, ExportedTable] = {}
    files: dict[str, PublishedFile] = {}
    for name, columns in tables.items():
        order = layout.order_of(name)
        values = ", ".join(
            f'{layout.value_of(name, column, with_texts=plan.with_texts)} as "{column}"' for column in columns
        )
        rows = layout.selected_rows(name, columns, chosen, with_texts=plan.with_texts)
        source = f"(select {values} from store.{name} as {name} where {rows})"
        query = f"select {exported(columns)} from {source} order by {', '.join(order)}"
        file = write_rows(
            connection,
            query,
            folder,
            path_of("tables/", name),
            grouping=Grouping(layout.TABLE_BYTES, most_rows=layout.most_rows(name, columns)),
            measured=layout.MEASURED.get(name),
            sorted_by=order,
        )
        written[name] = _table(comments[name] or "", columns, file)
        if file is not None:
            files[file.path] = file
        progress.advance(note=name)
    progress.finish()
    return written, files


def _table(description: str, columns: Mapping[str, ExportedColumn], file: PublishedFile | None) -> ExportedTable:
    files = () if file is None else (ExportedFile(file.path, file.n_rows, file.sha256),)
    return ExportedTable(description, 0 if file is None else file.n_rows, columns, files)


def _write_views(
    published: Published, folder: Path, plan: CatalogPlan, views: ViewInstaller, progress: Progress
) -> Published:
    """Views that a warehouse stores are computed first, each of the tables and those before it, and then read."""
    progress.start("writing views", len(plan.views))
    for view in sorted(plan.views, key=lambda one: one.query is None):
        with open_folder(folder, published, views, settings=_ALONE) as catalog, catalog.reader() as connection:
            table, file = _write_view(connection, view, folder)
        files = {} if file is None else {file.path: file}
        published = replace(published, views={**published.views, view.name: table}, files={**published.files, **files})
        progress.advance(note=view.name)
    with open_folder(folder, published, views, settings=_ALONE) as catalog, catalog.reader() as connection:
        table, file = _write_lines(connection, folder)
    progress.finish()
    files = {} if file is None else {file.path: file}
    return replace(published, views={**published.views, lines.LINES: table}, files={**published.files, **files})


def _write_lines(connection: duckdb.DuckDBPyConnection, folder: Path) -> tuple[ExportedTable, PublishedFile | None]:
    (n_neurons,) = connection.execute("select count(*) from store.neuron_facts").fetchall()[0]
    file = write_rows(
        connection,
        lines.QUERY,
        folder,
        path_of("", lines.LINES),
        grouping=Grouping(layout.TABLE_BYTES, most_rows=lines.rows_of_group(n_neurons)),
        measured=("unit",),
        sorted_by=("unit",),
    )
    return _table(lines.DESCRIPTION, lines.exported_columns(), file), file


def _write_view(
    connection: duckdb.DuckDBPyConnection, view: ViewRows, folder: Path
) -> tuple[ExportedTable, PublishedFile | None]:
    source = view.name if view.query is None else f"(\n{view.query}\n)"
    described = connection.execute(f"describe select * from {source}").fetchall()
    columns = {
        str(name): ExportedColumn(
            "VARCHAR" if kind.startswith("ENUM") else str(kind), view.columns.get(name, ""), is_nullable=True
        )
        for name, kind, *_ in described
    }
    size = layout.VIEW_BYTES if view.query is None else layout.TABLE_BYTES
    file = write_rows(
        connection,
        f"select {exported(columns)} from {source} order by {', '.join(view.key)}",
        folder,
        path_of("", view.name),
        grouping=Grouping(size, most_rows=layout.MOST_ROWS if view.query else layout.MOST_VIEW_ROWS),
        sorted_by=view.key,
    )
    return _table(view.description, columns, file), file


def _numbers_of(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[int]:
    numbers = dict(connection.execute("select name, model_id from store.models order by model_id").fetchall())
    unknown = next((name for name in models if name not in numbers), None)
    if unknown is not None:
        raise unknown_model(unknown, list(numbers))
    return sorted({int(numbers[name]) for name in models})


def _about(connection: duckdb.DuckDBPyConnection, chosen: Sequence[int] | None, plan: CatalogPlan) -> dict[str, Any]:
    """The models, and the runs that measured them."""
    numbers = "" if chosen is None else f"({', '.join(map(str, chosen))})"
    condition = f"models.model_id in {numbers}" if numbers else "true"
    others = f"(runs.other_model_id is null or runs.other_model_id in {numbers})" if numbers else "true"
    models = connection.execute(f"select name from store.models as models where {condition} order by model_id")
    names = tuple(str(name) for (name,) in models.fetchall())
    n_rows = layout.value_of("runs", "n_rows", with_texts=plan.with_texts)
    runs = connection.execute(
        f"""
        select runs.run_key, runs.job, models.name, corpora.name, {n_rows}
        from store.runs as runs
        inner join store.models as models on models.model_id = runs.model_id
        left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
        where {condition} and {others}
        order by runs.run_id
        """
    ).fetchall()
    keys = ("run_key", "job", "model", "corpus", "n_rows")
    return {"models": names, "runs": tuple(dict(zip(keys, run, strict=True)) for run in runs)}
