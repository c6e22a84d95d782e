"""`trace --toward`: what it prints, what a script gets, and what does not go with it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.cli.main import main
from tests.support import ingests

PROMPT = "the school is near the river"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attribution")
    ingests.measured_models(folder, ("llama",))
    return folder / "w.duckdb"


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["trace", "llama", PROMPT, *arguments, "--warehouse", str(path)])


def test_the_table_shows_as_many_as_asked_and_both_effects(path: Path) -> None:
    result = run(path, "--toward", "·school", "--instead", "·the", "--raising", "4")
    assert result.exit_code == 0, result.output
    head, table = result.stdout.split("\n\n")
    assert "Logit of “·school” less that of “·the”: " in " ".join(head.split())
    title, header, *rows = table.splitlines()
    assert title == "neurons of all layers for ·school and not ·the, by relevance"
    assert header.split()[:5] == ["layer", "neuron", "coefficient", "relevance", "direct"]
    assert len([row for row in rows if row.split()[0].isdecimal()]) == 4


def test_json_has_the_correlations_with_switching_off(path: Path) -> None:
    result = run(path, "--instead", "·the", "--effects", "--sort", "direct", "--format", "json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    told, neurons = answer["attribution"], answer["neurons"]
    assert told["toward"] == told["final_token"]
    assert told["sort"] == "direct"
    assert -1 <= told["correlation_direct"] <= 1
    sizes = [abs(row["direct"]) for row in neurons]
    assert sizes == sorted(sizes, reverse=True)
    assert all(row["ablated"] is not None for row in neurons[:48])


def test_python_answers_the_same(path: Path) -> None:
    page = neurothek.open(path).attribute("llama", PROMPT, toward=" school")
    answer = json.loads(run(path, "--toward", "·school", "--format", "json").stdout)
    assert [row["address"] for row in answer["neurons"]] == page.neurons["address"].to_list()
    assert "tokens on average" in page.summary
    assert "join neurons" in page.sql


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--toward", "·school", "--token", "·the"), "--token does not go with --toward"),
        (("--toward", "·school", "--lens", "mat"), "--lens does not go with --toward"),
        (("--toward", "·school", "--instead", "·school"), "name another token"),
        (("--toward", "·school", "--raising", "0"), "--raising 0 leaves nothing to show"),
        (("--toward", "·school", "--sort", "centred"), "--sort centred is not for --toward"),
        (("--sort", "relevance"), "--sort relevance is for --toward"),
        (("--instead", "·nobody·"), "no token is exactly"),
    ],
)
def test_what_does_not_go_together_is_refused(path: Path, options: tuple[str, ...], reason: str) -> None:
    result = run(path, *options)
    assert result.exit_code == 2
    assert reason in " ".join(result.output.split())
