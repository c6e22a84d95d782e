"""All jobs by name, in the order in which they are measured."""

from collections.abc import Mapping

from ingest.activation import ActivationRule
from ingest.architectures import Transformer
from ingest.jobs.activity import ActivityJob
from ingest.jobs.contexts import ContextsJob
from ingest.jobs.events import EventsJob
from ingest.jobs.ngrams import NgramsJob
from ingest.jobs.positions import PositionsJob
from ingest.jobs.projections import ProjectionsJob
from ingest.jobs.protocols import PassJob, TextJob, WeightsJob
from ingest.tokenization import Tokenizer

NAMES = ("projections", "activity", "contexts", "ngrams", "positions", "events")
"""The names of all jobs."""


def weights_jobs() -> Mapping[str, WeightsJob]:
    """Jobs that read only weights."""
    jobs: tuple[WeightsJob, ...] = (ProjectionsJob(),)
    return {job.name: job for job in jobs}


def text_jobs(rule: ActivationRule, transformer: Transformer, tokenizer: Tokenizer) -> Mapping[str, TextJob]:
    """Jobs that watch a text run through the model; they share one forward pass."""
    jobs: tuple[TextJob, ...] = (
        ActivityJob(rule),
        ContextsJob(),
        NgramsJob(rule, transformer, tokenizer),
        PositionsJob(rule),
    )
    return {job.name: job for job in jobs}


def pass_jobs(transformer: Transformer, tokenizer: Tokenizer) -> Mapping[str, PassJob]:
    """Jobs that read a text in a pass of their own."""
    jobs: tuple[PassJob, ...] = (EventsJob(transformer, tokenizer),)
    return {job.name: job for job in jobs}
