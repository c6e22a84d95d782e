"""A kept matrix as a file: the same bytes in every process, and read only if it is the one that was kept."""

import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from neurothek.catalog.problems import Damaged, Unavailable
from neurothek.catalog.store.matrices import StoredMatrix
from neurothek.catalog.store.matrix_files import TENSOR, as_file, matrix_of

MATRIX = np.array([[1.5, -0.0, 3e38], [1e-45, 0.1, -1.0], [0.0, 2.0, 4.0]], np.float32)


def kept(content: bytes) -> StoredMatrix:
    return StoredMatrix(
        model="tiny",
        corpus="text",
        corpus_id=0,
        recipe='{"sequence_length": 64}',
        run_key="a" * 64,
        parameters="{}",
        dtype="float32",
        source_state=0,
        target_state=3,
        sha256=hashlib.sha256(content).hexdigest(),
        n_bytes=len(content),
    )


def put(one: StoredMatrix, folder: Path, content: bytes) -> None:
    path = one.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_a_matrix_comes_back_bit_for_bit(tmp_path: Path) -> None:
    content = as_file(MATRIX, source=0, target=3)
    one = kept(content)
    put(one, tmp_path, content)
    back = matrix_of(one, tmp_path)
    assert back.dtype == np.float32
    assert back.tobytes() == MATRIX.tobytes()


def test_its_bytes_are_the_same_in_every_process() -> None:
    """Else a matrix that is measured again would have another fingerprint."""
    code = (
        "import hashlib, numpy as np; from neurothek.catalog.store.matrix_files import as_file;"
        "print(hashlib.sha256(as_file(np.eye(4, dtype=np.float32), source=1, target=2)).hexdigest())"
    )
    root = Path(__file__).parents[3]
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {hashlib.sha256(as_file(np.eye(4, dtype=np.float32), source=1, target=2)).hexdigest()}


def test_what_is_missing_is_told_with_the_command_that_makes_it_again(tmp_path: Path) -> None:
    one = kept(b"matrix")
    with pytest.raises(Unavailable, match=r"the matrix .* is missing") as refused:
        matrix_of(one, tmp_path)
    assert str(one.path(tmp_path)) in str(refused.value)
    assert str(refused.value).endswith(f"`{one.again()}`")


def other(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("n_left", [0, 1, 20])
def test_a_file_that_is_another_is_not_read(tmp_path: Path, n_left: int) -> None:
    content = as_file(MATRIX, source=0, target=3)
    one = kept(content)
    for changed in (other(content), content[:n_left], content + b"\0"):
        put(one, tmp_path, changed)
        with pytest.raises(Damaged, match="changed or damaged") as refused:
            matrix_of(one, tmp_path)
        assert one.again() in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"no tensors", save({f"another {TENSOR}": MATRIX})])
def test_a_file_that_never_held_a_matrix_is_told_alike(tmp_path: Path, content: bytes) -> None:
    """Its fingerprint is the one that was kept: somebody kept something else."""
    one = kept(content)
    put(one, tmp_path, content)
    with pytest.raises(Damaged, match="changed or damaged"):
        matrix_of(one, tmp_path)
