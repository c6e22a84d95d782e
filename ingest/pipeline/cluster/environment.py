"""The variables by which Ray is told what it asks for while it is imported."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_SAID = {
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
    return {} if "ray" in sys.modules else {**_SAID, _TOKEN: secrets.token_hex(32)}


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
