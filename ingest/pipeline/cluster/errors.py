"""Errors of a cluster that its driver and its workers share."""

from neurothek.catalog.problems import Conflict, Failed, LimitExceeded, Unavailable


def no_cluster(address: str, reason: str) -> Unavailable:
    """No cluster at an address, or none that lets us in."""
    return Unavailable(
        f"no Ray cluster can be joined at {address} ({reason})",
        "start one with `ray start --head`, give all its machines and this one the same token, or leave out --address"
        " for a cluster on this machine alone",
        what="cluster",
        name=address,
        why=reason,
    )


def cluster_too_small(workers: str, room: str) -> LimitExceeded:
    """Fewer places than workers."""
    return LimitExceeded(
        f"the cluster cannot hold {workers}: it has {room}",
        "ask for fewer --workers or --gpus-per-worker, set OMP_NUM_THREADS to fewer threads a worker, or add machines",
        what="workers",
    )


def worker_differs(machine: str, what: str, theirs: str, ours: str) -> Conflict:
    """A worker would measure something else."""
    return Conflict(
        f"the worker on {machine} has {what} {theirs}, and this machine has {ours}",
        "give all machines the same, then repeat the command: finished work is kept",
        what="worker",
        name=machine,
    )


def worker_refused(machine: str, problem: str) -> Failed:
    """A worker cannot open the model."""
    return Failed(f"the worker on {machine} cannot measure: {problem}", what="worker", why=problem)


def workers_lost(n: int, reason: str) -> Failed:
    """Workers do not live long enough to begin."""
    return Failed(
        f"{n} workers in a row ended before they could begin ({reason})",
        "check the cluster's machines and their memory, then repeat the command: finished work is kept",
        what="workers",
        why=reason,
    )
