"""Staged shards become rows of the warehouse, all of them or none, in one short transaction."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Conflict
from neurothek.catalog.publishing.staging import duckdb_bytes, rows_of
from neurothek.catalog.publishing.summaries import add_neurons, rebuild_facts
from neurothek.catalog.store.matrices import bring
from neurothek.catalog.store.warehouse import Row, Warehouse, first_row
from neurothek.catalog.tables.dimensions import CORPORA, MODELS, RUNS, SEQUENCES, TOKEN_COUNTS, TOKENIZERS, TOKENS
from neurothek.catalog.tables.registry import BY_NAME, JOB_TABLES
from neurothek.catalog.tables.table import RUN_IDS, Table

_LISTS = "projections"
"""The job whose lists of tokens pairs of models are compared by."""

OF_LISTS = ("counterparts",)
"""The jobs that compare pairs by these."""


def taken_name(name: str) -> Conflict:
    """A model's name already stands for other weights."""
    return Conflict(
        f"the warehouse already has a model {name} with other weights",
        f"give this one another name (`{command_line('ingest', 'OTHER=...')}`) or remove that one"
        f" (`{command_line('remove', name)}`)",
        what="model",
        name=name,
    )


def changed_tokenizer(name: str, *, corpus: str | None = None, parts: Sequence[str] = ()) -> Conflict:
    """A known model comes with another tokenizer.

    Args:
        name: the model's.
        corpus: the text whose ids differ; None: the vocabularies do.
        parts: parts of the tokenizer in which they differ, as far as they are known.
    """
    difference = f"the model {name} was measured with a different tokenizer than the one found now"
    if corpus is None:
        return Conflict(difference, "give it another name with NAME=", what="tokenizer", name=name)
    differ = f" ({', '.join(parts)} {'differs' if len(parts) == 1 else 'differ'})" if parts else ""
    advice = "; without --tokenizer-from-file, or with it, it may be the same" if "file" in parts else ""
    return Conflict(
        f"{difference}{differ}, which gives {corpus} other ids{advice}",
        "ingest the text again with --force to replace all its measurements, or give the model another name"
        " with NAME= to keep both",
        what="tokenizer",
        name=name,
    )


@dataclass(frozen=True)
class ModelRecord:
    """A model as the warehouse keeps it."""

    row: pl.DataFrame  # one row of MODELS
    tokenizer: pl.DataFrame  # one row of TOKENIZERS
    tokens: pl.DataFrame  # the tokenizer's TOKENS

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self.row.item(0, "name"))


@dataclass(frozen=True)
class CorpusRecord:
    """A corpus as the warehouse keeps it."""

    row: pl.DataFrame  # one row of CORPORA
    sequences: pl.DataFrame  # its SEQUENCES
    token_counts: pl.DataFrame  # its TOKEN_COUNTS


@dataclass(frozen=True)
class FinishedRun:
    """A run whose every shard is measured."""

    row: pl.DataFrame  # one row of RUNS; `n_rows` is counted while publishing
    files: Mapping[str, Sequence[Path]]  # table name -> Parquet files, in the order in which their rows are to lie
    needs_corpus: bool  # whether its rows belong to the corpus of the publication
    # folder of the matrices that are to be kept beside the warehouse; None where there are none
    maps: Path | None = None


@dataclass(frozen=True)
class Publication:
    """What one transaction publishes: runs of one model, and of one corpus where they read text."""

    model: ModelRecord
    corpus: CorpusRecord | None
    runs: Sequence[FinishedRun]


@dataclass(frozen=True)
class PairedRun:
    """A finished run about a model and another one."""

    model: str  # name of the model
    other: str  # name of the other one
    weights_sha256: str  # what the warehouse knows the model's weights by
    run: FinishedRun  # the run
    projections: str | None = None  # run key of the model's projections, where the run rests on them
    corpus_id: int | None = None  # the corpus that both read, where the run is about text


def publish(warehouse: Warehouse, publication: Publication, *, memory_bytes: int | None = None) -> dict[str, int]:
    """Publish in one transaction; earlier rows of the same model, corpus and job are replaced, and their matrices.

    Args:
        warehouse: where to.
        publication: what.
        memory_bytes: what the process may add to its memory, if that is bounded.

    Returns:
        Rows written, by table.
    """
    with warehouse.transaction(settings=_limits(memory_bytes)) as connection:
        written = _publish(connection, publication)
        for run in publication.runs:
            if run.maps is not None:
                bring(run.maps, warehouse.maps, run.row.item(0, "run_key"))
        return written


def publish_pair(
    warehouse: Warehouse, one: PairedRun, other: PairedRun, *, memory_bytes: int | None = None
) -> dict[str, int]:
    """Publish what was measured of two models of the warehouse, from either side, in one transaction.

    Returns:
        Rows written, by table.
    """
    with warehouse.transaction(settings=_limits(memory_bytes)) as connection:
        ids = {paired.model: _compared_id(connection, paired) for paired in (one, other)}
        written: dict[str, int] = {}
        for paired in (one, other):
            pair = {"model_id": ids[paired.model], "corpus_id": paired.corpus_id, "other_model_id": ids[paired.other]}
            for table, n_rows in _replace_run(connection, paired.run, pair).items():
                written[table] = written.get(table, 0) + n_rows
    return written


def _limits(memory_bytes: int | None) -> tuple[tuple[str, str], ...]:
    return () if memory_bytes is None else (("memory_limit", f"{duckdb_bytes(memory_bytes)}B"),)


def delete_pairs(
    connection: duckdb.DuckDBPyConnection, model_id: int, jobs: Iterable[str], *, corpus_id: int | None = None
) -> dict[str, int]:
    """Delete what jobs found between a model and others, from either side, on one corpus or on all; rows by table."""
    values = {"model_id": model_id, "corpus_id": corpus_id}
    on_corpus = "" if corpus_id is None else " and corpus_id = $corpus_id"
    values = {name: value for name, value in values.items() if value is not None}
    deleted = {}
    for job in jobs:
        for table in JOB_TABLES[job]:
            condition = f"(set_id = $model_id or other_set_id = $model_id){on_corpus}"
            row = first_row(connection, f"delete from store.{table.name} where {condition}", values)
            deleted[table.name] = int(row[0]) if row else 0
        condition = f"job = $job and (model_id = $model_id or other_model_id = $model_id){on_corpus}"
        connection.execute(f"delete from store.runs where {condition}", {**values, "job": job})
    return deleted


def _publish(connection: duckdb.DuckDBPyConnection, publication: Publication) -> dict[str, int]:
    n_before = _n_models_and_corpora(connection)
    model_id = _ensure_model(connection, publication.model)
    corpus_id = None
    if publication.corpus is not None:
        corpus_id = _ensure_corpus(connection, publication.corpus, model_id)
    is_known = n_before == _n_models_and_corpora(connection)
    written: dict[str, int] = {}
    for run in publication.runs:
        if run.row.item(0, "job") == _LISTS and not _is_repeated(connection, run, model_id):
            # What rests on other lists says nothing of these.
            delete_pairs(connection, model_id, OF_LISTS)
            is_known = False
        ids = {"model_id": model_id, "corpus_id": corpus_id if run.needs_corpus else None, "other_model_id": None}
        written.update(_replace_run(connection, run, ids))
    rebuild_facts(connection, model_id, written if is_known else None)
    return written


def _n_models_and_corpora(connection: duckdb.DuckDBPyConnection) -> Row | None:
    return first_row(connection, "select (select count(*) from store.models), (select count(*) from store.corpora)")


def _ensure_model(connection: duckdb.DuckDBPyConnection, model: ModelRecord) -> int:
    tokenizer_id = _ensure_tokenizer(connection, model)
    MODELS.check(model.row)
    query = "select model_id, weights_sha256, tokenizer_id from store.models where name = ?"
    row = first_row(connection, query, [model.name])
    if row is None:
        # A set of units has no number of another model: that of its neurons is the model's.
        model_id = max(_next_id(connection, "models", "model_id"), _next_id(connection, "unit_sets", "set_id"))
        _insert_frame(connection, MODELS, model.row, {"model_id": model_id, "tokenizer_id": tokenizer_id})
        add_neurons(connection)
        return model_id
    if row[1] != model.row.item(0, "weights_sha256"):
        raise taken_name(model.name)
    if row[2] != tokenizer_id:
        raise changed_tokenizer(model.name)
    return int(row[0])


def _ensure_tokenizer(connection: duckdb.DuckDBPyConnection, model: ModelRecord) -> int:
    TOKENIZERS.check(model.tokenizer)
    sha256 = model.tokenizer.item(0, "sha256")
    row = first_row(connection, "select tokenizer_id from store.tokenizers where sha256 = ?", [sha256])
    if row is not None:
        return int(row[0])
    tokenizer_id = _next_id(connection, "tokenizers", "tokenizer_id")
    _insert_frame(connection, TOKENIZERS, model.tokenizer, {"tokenizer_id": tokenizer_id})
    _insert_frame(connection, TOKENS, TOKENS.check(model.tokens), {"tokenizer_id": tokenizer_id})
    return tokenizer_id


def _ensure_corpus(connection: duckdb.DuckDBPyConnection, corpus: CorpusRecord, model_id: int) -> int:
    CORPORA.check(corpus.row)
    row = first_row(connection, "select tokenizer_id from store.models where model_id = ?", [model_id])
    tokenizer_id = row[0] if row else None
    sha256, length = corpus.row.item(0, "sha256"), corpus.row.item(0, "sequence_length")
    query = "select corpus_id from store.corpora where sha256 = ? and sequence_length = ? and tokenizer_id = ?"
    existing = first_row(connection, query, [sha256, length, tokenizer_id])
    if existing is not None:
        return int(existing[0])
    corpus_id = _next_id(connection, "corpora", "corpus_id")
    _insert_frame(connection, CORPORA, corpus.row, {"corpus_id": corpus_id, "tokenizer_id": tokenizer_id})
    _insert_frame(connection, SEQUENCES, SEQUENCES.check(corpus.sequences), {"corpus_id": corpus_id})
    _insert_frame(connection, TOKEN_COUNTS, TOKEN_COUNTS.check(corpus.token_counts), {"corpus_id": corpus_id})
    return corpus_id


def _is_repeated(connection: duckdb.DuckDBPyConnection, run: FinishedRun, model_id: int) -> bool:
    """Whether the warehouse has the same run of a model already, whose rows are the same."""
    query = "select run_id from store.runs where model_id = ? and run_key = ?"
    return first_row(connection, query, [model_id, run.row.item(0, "run_key")]) is not None


def _compared_id(connection: duckdb.DuckDBPyConnection, paired: PairedRun) -> int:
    query = """
        select models.model_id
        from store.models as models
        where
            models.name = $model and models.weights_sha256 = $weights_sha256
            and ($run_key is null or exists (
                from store.runs as runs
                where runs.model_id = models.model_id and runs.job = $job and runs.run_key = $run_key
            ))
            and ($corpus_id is null or exists (from store.corpora as corpora where corpora.corpus_id = $corpus_id))
    """
    values = {
        "job": _LISTS,
        "model": paired.model,
        "weights_sha256": paired.weights_sha256,
        "run_key": paired.projections,
        "corpus_id": paired.corpus_id,
    }
    model_row = first_row(connection, query, values)
    if model_row is None:
        raise Conflict(
            f"{paired.model} or {paired.other} was removed or measured again during the comparison",
            "repeat the command",
            what="pair",
            name=f"{paired.model} and {paired.other}",
        )
    return int(model_row[0])


def _replace_run(
    connection: duckdb.DuckDBPyConnection, run: FinishedRun, ids: Mapping[str, int | None]
) -> dict[str, int]:
    """`ids`: the model, the corpus and the other model that it is about."""
    RUNS.check(run.row)
    run_id = _next_id(connection, "runs", "run_id")
    tables = [BY_NAME[name] for name in run.files]
    first = {table.serial: _next_id(connection, table.name, table.serial) for table in tables if table.serial}
    connection.execute(
        "delete from store.runs where job = $job and model_id = $model_id"
        " and corpus_id is not distinct from $corpus_id and other_model_id is not distinct from $other_model_id",
        {"job": run.row.item(0, "job"), **ids},
    )
    written = {}
    for table in tables:
        files, scope = run.files[table.name], {column: ids[RUN_IDS.get(column, column)] for column in table.ids}
        _delete_replaced(connection, table, files, scope)
        written[table.name] = _insert_files(
            connection, table, files, {**scope, "run_id": run_id}, first=first.get(table.serial or "", 0)
        )
    row = run.row.with_columns(pl.lit(sum(written.values()), dtype=pl.Int64).alias("n_rows"))
    _insert_frame(connection, RUNS, row, {"run_id": run_id, **ids})
    return written


def _delete_replaced(
    connection: duckdb.DuckDBPyConnection, table: Table, files: Sequence[Path], ids: Mapping[str, int | None]
) -> None:
    condition = " and ".join(f"{column} = ${column}" for column in ids)
    values: dict[str, object] = dict(ids)
    if table.part is not None:
        with rows_of(connection, files) as rows:
            parts = connection.execute(f"select distinct {table.part} from {rows}").fetchall()
        condition += f" and {table.part} in (select unnest($parts))"
        values["parts"] = [part for (part,) in parts]
    # Rows of a model alone may come from a run on another corpus, which then has fewer.
    connection.execute(
        f"""
        update store.runs set n_rows = runs.n_rows - gone.n_rows
        from (select run_id, count(*) as n_rows from store.{table.name} where {condition} group by run_id) as gone
        where runs.run_id = gone.run_id
        """,
        values,
    )
    connection.execute(f"delete from store.{table.name} where {condition}", values)


def _insert_files(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    files: Sequence[Path],
    ids: Mapping[str, int | None],
    *,
    first: int,
) -> int:
    columns = ", ".join([*table.schema, *ids])
    read = [f"{name} + {first} as {name}" if name == table.serial else name for name in table.schema]
    values = ", ".join([*read, *(f"${column}" for column in ids)])
    if not files:
        return 0
    with rows_of(connection, files) as rows:
        inserted = first_row(connection, f"insert into store.{table.name} ({columns}) select {values} from {rows}", ids)
    return int(inserted[0]) if inserted else 0


def _insert_frame(
    connection: duckdb.DuckDBPyConnection, table: Table, frame: pl.DataFrame, ids: Mapping[str, int | None]
) -> None:
    columns = ", ".join([*table.schema, *ids])
    values = ", ".join([*table.schema, *(f"${column}" for column in ids)])
    connection.register("handed_over", frame.to_arrow())
    try:
        connection.execute(f"insert into store.{table.name} ({columns}) select {values} from handed_over", dict(ids))
    finally:
        connection.unregister("handed_over")


def _next_id(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> int:
    row = first_row(connection, f"select coalesce(max({column}), -1) + 1 from store.{table}")
    return int(row[0]) if row else 0
