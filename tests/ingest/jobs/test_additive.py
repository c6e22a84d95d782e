"""What jobs share that add to what the warehouse has: the sentence about other settings."""

from neurothek.ingest.jobs.additive import AdditiveJob, other_settings
from neurothek.ingest.jobs.continuations.job import ContinuationsJob
from neurothek.ingest.jobs.interventions.job import InterventionsJob
from neurothek.ingest.jobs.neuron_effects.job import NeuronEffectsJob


def test_other_settings_say_what_to_repeat_and_what_to_remove() -> None:
    said = str(other_settings("neuron_effects", "opt", {"tokens": 90, "sets": 2}))
    assert "measured with --tokens 90 --sets 2; repeat these" in said
    assert "`neurothek remove opt --job neuron_effects`" in said


def test_jobs_on_what_a_query_finds_add() -> None:
    for job in (InterventionsJob, ContinuationsJob, NeuronEffectsJob):
        assert issubclass(job, AdditiveJob)
