"""What a plan says of workers: how they would share a model, and for how long."""

import torch

from neurothek.ingest.amounts import in_number
from neurothek.ingest.numerics.gpu_memory import OF_A_GPU
from neurothek.ingest.pipeline.cluster.placement import Placement, share_for_sweep
from neurothek.ingest.planning.agenda import Prepared
from neurothek.ingest.planning.model_plan import Estimate, in_gb, in_hours
from neurothek.ingest.request import IngestRequest, default_memory


def by_workers(prepared: Prepared, estimate: Estimate | None) -> tuple[tuple[str, str], ...]:
    """Entries of a plan: how the workers that are asked for would share the layers, and how long they would take.

    The cluster is not looked at: workers are taken to be like this machine.

    Args:
        prepared: the model and its text.
        estimate: how long one process would take; None where that is not known.
    """
    work, corpus = prepared.work, prepared.corpus
    n_workers, memory = work.request.workers or 1, memory_of_each(work.request)
    jobs = [job.name for job, _ in prepared.agenda.texts]
    text, speed = f"{in_number(n_workers, 'worker')} with {in_gb(memory)} each", float(n_workers)
    if corpus is not None and jobs:
        placement = share_for_sweep(work, corpus, jobs, memory_bytes=memory, n_workers=n_workers)
        text += f"; {_shared(placement)}, since {placement.why}"
        speed = _at_once(placement, len(corpus.chunks()))
    entries = [("workers", text)]
    if estimate is not None:
        n_at_once = min(n_workers, work.transformer.shape.n_layers)
        shared = estimate.sweep_seconds / speed + estimate.other_seconds / n_at_once
        alone = in_hours(estimate.alone_seconds / 3600)
        hours = in_hours((shared + estimate.alone_seconds) / 3600)
        text = f"about {hours} with such workers that share the staging folder, {alone} of it in this process alone"
        entries.append(("time there", text))
    return tuple(entries)


def memory_of_each(request: IngestRequest) -> int:
    """What each worker may take.

    Of a GPU like this machine's; else what a person says; else half of this machine's memory, shared where all are on
    it.
    """
    share = 0.0 if request.device == "cpu" else 1.0 if request.gpus_per_worker is None else request.gpus_per_worker
    if share and torch.cuda.is_available():
        return int(OF_A_GPU * min(1.0, share) * torch.cuda.get_device_properties(0).total_memory)
    if request.memory_bytes != default_memory() or request.address is not None:
        return request.memory_bytes
    return request.memory_bytes // (request.workers or 1)


def _shared(placement: Placement) -> str:
    if len(placement.stages) == 1:
        return "chunks outside" if placement.is_resident else "chunks outside, weights read layer by layer"
    lanes = "" if placement.n_lanes == 1 else f", {placement.n_lanes} beside each other"
    return f"layers outside in a pipeline of {len(placement.stages)}{lanes}"


def _at_once(placement: Placement, n_chunks: int) -> float:
    """How many workers work at once on average: a pipeline fills and empties, and chunks are not divided."""
    n_stages = len(placement.stages)
    rounds = -(-n_chunks // placement.n_lanes) + n_stages - 1
    return n_chunks * n_stages / rounds
