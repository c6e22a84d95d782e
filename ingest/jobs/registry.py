"""All jobs by name, in the order in which they are measured."""

from collections.abc import Callable, Mapping

from ingest.corpora.split import SentenceSplit
from ingest.forward.activation_rule import ActivationRule
from ingest.forward.footprint import Extent, Footprint
from ingest.jobs.activity import footprint as activity
from ingest.jobs.activity.job import ActivityJob
from ingest.jobs.clusters import footprint as clusters
from ingest.jobs.clusters.job import ClustersJob
from ingest.jobs.contexts import footprint as contexts
from ingest.jobs.contexts.job import ContextsJob
from ingest.jobs.controls.job import ControlsJob
from ingest.jobs.events.job import EventsJob
from ingest.jobs.exits.job import ExitsJob
from ingest.jobs.job import PassJob, TextJob, WeightsJob
from ingest.jobs.names import JOBS as NAMES
from ingest.jobs.names import OF_MASKED
from ingest.jobs.names import PAIR_JOBS as PAIR_NAMES
from ingest.jobs.ngrams import footprint as ngrams
from ingest.jobs.ngrams.job import NgramsJob
from ingest.jobs.positions import footprint as positions
from ingest.jobs.positions.job import PositionsJob
from ingest.jobs.projections import footprint as projections
from ingest.jobs.projections.job import ProjectionsJob
from ingest.jobs.shortcuts.job import ShortcutsJob
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Shape, Transformer
from ingest.request import IngestRequest

__all__ = [
    "FOOTPRINTS_OF_TEXTS",
    "FOOTPRINTS_OF_WEIGHTS",
    "NAMES",
    "OF_MASKED",
    "PAIR_NAMES",
    "pass_jobs",
    "text_jobs",
    "weights_jobs",
]

FOOTPRINTS_OF_WEIGHTS: Mapping[str, Callable[[Shape], Footprint]] = {
    "projections": projections.footprint,
    "clusters": clusters.footprint,
}
"""What each job takes that reads only weights."""

FOOTPRINTS_OF_TEXTS: Mapping[str, Callable[[Shape, Extent], Footprint]] = {
    "activity": activity.footprint,
    "contexts": contexts.footprint,
    "ngrams": ngrams.footprint,
    "positions": positions.footprint,
}
"""What each job takes that watches the text."""


def weights_jobs(shape: Shape, request: IngestRequest) -> Mapping[str, WeightsJob]:
    """Those jobs asked for that read only weights.

    Raises:
        ClustersTooMany, ClusterMemoryTooSmall: what is asked for cannot be clustered so.
    """
    jobs: dict[str, WeightsJob] = {}
    if "projections" in request.jobs:
        jobs["projections"] = ProjectionsJob()
    if "clusters" in request.jobs:
        jobs["clusters"] = ClustersJob.of(shape, sizes=request.clusters, memory_bytes=request.memory_bytes)
    return jobs


def text_jobs(rule: ActivationRule, transformer: Transformer, tokenizer: Tokenizer) -> Mapping[str, TextJob]:
    """Jobs that watch a text run through the model; they share one forward pass."""
    jobs: tuple[TextJob, ...] = (
        ActivityJob(rule),
        ContextsJob(),
        NgramsJob(rule, transformer, tokenizer),
        PositionsJob(rule, transformer.shape.d_ffn),
    )
    return {job.name: job for job in jobs}


def pass_jobs(transformer: Transformer, tokenizer: Tokenizer, request: IngestRequest) -> Mapping[str, PassJob]:
    """Jobs that read a text in a pass of their own, or only how often it has each token.

    Raises:
        MethodUnknown: there is no such shortcut, or not for this model.
        SplitInvalid: it shall be fitted on too few sentences, or judged by too few.
    """
    jobs: tuple[PassJob, ...] = (
        ControlsJob(transformer, tokenizer),
        EventsJob(transformer, tokenizer, n_examples=request.examples),
        ShortcutsJob.of(
            transformer,
            tokenizer,
            methods=request.methods,
            keep=request.keep,
            domains=request.domains,
            split=SentenceSplit.of(request.fit, request.validate),
        ),
        ExitsJob(transformer, baselines=request.baselines, n_examples=request.examples),
    )
    return {job.name: job for job in jobs}
