"""The registry says of each job what its class does, and loads none that is not asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import neurothek.ingest.jobs
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.job import Job, PassJob, ShardJob, SweepJob, WeightsJob
from neurothek.ingest.jobs.pair_job import PairJob
from neurothek.ingest.jobs.shortcuts.fitting import METHOD_PARTS
from neurothek.ingest.jobs.shortcuts.methods import METHODS, OF_PARTS

SHARED = ("__init__", "__pycache__")


def test_an_entry_tells_what_the_class_does(subtests: pytest.Subtests) -> None:
    for name in registry.JOBS:
        with subtests.test(name=name):
            job = registry.job_class(name)
            assert issubclass(job, Job)
            assert job.name == name
            assert job.__module__ == f"neurothek.ingest.jobs.{name}.job"
            reads_text = job.opens_both if issubclass(job, PairJob) else issubclass(job, SweepJob | PassJob)
            assert registry.JOBS[name].reads_text == reads_text
            assert registry.JOBS[name].is_of_pairs == issubclass(job, PairJob)
            assert issubclass(job, WeightsJob | SweepJob | PassJob | PairJob)
            assert issubclass(job, ShardJob | SweepJob)


def test_every_folder_of_jobs_is_in_the_registry() -> None:
    folders = {path.name for path in Path(neurothek.ingest.jobs.__path__[0]).iterdir() if path.is_dir()}
    assert folders - set(SHARED) == set(registry.JOBS)


def test_names_are_known_before_anything_large_is_loaded() -> None:
    code = (
        "import sys; from neurothek.ingest.jobs import registry;"
        " print({'torch', 'polars', 'numpy'} & sys.modules.keys())"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "set()"


def test_the_shortcuts_of_parts_are_those_that_are_fitted() -> None:
    assert tuple(METHOD_PARTS) == OF_PARTS
    assert set(OF_PARTS) < set(METHODS)
