"""What was measured of a model: of what was not, how long it took for the model where it took longest."""

import re
from datetime import datetime, timedelta

import polars as pl

from neurothek.dashboards.parts.explore.measured_jobs import JOBS, Measured, line_html, measured, to_pair_with, took
from neurothek.ingest.jobs import registry

UNLISTED = {"continuations", "contrasts"}
"""Measured with the interventions, whose line tells of both."""

START = datetime(2026, 1, 2)


def run(model: str, job: str, seconds: float) -> dict[str, object]:
    return {"model": model, "job": job, "started_at": START, "finished_at": START + timedelta(seconds=seconds)}


RUNS = pl.DataFrame(
    [
        run("small", "activity", 5),
        run("small", "activity", 9),
        run("large", "activity", 700),
        run("large", "events", 700),
        run("small", "events", 50),
        run("large", "clusters", 99),
    ]
)


def test_each_job_has_its_last_time_or_the_longest_of_others() -> None:
    known = {job.name: job for job in measured(RUNS, "new")}
    assert list(known) == list(JOBS)
    assert known["activity"] == Measured("activity", None, 700.0, "large")
    assert known["positions"] == Measured("positions", None)
    own = {job.name: job for job in measured(RUNS, "small")}
    assert own["activity"].finished == START + timedelta(seconds=9)
    assert own["clusters"] == Measured("clusters", None, 99.0, "large")


def test_a_time_is_told_in_the_unit_that_people_count_in() -> None:
    told = [took(Measured("events", None, seconds, "large")) for seconds in (4.4, 99, 100, 700)]
    assert told == [f" (took {length} for large)" for length in ("4 s", "99 s", "2 min", "12 min")]
    assert took(Measured("events", None)) == ""


def test_what_was_measured_and_what_was_not_are_two_sentences() -> None:
    drawn = line_html([Measured("activity", START), Measured("neuron_effects", None), Measured("keys", START)])
    text = re.sub(r"<[^>]*>", "", drawn.partition("</style>")[2]).strip()
    assert text == "Measured: activity, keys. Not measured: neuron effects."
    assert drawn.count("measured 2026-01-02") == 2
    assert "Not measured" not in line_html([Measured("activity", START)])


def test_only_models_with_lists_are_compared() -> None:
    ran = pl.DataFrame([run("small", "projections", 1), run("large", "projections", 1), run("bare", "activity", 1)])
    assert to_pair_with(ran, "small", ["bare", "large"]) == "large"
    assert to_pair_with(ran, "small", ["bare"]) is None
    assert to_pair_with(ran, "bare", ["small", "large"]) is None
    assert to_pair_with(ran, "small", []) is None


def test_every_job_of_the_registry_is_told_of() -> None:
    assert registry.JOBS.keys() - JOBS.keys() == UNLISTED
    assert JOBS.keys() <= registry.JOBS.keys()
