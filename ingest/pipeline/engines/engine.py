"""What measures the shards of jobs: the seam between what is measured and the processes that do it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from neurothek.catalog.publishing.staging import StagedRun
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import ReadBack, ShardJob
from neurothek.ingest.pipeline.engines.staged_job import StagedJob
from neurothek.ingest.planning.sweep_plan import SweepPlan
from neurothek.ingest.planning.work import ModelWork, Work


class Engine(ABC):
    """Measures what is missing of a run, into its folder; no engine changes a bit of it.

    An engine only fills the folders of staged runs. Whoever calls it opens these, sorts what is there, and publishes.
    """

    @abstractmethod
    def device(self, work: Work, job: str) -> str:
        """Kind of device that a job is measured on: cpu or cuda."""

    @abstractmethod
    def shards(self, work: Work, job: ShardJob[Any], run: StagedRun, read_back: ReadBack) -> None:
        """Measure the shards of a job that the run does not have.

        Args:
            work: the model, or the pair of them.
            job: the job.
            run: takes the shards.
            read_back: rows of the shards that are done.
        """

    @abstractmethod
    def sweep(self, work: ModelWork, corpus: Corpus, jobs: Sequence[StagedJob], plan: SweepPlan) -> None:
        """Show a text to jobs where they have not seen it, and fold each layer once all of it was seen.

        Args:
            work: the model.
            corpus: the text.
            jobs: the jobs, each with its run, which takes the parts.
            plan: how one process keeps within its memory.
        """

    def told(self) -> Sequence[str]:
        """What it has to say of what it did, for those who ask for details."""
        return ()
