"""What --plan says of a model: the operations that are done, the sweep that is made, and nothing written."""

from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from torch.utils.flop_counter import FlopCounterMode

import neurothek
from neurothek.ingest.forward.footprint import Extent
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.planning import agenda, model_plan
from neurothek.ingest.planning.agenda import Prepared
from neurothek.ingest.planning.model_plan import plan_model
from neurothek.ingest.planning.timing import Trial, beginning, forward_flops, projection_flops
from neurothek.ingest.request import DEFAULT_JOBS, ModelSource
from tests.support import ingests
from tests.support.coefficients import corpus
from tests.support.models import KINDS, Kind, build

pytestmark = pytest.mark.xdist_group("planning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planning")
    build(folder / "tiny", "opt", d_ffn=32)
    ingests.write_corpus(folder)
    return folder


def run(folder: Path, *options: str) -> Result:
    arguments = ["ingest", "--plan", str(folder / "tiny"), "--warehouse", str(folder / "w.duckdb"), *options]
    arguments += ["--corpus", f"long={folder / 'long.txt'}", "--corpus", f"short={folder / 'short'}"]
    return CliRunner().invoke(neurothek.main, arguments, catch_exceptions=False)


@pytest.mark.parametrize("kind", KINDS)
def test_operations_are_those_that_torch_counts(kind: Kind, tmp_path: Path) -> None:
    """The counter sees matrix products only, as we do; its attention is the whole square too.

    Where two heads share their keys and values, ours says twice what these take.
    """
    transformer = open_transformer(find(str(build(tmp_path / "tiny", kind))))
    length, n_sequences = 48, 3
    stream = torch.zeros(n_sequences, length, transformer.shape.d_model)
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        for layer in range(transformer.shape.n_layers):
            with transformer.block(layer) as block:
                stream = block(stream).stream
    extent = Extent.full(n_sequences * length, sequence_length=length, n_domains=1)
    shared = 2 * 32 * 16 if kind == "llama" else 0
    beyond = 2 * shared * transformer.shape.n_layers * n_sequences * length
    assert forward_flops(transformer.shape, extent) == counter.get_total_flops() + beyond


def test_operations_of_the_projections_are_two_a_product(folder: Path) -> None:
    shape = open_transformer(find(str(folder / "tiny"))).shape
    vectors = torch.zeros(shape.n_layers * shape.d_ffn + shape.vocab_size, shape.d_model)
    with FlopCounterMode(display=False) as counter:
        torch.zeros(shape.vocab_size, shape.d_model) @ vectors.T
    assert projection_flops(shape) == counter.get_total_flops()


def test_a_plan_says_all_and_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = run(folder)
    assert result.exit_code == 0, result.output
    head, *lines = result.stdout.splitlines()
    assert head.startswith("tiny: projections, activity, contexts, ngrams, positions on long+short (")
    said = {line[:16].strip(): line[16:] for line in lines}
    assert list(said) == ["to measure", "order", "why", "memory", "disk", "warehouse", "forward pass", "time"]
    assert said["order"] == "chunks outside, weights stay in memory"
    assert "GB allowed" in said["memory"]
    assert said["time"].startswith("about ")
    assert sorted(folder.iterdir()) == before


def test_a_plan_of_weights_alone_says_what_they_take(folder: Path) -> None:
    for jobs, time in (
        (["projections"], "about "),
        (["projections", "clusters"], "about "),
        (["clusters"], "not estimated for clusters"),
    ):
        result = run(folder, *(part for job in jobs for part in ("--job", job)))
        assert result.exit_code == 0, result.output
        head, *lines = result.stdout.splitlines()
        assert head == f"tiny: {', '.join(jobs)}"
        said = {line[:16].strip(): line[16:] for line in lines}
        assert list(said) == ["to measure", "memory", "disk", "warehouse", "time"]
        assert said["time"].startswith(time)
        assert ("without clusters" in said["time"]) == (len(jobs) == 2)


def test_a_tight_plan_says_why_weights_are_read_again(folder: Path) -> None:
    asked = ingests.request((f"long={folder / 'long.txt'}",), jobs=DEFAULT_JOBS)
    warehouse, model = ingests.open_warehouse(folder / "w.duckdb"), ModelSource(str(folder / "tiny"))
    roomy = plan_model(warehouse, asked, model)
    assert roomy.sweep is not None
    result = run(folder, "--memory", str(roomy.sweep.memory_bytes - 1), "--batch-tokens", "200")
    assert result.exit_code == 0, result.output
    assert "weights are read layer by layer" in result.stdout
    assert "GB to read and write instead of" in result.stdout


def test_a_model_that_does_not_fit_fails_alone(folder: Path) -> None:
    result = run(folder, "--memory", "1MB")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "measuring needs at least" in result.stderr
    assert run(folder, str(folder / "absent")).exit_code == 2
    assert "tiny: projections" in run(folder, str(folder / "absent")).stdout


@pytest.mark.parametrize("job", ["projections", "clusters", "controls", "events"])
@pytest.mark.parametrize("plan", [True, False])
def test_jobs_that_sweep_no_text_are_refused_too(folder: Path, job: str, plan: bool) -> None:
    before = sorted(folder.iterdir())
    arguments = ["ingest", str(folder / "tiny"), "--job", job, "--corpus", f"long={folder / 'long.txt'}"]
    arguments += ["--memory", "1KB", *(["--plan"] if plan else []), "--warehouse", str(folder / "small.duckdb")]
    result = CliRunner().invoke(neurothek.main, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "needs at least" in result.stderr
    assert sorted(folder.iterdir()) == before


def test_what_is_finished_is_not_planned(folder: Path, tmp_path: Path) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    asked = ingests.request((f"long={folder / 'long.txt'}",), jobs=("projections", "activity"))
    model = ModelSource(str(folder / "tiny"))
    ingests.measure(warehouse, folder / "tiny", asked)
    assert plan_model(warehouse, asked, model).lines() == ["tiny: everything is up to date"]


def test_a_plan_counts_the_tokens_of_the_run_and_says_what_is_measured_anew_and_why(
    folder: Path, tmp_path: Path
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    corpora, model = (f"long={folder / 'long.txt'}",), ModelSource(str(folder / "tiny"))
    asked = ingests.request(corpora, text={"tokens_per_domain": 60}, jobs=("projections", "activity"))
    planned = plan_model(warehouse, asked, model)
    assert set(planned.reasons.values()) == {"not measured yet"}
    report = ingests.measure(warehouse, folder / "tiny", asked)
    assert f"activity on long ({report.n_tokens:,} tokens)" in planned.lines()[0]
    more = ingests.request(corpora, text={"tokens_per_domain": 90}, jobs=("projections", "activity", "contexts"))
    again = plan_model(warehouse, more, model)
    assert again.up_to_date == ("projections",)
    assert again.reasons["contexts"] == "not measured yet"
    (sequence_length,) = ingests.table(warehouse, "corpora")["sequence_length"]
    size = f"{report.n_tokens} tokens: --tokens 60 --sequence-length {sequence_length}"
    assert again.reasons["activity"] == f"measured on long ({size}), not on this text"
    assert "  to measure    contexts: not measured yet" in again.lines()
    assert "  up to date    projections" in again.lines()
    forced = replace(asked, active_above=0.5, force=True)
    assert plan_model(warehouse, forced, model).reasons == {
        "activity": "forced, with activation_rule: m != 0 in the warehouse, m > 0.5 requested",
    }


def test_growth_is_estimated_from_above_but_not_by_far(folder: Path, tmp_path: Path) -> None:
    """An empty warehouse of 24 tables takes some megabytes of its own, so staged files are compared."""
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    asked = ingests.request((f"long={folder / 'long.txt'}",), jobs=DEFAULT_JOBS)
    found = plan_model(warehouse, asked, ModelSource(str(folder / "tiny")))
    assert found.sweep is not None
    assert found.extent is not None
    ingests.measure(warehouse, folder / "tiny", asked)
    rows = {name: frame.estimated_size() for name, frame in ingests.everything(warehouse).items()}
    measured = sum(rows[name] for name in ("projections", "postings", "token_neighbours", "activity", "contexts"))
    measured += sum(rows[name] for name in ("ngrams", "triggers", "positions", "logit_histograms", "token_indicators"))
    assert measured / 10 < found.sweep.growth_bytes < measured * 3
    assert found.forward_flops > 0
    assert found.hours is not None
    # A model of 10,000 weights and a text of 400 words take seconds.
    assert 0 < found.hours < 0.1


def test_the_time_covers_opening_and_publishing(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = agenda.prepare_model

    def slowly(*of: Any, **named: Any) -> Prepared:
        sleep(1)
        return prepare(*of, **named)

    monkeypatch.setattr(model_plan, "prepare_model", slowly)
    asked = ingests.request((f"long={folder / 'long.txt'}",), jobs=("projections", "activity"))
    found = plan_model(ingests.open_warehouse(tmp_path / "w.duckdb"), asked, ModelSource(str(folder / "tiny")))
    assert found.hours is not None
    # A second to open the model, and one to publish at least.
    assert found.hours * 3600 > 2
    assert any("from opening to publishing" in line for line in found.lines())


def test_a_trial_is_extended_to_all_layers_and_tokens() -> None:
    trial = Trial(seconds=10.0, n_tokens=2_000, reading_seconds=4.0, fold_seconds=1.0, fold_seconds_a_token=0.001)
    # 12 layers of 0.002 seconds an id, and of 1 + 0.001 seconds an id.
    assert trial.sweep_seconds(n_layers=12, n_tokens=1_000) == pytest.approx(12 * (2 + 2))


def test_the_beginning_of_a_text_is_its_first_sequences() -> None:
    text = corpus([("a", 5), ("b", 9), ("a", 3)])
    first = beginning(text, 2)
    assert first.n_sequences == 2
    assert first.tokens.tolist() == text.tokens[:14].tolist()
    assert first.domain_of.tolist() == text.domain_of[:2].tolist()


def test_verbose_says_what_was_decided_and_how_long_it_took(folder: Path) -> None:
    arguments = ["ingest", str(folder / "tiny"), "--corpus", f"long={folder / 'long.txt'}", "--job", "contexts"]
    arguments += ["--warehouse", str(folder / "verbose.duckdb")]
    said = [CliRunner().invoke(neurothek.main, [*arguments, option]).stderr for option in ("-v", "-q")]
    assert "tiny: chunks outside, since all weights fit" in said[0]
    assert said[0].splitlines()[-1].startswith("took ")
    assert said[1] == ""


def test_too_few_sequences_are_measured_and_said(folder: Path) -> None:
    arguments = ["ingest", str(folder / "tiny"), "--corpus", f"few={folder / 'long.txt'}", "--job", "positions"]
    warehouse = folder / "few.duckdb"
    result = CliRunner().invoke(neurothek.main, [*arguments, "--warehouse", str(warehouse)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "full-length sequences, but at least 100 are needed to label positional neurons" in result.stderr
    query = "select distinct position_kind from neurons"
    result = CliRunner().invoke(neurothek.main, ["sql", query, "--format", "csv", "--warehouse", str(warehouse)])
    assert "too few sequences" in result.stdout
