"""The engine that is asked for, or a sentence that says why there is none."""

import math
import subprocess
import sys

import pytest

from neurothek.catalog.problems import Invalid, MissingExtra
from neurothek.ingest.pipeline.engines import choice
from neurothek.ingest.pipeline.engines.choice import engine_for, require_engine
from neurothek.ingest.pipeline.engines.engine import LocalEngine
from neurothek.ingest.request import Device, IngestRequest


def test_this_process_measures_unless_another_engine_is_asked_for() -> None:
    with engine_for(IngestRequest()) as engine:
        assert isinstance(engine, LocalEngine)


def test_without_the_extra_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"run `pip install 'neurothek\[ray\]'`"):
        require_engine(IngestRequest(engine="ray"))
    require_engine(IngestRequest())


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"workers": 2}, "--workers"),
        ({"address": "auto"}, "--address"),
        ({"gpus_per_worker": 1.0, "workers": 2}, "--workers, --gpus-per-worker"),
    ],
)
def test_options_that_this_process_would_not_heed_are_refused(asked: dict[str, object], names: str) -> None:
    with pytest.raises(Invalid, match=f"^{names} can only be given with --engine ray"):
        require_engine(IngestRequest(**asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(("device", "gpus"), [("cpu", 0.5), ("cuda", 0.0)])
def test_gpus_that_speak_against_the_device_are_refused(
    monkeypatch: pytest.MonkeyPatch, device: Device, gpus: float
) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: object())
    with pytest.raises(Invalid, match=rf"^--device {device} and --gpus-per-worker {gpus:g} cannot both hold"):
        require_engine(IngestRequest(engine="ray", device=device, gpus_per_worker=gpus))
    require_engine(IngestRequest(engine="ray", device=device))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"gpus_per_worker": math.nan}, "gpus_per_worker=nan is not valid; give a number such as 1 or 0.5"),
        ({"address": " "}, "address=' ' is not valid; give HOST:PORT or auto, or leave it out"),
    ],
)
def test_what_names_no_cluster_is_refused(
    monkeypatch: pytest.MonkeyPatch, asked: dict[str, object], sentence: str
) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: object())
    with pytest.raises(Invalid) as caught:
        require_engine(IngestRequest(engine="ray", **asked))  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_ray_is_loaded_for_nobody_else() -> None:
    code = (
        "import sys, neurothek.ingest.pipeline.ingest_all, neurothek.ingest.pipeline.ingest_model;"
        " print('ray' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
