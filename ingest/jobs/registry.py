"""All jobs by name, in the order in which they are measured. A job is one line here, and one folder."""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Names of jobs are asked for before anything large is loaded.
    from neurothek.ingest.jobs.job import Job


@dataclass(frozen=True)
class Entry:
    """What is known of a job before it is loaded."""

    place: str  # module and class
    reads_text: bool = True  # whether it reads a corpus, or only weights
    # whether a model that fills in masked tokens can be asked for it; others need the next token
    fits_masked: bool = False
    is_of_pairs: bool = False  # whether it is about two models of the warehouse, and not about one that is measured
    is_of_query: bool = False  # whether it is about neurons that a query finds, so that no `ingest` can be asked for it
    needs_signs: bool = False  # whether only a model can be asked for it whose coefficients have either sign
    tokenizes: bool = False  # whether it tokenizes sentences or prompts itself, beside the ids of the corpus


JOBS: Mapping[str, Entry] = {
    "projections": Entry("neurothek.ingest.jobs.projections.job:ProjectionsJob", reads_text=False, fits_masked=True),
    "keys": Entry("neurothek.ingest.jobs.keys.job:KeysJob", reads_text=False, fits_masked=True),
    "clusters": Entry("neurothek.ingest.jobs.clusters.job:ClustersJob", reads_text=False, fits_masked=True),
    "activity": Entry("neurothek.ingest.jobs.activity.job:ActivityJob"),
    "contexts": Entry("neurothek.ingest.jobs.contexts.job:ContextsJob"),
    "poles": Entry("neurothek.ingest.jobs.poles.job:PolesJob", needs_signs=True),
    "ngrams": Entry("neurothek.ingest.jobs.ngrams.job:NgramsJob"),
    "positions": Entry("neurothek.ingest.jobs.positions.job:PositionsJob"),
    "controls": Entry("neurothek.ingest.jobs.controls.job:ControlsJob"),
    "selectivity": Entry("neurothek.ingest.jobs.selectivity.job:SelectivityJob"),
    "massive": Entry("neurothek.ingest.jobs.massive.job:MassiveJob"),
    "entropy": Entry("neurothek.ingest.jobs.entropy.job:EntropyJob"),
    "output_scores": Entry("neurothek.ingest.jobs.output_scores.job:OutputScoresJob", tokenizes=True),
    "events": Entry("neurothek.ingest.jobs.events.job:EventsJob", tokenizes=True),
    "shortcuts": Entry("neurothek.ingest.jobs.shortcuts.job:ShortcutsJob", fits_masked=True, tokenizes=True),
    "exits": Entry("neurothek.ingest.jobs.exits.job:ExitsJob", fits_masked=True, tokenizes=True),
    "counterparts": Entry(
        "neurothek.ingest.jobs.counterparts.job:CounterpartsJob", reads_text=False, fits_masked=True, is_of_pairs=True
    ),
    "universality": Entry("neurothek.ingest.jobs.universality.job:UniversalityJob", is_of_pairs=True),
    "interventions": Entry("neurothek.ingest.jobs.interventions.job:InterventionsJob", is_of_query=True),
    "continuations": Entry(
        "neurothek.ingest.jobs.continuations.job:ContinuationsJob", is_of_query=True, tokenizes=True
    ),
    "neuron_effects": Entry("neurothek.ingest.jobs.neuron_effects.job:NeuronEffectsJob", is_of_query=True),
    "contrasts": Entry("neurothek.ingest.jobs.contrasts.job:ContrastsJob", is_of_query=True, tokenizes=True),
}

NAMES = tuple(name for name, entry in JOBS.items() if not entry.is_of_pairs and not entry.is_of_query)
"""The jobs on one model."""

QUERY_NAMES = tuple(name for name, entry in JOBS.items() if entry.is_of_query)
"""The jobs on neurons of one model that a query finds."""

ON_MODELS = (*NAMES, *QUERY_NAMES)

PAIR_NAMES = tuple(name for name, entry in JOBS.items() if entry.is_of_pairs)
"""The jobs on two models."""

OF_MASKED = tuple(name for name in NAMES if JOBS[name].fits_masked)
OF_SIGNS = tuple(name for name in NAMES if JOBS[name].needs_signs)
OF_WEIGHTS = tuple(name for name, entry in JOBS.items() if not entry.reads_text)


def job_class(name: str) -> "type[Job[Any]]":
    """The class of a job, loaded when it is asked for."""
    job: type[Job[Any]] = pkgutil.resolve_name(JOBS[name].place)
    return job
