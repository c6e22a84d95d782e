"""Matrices of shortcuts: a trace of a published catalog reads states through those that were published."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek import Neurothek
from neurothek.catalog.hub import catalog
from neurothek.catalog.problems import Unavailable, Unreadable
from tests.support import ingests
from tests.support.counted import CountedStore
from tests.support.models import build
from tests.support.shortcuts import write_sentences

pytestmark = pytest.mark.long

PROMPT = "one two school"


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("matrices")
    return build(folder / "tiny", "opt", d_ffn=32)


@pytest.fixture(scope="module")
def measured(weights: Path) -> Neurothek:
    """A model with shortcuts."""
    warehouse = ingests.open_warehouse(weights.parent / "w.duckdb")
    asked = ingests.request((write_sentences(weights.parent, n=80),), jobs=("projections", "shortcuts"))
    ingests.measure(warehouse, weights, asked)
    return neurothek.open(weights.parent / "w.duckdb")


@pytest.fixture
def place(measured: Neurothek, tmp_path: Path, in_memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch) -> str:
    measured.publish(to=tmp_path / "catalog")
    in_memory.put(str(tmp_path / "catalog"), "/there", recursive=True)
    monkeypatch.setattr(catalog, "_OPENED", {})
    return "counted://there"


def test_a_trace_reads_states_through_published_matrices(
    measured: Neurothek, weights: Path, place: str, tmp_path: Path
) -> None:
    expected = measured.trace("tiny", PROMPT, lens="mat")
    assert expected.states.height
    for there in (place, str(tmp_path / "catalog")):
        page = neurothek.open(there).trace("tiny", PROMPT, lens="mat", weights=weights)
        assert page.states.equals(expected.states)
    assert np.array_equal(neurothek.open(place).shortcut("tiny", state=1), measured.shortcut("tiny", state=1))


def test_a_matrix_is_fetched_once(place: str) -> None:
    matrix = neurothek.open(place).shortcut("tiny", state=0)
    CountedStore.requests.clear()
    assert np.array_equal(neurothek.open(place).shortcut("tiny", state=0), matrix)
    assert CountedStore.requests == []


def test_one_that_was_not_published_is_one_sentence(measured: Neurothek, tmp_path: Path) -> None:
    folder = measured.warehouse.maps
    hidden = folder.with_name("hidden")
    folder.rename(hidden)
    measured.publish(to=tmp_path / "without")
    hidden.rename(folder)
    with pytest.raises(
        Unavailable, match=r"the matrix of tiny from state 0 to state 2 was not published at .*; trace without the lens"
    ) as refusal:
        neurothek.open(tmp_path / "without").trace("tiny", PROMPT, lens="mat")
    (command,) = re.findall("`neurothek ([^`]*)`", str(refusal.value))
    copied = shlex.split(command.replace("FILE", str(tmp_path / "copied.duckdb")))
    assert CliRunner().invoke(neurothek.main, copied).exit_code == 0


@pytest.mark.parametrize("change", ["longer", "other", "link"])
def test_one_of_a_strangers_that_is_another_is_refused(change: str, place: str, tmp_path: Path) -> None:
    (file,) = (tmp_path / "catalog").rglob("0000-*.safetensors")
    content = file.read_bytes()
    if change == "link":
        (tmp_path / "secret").write_bytes(content)
        file.unlink()
        file.symlink_to(tmp_path / "secret")
    else:
        file.write_bytes(content + b"more" if change == "longer" else content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(Unreadable, match="cannot be read as a catalog: its shortcuts/"):
        neurothek.open(tmp_path / "catalog").shortcut("tiny", state=0)
