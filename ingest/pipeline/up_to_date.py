"""What was found to be finished, remembered, so that asking again takes no library that measures.

Remembered is a fingerprint of all that decides it: the request, the model's files and the text's by path and
stamp, this release's code and its libraries, and what the warehouse holds. Whether runs are finished is decided where
run keys are made, and nowhere else: here it is only known that nothing has changed since.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.matrices import missing_matrices, stored_matrices
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.asked import stored_name
from neurothek.ingest.corpora.sources.source import Source, parse_sources
from neurothek.ingest.jobs import registry
from neurothek.ingest.models.finding import by_name, cached_on_hub, folder_of, split_revision
from neurothek.ingest.models.weights_hash import SETTLED_NANOSECONDS, stamp
from neurothek.ingest.pipeline.outcomes import ModelReport, PairReport
from neurothek.ingest.request import IngestRequest, ModelSource
from neurothek.ingest.runs.identity import versions
from neurothek.ingest.user_cache import read_notes, write_notes

_NOTES = "finished.json"
_MOST = 1_000
"""Entries that are kept, the newest."""

_DECIDES = """
    with own_models as (from store.models where list_contains($models, name)),
    own_runs as (
        from store.runs
        where
            model_id in (select model_id from own_models)
            and (other_model_id is null or other_model_id in (select model_id from own_models))
            -- Of one model alone its pairs decide nothing.
            and (other_model_id is null or len($models) > 1)
    ),
    -- Whoever asks for a text by its name asks for the newest of that name.
    own_corpora as (
        from store.corpora
        where
            name in (select name from store.corpora where corpus_id in (select corpus_id from own_runs))
            and tokenizer_id in (select tokenizer_id from own_models)
    )
    select 'model', own_models.model_id, to_json(own_models)::varchar, null from own_models
    union all
    select 'run', own_runs.run_id, to_json(own_runs)::varchar, run_key from own_runs
    union all
    select 'corpus', own_corpora.corpus_id, to_json(own_corpora)::varchar, null from own_corpora
    union all
    select 'tokenizer', tokenizers.tokenizer_id, to_json(tokenizers)::varchar, null from store.tokenizers as tokenizers
    where tokenizer_id in (select tokenizer_id from own_models)
    union all
    -- Jobs that are named measure on the shown corpus where no other is.
    select 'pin', model_id, corpus_id::varchar, null from store.pins
    where model_id in (select model_id from own_models)
    order by all
"""
"""Rows of the store that say what is finished of some models, each with the key of its run if it is one."""

_PACKAGES = ("ingest", "catalog")


def model_inputs(warehouse: Warehouse, request: IngestRequest, source: ModelSource) -> str | None:
    """A fingerprint of what is asked for, of the files behind it and of this release; None where it cannot be told.

    It cannot for texts of a branch of the hub, for files so young that they may change without a new time, and where
    something unfinished lies beside the warehouse.
    """
    if _staging(warehouse, request).exists():
        return None
    try:
        stats = list(_stats([*_model_files(warehouse, request, source), *_text_files(warehouse, request), *_code()]))
    except (NeurothekError, OSError, _Untold):
        return None
    if _is_young(stats):
        return None
    return _hash([asdict(request), asdict(source), versions(), stats])


def pair_inputs(warehouse: Warehouse, request: IngestRequest, models: Sequence[str]) -> str | None:
    """A fingerprint of a pair of models that is asked for, and of this release; None where it cannot be told.

    Files are not part of it: what is finished was compared by lists of the warehouse, and needs them no more.
    """
    if _staging(warehouse, request).exists():
        return None
    code = list(_stats(_code()))
    if _is_young(code):
        return None
    return _hash(["pair", asdict(request), list(models), versions(), code])


def recall(warehouse: Warehouse, inputs: str | None) -> ModelReport | None:
    """The report that nothing is left to measure, if that was found of these inputs and this warehouse."""
    entry = _entry(warehouse, inputs)
    if entry is None:
        return None
    return ModelReport(
        model=entry["model"],
        jobs=(),
        rows={},
        up_to_date=tuple(entry["jobs"]),
        corpus=None,
        n_tokens=0,
        seconds=0.0,
        remarks=tuple(entry["remarks"]),
        finished=entry["jobs"],
        standing=tuple(entry["remarks"]),
    )


def recall_pair(warehouse: Warehouse, inputs: str | None) -> PairReport | None:
    """The report that two models are compared already, if that was found of these inputs and this warehouse."""
    entry = _entry(warehouse, inputs)
    if entry is None:
        return None
    one, other = entry["models"]
    return PairReport((one, other), entry["job"], None, tuple(entry["findings"]), 0.0, finished=entry["finished"])


def remember(warehouse: Warehouse, inputs: str | None, report: ModelReport | PairReport) -> None:
    """Note that nothing is left to measure after a report that says so, of inputs that are still the same."""
    if inputs is None or not report.finished:
        return
    entry = _entry_of(report)
    state, keys = _state(warehouse, _models_of(entry))
    if not keys.issuperset(report.finished.values()):
        # Somebody removed a run meanwhile: of what the warehouse holds now nobody found that it is all.
        return
    notes = {name: value for name, value in read_notes(_NOTES).items() if name != _place(warehouse, inputs)}
    notes[_place(warehouse, inputs)] = {**entry, "state": state}
    # What cannot be remembered is found out again.
    write_notes(_NOTES, dict(list(notes.items())[-_MOST:]))


class _Untold(Exception):
    """A text whose files are not on this machine."""


def _staging(warehouse: Warehouse, request: IngestRequest) -> Path:
    return warehouse.staging if request.staging is None else request.staging / warehouse.staging.name


def _model_files(warehouse: Warehouse, request: IngestRequest, model: ModelSource) -> list[Path]:
    measured = by_name(warehouse, model, revision=request.revision)
    source, revision = (
        split_revision(model.source, request.revision) if measured is None else (measured.source, measured.revision)
    )
    folder = folder_of(source, revision=revision) or cached_on_hub(source, revision=revision)
    if folder is None:
        raise _Untold
    return [path for path in folder.iterdir() if path.is_file()]


def _text_files(warehouse: Warehouse, request: IngestRequest) -> Iterator[Path]:
    if set(request.jobs) <= {*registry.OF_WEIGHTS}:
        return
    name = stored_name(warehouse, request.text)
    sources = parse_sources(request.text.sources) if name is None else _recorded(warehouse, name)
    for source in sources:
        # A commit cannot change, and is part of the request or of the recipe; a branch would have to be asked for.
        files = source.text.files()
        if files is None:
            raise _Untold
        yield from files


def _recorded(warehouse: Warehouse, name: str) -> list[Source]:
    with warehouse.current_reader() as connection:
        rows = connection.execute("select recipe from store.corpora where name = ?", [name]).fetchall()
    sources = [source for (recipe,) in rows for source in json.loads(recipe)["sources"]]
    return [Source(source["domain"], source["location"]) for source in sources]


def _code() -> Iterator[Path]:
    for package in _PACKAGES:
        yield from (path for path in (Path(__file__).parents[2] / package).rglob("*") if path.suffix in (".py", ".sql"))


def _stats(paths: Iterable[Path]) -> Iterator[tuple[str, list[int]]]:
    for path in sorted({path.absolute() for path in paths}):
        yield str(path), stamp(path.stat())


def _is_young(stats: Iterable[tuple[str, list[int]]]) -> bool:
    return any(mtime_ns + SETTLED_NANOSECONDS > time.time_ns() for _, (_, mtime_ns, *_) in stats)


def _entry_of(report: ModelReport | PairReport) -> dict[str, Any]:
    if isinstance(report, PairReport):
        return asdict(report)
    return {"model": report.model, "jobs": dict(report.finished), "remarks": report.standing}


def _models_of(entry: Mapping[str, Any]) -> list[str]:
    return list(entry["models"]) if "models" in entry else [entry["model"]]


def _entry(warehouse: Warehouse, inputs: str | None) -> dict[str, Any] | None:
    if inputs is None or not warehouse.exists():
        return None
    entry = read_notes(_NOTES).get(_place(warehouse, inputs))
    if not isinstance(entry, dict) or entry.get("state") != _state(warehouse, _models_of(entry))[0]:
        return None
    return entry


def _place(warehouse: Warehouse, inputs: str) -> str:
    return _hash([inputs, str(warehouse.path.resolve())])


def _state(warehouse: Warehouse, models: Sequence[str]) -> tuple[str, set[str]]:
    """A fingerprint of what the warehouse holds that decides about these models, and the keys of its runs.

    What other models, or other pairs, are measured meanwhile changes nothing.
    """
    with warehouse.current_reader() as connection:
        rows = connection.execute(_DECIDES, {"models": list(models)}).fetchall()
        lost = missing_matrices(stored_matrices(connection), warehouse.maps)
    keys = {key for *_, key in rows if key is not None}
    missing = [(one.run_key, one.source_state, one.target_state) for one in lost if one.run_key in keys]
    return _hash([rows, missing]), keys


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, default=str, sort_keys=True).encode()).hexdigest()
