"""Each walk of docs/contributing.md leads where it says: what it adds to a copy of the tree works in the command."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoTokenizer, HeliumConfig, HeliumForCausalLM
from transformers.utils import logging

from docs.generators.house import complaints
from neurothek.ingest.corpora.sources.local_files import by_suffix
from neurothek.ingest.jobs.registry import JOBS
from neurothek.ingest.models.families.table import FAMILIES
from tests.support import tiny
from tests.support import warehouse as made
from tests.support.models import build
from tests.support.tokenizers import make_tokenizer
from tests.support.walks import Walk, content, copy_tree, differing
from tests.support.walks_to_ask import ASKED, TABLE
from tests.support.walks_to_measure import ARCHITECTURE, JOB, MEASURED, TEXT_SOURCE

WALKS = (*MEASURED, *ASKED)

TEXTS = ["One two three, four.", 'Five "six"\nseven eight.', "Nine ten."]
PSV = 'n|body\n1|"One two three, four."\n2|"Five ""six""\nseven eight."\n3|\n4|Nine ten.\n'


@dataclass(frozen=True)
class Copy:
    """A tree that walks were taken through, beside it what it measures, and its command line."""

    tree: Path
    walks: Sequence[Walk]

    @property
    def outside(self) -> Path:
        return self.tree.parent

    def start(self, *command: str) -> subprocess.CompletedProcess[str]:
        # What one process compiles the next ones read.
        environment = {**os.environ, "PYTHONPATH": str(self.tree), "PYTHONDONTWRITEBYTECODE": ""}
        environment |= {"HF_HUB_OFFLINE": "1", "NEUROTHEK_WAREHOUSE": str(self.outside / "w.duckdb")}
        # Not in the repository, whose packages `-m` would find first.
        return subprocess.run(
            [sys.executable, *command], cwd=self.outside, env=environment, check=False, capture_output=True, text=True
        )

    def record_objects(self) -> None:
        """What `make docs` notes of the tables and views: until then every command makes all of them to compare."""
        script = f"""
from pathlib import Path
from neurothek.catalog.store.schema import RECORD, record
from neurothek.queries.views import install
Path({str(self.tree)!r}, "catalog", "store", RECORD).write_text(record(install), "utf-8")
"""
        done = self.start("-c", script)
        assert done.returncode == 0, done.stderr

    def neurothek(self, *arguments: str) -> str:
        done = self.start("-m", "neurothek", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, query: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.neurothek("sql", query, "--format", "json"))
        return found


def walked(folder: Path, *walks: Walk) -> Copy:
    copy = Copy(copy_tree(folder / "tree"), walks)
    before = content(copy.tree)
    for walk in walks:
        walk.take(copy.tree)
    (folder / "rows.psv").write_text(PSV, "utf-8")
    assert set(differing(before, content(copy.tree))) == {name for walk in walks for name in walk.all_files}
    return copy


def helium(folder: Path) -> HeliumForCausalLM:
    """A tiny model of the family that the walk adds, saved with a tokenizer."""
    logging.disable_progress_bar()
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "max_position_embeddings": 64,
    }
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    model = HeliumForCausalLM(HeliumConfig(vocab_size=400, **sizes, **heads))
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = 0.2 * torch.randn(parameter.shape, generator=generator) + (parameter.dim() == 1)
    model.save_pretrained(folder)
    make_tokenizer("llama", 392).save_pretrained(folder)
    return model


@pytest.fixture(scope="module")
def all_three(tmp_path_factory: pytest.TempPathFactory) -> tuple[Copy, HeliumForCausalLM]:
    """A copy with all three, whose one command reads CSV with the new family and measures the new job, too."""
    copy = walked(tmp_path_factory.mktemp("walks"), *MEASURED)
    copy.record_objects()
    model = helium(copy.outside / "tiny")
    before = content(copy.tree)
    jobs = ["--job", "value_norms", "--job", "activity"]
    copy.neurothek("ingest", "tiny", *jobs, "--corpus", "news=rows.psv:body", "--no-packing")
    assert content(copy.tree) == before
    return copy, model


def test_the_tree_knows_none_of_them_yet() -> None:
    assert "helium" not in FAMILIES
    assert "value_norms" not in JOBS
    assert ".psv" not in by_suffix()


def test_the_guide_names_every_file_that_is_touched(subtests: pytest.Subtests) -> None:
    for walk in WALKS:
        with subtests.test(walk=walk):
            said = walk.section()
            opened = re.findall(r"pen `([\w/]+)/`", said)
            for name in walk.files:
                folder = next((folder for folder in opened if name.startswith(f"{folder}/")), "")
                place = Path(name).relative_to(folder)
                assert f"`{place}`" in said or f"`{name}`" in said or f"`{place.name}`" in said, name
            assert len(opened) == 1


def test_what_the_guide_shows_is_what_is_added(subtests: pytest.Subtests) -> None:
    for walk in WALKS:
        with subtests.test(walk=walk):
            said = walk.section()
            shown = re.findall(r"```(?:python|sql)\n(.*?)\n```", said, flags=re.DOTALL) + re.findall(
                r"`(\"\w+\": Entry.*?)`", said
            )
            added = [*walk.new.values(), *(after for changes in walk.lines.values() for _, after in changes)]
            assert shown
            for line in shown:
                assert any(line in text for text in added), line


def test_an_architecture_is_a_row_of_the_table(all_three: tuple[Copy, HeliumForCausalLM]) -> None:
    copy, model = all_three
    assert copy.rows("select architecture, n_neurons from models") == [{"architecture": "helium", "n_neurons": 48}]
    found = copy.rows("select layer, neuron, n_active from store.activity where domain = 'news' order by layer, neuron")
    sequences = copy.rows("select tokens from store.sequences order by sequence_id")
    expected = counted_gates(model, [row["tokens"] for row in sequences])
    assert [row["n_active"] for row in found] == expected.flatten().tolist()
    assert 0 < int(expected.sum()) < expected.numel() * sum(len(row["tokens"]) - 1 for row in sequences)


def counted_gates(model: HeliumForCausalLM, sequences: Sequence[Sequence[int]]) -> Tensor:
    """[n_layers d_ffn] how often transformers' own gates are above 0, the BOS not counted."""
    counts = torch.zeros(2, 24, dtype=torch.int64)

    def watch(layer: int) -> Callable[[nn.Module, object, Tensor], None]:
        def hook(_: nn.Module, __: object, gates: Tensor) -> None:
            counts[layer] += (gates[0, 1:] > 0).sum(0)

        return hook

    handles = [
        block.mlp.gate_proj.register_forward_hook(watch(layer)) for layer, block in enumerate(model.model.layers)
    ]
    with torch.no_grad():
        for ids in sequences:
            model(torch.tensor([ids]))
    for handle in handles:
        handle.remove()
    return counts


def test_a_job_is_a_folder_and_a_line_of_the_registry(all_three: tuple[Copy, HeliumForCausalLM]) -> None:
    copy, _ = all_three
    ((changed, lines),) = JOB.lines.items()
    assert (changed, len(lines)) == ("ingest/jobs/registry.py", 1)
    assert {name.rpartition("/")[0] for name in JOB.new} == {"ingest/jobs/value_norms"}
    assert {name.rpartition("/")[0] for name in TABLE.new} == {"catalog/tables"}
    rows = copy.rows("select layer, neuron, norm from store.value_norms order by layer, neuron")
    weights = load_file(copy.outside / "tiny" / "model.safetensors")
    expected = [
        {"layer": layer, "neuron": neuron, "norm": sum(float(x) ** 2 for x in weights[name][:, neuron]) ** 0.5}
        for layer, name in enumerate(f"model.layers.{layer}.mlp.down_proj.weight" for layer in range(2))
        for neuron in range(24)
    ]
    assert [row | {"norm": pytest.approx(row["norm"], rel=1e-9)} for row in expected] == rows
    assert list(complaints(copy.tree)) == []


def test_a_text_source_is_a_file(all_three: tuple[Copy, HeliumForCausalLM]) -> None:
    copy, _ = all_three
    tokenizer = AutoTokenizer.from_pretrained(copy.outside / "tiny")
    sequences = copy.rows("select tokens, starts_document from store.sequences order by sequence_id")
    assert [tokenizer.decode(row["tokens"][1:]) for row in sequences] == TEXTS
    assert all(row["starts_document"] for row in sequences)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """A copy with all walks that need no ingest, beside the hand-made warehouse."""
    copy = walked(tmp_path_factory.mktemp("asked"), *ASKED)
    copy.record_objects()
    made.create(copy.outside / "w.duckdb")
    # The copy has tables and views of its own: to it the file is of an earlier release until a command asks it.
    copy.neurothek("models")
    return copy


def test_a_table_is_a_module_and_a_version(asked: Copy) -> None:
    assert "store.value_norms" in asked.neurothek("schema", "--format", "csv")
    assert asked.rows("from store.value_norms") == []


def test_a_view_is_a_file(asked: Copy) -> None:
    assert "vector_lengths" in asked.neurothek("views")
    norms: dict[tuple[str, int], list[float]] = {}
    for row in asked.rows("select model, layer, value_norm from neurons"):
        norms.setdefault((row["model"], row["layer"]), []).append(row["value_norm"])
    assert asked.rows("from vector_lengths order by model, layer") == [
        {
            "model": model,
            "layer": layer,
            "n_neurons": len(own),
            "mean_norm": pytest.approx(sum(own) / len(own)),
            "max_norm": max(own),
        }
        for (model, layer), own in sorted(norms.items())
    ]


def test_a_search_option_is_honoured_by_every_search(asked: Copy) -> None:
    def found(*words: str) -> list[str]:
        return [
            row["address"] for row in json.loads(asked.neurothek("search", *words, "-n", "999", "--format", "json"))
        ]

    # One word alone takes a way of its own, on which no condition may be passed over.
    for words in (("school",), ("school", "the"), ("--like", tiny.address((0, 0, 0)))):
        peaked = found(*words, "--peaked")
        assert peaked == found(*words, "--where", "kurtosis > 3")
        assert set(peaked) < set(found(*words))


def test_a_page_is_a_file_and_a_line(asked: Copy) -> None:
    script = """
import sys
from pathlib import Path
from streamlit.testing.v1 import AppTest
import neurothek
from neurothek import dashboards
from neurothek.dashboards.session import set_backend
set_backend(neurothek.open())
app = AppTest.from_file(str(Path(dashboards.__file__).with_name("app.py")), default_timeout=60)
app.switch_page("screens/explore/tokens.py")
app.query_params["token"] = "school"
app.run()
assert not app.exception, app.exception
print(app.title[0].value, len(app.dataframe[0].value))
"""
    done = asked.start("-c", script)
    assert done.returncode == 0, done.stderr
    rows = json.loads(asked.neurothek("search", "school", "--format", "json"))
    assert done.stdout.split() == ["Token", str(len(rows))]


def test_a_chart_is_a_function(asked: Copy) -> None:
    script = """
import polars as pl
from neurothek.dashboards.charts.pictures import drawn
from neurothek.dashboards.charts.spread import Number, quartiles
neurons = pl.DataFrame({"layer": [0, 0, 0, 1, 1], "kurtosis": [1.0, 2.0, 9.0, 3.0, 4.0]})
print(drawn(quartiles(neurons, Number("kurtosis", is_log=False), "#2f5d8a"), "svg").decode())
"""
    done = asked.start("-c", script)
    assert done.returncode == 0, done.stderr
    assert "<svg" in done.stdout
    assert "kurtosis" in done.stdout


def test_a_figure_is_an_exhibit(asked: Copy) -> None:
    models = ("tiny-1m", "tiny-2m")
    out = asked.outside / "geva"
    asked.neurothek("reproduce", "geva", *models, "--no-measuring", "--to", str(out))
    assert (out / "lengths.svg").is_file()
    models_of_rows = [line.partition(",")[0] for line in (out / "vector_lengths.csv").read_text("utf-8").splitlines()]
    rows = asked.rows("select model from vector_lengths where model in ('tiny-1m', 'tiny-2m') order by model, layer")
    assert models_of_rows == ["model", *(row["model"] for row in rows)]
    judged = json.loads(asked.neurothek("claims", *models, "--paper", "geva", "--format", "json"))["claims"]
    (claim,) = [one for one in judged if one["shown in"] == "Lengths"]
    assert claim["verdict"] in ("holds", "does not hold")
    assert claim["claim"] in (out / "index.html").read_text("utf-8")


def test_a_check_is_a_sentence_and_its_query(asked: Copy, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    made.create(path)
    law = "A model has as many neurons as its layers have together."
    before = asked.start("-m", "neurothek", "check", "--format", "json", "--warehouse", str(path))
    assert law not in before.stdout
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set n_neurons = n_neurons + 1 where name = 'tiny-1m'")
    after = asked.start("-m", "neurothek", "check", "--format", "json", "--warehouse", str(path))
    assert after.returncode == 1
    (said,) = [row for row in json.loads(after.stdout) if row["law"] == law.removesuffix(".")] or [
        row for row in json.loads(after.stdout) if row["law"] == law
    ]
    assert (said["n_rows"], said["first"]) == (1, "model tiny-1m")


def test_the_rooms_and_arrows_of_the_tree_are_kept(asked: Copy) -> None:
    assert list(complaints(asked.tree)) == []
    assert (kept := lint(asked.tree)).returncode == 0, kept.stdout


def lint(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Whether the arrows of a tree are kept."""
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", *options],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_job_that_imports_another_must_be_named(tmp_path: Path) -> None:
    copy = walked(tmp_path, JOB)
    assert (kept := lint(copy.tree, "--contract", "jobs")).returncode == 0, kept.stdout
    norms = copy.tree / "ingest" / "jobs" / "value_norms" / "value_lengths.py"
    norms.write_text(
        f"{norms.read_text('utf-8')}\nfrom neurothek.ingest.jobs.projections.job import *  # noqa\n", "utf-8"
    )
    broken = lint(copy.tree, "--contract", "jobs")
    assert broken.returncode == 1
    said = " ".join(broken.stdout.split())
    assert "neurothek.ingest.jobs.value_norms is not allowed to import neurothek.ingest.jobs.projections" in said


@pytest.mark.long
@pytest.mark.parametrize(
    ("walk", "job", "corpus", "query"),
    [
        pytest.param(ARCHITECTURE, "projections", "news=rows.psv", "from store.projections", marks=pytest.mark.series),
        (JOB, "value_norms", "news=rows.psv", "from store.value_norms"),
        pytest.param(
            *(TEXT_SOURCE, "activity", "news=rows.psv:body", "from store.activity where domain = 'news'"),
            marks=pytest.mark.series,
        ),
    ],
    ids=[walk.title for walk in MEASURED],
)
def test_each_walk_needs_no_other(walk: Walk, job: str, corpus: str, query: str, tmp_path: Path) -> None:
    """Measured, checked and verified from the weights; the arrows and rooms of the tree are kept."""
    copy = walked(tmp_path, walk)
    if walk is ARCHITECTURE:
        helium(tmp_path / "tiny")
    else:
        build(tmp_path / "tiny", "opt", d_ffn=24)
    copy.neurothek("ingest", "tiny", "--job", job, "--corpus", corpus)
    assert len(copy.rows(query)) == 48
    copy.neurothek("check")
    copy.neurothek("verify", "tiny")
    assert list(complaints(copy.tree)) == []
    assert (linted := lint(copy.tree)).returncode == 0, linted.stdout
    assert set(differing(content(copy.tree), content(copy_tree(tmp_path / "as it is")))) == walk.all_files
