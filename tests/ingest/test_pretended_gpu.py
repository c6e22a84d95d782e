"""Every job on a made-up device beside the processor: nothing mixes the two, and no number changes."""

from pathlib import Path

import pytest

from neurothek.ingest.models import transformer
from tests.support.close_tables import assert_close
from tests.support.models import Kind
from tests.support.pretended_gpu import GPU, pretended_gpu
from tests.support.two_devices import build_both, measured

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", ["opt", "llama", "bert"])
def test_every_job_measures_the_same_on_another_device(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = build_both(tmp_path, kind)
    expected = measured(folder, kind, "cpu")
    require = transformer.require_device
    monkeypatch.setattr(transformer, "require_device", lambda named: GPU if named == "cuda" else require(named))
    with pretended_gpu():
        found = measured(folder, kind, "cuda")
    # It computes with the same library, in other pieces here and there.
    assert_close(found, expected, tolerance=1e-5)
