"""The command `contrast`: what it prints, and what a script gets of it."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.progress import Silent
from neurothek.cli.main import main
from tests.support import ingests


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contrast")
    ingests.measured_models(folder, ("opt",))
    return folder / "w.duckdb"


def run(path: Path, *arguments: str) -> str:
    result = CliRunner().invoke(main, ["contrast", "opt", *arguments, "--warehouse", str(path)])
    assert result.exit_code == 0, result.output
    return result.stdout


SETS = ("--a", "builtin:questions", "--b", "builtin:statements")


def test_the_control_stands_above_the_tables(path: Path) -> None:
    printed = run(path, *SETS, "--top", "3")
    head, higher, lower, by_layer = printed.split("\n\n")
    flat = " ".join(head.split())
    assert flat.startswith("opt: 64 prompts of builtin:questions (A) and 64 of builtin:statements (B)")
    assert "with shuffled labels" in flat
    assert higher.startswith("higher on A: ")
    assert len(higher.splitlines()) == 5
    assert lower.startswith("higher on B: ")
    assert by_layer.startswith("by layer")


def test_json_has_every_neuron_and_csv_a_line_each(path: Path) -> None:
    answer = json.loads(run(path, *SETS, "--format", "json"))
    assert len(answer["neurons"]) == 48
    assert answer["contrast"]["n_a"] == 64
    assert answer["contrast"]["name"] is None
    found = sum(row["is_significant"] for row in answer["neurons"])
    assert answer["contrast"]["n_significant"] == found
    lines = run(path, *SETS, "--format", "csv").splitlines()
    assert len(lines) == 49
    assert lines[0].startswith("address,layer,neuron,mean_a,mean_b,difference,z,p,q,")


def test_what_was_kept_is_shown_again(path: Path) -> None:
    kept = run(path, *SETS, "--keep", "mine")
    assert run(path, "--keep", "mine") == kept


def test_the_seed_is_stated_with_what_it_shuffled(path: Path) -> None:
    answer = json.loads(run(path, *SETS, "--seed", "4", "--format", "json"))
    assert answer["contrast"]["seed"] == 4
    page = neurothek.open(path).contrast("opt", "builtin:questions", "builtin:statements", seed=4)
    assert answer["contrast"]["n_significant_shuffled"] == page.contrast["n_significant_shuffled"]
    assert [row["p"] for row in answer["neurons"]] == page.neurons["p"].to_list()
    head = run(path, *SETS, "--seed", "4").split("\n\n", maxsplit=1)[0]
    assert "of 20 shuffles (seed 4)" in " ".join(head.split())


def test_few_prompts_say_that_chance_does_as_well(path: Path, tmp_path: Path) -> None:
    for name, words in (("a.txt", ("one", "two")), ("b.txt", ("bus", "sea", "river"))):
        (tmp_path / name).write_text("\n".join(words))
    printed = run(path, "--a", str(tmp_path / "a.txt"), "--b", str(tmp_path / "b.txt"))
    assert "labelled in only 10 ways" in printed


def test_a_pipe_is_called_so_and_progress_is_reported_layer_by_layer(path: Path, tmp_path: Path) -> None:
    """A shell hands over /dev/fd/63 for `<(command)`."""
    (tmp_path / "b.txt").write_text("bus\nsea\nriver\n")
    read, write = os.pipe()
    os.write(write, b"one\ntwo\nthree\n")
    os.close(write)
    steps: list[tuple[str, int]] = []

    class Watcher(Silent):
        def start(self, label: str, total: int) -> None:
            steps.append((label, total))

        def advance(self, amount: int = 1, note: str = "") -> None:
            steps.append(("step", amount))

    page = neurothek.open(path).contrast("opt", f"/dev/fd/{read}", tmp_path / "b.txt", progress=Watcher())
    os.close(read)
    assert (page.contrast["prompts_a"], page.contrast["prompts_b"]) == ("pipe", "b.txt")
    assert steps == [("contrast", 2), ("step", 1), ("step", 1)]
