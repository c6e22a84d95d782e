"""A model that fills in masked tokens: what can be measured of it, and what is refused or left out, by name."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.jobs.registry import NAMES, OF_MASKED, OF_SIGNS
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.transformer import open_transformer
from tests.support import ingests
from tests.support.anatomy import loaded
from tests.support.models import KINDS, Kind, build
from tests.support.shortcuts import write_sentences

pytestmark = pytest.mark.xdist_group("masked")

OTHERS = "activity, contexts, ngrams, positions"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("masked") / "tiny-bert", "bert", d_ffn=24)


def ingest(model: Path, path: Path, *options: str) -> Result:
    arguments = ["ingest", str(model), "--warehouse", str(path), *options]
    return CliRunner().invoke(neurothek.main, arguments, catch_exceptions=False)


def test_what_applies_is_measured_and_the_rest_named(model: Path, tmp_path: Path) -> None:
    result = ingest(model, tmp_path / "w.duckdb")
    assert result.exit_code == 0, result.output
    first, second, *_ = result.stderr.splitlines()
    assert first.startswith("tiny-bert: measured projections (")
    assert second == (
        f"tiny-bert: left out {OTHERS}, which need a model that predicts the next token: this one is masked"
    )
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    assert ingests.table(warehouse, "projections").height == 48
    assert ingests.table(warehouse, "corpora").is_empty()
    again = ingest(model, tmp_path / "w.duckdb", "--job", "all", "--corpus", write_sentences(tmp_path))
    later = [name for name in OF_MASKED if name != "projections"]
    assert {"keys", "clusters", "shortcuts", "exits"} <= set(later)
    assert f"measured {', '.join(later)} (" in again.stderr
    (left_out,) = re.findall("left out (.*), which need a model that predicts the next token", again.stderr)
    assert set(left_out.split(", ")) == {*NAMES} - {*OF_MASKED, *OF_SIGNS}
    assert {"activity", "events", "selectivity", "entropy", "massive"} <= set(left_out.split(", "))
    assert "already up to date: projections" in again.stderr
    methods = {name: set(ingests.table(warehouse, name)["method"]) for name in ("shortcut_predictions", "exits")}
    assert methods == {"shortcut_predictions": {"id", "mat"}, "exits": {"id", "mat", "fixed_id", "fixed_mat"}}
    assert check(warehouse) == []
    door = neurothek.open(warehouse.path)
    assert door.shortcut("tiny-bert", state=1).shape == (32, 32)
    # Nothing needs activity to be compared that is not made of it.
    titles = [section.title for section in door.compare().sections()]
    assert titles == ["models", "layers saved at 95% precision by shortcuts"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--job", "activity"], "the job activity needs one"),
        (["--job", "projections", "--job", "events", "--job", "controls"], "the jobs events, controls need one"),
        (["--job", "shortcuts", "--job", "events"], "the job events needs one"),
    ],
)
def test_what_is_chosen_by_name_is_refused_by_name(options: list[str], said: str, model: Path, tmp_path: Path) -> None:
    result = ingest(model, tmp_path / "w.duckdb", *options)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == (
        f"Error: tiny-bert is a masked model, and {said} that predicts the next token; "
        f"use {' '.join(f'--job {name}' for name in OF_MASKED)}"
    )
    assert not (tmp_path / "w.duckdb").exists()


def test_a_plan_names_what_it_leaves_out(model: Path, tmp_path: Path) -> None:
    result = ingest(model, tmp_path / "w.duckdb", "--plan")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[:2] == [
        "tiny-bert: projections",
        f"tiny-bert: left out {OTHERS}, which need a model that predicts the next token: this one is masked",
    ]


def test_it_is_verified_and_not_traced(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    assert ingest(model, path, "--job", "projections", "--job", "clusters").exit_code == 0
    runner = CliRunner()
    verified = runner.invoke(neurothek.main, ["verify", "tiny-bert", "--warehouse", str(path)], catch_exceptions=False)
    assert verified.exit_code == 0, verified.output
    traced = runner.invoke(neurothek.main, ["trace", "tiny-bert", "the old", "--warehouse", str(path)])
    assert traced.exit_code == 2
    assert traced.stderr.startswith(
        "Error: this is a masked model: it fills in tokens and does not predict the next one"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_lens_at_the_end_is_the_models_own_head(kind: Kind, tiny_models: dict[str, Path]) -> None:
    """Whatever it is made of: a norm, a projection, a transform with biases."""
    folder = tiny_models[kind]
    transformer, tokenizer = open_transformer(find(str(folder))), tokenization.load(folder)
    ids = torch.randint(0, 392, (2, 7), generator=torch.Generator().manual_seed(4))
    stream = transformer.embed(ids)
    for layer in range(transformer.shape.n_layers):
        with transformer.block(layer) as block:
            stream = block(stream).stream
    found = Lens.of(transformer, tokenizer).logits(stream.flatten(0, 1))
    with torch.no_grad():
        expected = loaded(folder)(ids).logits.flatten(0, 1)[:, torch.from_numpy(tokenizer.ids.astype(np.int64))]
    # Float32 sums of 32 products, read through two implementations.
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
