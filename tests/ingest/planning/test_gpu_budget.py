"""A GPU with less memory than a person allows: the plan keeps within it, and says so where it cannot."""

from pathlib import Path

import pytest

from neurothek.catalog.problems import LimitExceeded
from neurothek.catalog.progress import Silent
from neurothek.ingest.planning import model_plan
from neurothek.ingest.planning.agenda import Prepared, prepare_model
from neurothek.ingest.request import ModelSource
from tests.support import ingests
from tests.support.models import build


@pytest.fixture
def prepared(tmp_path: Path) -> Prepared:
    """A model most of whose memory would be its weights."""
    model = build(tmp_path / "tiny", "opt", n_layers=6, d_model=128, d_ffn=2048)
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=("activity", "events"), memory_bytes=1 << 40)
    return prepare_model(
        ingests.open_warehouse(tmp_path / "w.duckdb"), asked, ModelSource(str(model)), progress=Silent()
    )


def allotted(prepared: Prepared, gpu_bytes: int | None) -> model_plan.Allotted:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_plan, "planned_gpu_bytes", lambda device: gpu_bytes)
        return model_plan.allot(prepared)


def test_weights_stay_on_a_gpu_only_where_they_fit_there(prepared: Prepared) -> None:
    without, roomy = allotted(prepared, None), allotted(prepared, 1 << 50)
    assert without == roomy
    assert without.sweep is not None
    assert without.sweep.is_resident
    assert not without.passes_stream
    tight = allotted(prepared, without.sweep.memory_bytes - 1)
    assert tight.sweep is not None
    assert not tight.sweep.is_resident
    assert tight.sweep.memory_bytes < without.sweep.memory_bytes


def test_what_fits_no_gpu_is_refused_and_the_gpu_named(prepared: Prepared) -> None:
    with pytest.raises(LimitExceeded, match=r"but the GPU has 0\.10 GB for it: measure with --device cpu or") as caught:
        allotted(prepared, 100_000_000)
    assert (caught.value.what, caught.value.limit) == ("gpu memory", 100_000_000)
