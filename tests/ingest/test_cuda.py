"""Every job, trace and training on a GPU, against the same on the processor."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Unavailable
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.request import DEFAULT_JOBS, Dtype
from neurothek.ingest.trace import trace
from neurothek.ingest.training.settings import Settings
from neurothek.ingest.training.train import train
from tests.support import ingests
from tests.support.close_tables import assert_close, differences
from tests.support.models import CAUSAL_KINDS, KINDS, Kind, build
from tests.support.texts import write_text
from tests.support.two_devices import build_both, measured

pytestmark = pytest.mark.cuda

# Sums of 32 or 128 products, a softmax and three norms after one another round by about 1e-6 in float32 on either side;
# other batches on a processor move numbers by 4e-6 at most. `verify` allows 1e-4, too. Signs and ranks stay the same
# unless two numbers are nearer than that: of 50,000 pre-activations with a spread of 1, one in 25 models has one that
# lies within 1e-6 of zero.
TOLERANCE = 1e-4


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture(scope="module")
def folder(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_both(tmp_path_factory.mktemp(f"cuda-{kind}"), kind)


@pytest.fixture(scope="module")
def on_cpu(folder: Path, kind: Kind) -> dict[str, pl.DataFrame]:
    return measured(folder, kind, "cpu")


@pytest.fixture(scope="module")
def on_cuda(folder: Path, kind: Kind) -> dict[str, pl.DataFrame]:
    return measured(folder, kind, "cuda")


def test_a_gpu_measures_what_the_processor_measures(
    on_cuda: dict[str, pl.DataFrame], on_cpu: dict[str, pl.DataFrame]
) -> None:
    assert_close(on_cuda, on_cpu, tolerance=TOLERANCE)


def test_a_gpu_measures_the_same_twice(folder: Path, kind: Kind, on_cuda: dict[str, pl.DataFrame]) -> None:
    again = folder / "again"
    again.mkdir()
    for name in ("tiny", "other", "corpora.json"):
        (again / name).symlink_to(folder / name)
    found = differences(measured(again, kind, "cuda"), on_cuda)
    assert [one for one in found if (one.table, one.column) != ("models", "source")] == []


def test_what_one_measured_the_other_verifies(
    folder: Path, on_cuda: dict[str, pl.DataFrame], on_cpu: dict[str, pl.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert on_cuda.keys() == on_cpu.keys()
    for device in ("cpu", "cuda"):
        with monkeypatch.context() as patch:
            if device == "cuda":
                patch.setattr(torch.cuda, "is_available", lambda: False)
            parts = neurothek.open(folder / f"{device}.duckdb").verify("tiny", sample=99)
        assert [part for part in parts if not isinstance(part, Agreement) or part.n_different] == []
        assert any(isinstance(part, Agreement) and part.n_close for part in parts)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_as_exact_on_a_gpu(dtype: Dtype, tmp_path: Path) -> None:
    found: list[dict[str, pl.DataFrame]] = []
    build(tmp_path / "tiny", "llama", d_ffn=24)
    corpora = ingests.write_corpus(tmp_path)
    for device in ("cpu", "cuda"):
        warehouse = ingests.open_warehouse(tmp_path / f"{device}.duckdb")
        asked = ingests.request(corpora, device=device, jobs=DEFAULT_JOBS, dtype=dtype)
        ingests.measure(warehouse, tmp_path / "tiny", asked)
        found.append(ingests.everything(warehouse))
    # Weights are projected in float32 whatever the model computes in.
    of_weights = [{table.name: frames[table.name] for table in JOB_TABLES["projections"]} for frames in found]
    assert_close(of_weights[1], of_weights[0], tolerance=TOLERANCE)
    # A gate rounds by 1 in 256 (bfloat16), so those within that of zero may change sign: about one in 200.
    on_cpu, on_cuda = (frames["activity"].sort("layer", "neuron", "domain") for frames in found)
    assert on_cuda["n_positions"].equals(on_cpu["n_positions"])
    moved = (on_cuda["n_active"] - on_cpu["n_active"]).abs().sum()
    assert moved <= on_cpu["n_active"].sum() / 50
    largest = (on_cuda["activation_max"] - on_cpu["activation_max"]).abs() / on_cpu["activation_max"].abs()
    assert float(largest.quantile(0.5) or 0.0) < 2**-6


@pytest.mark.parametrize("causal", CAUSAL_KINDS)
def test_a_trace_on_a_gpu_is_that_of_the_processor(causal: Kind, tiny_models: dict[str, Path]) -> None:
    checkpoint = find(str(tiny_models[causal]))
    tokenizer = tokenization.load(checkpoint.folder)
    expected, found = (
        trace.trace(
            open_transformer(checkpoint, device=device), tokenizer, "the school is near the river", token_id=300
        )
        for device in ("cpu", "cuda")
    )
    assert (found.tokens, found.final_token) == (expected.tokens, expected.final_token)
    assert found.final_probability == pytest.approx(expected.final_probability, rel=TOLERANCE)
    for name in ("layers", "neurons", "raising"):
        assert_frames_close(getattr(found, name), getattr(expected, name))


def test_training_on_a_gpu_learns_and_is_a_function_of_its_seed(tmp_path: Path) -> None:
    words = write_text(tmp_path / "words.txt", 9_000)
    settings = Settings("0.7m", 12, vocab_size=300, context=32, batch_size=4, save_every=4, device="cuda")
    first, second = (train([words], tmp_path / name, settings)[-1] for name in ("first", "second"))
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    on_cpu = train([words], tmp_path / "cpu", replace(settings, device="cpu"))[-1]
    losses = [
        float(re.findall(r"\| words \| [\d,]+ \| ([\d.]+) \|", (one / "README.md").read_text())[0])
        for one in (first, on_cpu)
    ]
    # bfloat16 rounds by 1 in 256; twelve steps of an untrained model stay near each other.
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_a_gpu_that_is_not_there_is_refused(folder: Path, tmp_path: Path) -> None:
    words = write_text(tmp_path / "words.txt", 9_000)
    with pytest.raises(Unavailable, match="the device 'cuda:99' is not available"):
        train([words], tmp_path / "model", Settings("2m", 5, device="cuda:99"))
    with pytest.raises(Unavailable, match="the device 'cuda:99' is not available"):
        open_transformer(find(str(folder / "tiny")), device="cuda:99")
    # The GPU that is there still works.
    assert float(torch.ones(3, device="cuda").sum()) == 3
    arguments = ["ingest", str(folder / "tiny"), "--device", "cuda:99", "--warehouse", str(tmp_path / "w.duckdb")]
    refused = CliRunner().invoke(neurothek.main, arguments)
    assert refused.exit_code == 2
    assert "'cuda:99' is not one of" in refused.stderr


def test_a_gpu_without_room_is_told_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    corpora = json.loads((folder / "corpora.json").read_text())
    texts = [word for corpus in corpora for word in ("--corpus", corpus)]
    arguments = ["ingest", str(folder / "tiny"), "--warehouse", str(path), "--device", "cuda", *texts]
    with full_gpu():
        refused = CliRunner().invoke(neurothek.main, [*arguments, "--job", "projections"])
    assert refused.exit_code == 2, refused.output
    assert refused.stderr.count("\n") == 1, refused.stderr
    assert "needs more memory than the GPU has" in refused.stderr
    assert "--device cpu" in refused.stderr
    door = neurothek.open(path)
    if path.exists():
        assert door.sql("select count(*) as n from store.runs")["n"].item() == 0
    done = CliRunner().invoke(neurothek.main, [*arguments, "--job", "projections"])
    assert done.exit_code == 0, done.output
    assert door.sql("select count(*) as n from store.runs")["n"].item() == 1


@contextmanager
def full_gpu() -> Iterator[None]:
    """A GPU of which this process may use no more than it holds."""
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(1e-7)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def assert_frames_close(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """The same for two frames whose rows are in the same order."""
    assert found.schema == expected.schema
    for name in expected.columns:
        a, b = expected[name], found[name]
        if a.dtype.is_float():
            # Next to zero rounding is relative to the column's typical number.
            scale = a.abs() + (a.abs().median() or 0)
            assert ((a - b).abs() <= TOLERANCE * scale).all(), name
        else:
            assert a.equals(b), name
