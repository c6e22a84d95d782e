"""Single bits flipped in a model's folder and in a text: one sentence, another model or text, or the same numbers."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.ingest.corpora.corpus import Corpus, prepare, recipe
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.models.tokenizer import load
from tests.support import ingests
from tests.support.models import build

pytestmark = pytest.mark.long

FLIPS, N_PARTS = 30, 10
JOBS = ("projections", "activity")
TEXT = "one two three four five six seven eight nine ten . "

# What a run is known by, beside its job: other weights, another shape or another tokenizer are another model, and
# another text is another corpus. Only under the same identity must numbers be the same.
IDENTITY = """
    select models.* exclude (model_id, tokenizer_id, source), tokenizers.sha256 as tokenizer,
        corpora.sha256 as corpus
    from store.models as models
    inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
    cross join store.corpora as corpora
"""


@dataclass(frozen=True)
class Measured:
    """What is in a warehouse of one model and one text: what it is known by, and its numbers."""

    identity: pl.DataFrame
    run_keys: list[str]
    numbers: dict[str, pl.DataFrame]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model and texts of each sort."""
    folder = tmp_path_factory.mktemp("sound")
    build(folder / "tiny", "opt", d_ffn=8)
    (folder / "text").mkdir()
    (folder / "text" / "a.txt").write_text(TEXT * 10)
    (folder / "text" / "b.jsonl").write_text("".join(f'{{"text": "{TEXT * n}", "n": {n}}}\n' for n in range(1, 5)))
    pl.DataFrame({"text": [TEXT * 3, TEXT]}).write_parquet(folder / "text" / "c.parquet")
    return folder


def measure(folder: Path) -> tuple[int, str]:
    """Measure the model of a folder on its text into a new warehouse; the exit code and stderr."""
    for leftover in folder.glob("w.duckdb*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    jobs = [word for job in JOBS for word in ("--job", job)]
    asked = [
        "ingest",
        str(folder / "tiny"),
        "--corpus",
        f"text={folder / 'text'}",
        "--warehouse",
        str(folder / "w.duckdb"),
    ]
    result = CliRunner().invoke(neurothek.main, [*asked, *jobs, "-q"], catch_exceptions=False)
    return result.exit_code, result.stderr


def measured(folder: Path) -> Measured:
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    with warehouse.reader() as connection:
        identity = connection.sql(IDENTITY).pl()
        keys = [key for (key,) in connection.execute("select run_key from store.runs order by job").fetchall()]
    return Measured(identity, keys, {name: ingests.table(warehouse, name) for name in JOBS})


def flipped(path: Path, chosen: Random, *, end: int | None = None) -> str:
    """Flip one bit of a file, before `end` if it is given; says where."""
    raw = bytearray(path.read_bytes())
    place, bit = chosen.randrange(end or len(raw)), chosen.randrange(8)
    raw[place] ^= 1 << bit
    path.write_bytes(raw)
    return f"bit {bit} of byte {place} of {path.name}"


def assert_refused_or_the_same(folder: Path, expected: Measured, where: str) -> bool:
    """Whether it was refused."""
    code, said = measure(folder)
    if code:
        assert code == 2, (where, said)
        (line,) = said.splitlines()
        assert line.startswith("Error: "), (where, line)
        assert "Traceback" not in line, (where, line)
        assert "defect" not in line, (where, line)
        assert not (folder / "w.duckdb").exists(), where
        return True
    found = measured(folder)
    if found.run_keys == expected.run_keys:
        assert found.identity.equals(expected.identity), where
        for name, rows in expected.numbers.items():
            assert found.numbers[name].equals(rows), (where, name)
    return False


def header_end(path: Path) -> int:
    """Where the tensors of a safetensors file begin: before lie the header's length and the header."""
    return 8 + int.from_bytes(path.read_bytes()[:8], "little")


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.fuzz) for part in range(1, N_PARTS))])
def test_flips_in_a_models_folder(part: int, sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    assert measure(folder)[0] == 0
    expected, chosen, refused = measured(folder), Random(24 + part), 0
    names = ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors")
    for number in range(FLIPS):
        path = folder / "tiny" / names[number % len(names)]
        end = header_end(path) if path.suffix == ".safetensors" else None
        where = flipped(path, chosen, end=end)
        refused += assert_refused_or_the_same(folder, expected, where)
        shutil.copy2(sound / "tiny" / path.name, path)
    # Half of what stands in JSON and in a header is syntax or names.
    assert refused > FLIPS // 3


def test_flips_in_a_text(sound: Path, tmp_path: Path) -> None:
    """The text alone is made each time; the whole command is run where it is refused first, for each sort of file."""
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    assert measure(folder)[0] == 0
    expected, chosen, commanded = measured(folder), Random(11), set()
    tokenizer = load(folder / "tiny")
    source = Source("text", str(folder / "text"))

    def outcome() -> tuple[Corpus | None, str]:
        try:
            return prepare(recipe([source], sequence_length=32), tokenizer), ""
        except NeurothekError as error:
            return None, str(error)

    (whole, _), refused = outcome(), 0
    assert whole is not None
    names = ("a.txt", "b.jsonl", "c.parquet")
    for number in range(N_PARTS * FLIPS):
        path = folder / "text" / names[number % len(names)]
        where = flipped(path, chosen)
        found, said = outcome()
        if found is None:
            refused += 1
            assert "\n" not in said, where
            assert str(path) in said, where
            if path not in commanded:
                assert assert_refused_or_the_same(folder, expected, where)
                commanded.add(path)
        else:
            # One text has one fingerprint, and one fingerprint the same ids.
            same = found.text_sha256 == whole.text_sha256
            assert same == np.array_equal(found.tokens, whole.tokens) == (found.sha256 == whole.sha256), where
        shutil.copy2(sound / "text" / path.name, path)
    assert len(commanded) == len(names)
    assert N_PARTS * FLIPS // 5 < refused < N_PARTS * FLIPS


def test_a_flip_in_the_weights_makes_other_weights(sound: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(sound, folder)
    assert measure(folder)[0] == 0
    expected = measured(folder)
    path = folder / "tiny" / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[header_end(path) + 4] ^= 1
    path.write_bytes(raw)
    assert measure(folder)[0] == 0
    assert measured(folder).identity["weights_sha256"].to_list() != expected.identity["weights_sha256"].to_list()
