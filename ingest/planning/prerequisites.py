"""Jobs that work on what other jobs measured: on which runs, and what has to be measured first."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import Job, JobContext, PassJob
from neurothek.ingest.runs.finished import EarlierRuns
from neurothek.ingest.runs.identity import RunIdentity


def needed_first(
    warehouse: Warehouse, model: str, corpus: Corpus | None, jobs: Iterable[Job[JobContext]]
) -> tuple[str, ...]:
    """Jobs that are not among `jobs`, that one of these works on, and that are not finished."""
    asked, first = {job.name: job for job in jobs}, dict[str, None]()
    for job in asked.values():
        if job.needed and corpus is not None:
            finished = EarlierRuns.finished(warehouse, model, corpus, jobs=job.needed)
            first |= dict.fromkeys(one for one in job.needed if one not in asked and not finished.has(one))
    return tuple(first)


def after(warehouse: Warehouse, model: str, job: Job[Any], *, asked: Sequence[RunIdentity] = ()) -> Job[Any]:
    """The job on the runs of others: those that are asked for beside it, else those that are finished."""
    if not job.needed:
        return job
    finished = EarlierRuns.finished(warehouse, model, job.context.corpus, jobs=job.needed)
    keys = {**finished.keys, **{one.job: one.key for one in asked if one.job in job.needed}}
    return job.within(replace(job.context, runs=replace(finished, keys=keys)))


def announcements(jobs: Sequence[PassJob], first: Sequence[str]) -> list[str]:
    """What a person should know before these jobs begin, of which `first` were asked for by nobody."""
    told = [text for job in jobs if (text := job.announcement())]
    if first:
        asked = ", ".join(job.name for job in jobs if job.needed)
        told.append(f"{asked} works on what {', '.join(first)} find, so that is measured first")
    return told
