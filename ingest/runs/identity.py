"""Which runs are finished, which are to be measured, and which contradict what the warehouse holds."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from neurothek.catalog.configurations import config_differences, configured_of, read_settings
from neurothek.catalog.problems import Conflict
from neurothek.catalog.publishing.publish import ModelRecord, changed_tokenizer, taken_name
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.matrices import missing_matrices, stored_matrices
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.tables.table import Table
from neurothek.ingest.errors import config_changed
from neurothek.ingest.models.families.table import FAMILIES

OTHER_RUN = "_run"
"""Ends the name of a parameter that says on which run of another job a run rests."""

RUN_COLUMNS = ("run_key", "job_version", "parameters", "dtype")
"""What is looked up of a finished run."""

_LIBRARIES = ("neurothek", "torch", "transformers", "tokenizers", "duckdb", "polars", "numpy")


@dataclass(frozen=True)
class RunIdentity:
    """Everything that changes the numbers of one run of one job."""

    job: str  # name of the job
    version: int  # its version; raised when a number's meaning changes
    model: str  # name of the model
    weights_sha256: str  # hash of the model's weights
    shape: Mapping[str, Any]  # the architecture and its sizes, since a config can be edited beside the same weights
    tokenizer_sha256: str  # hash of the tokenizer, whose ids are the unmasked ones
    corpus_sha256: str | None  # fingerprint of the corpus; None for jobs that read only weights
    sequence_length: int | None  # ids that a sequence of the corpus holds at most; None likewise
    dtype: str  # number format of the model
    parameters: Mapping[str, Any]  # the job's own parameters, as JSON values
    # the tokenizer whose ids are read; None for pairs of models. Not part of the key, since the corpus's fingerprint
    # is: two tokenizers that give a text the same ids are as good as one.
    tokenizer_identity: str | None
    tokenizes: bool = False  # whether the job tokenizes sentences or prompts beside the corpus

    @property
    def key(self) -> str:
        """The run key; the model's name is not part of it, since it changes no number."""
        content = {**vars(self), "parameters": dict(self.parameters), "shape": dict(self.shape)}
        for name in ("model", "tokenizer_identity", "tokenizes"):
            del content[name]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def parameters_json(self) -> str:
        """The parameters as the warehouse keeps them."""
        return json.dumps(dict(self.parameters), sort_keys=True)


def to_measure(warehouse: Warehouse, identities: Sequence[RunIdentity], *, force: bool) -> list[RunIdentity]:
    """The runs that are not finished.

    A finished run of an older version of its job is measured anew without being asked, and so is one whose matrices
    are no longer beside the warehouse, or that rests on runs of other jobs which were replaced since. One of an earlier
    release that has no rows of a later table is measured anew with `force`.
    """
    if not warehouse.exists():
        return list(identities)
    with warehouse.current_reader() as connection:
        return [
            one
            for one in identities
            if _is_to_measure(connection.execute, one, force=force)
            or missing_matrices(stored_matrices(connection, one.key), warehouse.maps)
        ]


def _is_to_measure(execute: Callable[[str, Any], Any], identity: RunIdentity, *, force: bool) -> bool:
    earlier = _finished(execute, identity)
    if is_missing(earlier, identity, force=force) or _has_other_sentences(earlier, identity):
        return True
    return force and earlier is not None and is_incomplete(execute, identity.job, earlier["run_id"])


def is_missing(earlier: Mapping[str, Any] | None, identity: RunIdentity, *, force: bool) -> bool:
    """Whether a run is to be measured, for what the warehouse holds in its place: `RUN_COLUMNS`, or nothing."""
    if earlier is None or earlier["job_version"] < identity.version:
        return True
    if earlier["run_key"] == identity.key:
        return False
    if not force and not _rests_on_others(earlier, identity) and not _only_adds(earlier, identity):
        before, now = _parameters(earlier, identity)
        # No option asks for what earlier releases did not know.
        is_older = all(before.get(name) is None for name in _different(before, now))
        raise Conflict(
            f"{identity.job} of {identity.model} is in the warehouse with other settings"
            f" ({'; '.join(_differences(earlier, identity))})",
            "an earlier release measured it; add --force to replace it"
            if is_older
            else "repeat those settings, or add --force to replace it",
            what="run",
            name=f"{identity.job} of {identity.model}",
        )
    return True


def _has_other_sentences(earlier: Mapping[str, Any] | None, identity: RunIdentity) -> bool:
    """Whether another tokenizer split what a job tokenizes itself, though it gave the corpus the same ids."""
    if earlier is None or not identity.tokenizes:
        return False
    return earlier["tokenizer_identity"] not in (None, identity.tokenizer_identity)


def why_missing(warehouse: Warehouse, identity: RunIdentity) -> str:
    """Why a run is to be measured that `to_measure` found missing, in half a sentence."""
    if not warehouse.exists():
        return "not measured yet"
    with warehouse.current_reader() as connection:
        earlier = _finished(connection.execute, identity)
        if earlier is None:
            elsewhere = connection.execute(_ELSEWHERE, [identity.model, identity.job]).fetchall()
            texts = [_called(*row) for row in elsewhere]
            return f"measured on {' and '.join(texts)}, not on this text" if texts else "not measured yet"
        is_short = is_incomplete(connection.execute, identity.job, earlier["run_id"])
    if earlier["job_version"] < identity.version:
        return f"measured by version {earlier['job_version']} of the job, now version {identity.version}"
    if earlier["run_key"] == identity.key:
        return _why_repeated(earlier, identity, is_short=is_short)
    if _rests_on_others(earlier, identity):
        return "its input was measured again"
    differences = _differences(earlier, identity)
    return f"forced, with {'; '.join(differences)}" if differences else "more is asked for than was measured"


def _why_repeated(earlier: Mapping[str, Any], identity: RunIdentity, *, is_short: bool) -> str:
    if _has_other_sentences(earlier, identity):
        return "another tokenizer split its sentences"
    return (
        "an earlier release measured it incompletely" if is_short else "its matrices are no longer beside the warehouse"
    )


_ELSEWHERE = """
    select corpora.name, corpora.n_tokens, corpora.sequence_length, corpora.recipe
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    inner join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
    where models.name = ? and runs.job = ?
    order by corpora.corpus_id
"""


def _called(name: str, n_tokens: int, sequence_length: int, recipe: str) -> str:
    limit = json.loads(recipe).get("tokens_per_domain")
    option = f"--tokens {limit} " if limit is not None else ""
    return f"{name} ({n_tokens:,} tokens: {option}--sequence-length {sequence_length})"


def refuse_other_model(warehouse: Warehouse, model: ModelRecord) -> None:
    """Refuse a model whose name stands for something else in the warehouse, before anything is measured."""
    if not warehouse.exists():
        return
    query = """
        select models.*, tokenizers.sha256 as tokenizer_sha256
        from store.models as models
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
        where models.name = $name
    """
    with warehouse.current_reader() as connection:
        rows = as_frame(connection.sql(query, params={"name": model.name}))
    if rows.is_empty():
        return
    before, now = rows.row(0, named=True), model.row.row(0, named=True)
    if before["weights_sha256"] != now["weights_sha256"]:
        raise taken_name(model.name)
    if before["tokenizer_sha256"] != model.tokenizer.item(0, "sha256"):
        raise changed_tokenizer(model.name)
    changed = config_differences(configured_of(before), configured_of(now))
    if changed:
        raise config_changed(model.name, changed)


def record_settings(warehouse: Warehouse, model: ModelRecord, jobs: Sequence[str]) -> str | None:
    """Note settings of a model that an earlier release measured and took no note of; what to tell of it, else None.

    Their first sight is trusted, since nothing tells what they were. Runs are trusted as far as their keys do
    (`Shape.identity`): where the settings are those of published checkpoints, nothing is measured again.

    Args:
        warehouse: what holds the model, if it does.
        model: as it is now; `refuse_other_model` found no difference.
        jobs: what is asked for now, and measured anew where it has to be.
    """
    if not warehouse.exists():
        return None
    settings = model.row.item(0, "settings")
    about = {"name": model.name, "jobs": list(jobs)}
    query = """
        select models.settings, list(distinct runs.job order by runs.job) filter (not list_contains($jobs, runs.job))
        from store.models as models
        left join store.runs as runs on runs.model_id = models.model_id
        where models.name = $name
        group by models.settings
    """
    with warehouse.reader() as connection:
        row = connection.execute(query, about).fetchone()
    if row is None or not settings:
        return None
    before = read_settings(row[0])
    unknown = {name: value for name, value in read_settings(settings).items() if name not in before}
    if not unknown:
        return None
    with warehouse.transaction() as connection:
        connection.execute("update store.models set settings = ? where name = ?", [settings, model.name])
    named = ", ".join(f"{name} {json.dumps(value)}" for name, value in unknown.items())
    remark = f"config.json was not recorded when it was measured, but is now: {named}"
    assumed = FAMILIES[model.row.item(0, "architecture")].assumed
    if row[1] and any(assumed.get(name) != value for name, value in unknown.items()):
        remark += f"; {', '.join(row[1])} may have been measured with other values: measure them again with --force"
    return remark


@cache
def versions() -> str:
    """Versions of this package and of the libraries that numbers may depend on, as JSON."""
    return json.dumps({name: metadata.version(name) for name in _LIBRARIES})


def _finished(execute: Callable[[str, list[Any]], Any], identity: RunIdentity) -> dict[str, Any] | None:
    query = """
        select runs.run_key, runs.job_version, runs.parameters, runs.dtype, runs.run_id,
            runs.tokenizer_identity
        from store.runs as runs
        inner join store.models as models on models.model_id = runs.model_id
        left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
        where models.name = ? and models.weights_sha256 = ? and runs.job = ?
            and corpora.sha256 is not distinct from ? and corpora.sequence_length is not distinct from ?
            and (corpora.corpus_id is null or corpora.tokenizer_id = models.tokenizer_id)
    """
    corpus = [identity.corpus_sha256, identity.sequence_length]
    rows = execute(query, [identity.model, identity.weights_sha256, identity.job, *corpus]).fetchall()
    if not rows:
        return None
    return dict(zip((*RUN_COLUMNS, "run_id", "tokenizer_identity"), rows[0], strict=True))


def _rests_on_others(earlier: Mapping[str, Any], identity: RunIdentity) -> bool:
    """Whether all that is different is which runs of other jobs it rests on."""
    names = _different(*_parameters(earlier, identity))
    return bool(names) and all(name.endswith(OTHER_RUN) for name in names)


def _only_adds(earlier: Mapping[str, Any], identity: RunIdentity) -> bool:
    """Whether it differs only in named things that were added, and in which runs of other jobs it rests on."""
    before, now = _parameters(earlier, identity)
    names = [name for name in _different(before, now) if not name.endswith(OTHER_RUN)]
    return all(_is_added(before.get(name), now.get(name)) for name in names)


def _is_added(before: object, now: object) -> bool:
    """Whether named things were added to others, or to none: these are stated only where there are any."""
    held = {} if before is None else before
    if not isinstance(held, dict) or not isinstance(now, dict):
        return False
    return all(name in now and now[name] == value for name, value in held.items())


def _differences(earlier: Mapping[str, Any], identity: RunIdentity) -> list[str]:
    before, now = _parameters(earlier, identity)
    names = [name for name in _different(before, now) if not _is_added(before.get(name), now.get(name))]
    return [_difference(name, before.get(name), now.get(name)) for name in names]


def _parameters(earlier: Mapping[str, Any], identity: RunIdentity) -> tuple[dict[str, Any], dict[str, Any]]:
    before = {name: earlier[name] for name in ("job_version", "dtype")} | json.loads(earlier["parameters"])
    return before, {"job_version": identity.version, "dtype": identity.dtype} | json.loads(identity.parameters_json)


def _different(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [name for name in sorted({**before, **now}) if before.get(name) != now.get(name)]


def _difference(name: str, before: object, now: object) -> str:
    return f"{name}: {before} in the warehouse, {now} requested"


Execute = Callable[[str, dict[str, Any]], Any]
"""What runs a query of the warehouse."""

_HAS_TABLE = "select count(*) from duckdb_tables() where schema_name = 'store' and table_name = $table"


def lacks_rows(execute: Execute, table: Table, run_id: int) -> bool:
    """Whether an earlier release measured a run without this table; a warehouse of such a release lacks it itself."""
    if not table.is_later:
        return False
    if execute(_HAS_TABLE, {"table": table.name}).fetchall() == [(0,)]:
        return True
    query = f"select count(*) from (from store.{table.name} where run_id = $run_id limit 1)"  # noqa: S608 - our own
    return bool(execute(query, {"run_id": run_id}).fetchall() == [(0,)])


def is_incomplete(execute: Execute, job: str, run_id: int) -> bool:
    """Whether a run of a job lacks rows of any of the job's tables."""
    return any(lacks_rows(execute, table, run_id) for table in JOB_TABLES.get(job, ()))
