"""How long turning neurons off one by one would take, before any is."""

from dataclasses import replace

from catalog.progress import Progress, Silent
from catalog.store.warehouse import Warehouse
from ingest.interventions.first_batches import first_batches
from ingest.interventions.planned import Planned
from ingest.jobs.neuron_effects.controls import N_CONTROLS
from ingest.jobs.neuron_effects.job import NeuronEffectsJob
from ingest.planning.agenda import Prepared, prepare_model
from ingest.planning.timing import block_flops, product_rate

_RATIO = 1.5
"""All of it takes so many times its matrix products: norms, attention and probabilities are the rest."""


def planned_with_hours(warehouse: Warehouse, planned: Planned, *, progress: Progress | None = None) -> Planned:
    """The plan with the time that it would take on this machine.

    Raises:
        NeurothekError: the model or its text cannot be opened.
    """
    prepared = prepare_model(warehouse, planned.request, planned.source, progress=progress or Silent())
    return replace(planned, hours=neuron_hours(prepared))


def neuron_hours(prepared: Prepared) -> float:
    """Hours for the neurons that are missing; 0 where none is."""
    job = next((job for job, _ in prepared.agenda.passes if isinstance(job, NeuronEffectsJob)), None)
    if job is None:
        return 0.0
    transformer, shape, corpus = prepared.work.transformer, job.context.shape, job.context.corpus
    n_tokens = sum(
        sum(batch.lengths)
        for domain in range(len(corpus.domains))
        for batch in first_batches(corpus, domain, n_tokens=job.tokens_per_domain)
    )
    head = 2 * shape.vocab_size * shape.d_model
    missing = job.missing()
    layers = {layer for layer, _ in missing}
    n_of = {layer: N_CONTROLS + sum(of == layer for of, _ in missing) for layer in layers}
    flops = n_tokens * sum(
        n * ((shape.n_layers - layer) * block_flops(shape, corpus.sequence_length) + head) for layer, n in n_of.items()
    )
    return _RATIO * flops / product_rate(transformer) / 3600
