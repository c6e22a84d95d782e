"""How long turning neurons off one by one would take, before any is: estimated from one batch."""

import time
from collections import Counter
from dataclasses import replace
from math import ceil

import torch

from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.interventions.changed import changed_losses
from neurothek.ingest.interventions.first_batches import first_batches
from neurothek.ingest.interventions.plan import InterventionPlan
from neurothek.ingest.jobs.neuron_effects.job import NeuronEffectsJob
from neurothek.ingest.jobs.neuron_effects.single_losses import AT_ONCE, N_CONTROLS
from neurothek.ingest.models.transformer import Change, Transformer
from neurothek.ingest.planning.agenda import Prepared, prepare_model


def planned_with_hours(
    warehouse: Warehouse, planned: InterventionPlan, *, progress: Progress | None = None
) -> InterventionPlan:
    """The plan with the time that it would take on this machine."""
    prepared = prepare_model(warehouse, planned.request, planned.source, progress=progress or Silent())
    return replace(planned, hours=neuron_hours(prepared))


def neuron_hours(prepared: Prepared) -> float:
    """Hours for the neurons that are missing; 0 where none is.

    A neuron costs the blocks from its own on and what is read from the stream; each group of neurons that run side by
    side costs the untouched model once more.
    """
    job = next((job for job, _ in prepared.agenda.passes if isinstance(job, NeuronEffectsJob)), None)
    if job is None:
        return 0.0
    transformer, corpus, n_layers = prepared.work.transformer, job.context.corpus, job.context.shape.n_layers
    batches = [
        batch
        for domain in range(len(corpus.domains))
        for batch in first_batches(corpus, domain, n_tokens=job.tokens_per_domain)
    ]
    n_of = {layer: n + N_CONTROLS for layer, n in Counter(layer for layer, _ in job.missing()).items()}
    untouched = batch_seconds(transformer, batches[0], n_neurons=0)
    beside = (batch_seconds(transformer, batches[0], n_neurons=AT_ONCE) - untouched) / AT_ONCE
    block = max(0.0, untouched - beside) / max(1, n_layers - 1)
    seconds = sum(
        n * (beside + (n_layers - 1 - layer) * block) + ceil(n / AT_ONCE) * untouched for layer, n in n_of.items()
    )
    n_ids = [sum(batch.lengths) for batch in batches]
    return seconds * sum(n_ids) / n_ids[0] / 3600


def batch_seconds(transformer: Transformer, batch: RightPadded, *, n_neurons: int) -> float:
    """How long a batch takes through the model as it is, and without each of some neurons of its last layer."""
    last, off = transformer.shape.n_layers - 1, torch.zeros(1, device=transformer.device)
    n = min(n_neurons, transformer.shape.d_ffn)
    ways = [{last: Change(torch.tensor([neuron], device=transformer.device), off)} for neuron in range(n)]
    best = float("inf")
    # The first time loads weights, and pages of memory.
    for _ in range(2):
        started = time.perf_counter()
        float(changed_losses(transformer, batch, ways)[-1].nll.sum())
        best = min(best, time.perf_counter() - started)
    return best
