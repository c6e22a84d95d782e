"""A warehouse in which a byte is another, or which breaks off: every command gives its whole answer, or says so."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.store.connections import BLOCK_BYTES
from tests.support import damage, ingests

COMMANDS: dict[str, list[str]] = {
    "check": ["check"],
    "search": ["search", "school", "--where", "value_norm > 0", "--limit", "50"],
    "neuron": ["neuron", "tiny-2m/L1N3"],
    "sql": ["sql", "from promotions order by all", "--format", "csv"],
    "export": ["export", "EXPORT"],
}
MORE: dict[str, list[str]] = {
    "models": ["models"],
    "corpora": ["corpora"],
    "runs": ["runs"],
    "compare": ["compare"],
    "claims": ["claims", "--family", "tiny"],
    "triggered": ["search", "--triggered-by", "school"],
    "alike": ["search", "--like", "tiny-1m/L0N1"],
    "shown to a person": ["sql", "from neurons"],
    "trace": ["trace", "tiny-1m", "school"],
    "verify": ["verify", "tiny-1m"],
    "pin": ["pin", "tiny-1m", "--corpus", "builtin"],
    "rename": ["rename", "tiny-1m", "other"],
    "remove": ["remove", "tiny-1m", "--yes"],
    "compare models": ["ingest", "tiny-1m", "tiny-2m", "--job", "counterparts"],
}


@dataclass(frozen=True)
class Outcome:
    """What a command did: its exit code, what it printed or wrote, and what it complained of."""

    status: int
    answer: str
    complaint: str


def run(path: Path, arguments: Sequence[str]) -> Outcome:
    """Run a command on a warehouse; a traceback is a failure."""
    folder = path.with_name("exported")
    typed = [str(folder) if word == "EXPORT" else word for word in arguments]
    result = CliRunner().invoke(neurothek.main, [*typed, "--warehouse", str(path)], catch_exceptions=False)
    answer = result.stdout
    if "EXPORT" in arguments:
        assert folder.exists() == (result.exit_code == 0)
        if folder.exists():
            # It has the fingerprint of every file.
            answer += json.dumps(json.loads((folder / "manifest.json").read_text()), sort_keys=True)
            for file in sorted(folder.rglob("*"), reverse=True):
                file.rmdir() if file.is_dir() else file.unlink()
            folder.rmdir()
    return Outcome(result.exit_code, answer, result.stderr)


def assert_told(path: Path, outcome: Outcome, *, found: str = "is damaged: ") -> None:
    assert outcome.status == 2, outcome
    (line,) = outcome.complaint.splitlines()
    assert line.startswith(f"Error: {path} "), line
    assert found in line


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damage") / "w.duckdb"
    damage.create(path)
    return path


@pytest.mark.parametrize("name", COMMANDS | MORE)
def test_half_a_file_is_told_by_every_command(path: Path, tmp_path: Path, name: str) -> None:
    half = tmp_path / "half.duckdb"
    whole = path.read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    outcome = run(half, (COMMANDS | MORE)[name])
    assert outcome.answer == ""
    breaks_off = f"is damaged: it is truncated after {len(whole) // 2:,} bytes; restore"
    # Where opening needs nothing of the lost half, `check` counts the blocks, without those that were free.
    n_blocks = (len(whole) - damage.HEADER_BYTES) // BLOCK_BYTES
    counted = name == "check" and re.search(rf"is damaged: \d+ of its {n_blocks} blocks", outcome.complaint)
    assert_told(half, outcome, found="is damaged: " if counted else breaks_off)
    assert half.read_bytes() == whole[: len(whole) // 2]


DEEP = ("check", "search", "neuron", "sql", "export", "compare", "triggered", "alike", "shown to a person")


@pytest.fixture(scope="module")
def hollow(path: Path) -> Path:
    return damage.hollow(path, path.with_name("hollow.duckdb"))


@pytest.mark.parametrize("name", DEEP)
def test_a_byte_that_a_command_needs_is_told(hollow: Path, name: str) -> None:
    assert run(hollow, ["views"]).status == 0
    assert_told(hollow, run(hollow, (COMMANDS | MORE)[name]))


def test_a_byte_that_a_command_does_not_need_is_no_reason_to_refuse_it(path: Path) -> None:
    before = run(path, COMMANDS["search"])
    assert before.status == 0
    with damage.flipped(path, damage.a_block_of(path, "positions")):
        assert run(path, COMMANDS["search"]) == before


MEASURING: dict[str, list[str]] = {
    "the same model": ["ingest", "MODELS/tiny-opt", "--job", "projections", "--job", "activity", "--force"],
    "another job": ["ingest", "MODELS/tiny-opt", "--job", "contexts"],
    "another model": ["ingest", "MODELS/tiny-gpt2", "--job", "projections", "--job", "activity"],
    "verify": ["verify", "tiny-opt"],
}


@pytest.fixture(scope="module")
def measured(tiny_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of one model that was measured on a text, whose measurements are all broken."""
    folder = tmp_path_factory.mktemp("measured")
    corpora = ingests.write_corpus(folder)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    ingests.measure(warehouse, tiny_models["opt"], ingests.request(corpora, jobs=("projections", "activity")))
    return damage.hollow(folder / "w.duckdb", folder / "hollow.duckdb")


@pytest.mark.parametrize("name", MEASURING)
def test_what_measures_says_it_and_publishes_nothing(
    measured: Path, tiny_models: dict[str, Path], tmp_path: Path, name: str
) -> None:
    path = tmp_path / "hollow.duckdb"
    path.write_bytes(measured.read_bytes())
    typed = [word.replace("MODELS", str(tiny_models["opt"].parent)) for word in MEASURING[name]]
    if typed[0] == "ingest":
        typed += ["--device", "cpu", "--corpus", f"long={measured.with_name('long.txt')}"]
        typed += ["--corpus", f"short={measured.with_name('short')}", "-q"]
    outcome = run(path, typed)
    assert outcome.status == 2, outcome
    assert f"{path} is damaged: " in outcome.complaint
    assert "make room" not in outcome.complaint
    assert path.read_bytes() == measured.read_bytes()


FLIPS, N_PARTS = 15, 20


@pytest.mark.long
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.fuzz) for part in range(1, N_PARTS))])
def test_any_byte_flipped_is_told_or_changes_no_answer(part: int, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    damage.create(path)
    is_in_use = damage.is_in_use(path)
    whole = {name: run(path, arguments) for name, arguments in COMMANDS.items()}
    assert {name: outcome.status for name, outcome in whole.items()} == dict.fromkeys(COMMANDS, 0) | {"check": 1}
    draw = random.Random(part)
    told = 0
    for _ in range(FLIPS):
        place, bit = draw.randrange(path.stat().st_size), draw.randrange(8)
        with damage.flipped(path, place, bit=bit):
            for name, arguments in COMMANDS.items():
                outcome = run(path, arguments)
                must_tell = name == "check" and is_in_use(place)
                if outcome != whole[name] or must_tell:
                    # A file that does not begin as DuckDB's do is none.
                    assert_told(path, outcome, found="it is not a DuckDB file" if 8 <= place < 12 else "is damaged: ")
                    told += 1
    # About three of four places are in use: check tells of each, the other commands of those that they read.
    assert told > FLIPS
