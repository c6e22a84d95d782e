"""All jobs by name, in the order in which they are measured."""

from collections.abc import Mapping

from ingest.activation import ActivationRule
from ingest.jobs.activity import ActivityJob
from ingest.jobs.contexts import ContextsJob
from ingest.jobs.projections import ProjectionsJob
from ingest.jobs.protocols import TextJob, WeightsJob

NAMES = ("projections", "activity", "contexts")
"""The names of all jobs."""


def weights_jobs() -> Mapping[str, WeightsJob]:
    """Jobs that read only weights."""
    jobs: tuple[WeightsJob, ...] = (ProjectionsJob(),)
    return {job.name: job for job in jobs}


def text_jobs(rule: ActivationRule) -> Mapping[str, TextJob]:
    """Jobs that watch a text run through the model; they share one forward pass."""
    jobs: tuple[TextJob, ...] = (ActivityJob(rule), ContextsJob())
    return {job.name: job for job in jobs}
