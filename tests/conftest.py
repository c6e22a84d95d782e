"""What all tests share: nothing of the person's own caches, no network, one thread a process, and tiny models."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Before any library reads them: it happens when test modules are collected, earlier than any fixture.
CACHES = tempfile.TemporaryDirectory(prefix="neurothek-tests-")
os.environ["XDG_CACHE_HOME"] = CACHES.name
os.environ["HF_HOME"] = str(Path(CACHES.name) / "huggingface")
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"  # nobody listens there: an accidental request fails at once
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("HF_HUB_OFFLINE", None)  # a person's own choice would answer before the hub in miniature does


# A machine that does something else at the same time is no counterexample.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a random model of two layers and its tokenizer, for each kind that `tests.support.models` knows."""
    # Here, because it imports torch and transformers, which most tests do without.
    from tests.support.models import KINDS, build  # noqa: PLC0415

    root = tmp_path_factory.mktemp("models")
    return {kind: build(root / f"tiny-{kind}", kind) for kind in (*KINDS, "neox_sequential")}
