"""How long jobs are likely to take on models, from how long they took on others of the warehouse."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import duckdb

from neurothek.queries.ask.statements import records

_RUN_TIMES = """\
-- When some jobs ran on which models last, and how large these are; the models asked for are there without runs too.
with ran as (
    select
        model_id,
        job,
        max_by(started_at, finished_at) as started_at,
        max(finished_at) as finished_at,
    from store.runs
    where list_contains($jobs::varchar[], job) and other_model_id is null
    group by model_id, job
)
select
    models.name as model,
    models.n_parameters,
    ran.job,
    ran.started_at,
    ran.finished_at,
from store.models as models
left join ran on ran.model_id = models.model_id
where ran.job is not null or list_contains($models::varchar[], models.name)
order by models.name, ran.job
"""

_UNITS = ((1, "second"), (60, "minute"), (3600, "hour"))
_UNITS_UP = 60
"""So many of a unit are told in the next one."""

_FEW = 10
"""Up to so many of a unit are told to the next one; more to the next five or ten."""


@dataclass(frozen=True)
class Duration:
    """An estimate: the time that jobs took on a model of the warehouse, times the ratio of parameters."""

    seconds: float  # for all of the models together
    measured: tuple[str, ...]  # names of the models whose runs it rests on, in order

    @property
    def in_words(self) -> str:
        """About how long."""
        return about(self.seconds)


def estimated(connection: duckdb.DuckDBPyConnection, models: Sequence[str], jobs: Sequence[str]) -> Duration | None:
    """How long jobs would take on models; None where one of the jobs was run on no model.

    For each model the runs of that model of the warehouse count whose number of parameters is nearest by ratio, among
    those on which all of the jobs were run; runs of one model that went on at the same time are counted once, as jobs
    share a pass over the text. That time goes with parameters is this project's rule; a text of another length takes
    another time.

    Args:
        connection: a reader.
        models: their names.
        jobs: names of the jobs, which are about one model each.
    """
    rows = records(connection, _RUN_TIMES, {"models": list(models), "jobs": list(jobs)})
    parameters = {row["model"]: row["n_parameters"] for row in rows}
    ran: dict[str, dict[str, tuple[datetime, datetime]]] = {}
    for row in rows:
        if row["job"] is not None:
            ran.setdefault(row["model"], {})[row["job"]] = row["started_at"], row["finished_at"]
    whole = [model for model, times in ran.items() if set(times) == set(jobs)]
    if not whole:
        return None
    seconds, measured = 0.0, []
    for model in models:
        ratios = {one: parameters[model] / parameters[one] for one in whole}
        nearest = min(ratios, key=lambda one: (abs(math.log(ratios[one])), one))
        seconds += ratios[nearest] * _covered(ran[nearest].values())
        measured.append(nearest)
    return Duration(seconds, tuple(dict.fromkeys(measured)))


def about(seconds: float) -> str:
    """A time in words, to one digit or two."""
    if seconds < _FEW:
        return "a few seconds"
    unit, name = next((unit, name) for unit, name in _UNITS if seconds < _UNITS_UP * unit or name == "hour")
    number = seconds / unit
    rounded = max(1, round(number)) if number < _FEW else 5 * round(number / 5)
    return f"about {rounded:,} {name}{'s' * (rounded != 1)}"


def _covered(times: Iterable[tuple[datetime, datetime]]) -> float:
    """Seconds that lie within any of the times."""
    seconds, end = 0.0, datetime.min
    for first, last in sorted(times):
        seconds += max(0.0, (last - max(first, end)).total_seconds()) if last > end else 0.0
        end = max(end, last)
    return seconds
