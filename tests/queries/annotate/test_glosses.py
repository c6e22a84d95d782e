"""Glosses: shown beside the tokens that have one, read from tables of two columns and from nothing else."""

import csv
import io
import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Unreadable
from neurothek.queries.annotate.lines import read_lines
from neurothek.queries.annotate.sample import Glosses, draw_sample, read_glosses
from tests.support.sentences import sentence

MODEL = "tiny-2m"


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "glosses.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        "school\tecole\n cat\tchat, m.\n",
        "token,gloss\nschool,ecole\ncat,'chat, m.'\n".replace("'", '"'),
        '\ufeffschool;ecole\r\n\r\ncat;"chat, m."\r\n',
    ],
)
def test_tables_of_two_columns_are_read(tmp_path: Path, text: str) -> None:
    glosses = read_glosses(written(tmp_path, text))
    assert (glosses.of(" school"), glosses.of("cat"), glosses.of(" dog")) == ("ecole", "chat, m.", None)


def test_several_glosses_of_a_token_are_joined(tmp_path: Path) -> None:
    assert read_glosses(written(tmp_path, "bus\tcar\nbus\tautobus\nbus\tcar\n")).of("bus") == "car; autobus"


BAD = {
    "school\n": "line 1 is not a token and its gloss",
    "school\tecole\ncat\tchat\tkatze\n": "line 2 is not a token and its gloss",
    "school\t\n": "line 1 is not a token and its gloss",
    "": "it is empty",
    "token\tgloss\n": "it is empty",
    'a,"b\n': "it is neither TSV nor CSV",
    b"caf\xe9\tx\n": "it is not in UTF-8",
}


@pytest.mark.parametrize("text", BAD)
def test_a_malformed_file_is_a_sentence(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(Unreadable) as caught:
        read_glosses(written(tmp_path, text))
    assert BAD[text] in sentence(caught.value)


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tsv", tmp_path):
        with pytest.raises(Unreadable) as caught:
            read_glosses(path)
        assert path.name in sentence(caught.value)


def test_samples_have_a_gloss_for_each_token_that_has_one(full: duckdb.DuckDBPyConnection) -> None:
    sample = draw_sample(full, MODEL)
    glosses = Glosses({"school": "ecole", "cat": "chat"})
    rows = sample.frame(glosses).to_dicts()
    assert "glosses" not in sample.frame().columns
    said = [(token, gloss) for row in rows for token, gloss in zip(row["tokens"], row["glosses"], strict=True)]
    assert {gloss for token, gloss in said if token == " school"} == {"ecole"}
    assert {gloss for token, gloss in said if token.strip() not in ("school", "cat")} == {None}
    for vector, row in zip(sample.vectors, sample.sheet(None, glosses).to_dicts(), strict=True):
        parts = [] if row["glosses"] is None else row["glosses"].split(", ")
        ranks = {int(part.split(" ")[0]): part.split(" ")[1] for part in parts}
        expected = {rank: glosses.of(token) for rank, token in enumerate(vector.tokens, 1) if glosses.of(token)}
        assert ranks == expected


def test_a_sheet_with_glosses_is_read_back(full_path: Path, tmp_path: Path) -> None:
    path = written(tmp_path, "school\tecole\n")
    warehouse = shutil.copy(full_path, tmp_path / "w.duckdb")
    command = ["annotate", "--warehouse", str(warehouse), "--sample", MODEL, "--glosses", str(path)]
    answer = CliRunner().invoke(neurothek.main, [*command, "--format", "csv"], catch_exceptions=False)
    header, first, *_ = csv.reader(io.StringIO(answer.stdout))
    filled = dict(zip(header, first, strict=True)) | {"class": "none", "annotator": "anna"}
    assert "school" not in filled["glosses"]
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, header)
    writer.writeheader()
    writer.writerow(filled)
    (line,) = read_lines(sheet.getvalue().encode())
    assert (line.fields["concept"], "glosses" in line.fields) == (None, False)
    shown = CliRunner().invoke(neurothek.main, command, catch_exceptions=False)
    assert "ecole" in shown.stdout
