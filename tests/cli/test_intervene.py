"""The command `intervene`: what it says first, what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import neurothek
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.xdist_group("intervene")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intervene")
    build(folder / "tiny", "opt", d_ffn=24)
    corpora = ingests.write_corpus(folder)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    ingests.measure(warehouse, folder / "tiny", ingests.request(corpora, jobs=("projections", "activity")))
    return folder / "w.duckdb"


def run(path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        neurothek.main, ["intervene", "tiny", *arguments, "--warehouse", str(path)], catch_exceptions=False
    )


SMALL = ("--tokens", "90", "--sets", "2")


def test_it_says_first_what_it_will_do(path: Path) -> None:
    result = run(path, "--where", "layer = 0 and neuron < 3", "--plan", *SMALL)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        "where layer = 0 and neuron < 3 set to 0: 3 of the 48 neurons of tiny",
        "measured on long+short, reading sequences until 90 ids of each domain, beside 2 random sets of as many"
        " neurons",
    ]
    assert neurothek.open(path).sql("select * from interventions").is_empty()


def test_table_and_json_show_random_sets_beside_what_was_asked(path: Path) -> None:
    table = run(path, "--where", "layer = 0 and neuron < 3", *SMALL)
    assert table.exit_code == 0, table.stderr
    for words in ("random mean", "random least", "random most", "percentile", "the same by domain", "perplexity"):
        assert words in table.stdout
    told = run(path, "--where", "layer = 0 and neuron < 3", *SMALL, "--format", "json")
    data = json.loads(told.stdout)
    (row,) = data["interventions"]
    assert (row["model"], row["n_neurons"], row["n_sets"]) == ("tiny", 3, 2)
    assert {one["domain"] for one in data["steering"]} == {"long", "short"}
    assert row["effect"] == pytest.approx(row["loss"] - row["loss_untouched"])


def test_neurons_come_from_a_file_too(path: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("tiny/L0N1\n\n  tiny/L1N2 \ntiny/L0N1\n")
    result = run(path, "--neurons", str(tmp_path / "mine.txt"), "--name", "mine", "--set", "x2", *SMALL)
    assert result.exit_code == 0, result.stderr
    rows = neurothek.open(path).sql(
        "select layer, neuron from store.intervention_neurons"
        " where intervention = 'mine' and set_number = 0 order by all"
    )
    assert rows.rows() == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "chosen in exactly one way, but none was given"),
        (("--where", "true", "--each", "kind"), "not in several (where and each)"),
        (("--where", "neuron > 99"), "tiny has no neurons where neuron > 99"),
        (("--where", "neuron = 1", "--set", "0%"), "give a number such as 0 or 3"),
        (("--neurons", "none.txt"), "cannot be read"),
        (("--each", "kind"), "tiny has no neurons of any kind"),
    ],
)
def test_slips_are_one_sentence_and_exit_code_2(path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    result = run(path, *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
