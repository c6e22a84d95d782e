"""What a GPU has no memory for is told in a sentence, and whatever else goes wrong passes as it is."""

import pytest
import torch

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.numerics.gpu_memory import OF_A_GPU, gpu_memory_told, planned_gpu_bytes


def test_a_full_gpu_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (1_250_000_000, 80_000_000_000))
    with pytest.raises(LimitExceeded) as caught, gpu_memory_told("measuring activity of tiny"):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\nmore")
    assert str(caught.value) == (
        "measuring activity of tiny needs more memory than the GPU has: of its 80.00 GB, 1.25 GB are free;"
        " make --batch-tokens smaller, end what else runs there, or use --dtype bfloat16 or --device cpu"
    )
    assert (caught.value.what, caught.value.limit) == ("gpu memory", 80_000_000_000)


def test_other_errors_pass() -> None:
    with pytest.raises(Invalid), gpu_memory_told("measuring"):
        raise Invalid("no", option="--jobs")
    with pytest.raises(RuntimeError, match="shapes"), gpu_memory_told("measuring"):
        raise RuntimeError("shapes do not fit")


def test_a_gpu_is_planned_with_what_nobody_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (10**9 * (1 + device.index), 80 * 10**9))
    assert planned_gpu_bytes(torch.device("cuda", 1)) == int(OF_A_GPU * 2e9)
    assert planned_gpu_bytes(torch.device("cpu")) is None
