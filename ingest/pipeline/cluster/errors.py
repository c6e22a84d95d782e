"""What a cluster refuses, or cannot finish."""

from collections.abc import Sequence

from neurothek.catalog.errors import NeurothekError


class ClusterUnreachable(NeurothekError):
    """No cluster at an address, or none that lets us in."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"no Ray cluster can be joined at {address} ({reason}); start one with `ray start --head`, give all its"
            " machines and this one the same token, or leave out --address for a cluster on this machine alone"
        )


class ClusterTooSmall(NeurothekError):
    """Fewer places than workers."""

    def __init__(self, asked: str, room: str) -> None:
        super().__init__(
            f"the cluster cannot hold {asked}: it has {room}; ask for fewer --workers or --gpus-per-worker, set"
            " OMP_NUM_THREADS to fewer threads a worker, or add machines"
        )


class WorkerDiffers(NeurothekError):
    """A worker that would measure something else."""

    def __init__(self, machine: str, what: str, there: str, here: str) -> None:
        super().__init__(
            f"the worker on {machine} has {what} {there}, and this machine has {here}; give all machines the same, then"
            " repeat the command: what is finished is kept"
        )


class WorkerRefused(NeurothekError):
    """A worker that cannot open the model."""

    def __init__(self, machine: str, problem: str) -> None:
        super().__init__(f"the worker on {machine} cannot measure: {problem}")


class RunTaken(NeurothekError):
    """A worker whose run belongs to another driver by now."""

    def __init__(self, job: str) -> None:
        super().__init__(
            f"another process has taken up the run of {job}; let it finish, or stop it and repeat the command"
        )


class WorkersLost(NeurothekError):
    """A cluster on which workers do not live long enough to begin."""

    def __init__(self, n: int, reason: str) -> None:
        super().__init__(
            f"{n} workers in a row ended before they could begin ({reason}); what is finished is kept: look at the"
            " cluster's machines and their memory, then repeat the command"
        )


class PartsFailed(NeurothekError):
    """Some parts cannot be measured; the others are finished."""

    def __init__(self, parts: Sequence[tuple[str, str]], *, tries: int) -> None:
        name, reason = parts[0]
        others = (
            f" (and {len(parts) - 1} other parts: {', '.join(part for part, _ in parts[1:6])})" if parts[1:] else ""
        )
        super().__init__(
            f"{name} failed {tries} times on the workers: {reason}{others}; the other parts are finished and kept, and"
            " repeating the command measures only what is missing"
        )
