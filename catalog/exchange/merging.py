"""Two people's warehouses become one: the other's models, texts and runs with numbers of this file, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.configurations import CONFIGURED, config_differences, configured_of
from neurothek.catalog.exchange.exports import ROW_GROUP
from neurothek.catalog.problems import Conflict, Damaged, Invalid
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing.summaries import add_neurons, rebuild_facts
from neurothek.catalog.spelling import one_line
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.matrices import StoredMatrix, stored_matrices, take
from neurothek.catalog.store.warehouse import Row, Warehouse, first_row
from neurothek.catalog.tables.foreign import FOREIGN, FOREIGN_CATALOGS
from neurothek.catalog.tables.registry import AUTHORS, FACTS, JOB_TABLES, WRITTEN_BY_PEOPLE
from neurothek.catalog.tables.table import Table
from neurothek.catalog.upkeep.changes import Label
from neurothek.catalog.upkeep.checks import broken, of_kind, of_subject

NUMBERED: Mapping[str, str] = {
    "tokenizer_id": "tokenizers",
    "corpus_id": "corpora",
    "model_id": "models",
    "other_model_id": "models",
    "set_id": "models",
    "other_set_id": "models",
    "run_id": "runs",
    "clustering_id": "clusterings",
}
"""Column that holds a number of the file -> the table that gives these numbers."""


@dataclass(frozen=True)
class Numbers:
    """The rows of one table of the other file."""

    ids: Mapping[int, int]  # number there -> number here
    new: frozenset[int]  # the numbers there whose rows are not here yet

    @property
    def given(self) -> list[int]:
        """The new numbers here, in order."""
        return sorted(self.ids[one] for one in self.new)


@dataclass(frozen=True)
class Numbering:
    """Tables whose rows have been numbered so far: table -> numbers."""

    tables: Mapping[str, Numbers]

    def with_table(
        self,
        table: str,
        identity: Sequence[str],
        *,
        theirs: duckdb.DuckDBPyConnection,
        ours: duckdb.DuckDBPyConnection,
        condition: str = "true",
    ) -> "Numbering":
        """Number another table too.

        Args:
            table: a table of the schema `store` whose first column is its number.
            identity: the columns that say which row it is, in any warehouse; without them every row is new.
            theirs: a lease of the other file.
            ours: a lease of this one.
            condition: which rows of the other file.
        """
        key = next(column for column, numbered in NUMBERED.items() if numbered == table)
        listed = ", ".join((key, *identity))
        query = f"select {listed} from store.{table}"
        existing = {tuple(row[1:]): int(row[0]) for row in ours.execute(query).fetchall()} if identity else {}
        free = first_row(ours, f"select coalesce(max({key}), -1) + 1 from store.{table}")
        ids: dict[int, int] = {}
        new: set[int] = set()
        for number, *values in theirs.execute(f"{query} where {condition} order by {key}").fetchall():
            taken = existing.get(self._translated(identity, values))
            if taken is None:
                taken = int(free[0]) + len(new) if free else 0
                new.add(int(number))
            ids[int(number)] = taken
        return Numbering({**self.tables, table: Numbers(ids, frozenset(new))})

    def renumbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with numbers of this file; those that stand for nothing there become null."""
        columns = [column for column in rows.columns if column in NUMBERED]
        return rows.with_columns(
            pl.col(column).replace_strict(
                dict(self.tables[NUMBERED[column]].ids) or {-1: -1}, default=None, return_dtype=pl.Int32()
            )
            for column in columns
        )

    def _translated(self, identity: Sequence[str], values: Sequence[object]) -> Row:
        return tuple(
            self.tables[NUMBERED[column]].ids.get(value) if isinstance(value, int) and column in NUMBERED else value
            for column, value in zip(identity, values, strict=True)
        )


_OWNED = {
    "tokenizer_id": ("tokenizers", "tokens"),
    "corpus_id": ("corpora", "sequences", "token_counts"),
    "model_id": ("models", "pins", "cluster_pins"),
}
"""Number -> the table that gives it, followed by those whose rows come with a new one."""


def _models_differ(name: str, difference: str, other: Path) -> Conflict:
    """One name stands for two models."""
    rename = command_line("rename", name, f"{name}-2", "--warehouse", str(other))
    return Conflict(
        f"both warehouses have a model {name}, with different {difference}",
        f"give one of them another name, for example with `{rename}`",
        what="model",
        name=name,
    )


def _runs_differ(model: str, job: str, other: Path) -> Conflict:
    """Both measured the same model, in ways that do not go together."""
    return Conflict(
        f"both warehouses measured {job} of {model}, with different parameters or texts",
        f"remove one of them with `{command_line('remove', model, '--job', job)}`, or keep both apart with"
        f" `{command_line('rename', model, f'{model}-2', '--warehouse', str(other))}`",
        what="run",
        name=f"{job} of {model}",
    )


def _unsound(other: Path, problem: str) -> Damaged:
    """The other warehouse contradicts itself."""
    look = command_line("check", "--warehouse", str(other))
    return Damaged(f"{other} cannot be merged: {problem}", f"check it with `{look}`", path=other, why=problem)


@dataclass(frozen=True)
class Merged:
    """Summary of a merge.

    Attributes:
        models: names of the models that are new.
        extended: names of models that were there and now have more runs.
        n_runs: runs taken.
        n_rows: rows of measurements taken.
        n_annotations: annotations taken, judgements of plausibility and explanations among them.
        labels: models that both had -> family and variant in the other one, where they differ; they were not taken.
        n_foreign: catalogs of other people taken.
        missing_maps: kept matrices of this warehouse that are beside neither.
    """

    models: tuple[str, ...]
    extended: tuple[str, ...]
    n_runs: int
    n_rows: int
    n_annotations: int
    labels: Mapping[str, Label] = field(default_factory=dict)
    missing_maps: tuple[StoredMatrix, ...] = ()
    n_foreign: int = 0


def merge(warehouse: Warehouse, other: Path, *, progress: Progress | None = None) -> Merged:
    """Add what another warehouse holds, in one transaction; what both hold is taken once.

    The other file is only read. Pins, family and variant come with models that are new. Where the two contradict each
    other, or one of them is damaged, nothing is written.
    """
    source = Warehouse(other, wait_seconds=warehouse.wait_seconds)
    if source.path == warehouse.path:
        raise Invalid(
            f"{warehouse.path} cannot be merged with itself", "name another warehouse", option="OTHER", value=other
        )
    progress = progress or Silent()
    with source.lingering(), warehouse.lingering():
        warehouse.require_writable()
        for each in (source, warehouse):
            each.require_whole(progress=progress)
        with source.reader() as theirs:
            _require_sound(source.path, theirs)
            if warehouse.exists():
                with warehouse.current_reader() as ours:
                    _plan(source.path, theirs, ours)
            with warehouse.transaction() as ours:
                merged = _merge(source.path, theirs, ours, progress)
                # Also those of runs that both hold: one of the two may have lost them.
                return replace(merged, missing_maps=tuple(take(stored_matrices(ours), source.maps, warehouse.maps)))


def _require_sound(other: Path, theirs: duckdb.DuckDBPyConnection) -> None:
    """Every row has its run and every run its rows: a row without them could not be given a number here."""
    written = of_subject(
        "written",
        "dimensions_exist",
        "annotations_are_of_vectors",
        "plausibility_is_of_lists",
        "explanations_are_of_neurons",
        "foreign_catalogs_are_possible",
    )
    keys = of_subject("key", *(table.name for table in (*WRITTEN_BY_PEOPLE, *FOREIGN)))
    checks = [*keys, *of_kind("runs"), *of_kind("rows"), *written]
    for finding in broken(theirs, among=checks, progress=Silent()):
        raise _unsound(other, f"{one_line(finding.example)} violates the rule: {finding.law}")


def _plan(other: Path, theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection) -> Numbering:
    numbering = Numbering({})
    for table, identity in (
        ("tokenizers", ("sha256",)),
        ("corpora", ("sha256", "sequence_length", "tokenizer_id")),
        ("models", ("name", "weights_sha256", "tokenizer_id")),
    ):
        numbering = numbering.with_table(table, identity, theirs=theirs, ours=ours)
    _refuse_other_models(other, theirs, ours, numbering)
    about = ("run_key", "job", "model_id", "corpus_id", "other_model_id")
    numbering = numbering.with_table("runs", about, theirs=theirs, ours=ours)
    _refuse_other_runs(other, theirs, ours, numbering)
    condition = _among("run_id", numbering.tables["runs"].new)
    return numbering.with_table("clusterings", (), theirs=theirs, ours=ours, condition=condition)


def _refuse_other_models(
    other: Path, theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, numbering: Numbering
) -> None:
    query = f"select model_id, name, weights_sha256, {', '.join(CONFIGURED)} from store.models order by model_id"
    existing = {row["name"]: row for row in as_frame(ours.sql(query)).to_dicts()}
    for row in as_frame(theirs.sql(query)).to_dicts():
        name, our = row["name"], existing.get(row["name"])
        if our is None:
            continue
        if row["model_id"] in numbering.tables["models"].new:
            same = row["weights_sha256"] == our["weights_sha256"]
            raise _models_differ(name, "tokenizers" if same else "weights", other)
        differences = config_differences(configured_of(our), configured_of(row))
        if differences:
            raise _models_differ(name, f"config.json ({', '.join(differences)})", other)
    # One vocabulary may be split in several ways: the model's runs on texts would not have read the same ids.
    read, would_read = _tokenizers_read(ours), _tokenizers_read(theirs)
    for name in sorted(read.keys() & would_read.keys()):
        if would_read[name] - read[name]:
            raise _models_differ(name, "tokenizers", other)


def _tokenizers_read(connection: duckdb.DuckDBPyConnection) -> dict[str, frozenset[str]]:
    """Name of each model -> the tokenizers whose ids its runs read, as far as that is known."""
    query = """
        select models.name, list(distinct runs.tokenizer_identity)
        from store.runs as runs
        inner join store.models as models on models.model_id = runs.model_id
        where runs.corpus_id is not null and runs.tokenizer_identity is not null
        group by models.name
    """
    return {name: frozenset(identities) for name, identities in connection.execute(query).fetchall()}


def _refuse_other_runs(
    other: Path, theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, numbering: Numbering
) -> None:
    """A job has one run per model, corpus and other model; where its tables know neither of these, one per model."""
    query = "select run_id, job, model_id, corpus_id, other_model_id from store.runs order by run_id"
    existing = {tuple(about) for _, *about in ours.execute(query).fetchall()}
    measured = {(job, model_id) for job, model_id, *_ in existing}
    models, corpora = numbering.tables["models"].ids, numbering.tables["corpora"].ids
    for run_id, job, model_id, corpus_id, other_id in theirs.execute(query).fetchall():
        if run_id not in numbering.tables["runs"].new:
            continue
        model = models[model_id]
        is_single = any(table.scope in ("model", "set") for table in JOB_TABLES.get(job, ()))
        if (job, model, corpora.get(corpus_id), models.get(other_id)) in existing or (
            is_single and (job, model) in measured
        ):
            raise _runs_differ(_name(theirs, model_id), job, other)


def _merge(
    other: Path, theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, progress: Progress
) -> Merged:
    numbering = _plan(other, theirs, ours)
    models, runs = numbering.tables["models"], numbering.tables["runs"]
    for key, (numbered, *owned) in _OWNED.items():
        for table in (numbered, *owned):
            _copy(theirs, ours, table, _among(key, numbering.tables[numbered].new), numbering)
    _copy(theirs, ours, "runs", _among("run_id", runs.new), numbering)
    query = f"select distinct model_id from store.runs where {_among('run_id', runs.new)} order by 1"
    measured = [int(model_id) for (model_id,) in theirs.execute(query).fetchall()]
    n_rows = _copy_facts(theirs, ours, measured, numbering, progress)
    touched = {models.ids[model_id] for model_id in measured}
    add_neurons(ours)
    for model_id in sorted(touched.union(models.given)):
        rebuild_facts(ours, model_id)
    copied = {table.name: _copy_written(theirs, ours, table, numbering) for table in WRITTEN_BY_PEOPLE}
    n_foreign = _copy_foreign(theirs, ours, numbering)
    extended = sorted(touched.difference(models.given))
    _refuse_repeated_keys(other, ours, _name(ours, extended[0]) if extended else None)
    return Merged(
        models=tuple(_name(ours, one) for one in models.given),
        extended=tuple(_name(ours, one) for one in extended),
        n_runs=len(runs.new),
        n_rows=n_rows,
        n_annotations=sum(copied[name] for name in AUTHORS),
        n_foreign=n_foreign,
        labels=_other_labels(theirs, ours, numbering),
    )


def _other_labels(
    theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, numbering: Numbering
) -> dict[str, Label]:
    """What the other warehouse says of the models that both have, where this one says otherwise."""
    query = "select name, family, variant from store.models order by model_id"
    ours_by_name = {name: Label(family, variant) for name, family, variant in ours.execute(query).fetchall()}
    other = {name: Label(family, variant) for name, family, variant in theirs.execute(query).fetchall()}
    new = {_name(ours, one) for one in numbering.tables["models"].given}
    return {name: label for name, label in other.items() if name not in new and ours_by_name[name] != label}


def _copy_facts(
    theirs: duckdb.DuckDBPyConnection,
    ours: duckdb.DuckDBPyConnection,
    measured: Sequence[int],
    numbering: Numbering,
    progress: Progress,
) -> int:
    """Model by model, so that each model's rows lie together, in the order in which they lie there."""
    progress.start("merging", len(measured) * len(FACTS))
    runs = _among("run_id", numbering.tables["runs"].new)
    n_rows = 0
    for model_id in measured:
        for table in FACTS:
            n_rows += _copy(theirs, ours, table.name, f"{table.owner} = {model_id} and {runs}", numbering)
            progress.advance(note=table.name)
    progress.finish()
    return n_rows


def _copy_written(
    theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, table: Table, numbering: Numbering
) -> int:
    """Those of both people, on models of either: a row is known by its UUID, wherever it was made."""
    (uuid,) = table.key
    existing = {one for (one,) in ours.execute(f"select {uuid} from store.{table.name}").fetchall()}
    query = f"select {uuid} from store.{table.name} order by created_at, {uuid}"
    new = [one for (one,) in theirs.execute(query).fetchall() if one not in existing]
    condition = f"{uuid} in (select unnest($new))"
    return _copy(theirs, ours, table.name, condition, numbering, parameters={"new": new}) if new else 0


def _copy_foreign(theirs: duckdb.DuckDBPyConnection, ours: duckdb.DuckDBPyConnection, numbering: Numbering) -> int:
    """Other people's catalogs that are not here: each is known by its name and its model."""
    query = f"select model_id, catalog from store.{FOREIGN_CATALOGS.name} order by model_id, imported_at, catalog"
    existing = set(ours.execute(query).fetchall())
    new: dict[int, list[str]] = {}
    for model_id, catalog in theirs.execute(query).fetchall():
        if (numbering.tables["models"].ids[model_id], catalog) not in existing:
            new.setdefault(model_id, []).append(catalog)
    for table in FOREIGN:
        for model_id, catalogs in new.items():
            condition = f"{table.owner} = {model_id} and catalog in (select unnest($new))"
            _copy(theirs, ours, table.name, condition, numbering, parameters={"new": catalogs})
    return sum(map(len, new.values()))


def _copy(
    theirs: duckdb.DuckDBPyConnection,
    ours: duckdb.DuckDBPyConnection,
    table: str,
    condition: str,
    numbering: Numbering,
    *,
    parameters: Mapping[str, object] | None = None,
) -> int:
    """Copy some rows, a group at a time: neither all of a table is in memory, nor its order lost."""
    n_rows = 0
    query = f"select * from store.{table} where {condition}"
    for batch in theirs.sql(query, params=dict(parameters or {})).to_arrow_reader(ROW_GROUP):
        rows = numbering.renumbered(pl.DataFrame(batch))
        ours.register("handed_over", rows.to_arrow())
        try:
            ours.execute(f"insert into store.{table} by name select * from handed_over")
        finally:
            ours.unregister("handed_over")
        n_rows += rows.height
    return n_rows


def _refuse_repeated_keys(other: Path, ours: duckdb.DuckDBPyConnection, extended: str | None) -> None:
    """What came twice is noticed before anything is kept: jobs may fill each other's tables, a file may repeat rows."""
    for finding in broken(ours, among=of_kind("key"), progress=Silent()):
        if extended is not None:
            raise _runs_differ(extended, finding.subject, other)
        raise _unsound(other, f"{one_line(finding.example)} violates the rule: {finding.law}")


def _among(column: str, numbers: frozenset[int]) -> str:
    return f"{column} in ({', '.join(map(str, sorted(numbers)))})" if numbers else "false"


def _name(connection: duckdb.DuckDBPyConnection, model_id: int) -> str:
    row = first_row(connection, "select name from store.models where model_id = ?", [model_id])
    return str(row[0]) if row else str(model_id)
