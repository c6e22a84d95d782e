"""Jobs whose run on a model and text holds everything that was ever asked for there, item by item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Conflict
from neurothek.ingest.jobs.job import Frames, JobContext, PassJob
from neurothek.ingest.runs.finished import EarlierRuns
from neurothek.ingest.runs.identity import OTHER_RUN

_EARLIER = """
    select {columns}
    from store.{table}
    where run_id = $run_id and {name} = $value
"""

_Same = TypeVar("_Same", bound="AdditiveJob")


def other_settings(job: str, model: str, settings: Mapping[str, object], *, jobs_after: Sequence[str] = ()) -> Conflict:
    """A job measures one model and text with the same settings throughout, to be compared.

    Args:
        job: its name.
        model: name of the model.
        settings: those of the warehouse, by option.
        jobs_after: finished jobs that rest on it, and have to go with it.
    """
    options = " ".join(f"--{name} {value}" for name, value in settings.items())
    removed = " and ".join(f"`{command_line('remove', model, '--job', one)}`" for one in (job, *jobs_after))
    return Conflict(
        f"the {job} of {model} in the warehouse were measured with {options}",
        f"repeat these, or remove them first with {removed}",
        what="job",
        name=job,
    )


@dataclass(frozen=True, kw_only=True)
class AdditiveJob(PassJob):
    """A job that copies what the warehouse has of it on the same model and text, and adds what is asked for."""

    is_alone: bool = False  # whether it measures what is asked for and nothing else, whatever the warehouse holds

    @classmethod
    def from_parameters(cls: type[_Same], context: JobContext, parameters: Mapping[str, Any]) -> _Same:
        """The job that a run with such parameters was, which copies nothing from that run."""
        job = super().from_parameters(context, parameters)
        assert isinstance(job, cls)
        return replace(job, is_alone=True)

    @cached_property
    def earlier(self) -> EarlierRuns | None:
        """The run that the warehouse holds of this job on the same model and text."""
        return None if self.is_alone else self.runs_of(self.name)

    def runs_of(self, job: str) -> EarlierRuns | None:
        """The run that the warehouse holds of a job on the same model and text."""
        runs = self.context.runs
        if runs is None or self.context.text is None:
            return None
        finished = EarlierRuns.finished(runs.warehouse, runs.model, self.context.corpus, jobs={job: None})
        return finished if finished.has(job) else None

    @cached_property
    def before(self) -> dict[str, Any]:
        """The parameters of that run; none where there is no run."""
        return {} if self.earlier is None else self.earlier.parameters(self.name)

    @cached_property
    def is_current(self) -> bool:
        """Whether its rows mean what this version's mean, so that they can be copied; else all is measured anew."""
        return self.earlier is not None and self.earlier.version(self.name) == self.version

    def copied(self, **item: Any) -> Frames:
        """The rows of that run about one item.

        Args:
            item: the name of a column -> the item.
        """
        assert self.earlier is not None
        ((name, value),) = item.items()
        frames = {}
        for table in self.tables:
            query = _EARLIER.format(columns=", ".join(table.schema), table=table.name, name=name)
            rows = self.earlier.rows(query, self.name, value=value)
            frames[table.name] = rows.select(pl.col(column).cast(dtype) for column, dtype in table.schema.items())
        return frames

    def runs_worked_on(self) -> dict[str, str]:
        """The runs of other jobs that it works on, as parameters: another run gives other numbers."""
        keys = {} if self.context.runs is None else self.context.runs.keys
        return {f"{job}{OTHER_RUN}": key for job, key in keys.items() if job in self.needed}
