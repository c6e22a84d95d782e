"""What all tests share: nothing of the person's own caches, no network, one thread a process, and tiny models."""

import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support.libraries import LIBRARIES
from tests.support.rings import is_outer

# Before any library reads them: it happens when test modules are collected, earlier than any fixture.
CACHES = tempfile.TemporaryDirectory(prefix="neurothek-tests-")
os.environ["XDG_CACHE_HOME"] = CACHES.name
# The workers of a run get it from the process that starts them.
os.environ.setdefault("NEUROTHEK_TEST_TEMPLATES", str(Path(CACHES.name) / "templates"))
os.environ["HF_HOME"] = str(Path(CACHES.name) / "huggingface")
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"  # nobody listens there: an accidental request fails at once
os.environ["OMP_NUM_THREADS"] = "1"
os.environ.pop("HF_HUB_OFFLINE", None)  # a person's own choice would answer before the hub in miniature does


class LibrariesFirst(MetaPathFinder):
    """Loads the libraries of `ingest` before it.

    jaxtyping gives the bytecode of what it instruments another name, and of all that is imported meanwhile: 2,700
    modules of libraries would be compiled in every process.
    """

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Find nothing; of the package itself, be reminded of its libraries."""
        if name == "neurothek.ingest" and self in sys.meta_path:
            sys.meta_path.remove(self)
            for library in LIBRARIES:
                import_module(library)


sys.meta_path.insert(0, LibrariesFirst())

# A machine that does something else at the same time is no counterexample.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """What was imported stays: the collector of garbage need not look through it again and again."""
    gc.collect()
    gc.freeze()


_MAIN = sys.modules["__main__"]


@pytest.fixture(autouse=True)
def own_main() -> Iterator[None]:
    """Streamlit's AppTest leaves a page's script as the main module, which children would run before their own work."""
    yield
    sys.modules["__main__"] = _MAIN


@pytest.fixture
def at_a_terminal() -> Iterator[None]:
    """Ctrl-C is heard, whatever other tests made of it: what a shell starts in the background ignores it, for one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a random model of two layers and its tokenizer, for each kind that `tests.support.models` knows."""
    # Here, because it imports torch and transformers, which most tests do without.
    from tests.support.models import GEMMAS, KINDS, NEAR_LLAMA, build  # noqa: PLC0415

    root = tmp_path_factory.mktemp("models")
    return {kind: build(root / f"tiny-{kind}", kind) for kind in (*KINDS, "neox_sequential", *GEMMAS, *NEAR_LLAMA)}


@pytest.fixture(scope="session", autouse=True)
def _created_once() -> Iterator[None]:
    """An empty warehouse is made once and copied after that, which saves a second in hundreds of tests.

    A writer brings the copy up to date like any older file, so that a test may change what is to be installed.
    """
    # Here, because the variables above have to be set before anything of ours is read.
    from neurothek.catalog.store.warehouse import Warehouse  # noqa: PLC0415
    from tests.support.templates import copy_of  # noqa: PLC0415

    create = Warehouse._create

    def copy(warehouse: Warehouse) -> None:
        fresh = warehouse.path.with_name(f".{warehouse.path.name}.{os.getpid()}.new")
        with warehouse._full_disk():
            name = "bare" if warehouse.views is None else "views"
            copy_of(name, lambda path: create(replace(warehouse, path=path)), fresh)
            fresh.replace(warehouse.path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Warehouse, "_create", copy)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the outer ring, let one worker have all of a module, and begin with what takes longest."""
    for item in items:
        if is_outer(item):
            item.add_marker(pytest.mark.outer)
        is_alone = item.get_closest_marker("long") is not None or item.get_closest_marker("xdist_group") is not None
        if not is_alone and isinstance(item, pytest.Function):
            # Or each worker makes what the module's tests share.
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
    # Tests of a module may build on what those before them did: their order stays.
    first = {item.path for item in items if item.get_closest_marker("long") is not None}
    items.sort(key=lambda item: item.path not in first)


@pytest.fixture(autouse=True)
def _no_process_in_the_inner_ring(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the inner ring is run alone, fail a test that starts a process which nobody foresaw."""
    if "not outer" in request.config.option.markexpr:
        monkeypatch.setattr("subprocess.Popen.__init__", _refuse_process)


def _refuse_process(*command: object, **_: object) -> None:
    raise AssertionError(f"a test of the inner ring starts {command[1:]}; tests/support/rings.py must find out")
