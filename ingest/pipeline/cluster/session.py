"""Ray started on this machine, or a cluster joined, and left again."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import ray

from neurothek.ingest.pipeline.cluster.errors import cluster_too_small, no_cluster

OBJECT_STORE_BYTES = 1 << 30
"""Shared memory of a cluster on this machine, at most; parts go through it one by one."""


_LISTENER_SECONDS = 5.0


@dataclass(frozen=True)
class WorkerRequest:
    """What workers take of a cluster."""

    address: str | None  # where it is; None: one is started on this machine
    n_workers: int | None  # how many workers; None: one a GPU, or one where there are none
    n_gpus: float | None  # GPUs of each; None: one if there are any
    n_threads: int  # CPUs of each


@dataclass(frozen=True)
class Room:
    """What the workers get."""

    n_workers: int  # how many there are
    n_gpus: float  # GPUs of each
    n_nodes: int  # machines of the cluster


@contextmanager
def joined(request: WorkerRequest, *, memory_bytes: int) -> Iterator[Room]:
    """Room in a cluster for the workers; a cluster of our own ends with it, another one is left."""
    if ray.is_initialized():
        yield _room(request)
        return
    try:
        if request.address is None:
            _start(request, memory_bytes)
        else:
            _join(request.address)
        yield _room(request)
    finally:
        ray.shutdown()


def _start(request: WorkerRequest, memory_bytes: int) -> None:
    """A cluster on this machine, with as many CPUs as its workers ask for: at most a worker a CPU that is there."""
    n_gpus, n_cpus = _gpus_here(), os.cpu_count() or 1
    n_workers = request.n_workers or max(1, n_gpus)
    if n_workers > n_cpus:
        raise cluster_too_small(f"{n_workers} workers", f"this machine with {n_cpus} CPUs")
    ray.init(
        # Else a cluster that runs here already would be joined.
        address="local",
        num_cpus=n_workers * request.n_threads,
        num_gpus=n_gpus,
        object_store_memory=max(100 << 20, min(OBJECT_STORE_BYTES, memory_bytes // 4)),
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        _node_ip_address="127.0.0.1",
    )


def _join(address: str) -> None:
    _require_listener(address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = str(error).partition("\n")[0].partition(". ")[0].rstrip(". ")
        raise no_cluster(address, reason or type(error).__name__) from error


def _require_listener(address: str) -> None:
    """Find out within seconds that nobody is there: Ray itself tries again for minutes."""
    host, colon, port = address.rpartition(":")
    if not colon:
        return
    try:
        with socket.create_connection((host, int(port)), timeout=_LISTENER_SECONDS):
            pass
    except (OSError, ValueError) as error:
        raise no_cluster(address, str(error)) from error


def _gpus_here() -> int:
    import torch

    return torch.cuda.device_count()


def _room(request: WorkerRequest) -> Room:
    """How many workers, by what the cluster has."""
    nodes: list[dict[str, Any]] = [node for node in ray.nodes() if node["Alive"]]
    has_gpus = any(node["Resources"].get("GPU", 0) >= 1 for node in nodes)
    n_gpus = request.n_gpus if request.n_gpus is not None else float(has_gpus)
    places = sum(_places(node["Resources"], request.n_threads, n_gpus) for node in nodes)
    n_workers = request.n_workers or places
    if places < max(1, n_workers):
        gpus = f" and {n_gpus:g} GPUs" if n_gpus else ""
        workers = f"{n_workers or 1} workers of {request.n_threads} CPUs{gpus} each"
        raise cluster_too_small(workers, f"{len(nodes)} machines with places for {places} of them")
    return Room(n_workers, n_gpus, len(nodes))


def _places(resources: dict[str, float], n_threads: int, n_gpus: float) -> int:
    cpus = int(resources.get("CPU", 0) // n_threads)
    return min(cpus, int(resources.get("GPU", 0) / n_gpus)) if n_gpus else cpus
