"""How long jobs take, from the runs of other models: planted times, counted once where they overlap."""

from datetime import datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from neurothek.queries.names.durations import about, estimated
from tests.support import warehouse as made

START = datetime(2026, 1, 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of 100, 200 and 1,000 parameters; of the last nothing was measured."""
    path = tmp_path_factory.mktemp("durations") / "runs.duckdb"
    made.create_empty(path)
    source = made.hand_made().rows
    runs = [
        # A pass that two jobs share, and one that begins before its end.
        (0, "activity", 0, 60),
        (0, "ngrams", 0, 60),
        (0, "events", 50, 90),
        (1, "activity", 0, 100),
        (1, "activity", 500, 530),
    ]
    with duckdb.connect(str(path)) as connection:
        for number, (name, size) in enumerate((("a", 100), ("b", 200), ("c", 1000))):
            sizes = {"n_parameters": size, "n_parameters_embedding": 0, "size": size}
            made.insert(connection, "models", [source["models"][0] | {"model_id": number, "name": name} | sizes])
        for number, (model_id, job, first, last) in enumerate(runs):
            times = {"started_at": START + timedelta(seconds=first), "finished_at": START + timedelta(seconds=last)}
            what = {"run_id": number, "run_key": str(number), "model_id": model_id, "job": job}
            made.insert(connection, "runs", [source["runs"][1] | what | times])
    return path


@pytest.mark.parametrize(
    ("models", "jobs", "seconds", "measured"),
    [
        # The nearest in size that ran all; its last run counts.
        (["c"], ["activity"], 30 * 5, ("b",)),
        (["c"], ["activity", "ngrams"], 60 * 10, ("a",)),
        (["c"], ["activity", "ngrams", "events"], 90 * 10, ("a",)),
        (["b", "c"], ["events"], 40 * 2 + 40 * 10, ("a",)),
        (["a", "b"], ["activity"], 60 + 30, ("a", "b")),
    ],
)
def test_times_go_with_parameters(
    path: Path, models: list[str], jobs: list[str], seconds: float, measured: tuple[str, ...]
) -> None:
    with duckdb.connect(str(path), read_only=True) as connection:
        found = estimated(connection, models, jobs)
    assert found is not None
    assert found.seconds == pytest.approx(seconds)
    assert found.measured == measured


def test_a_job_that_no_model_ran_has_no_time(path: Path) -> None:
    with duckdb.connect(str(path), read_only=True) as connection:
        assert estimated(connection, ["c"], ["shortcuts"]) is None
        assert estimated(connection, ["c"], ["activity", "shortcuts"]) is None


def test_times_in_words(subtests: pytest.Subtests) -> None:
    for seconds, said in [
        (0.4, "a few seconds"),
        (9.9, "a few seconds"),
        (12, "about 10 seconds"),
        (43, "about 45 seconds"),
        (61, "about 1 minute"),
        (150, "about 2 minutes"),
        (1500, "about 25 minutes"),
        (3599, "about 60 minutes"),
        (3700, "about 1 hour"),
        (100 * 3600, "about 100 hours"),
    ]:
        with subtests.test(seconds=seconds, said=said):
            assert about(seconds) == said
