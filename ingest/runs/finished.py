"""Finished runs of one model, for jobs that work on what other jobs measured."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora.corpus import Corpus

_FINISHED = """
    select runs.job, runs.run_key, runs.job_version
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
    where
        models.name = $model
        and (
            runs.corpus_id is null
            or (
                corpora.sha256 = $sha256
                and corpora.sequence_length = $sequence_length
                and corpora.tokenizer_id = models.tokenizer_id
            )
        )
"""
_RUN = """
    select runs.run_id, runs.job_version, runs.parameters
    from store.runs as runs
    inner join store.models as models on models.model_id = runs.model_id
    where models.name = $model and runs.run_key = $run_key
"""


@dataclass(frozen=True)
class EarlierRuns:
    """Runs of some jobs on one model, all that read text on one corpus."""

    warehouse: Warehouse  # what holds them, or will when they are asked for rows
    model: str  # the model's name
    keys: Mapping[str, str] = field(default_factory=dict)  # job -> key of its run

    @classmethod
    def finished(
        cls, warehouse: Warehouse, model: str, corpus: Corpus, *, jobs: Mapping[str, int | None]
    ) -> "EarlierRuns":
        """Those of the jobs that are finished, in their present versions.

        Args:
            warehouse: what holds them.
            model: the model's name.
            corpus: the text.
            jobs: job -> its present version; None for whatever version there is.
        """
        if not warehouse.exists():
            return cls(warehouse, model)
        values = {"model": model, "sha256": corpus.sha256, "sequence_length": corpus.sequence_length}
        with warehouse.current_reader() as connection:
            rows = connection.execute(_FINISHED, values).fetchall()
        keys = {str(job): str(key) for job, key, version in rows if job in jobs and jobs[job] in (None, version)}
        return cls(warehouse, model, keys)

    def has(self, *jobs: str) -> bool:
        """Whether all of these jobs are there."""
        return all(job in self.keys for job in jobs)

    def parameters(self, job: str) -> dict[str, Any]:
        """The parameters of one run."""
        values: dict[str, Any] = json.loads(self._run(job)["parameters"])
        return values

    def version(self, job: str) -> int:
        """The version of the job that made one run."""
        return int(self._run(job)["job_version"])

    def rows(self, query: str, job: str, **values: Any) -> pl.DataFrame:
        """Rows of a query about one run, whose id is bound to $run_id."""
        run_id = self._run(job)["run_id"]
        with self.warehouse.current_reader() as connection:
            return as_frame(connection.sql(query, params={"run_id": run_id, **values}))

    def _run(self, job: str) -> dict[str, Any]:
        named = {"model": self.model, "run_key": self.keys[job]}
        with self.warehouse.current_reader() as connection:
            row: dict[str, Any] = as_frame(connection.sql(_RUN, params=named)).row(0, named=True)
        return row
