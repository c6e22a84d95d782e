"""From a model and a text to published rows: what is missing is measured, staged and published."""

import time
from collections.abc import Callable
from contextlib import nullcontext

from neurothek.catalog.advice import command_line, text_words
from neurothek.catalog.malloc import give_back_at_once
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.publishing.staging import adding, discard_runs
from neurothek.catalog.store.warehouse import Warehouse, first_row
from neurothek.catalog.upkeep.changes import label, label_of, take_tokenizer
from neurothek.catalog.variants import PLAIN, described
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs import registry
from neurothek.ingest.numerics.gpu_memory import gpu_memory_told
from neurothek.ingest.pipeline.engines.engine import Engine
from neurothek.ingest.pipeline.measure import LOCAL, measure_shards, measure_text
from neurothek.ingest.pipeline.outcomes import ModelReport
from neurothek.ingest.planning.agenda import Prepared, announcements, left_out, not_renamed, prepare_model
from neurothek.ingest.planning.first_look import check_request
from neurothek.ingest.planning.model_plan import Allotted, allot
from neurothek.ingest.planning.work import ModelWork, staging_folder
from neurothek.ingest.request import IngestRequest, ModelSource
from neurothek.ingest.runs.identity import record_settings, to_measure


def ingest_model(
    warehouse: Warehouse,
    request: IngestRequest,
    source: ModelSource,
    *,
    progress: Progress | None = None,
    announce: Callable[[str], None] = lambda text: None,
    engine: Engine = LOCAL,
) -> ModelReport:
    """Measure one model and publish the rows; what is finished is not measured again.

    Everything that can be refused is refused before anything is written.

    Args:
        warehouse: where to.
        request: what.
        source: which model.
        progress: shows how far it is.
        announce: takes what a person should know before it begins.
        engine: what measures.
    """
    check_request(request)
    is_adding = bool(request.interventions or request.single_neurons)
    with warehouse.lingering():
        warehouse.require_writable()
        held = adding(staging_folder(warehouse, request), source.name or source.source) if is_adding else nullcontext()
        with held, gpu_memory_told(f"measuring {source.name or source.source}"):
            return _ingest(warehouse, request, source, progress=progress, announce=announce, engine=engine)


def _ingest(
    warehouse: Warehouse,
    request: IngestRequest,
    source: ModelSource,
    *,
    progress: Progress | None,
    announce: Callable[[str], None],
    engine: Engine,
) -> ModelReport:
    """As `ingest_model`, once the request makes sense and nobody else adds to the same."""
    started = time.monotonic()
    prepared = prepare_model(warehouse, request, source, progress=progress or Silent())
    allotted = allot(prepared)
    work, corpus, agenda = prepared.work, prepared.corpus, prepared.agenda
    if agenda.jobs:
        warehouse.require_whole(progress=work.progress)
    _tell(warehouse, prepared, announce)
    if allotted.is_tight:
        give_back_at_once()
    notes = _own_tokenizer(work)
    if corpus is not None and prepared.unused_name is not None:
        notes.append(not_renamed(prepared.unused_name, corpus.name))
    remarks = [*([left_out(prepared.left_out)] if prepared.left_out else []), *notes]
    if _is_labelled(request):
        _label_known(warehouse, work.model.name, request)
    rows = _measure(prepared, allotted, engine, remark=remarks.append)
    if corpus is not None:
        take_tokenizer(
            warehouse,
            work.model.name,
            work.tokenizer.identity,
            sha256=corpus.sha256,
            sequence_length=corpus.sequence_length,
            besides=[name for name, entry in registry.JOBS.items() if entry.tokenizes],
            replaced=[one.corpus_id for one in prepared.replaced],
        )
        remarks += _not_measured_anew(prepared, corpus)
    # A process that was killed between publishing and tidying left shards that nobody needs.
    discard_runs(work.staging, [identity.key for identity in agenda.identities])
    warehouse.settle()
    labelled = _labelled(warehouse, prepared)
    return ModelReport(
        model=work.model.name,
        jobs=agenda.jobs,
        rows=rows,
        up_to_date=tuple(identity.job for identity in agenda.identities if identity.job not in agenda.jobs),
        corpus=corpus.name if corpus else None,
        n_tokens=corpus.n_counted if corpus else 0,
        seconds=time.monotonic() - started,
        sweep=allotted.sweep,
        n_full_length=corpus.n_full_length if corpus else None,
        remarks=(*remarks, *labelled, *_not_shown(warehouse, prepared)),
        finished=_finished(warehouse, prepared),
        standing=(*notes, *(labelled if _is_labelled(request) else ())),
        details=tuple(engine.details()) if agenda.jobs else (),
    )


def _tell(warehouse: Warehouse, prepared: Prepared, announce: Callable[[str], None]) -> None:
    """What a person should know before measuring begins; settings that nobody took note of are noted."""
    name = prepared.work.model.name
    for text in announcements([job for job, _ in prepared.agenda.passes], prepared.needed_first):
        announce(f"{name}: {text}")
    for one in prepared.replaced:
        announce(
            f"{name}: {one.name} was measured with the ids of another tokenizer, but this model's own gives different"
            " ones: its text is measured again"
        )
    unrecorded = record_settings(
        warehouse, prepared.work.model, [identity.job for identity in prepared.agenda.identities]
    )
    if unrecorded is not None:
        announce(f"{name}: {unrecorded}")


def _measure(
    prepared: Prepared, allotted: Allotted, engine: Engine, *, remark: Callable[[str], None]
) -> dict[str, int]:
    """Measure and publish what is left, weights first; rows by table."""
    work, corpus, agenda = prepared.work, prepared.corpus, prepared.agenda
    if allotted.sweep is not None and not allotted.sweep.is_resident:
        work.transformer.stream()
    rows = measure_shards(work, agenda.weights, engine=engine)
    if corpus is not None and allotted.sweep is not None:
        rows |= measure_text(work, corpus, agenda.texts, allotted.sweep, engine=engine)
    if allotted.passes_stream:
        work.transformer.stream()
    return rows | measure_shards(work, agenda.passes, engine=engine, remark=remark)


def _finished(warehouse: Warehouse, prepared: Prepared) -> dict[str, str]:
    """The jobs and their runs' keys, if asking again would find nothing to measure and have nothing else to say."""
    identities = prepared.agenda.identities
    if prepared.left_out or prepared.needed_first or to_measure(warehouse, identities, force=False):
        return {}
    return {identity.job: identity.key for identity in identities}


def _own_tokenizer(work: ModelWork) -> list[str]:
    """What is put in the place of the folder's own tokenizer."""
    if not work.tokenizer.replaced:
        return []
    return [
        f"transformers replaces the {' and '.join(work.tokenizer.replaced)} of tokenizer.json with its own;"
        " --tokenizer-from-file measures with the file's"
    ]


def _not_measured_anew(prepared: Prepared, corpus: Corpus) -> list[str]:
    """Jobs that were measured of a text in other ids and that nobody asked for now."""
    requested = {identity.job for identity in prepared.agenda.identities}
    gone = sorted({job for one in prepared.replaced for job in one.jobs}.difference(requested))
    if not gone:
        return []
    again = [job for job in gone if job not in registry.QUERY_NAMES]
    jobs = [word for job in again for word in ("--job", job)]
    words = text_words(corpus.name, corpus.sequence_length, corpus.recipe)
    command = (
        f"; `{command_line('ingest', prepared.work.model.name, *jobs, *words)}` measures them again" if jobs else ""
    )
    return [f"the results of {', '.join(gone)} for the ids of another tokenizer were removed{command}"]


def _not_shown(warehouse: Warehouse, prepared: Prepared) -> list[str]:
    """Says of a text that was just read and that views leave aside which one they show, and how to show this one."""
    corpus, name = prepared.corpus, prepared.work.model.name
    if corpus is None or not prepared.agenda.jobs:
        return []
    statement = (
        "select corpora.name, corpora.n_tokens from store.corpora as corpora where corpora.corpus_id in"
        " (select facts.corpus_id from store.neuron_facts as facts inner join store.models as models"
        " on models.model_id = facts.set_id where models.name = $model)"
    )
    with warehouse.reader() as connection:
        row = first_row(connection, statement, {"model": name})
    if row is None or row == (corpus.name, corpus.n_counted):
        return []
    of, which = corpus.name, str(row[0])
    if which == of:
        of, which = f"{of}@{corpus.n_counted}", f"{of} with {row[1]:,} tokens"
    command = command_line("pin", name, "--corpus", of)
    return [f"views and pages show it on {which}, which has more tokens or is pinned; `{command}` shows this text"]


def _is_labelled(request: IngestRequest) -> bool:
    return request.family is not None or request.variant is not None


def _label_known(warehouse: Warehouse, name: str, request: IngestRequest) -> None:
    """What a person says of a model that is there holds for it, too; a new one comes with it."""
    if label_of(warehouse, name) is not None:
        label(warehouse, name, family=request.family, variant=request.variant)


def _labelled(warehouse: Warehouse, prepared: Prepared) -> list[str]:
    """What the model counts as, where a person said it or where it follows from what was found."""
    work = prepared.work
    is_asked = _is_labelled(work.request)
    is_found = bool(prepared.agenda.jobs) and "neurothek" not in work.checkpoint.config
    now = label_of(warehouse, work.model.name)
    if now is None or not (is_asked or (is_found and now.variant is not None)):
        return []
    sentence = f"it counts as {described(now.family, now.variant)}"
    if now.variant is None:
        return [sentence]
    plain = command_line("label", work.model.name, "--variant", PLAIN)
    return [f"{sentence}; `{plain}` makes it a plain size"]
