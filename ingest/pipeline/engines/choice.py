"""The engine that a request asks for."""

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from neurothek.catalog.arguments import bad_argument
from neurothek.catalog.problems import Invalid, MissingExtra
from neurothek.ingest.request import IngestRequest

if TYPE_CHECKING:
    # What is wrong with a request is told before anything large is loaded.
    from neurothek.ingest.pipeline.engines.engine import Engine

import os
import secrets
import sys
from functools import cache


@contextmanager
def engine_for(request: IngestRequest) -> "Iterator[Engine]":
    """The engine of a request, which joins a cluster once something is to be measured, and leaves it at the end."""
    require_engine(request)
    if request.engine == "local":
        from neurothek.ingest.pipeline.engines.engine import LocalEngine

        yield LocalEngine()
        return
    with environment(is_own=request.address is None):
        # Ray is an extra, takes half a second to load, and reads the environment while it is loaded.
        from neurothek.ingest.pipeline.cluster.ray_engine import RayEngine

        with closing(RayEngine(request)) as engine:
            yield engine


def require_engine(request: IngestRequest) -> None:
    """Refuse an engine that is not installed, and options that it would not heed."""
    if request.engine == "ray":
        if find_spec("ray") is None:
            raise MissingExtra(
                "--engine ray needs the package ray, which is not installed",
                "run `pip install 'neurothek[ray]'`, or leave out --engine to measure in this process",
                what="engine",
                name="ray",
            )
        gpus = request.gpus_per_worker
        if gpus is not None and not math.isfinite(gpus):
            raise bad_argument("gpus_per_worker", gpus, "give a number such as 1 or 0.5")
        if request.address is not None and not request.address.strip():
            raise bad_argument("address", request.address, "give HOST:PORT or auto, or leave it out")
        if gpus is not None and {"cpu": gpus > 0, "cuda": gpus == 0}.get(request.device, False):
            raise Invalid(
                f"--device {request.device} and --gpus-per-worker {gpus:g} cannot both hold",
                "leave out one of the two",
                option="--gpus-per-worker",
                value=gpus,
            )
        return
    given = {
        "--address": request.address,
        "--workers": request.workers,
        "--gpus-per-worker": request.gpus_per_worker,
    }
    without = [name for name, value in given.items() if value is not None]
    if without:
        raise Invalid(
            f"{', '.join(without)} can only be given with --engine ray",
            f"add that, or leave {without[0]} out",
            option=without[0],
        )


_ENVIRONMENT = {
    # Whoever talks to the cluster proves that it knows the token.
    "RAY_AUTH_MODE": "token",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Whatever becomes of workers is told by us; Ray would write of it into the answer.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    "RAY_BACKEND_LOG_LEVEL": "error",
    # Workers without a GPU of their own must not see those of others.
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",
}
_TOKEN = "RAY_AUTH_TOKEN"  # noqa: S105 - the variable's name


@cache
def _ours() -> dict[str, str]:
    """What is said in this process, with one token for all clusters that are started here, since Ray remembers it."""
    return {} if "ray" in sys.modules else {**_ENVIRONMENT, _TOKEN: secrets.token_hex(32)}


@contextmanager
def environment(*, is_own: bool) -> Iterator[None]:
    """Say what a person did not say, and take it back at the end; where Ray was loaded before us, its settings stand.

    Args:
        is_own: whether the cluster is started here, so that nobody else has to know its token.
    """
    has_token = not is_own or _TOKEN in os.environ or f"{_TOKEN}_PATH" in os.environ
    given = {
        name: value for name, value in _ours().items() if name not in os.environ and not (name == _TOKEN and has_token)
    }
    os.environ.update(given)
    try:
        yield
    finally:
        for name in given:
            os.environ.pop(name, None)
