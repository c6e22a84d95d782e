"""What people do to a warehouse besides measuring: pin the shown corpus, label, rename and remove models."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Conflict, Invalid, NotFound, NotMeasured
from neurothek.catalog.publishing import summaries
from neurothek.catalog.publishing.publish import OF_LISTS, delete_pairs
from neurothek.catalog.publishing.staging import discard_model
from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.catalog.spelling import named
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.catalog.suggestions import nearest
from neurothek.catalog.tables.annotations import RULES
from neurothek.catalog.tables.derived import CLUSTER_PINS, PINS
from neurothek.catalog.tables.dimensions import MODELS
from neurothek.catalog.tables.foreign import FOREIGN
from neurothek.catalog.tables.neuron_facts import NEURON_FACTS
from neurothek.catalog.tables.registry import AUTHORS, FACTS, JOB_TABLES, PAIR_JOBS, WRITTEN_BY_PEOPLE, unknown_job
from neurothek.catalog.tables.units import UNIT_SETS
from neurothek.catalog.variants import family_of, variant_of

_NAME = re.compile(r"[A-Za-z0-9._@+-]{1,200}")


def unknown_model(name: str, names: Sequence[str]) -> NotFound:
    """The warehouse has no such model."""
    near = nearest(name, names)
    hint = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(names) or 'none yet'}"
    return NotFound(f"there is no model {named(name)} in the warehouse", hint, what="model", name=name, known=names)


def pin(warehouse: Warehouse, model: str, corpus: str | None = None, *, clusters: int | None = None) -> None:
    """Choose the corpus that views show for a model, its clustering by the number of clusters asked for, or both.

    A corpus is `NAME`, or `NAME@TOKENS` where several have the name.
    """
    _require(warehouse, model, corpus=corpus, clusters=clusters)
    with warehouse.transaction() as connection:
        model_id = _model_id(connection, model)
        if corpus is not None:
            corpus_id = _corpus_id(connection, model_id, model, corpus)
            connection.execute("delete from store.pins where model_id = ?", [model_id])
            connection.execute("insert into store.pins values (?, ?)", [model_id, corpus_id])
        if clusters is not None:
            connection.execute("delete from store.cluster_pins where model_id = ?", [model_id])
            connection.execute("insert into store.cluster_pins values (?, ?)", [model_id, clusters])
        rebuild_facts(connection, model_id)


def rename(warehouse: Warehouse, model: str, name: str) -> None:
    """Give a model another name; its addresses change with it, and its tokenizer if that is called as the model is."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"a model cannot be named {name!r}", "use letters, digits and . _ @ + - only", option="NAME", value=name
        )
    _require(warehouse, model, free_name=name)
    with warehouse.transaction() as connection:
        model_id = _model_id(connection, model)
        _refuse_used_name(connection, name)
        connection.execute("update store.models set name = ? where model_id = ?", [name, model_id])
        # A tokenizer is called as the model that brought it.
        of_its_tokenizer = "tokenizer_id in (select tokenizer_id from store.models where model_id = ?)"
        connection.execute(
            f"update store.tokenizers set name = ? where name = ? and {of_its_tokenizer}", [name, model, model_id]
        )
        rebuild_facts(connection, model_id)


@dataclass(frozen=True)
class Label:
    """A model's place among others.

    Attributes:
        family: models of one family differ in size or variant only.
        variant: what sets the model apart; None for a plain size.
    """

    family: str
    variant: str | None


def label(warehouse: Warehouse, model: str, *, family: str | None = None, variant: str | None = None) -> Label:
    """Say which family a model is of, which variant of its size, or both; the variant `plain` is none.

    Returns:
        What the model is now.
    """
    if family is None and variant is None:
        raise Invalid(f"nothing to label {named(model)} with: give its family, its variant, or both", option="--family")

    def labelled(before: Label) -> Label:
        return Label(
            before.family if family is None else family_of(family),
            before.variant if variant is None else variant_of(variant),
        )

    with warehouse.current_reader() as connection:
        before = _label(connection, _model_id(connection, model))
    if labelled(before) == before:
        return before
    with warehouse.transaction() as connection:
        model_id = _model_id(connection, model)
        now = labelled(_label(connection, model_id))
        update = "update store.models set family = ?, variant = ? where model_id = ?"
        connection.execute(update, [now.family, now.variant, model_id])
        # The flat rows of neurons say neither; what is kept of whole models says both.
        summaries.refresh(connection, model_id)
    return now


def label_of(warehouse: Warehouse, model: str) -> Label | None:
    """What a model is called besides its name; None where the warehouse has no such model."""
    if not warehouse.exists():
        return None
    with warehouse.current_reader() as connection:
        row = first_row(connection, "select family, variant from store.models where name = ?", [model])
    return Label(*row) if row else None


def remove(warehouse: Warehouse, model: str, *, job: str | None = None, corpus: str | None = None) -> dict[str, int]:
    """Delete a model with its annotations and what is staged of it, or only what one job or one corpus says of it.

    Corpora and tokenizers that no model uses any more go too, and a pin on what is no longer there.

    Returns:
        Rows deleted, by table.
    """
    require_removable(warehouse, model, job=job, corpus=corpus)
    if corpus is None and job is None:
        discard_model(warehouse.staging, model)
    with warehouse.transaction() as connection:
        model_id = _model_id(connection, model)
        corpus_id = None if corpus is None else _corpus_id(connection, model_id, model, corpus)
        deleted = _delete_facts(connection, model_id, job, corpus_id)
        if job is None and corpus is None:
            for written in (*WRITTEN_BY_PEOPLE, *FOREIGN):
                row = first_row(connection, f"delete from store.{written.name} where {written.owner} = ?", [model_id])
                deleted[written.name] = int(row[0]) if row else 0
            of_model = "set_id in (select set_id from store.unit_sets where model_id = ?)"
            connection.execute(f"delete from store.unit_layers where {of_model}", [model_id])
            for table in (NEURON_FACTS, UNIT_SETS, PINS, CLUSTER_PINS, MODELS):
                connection.execute(f"delete from store.{table.name} where {table.owner} = ?", [model_id])
            summaries.refresh(connection, model_id)
        _delete_unused(connection)
        if job is not None or corpus is not None:
            rebuild_facts(connection, model_id)
    return deleted


def remove_foreign(warehouse: Warehouse, model: str, catalog: str) -> dict[str, int]:
    """Delete one catalog of other people from a model, and nothing else.

    Returns:
        Rows deleted, by table.
    """
    require_foreign(warehouse, model, catalog)
    with warehouse.transaction() as connection:
        values = [_model_id(connection, model), catalog]
        deleted = {}
        for table in FOREIGN:
            query = f"delete from store.{table.name} where {table.owner} = ? and catalog = ?"
            row = first_row(connection, query, values)
            deleted[table.name] = int(row[0]) if row else 0
    return deleted


def require_foreign(warehouse: Warehouse, model: str, catalog: str) -> None:
    """Find out whether a model has a catalog of other people."""
    with warehouse.current_reader() as connection:
        query = "select catalog from store.foreign_catalogs where model_id = ? order by imported_at, catalog"
        catalogs = [one for (one,) in connection.execute(query, [_model_id(connection, model)]).fetchall()]
    if catalog not in catalogs:
        raise NotFound.among("foreign catalog", catalog, catalogs, where=f"of {model}")


def take_tokenizer(
    warehouse: Warehouse,
    model: str,
    identity: str,
    *,
    sha256: str,
    sequence_length: int,
    besides: Collection[str],
    replaced: Collection[int],
) -> None:
    """Note which tokenizer gives a corpus the ids that a model was measured on, and delete what it does not give.

    Args:
        warehouse: what holds the model.
        model: its name.
        identity: the tokenizer's.
        sha256: fingerprint of the corpus.
        sequence_length: ids of its longest sequence.
        besides: jobs that tokenize more than the corpus, whose runs keep the tokenizer that they name.
        replaced: numbers of corpora of the same text in other ids; a pin on one of them moves.
    """
    condition = """
        model_id = $model_id and corpus_id = $corpus_id and tokenizer_identity is distinct from $identity
        and (tokenizer_identity is null or not list_contains($besides, job))
    """
    with warehouse.reader() as connection:
        model_id = _model_id(connection, model)
        query = """
            select corpora.corpus_id
            from store.corpora as corpora
            inner join store.models as models on models.tokenizer_id = corpora.tokenizer_id
            where models.model_id = ? and corpora.sha256 = ? and corpora.sequence_length = ?
        """
        row = first_row(connection, query, [model_id, sha256, sequence_length])
        if row is None:
            return
        values = {"model_id": model_id, "corpus_id": row[0], "identity": identity, "besides": list(besides)}
        if not replaced and first_row(connection, f"select 1 from store.runs where {condition}", values) is None:
            return
    with warehouse.transaction() as connection:
        connection.execute(f"update store.runs set tokenizer_identity = $identity where {condition}", values)
        for corpus_id in replaced:
            _delete_facts(connection, model_id, None, corpus_id)
            connection.execute(
                "update store.pins set corpus_id = ? where model_id = ? and corpus_id = ?",
                [values["corpus_id"], model_id, corpus_id],
            )
        if replaced:
            _delete_unused(connection)
            rebuild_facts(connection, model_id)


def require_removable(warehouse: Warehouse, model: str, *, job: str | None = None, corpus: str | None = None) -> None:
    """Find out whether there is what `remove` is asked to delete."""
    if job is not None and job not in JOB_TABLES:
        raise unknown_job(job)
    if job is not None and corpus is not None and all("corpus_id" not in table.ids for table in JOB_TABLES[job]):
        raise Invalid(
            f"{job} reads no text, so it has no results on the corpus {corpus}",
            "omit --corpus",
            option="--corpus",
            value=corpus,
        )
    _require(warehouse, model, corpus=corpus)


def count_annotations(warehouse: Warehouse, model: str) -> int:
    """Number of annotations, judgements and explanations of a model, which nothing could make again without people.

    Those of the annotator `rules` do not count: `annotate --auto` makes them.
    """
    with warehouse.current_reader() as connection:
        model_id = _model_id(connection, model)
        query = "select count(*) from store.{} where model_id = ? and {} <> ?"
        values = [model_id, RULES]
        counts = [first_row(connection, query.format(table, author), values) for table, author in AUTHORS.items()]
    return sum(int(row[0]) for row in counts if row)


def _delete_facts(
    connection: duckdb.DuckDBPyConnection, model_id: int, job: str | None, corpus_id: int | None
) -> dict[str, int]:
    names = {table.name: table for table in FACTS if not table.is_of_pair}
    tables = [table.name for table in JOB_TABLES[job] if table.name in names] if job else list(names)
    of_job = {"projections": OF_LISTS}.get(job or "", (job,))
    pairs = [
        one
        for one in PAIR_JOBS
        if (job is None or one in of_job)
        # Lists are of no corpus.
        and (corpus_id is None or any("corpus_id" in table.ids for table in JOB_TABLES[one]))
    ]
    deleted = delete_pairs(connection, model_id, pairs, corpus_id=corpus_id)
    for name in tables:
        values: dict[str, int | str] = {"model_id": model_id}
        condition = f"{names[name].owner} = $model_id"
        if corpus_id is not None:
            values["corpus_id"] = corpus_id
            # What a job on the text found of the model alone goes with its run.
            condition += (
                " and corpus_id = $corpus_id"
                if "corpus_id" in names[name].ids
                else " and run_id in (select run_id from store.runs where corpus_id = $corpus_id)"
            )
        if job is not None and names[name].part is not None:
            condition += " and run_id not in (select run_id from store.runs where job <> $job)"
            values["job"] = job
        row = first_row(connection, f"delete from store.{name} where {condition}", values)
        deleted[name] = int(row[0]) if row else 0
    connection.execute(
        "delete from store.runs where model_id = $model_id and ($job is null or job = $job)"
        " and ($corpus_id is null or corpus_id = $corpus_id)",
        {"model_id": model_id, "job": job, "corpus_id": corpus_id},
    )
    return deleted


def _delete_unused(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "delete from store.pins as pins where not exists"
        " (from store.runs as runs where runs.model_id = pins.model_id and runs.corpus_id = pins.corpus_id)"
    )
    for table in ("sequences", "token_counts", "corpora"):
        connection.execute(
            f"delete from store.{table} where corpus_id not in"
            " (select corpus_id from store.runs where corpus_id is not null)"
        )
    for table in ("tokens", "tokenizers"):
        connection.execute(
            f"delete from store.{table} where tokenizer_id not in (select tokenizer_id from store.models)"
        )


def _require(
    warehouse: Warehouse,
    model: str,
    *,
    corpus: str | None = None,
    clusters: int | None = None,
    free_name: str | None = None,
) -> None:
    """Refuse what cannot be done before a writer is opened, so that nothing is created for a typing error."""
    with warehouse.current_reader() as connection:
        model_id = _model_id(connection, model)
        if corpus is not None:
            _corpus_id(connection, model_id, model, corpus)
        if clusters is not None:
            _refuse_other_clusterings(connection, model_id, model, clusters)
        if free_name is not None:
            _refuse_used_name(connection, free_name)


def _refuse_other_clusterings(connection: duckdb.DuckDBPyConnection, model_id: int, model: str, clusters: int) -> None:
    query = "select n_clusters_asked from store.clusterings where set_id = ? order by 1"
    existing = [int(n_clusters) for (n_clusters,) in connection.execute(query, [model_id]).fetchall()]
    if clusters not in existing:
        others = (
            f"it has clusterings into {', '.join(map(str, existing))}" if existing else "its job clusters has not run"
        )
        # One run makes all that there are: those that are there come again.
        sizes = (word for size in (*existing, clusters) for word in ("--clusters", str(size)))
        again = command_line("ingest", model, "--job", "clusters", *sizes, *(["--force"] if existing else []))
        raise NotMeasured(
            f"{model} has no clustering into {clusters} clusters",
            f"{others}: measure one with `{again}`",
            jobs=["clusters"],
            models=[model],
        )


def _refuse_used_name(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    if first_row(connection, "select 1 from store.models where name = ?", [name]):
        raise Conflict(
            f"there is already a model {name} in the warehouse", "choose another name", what="model", name=name
        )


def _model_id(connection: duckdb.DuckDBPyConnection, name: str) -> int:
    row = first_row(connection, "select model_id from store.models where name = ?", [name])
    if row is None:
        names = connection.execute("select name from store.models order by model_id").fetchall()
        raise unknown_model(name, [str(known_row[0]) for known_row in names])
    return int(row[0])


def _label(connection: duckdb.DuckDBPyConnection, model_id: int) -> Label:
    row = first_row(connection, "select family, variant from store.models where model_id = ?", [model_id])
    assert row is not None
    return Label(*row)


def _corpus_id(connection: duckdb.DuckDBPyConnection, model_id: int, model: str, corpus: str) -> int:
    query = """
        select corpora.corpus_id, corpora.name, corpora.n_tokens from store.corpora as corpora
        where corpora.corpus_id in (select corpus_id from store.runs where model_id = ?)
        order by corpora.n_tokens desc, corpora.corpus_id desc
    """
    measured = connection.execute(query, [model_id]).fetchall()
    named = [row for row in measured if corpus in (row[1], f"{row[1]}@{row[2]}")]
    if not named:
        corpora = [str(name) for _, name, _ in measured]
        raise NotFound(
            f"{model} was not measured on a corpus {corpus}",
            f"it was measured on {', '.join(corpora)}" if corpora else "it was not measured on any text yet",
            what="corpus",
            name=corpus,
            known=corpora,
        )
    if len(named) > 1:
        ways = " or ".join(f"{corpus}@{n_tokens}" for _, _, n_tokens in named)
        raise Invalid(
            f"{model} was measured on {len(named)} corpora called {corpus}",
            f"choose one by its tokens: {ways}",
            option="--corpus",
            value=corpus,
        )
    return int(named[0][0])
