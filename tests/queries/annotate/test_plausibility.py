"""Judgements of plausibility: by line or as a sheet, all of them kept or none, the later in place of the earlier."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import broken, of_subject
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.annotate.lists import ListSample, draw_lists
from neurothek.queries.views import install
from tests.support import shortcut_rows
from tests.support import warehouse as made

MODEL, MEASURED = "tiny-1m", ((0, 0),)


@pytest.fixture(scope="module")
def unjudged(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    path = Path(shutil.copy(full_path, tmp_path_factory.mktemp("unjudged") / "w.duckdb"))
    with duckdb.connect(str(path)) as writing:
        made.insert(writing, "shortcut_sentences", shortcut_rows.sentences(MEASURED))
        made.insert(writing, "shortcut_tops", shortcut_rows.tops(MEASURED))
        made.insert(writing, "shortcut_predictions", shortcut_rows.predictions(MEASURED))
    return Warehouse(path, views=install)


@pytest.fixture
def warehouse(unjudged: Warehouse, tmp_path: Path) -> Warehouse:
    return Warehouse(Path(shutil.copy(unjudged.path, tmp_path / "w.duckdb")), views=install)


@pytest.fixture(scope="module")
def sample(unjudged: Warehouse) -> ListSample:
    with unjudged.reader() as connection:
        return draw_lists(connection, MODEL)


def run(warehouse: Warehouse, *arguments: str, text: str = "") -> Result:
    command = ["annotate", "--warehouse", str(warehouse.path), *arguments]
    return CliRunner().invoke(neurothek.main, command, input=text, catch_exceptions=False)


def line(sample: ListSample, number: int = 0, **fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "item": sample.lists[number].handle, "plausible": True, "annotator": "anna"} | fields


def stored(warehouse: Warehouse) -> dict[tuple[str, tuple[int, ...], str], bool]:
    with warehouse.reader() as connection:
        rows = connection.sql("from store.plausibility_judgements").to_dicts()
    found = {(row["text"], tuple(row["shown_token_ids"]), row["annotator"]): row["is_plausible"] for row in rows}
    assert len(found) == len(rows)
    return found


def test_lines_are_kept_and_replaced(warehouse: Warehouse, sample: ListSample) -> None:
    lines = [line(sample, number, plausible=number % 2 == 0) for number in range(6)]
    answer = run(warehouse, "--stdin", text="\n".join(map(json.dumps, lines)))
    assert (answer.exit_code, answer.stderr) == (0, "saved 6 annotations of 6 lists\n")
    known = {(one.text, one.token_ids, "anna"): number % 2 == 0 for number, one in enumerate(sample.lists[:6])}
    assert stored(warehouse) == known
    saved = annotate(warehouse, [line(sample, 0, plausible=False), line(sample, 0, annotator="ben")])
    assert (saved.n_annotations, saved.n_lists, saved.n_vectors, saved.n_replaced) == (2, 2, 0, 1)
    first = sample.lists[0]
    assert stored(warehouse) == known | {
        (first.text, first.token_ids, "anna"): False,
        (first.text, first.token_ids, "ben"): True,
    }
    with warehouse.current_reader() as connection:
        assert broken(connection, among=of_subject("written", "plausibility_is_of_lists"), progress=Silent()) == []
        (found,) = connection.sql("select sum(n) from plausibility where annotator = 'ben'").fetchall()
    assert found[0] >= 1


def test_the_sheet_is_filled_in_and_read_back(warehouse: Warehouse, sample: ListSample) -> None:
    printed = run(warehouse, "--plausibility", MODEL, "--format", "csv", "--annotator", "carl").stdout
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["item"] for row in rows] == [one.handle for one in sample.lists]
    # Judged are the first two; a row left empty is judged later.
    rows[0]["plausible"], rows[1]["plausible"] = "yes", "No"
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, rows[0].keys())
    writer.writeheader()
    writer.writerows(rows)
    assert run(warehouse, "--stdin", text=sheet.getvalue()).exit_code == 0
    assert list(stored(warehouse).values()) == [True, False]
    left = run(warehouse, "--plausibility", MODEL, "--annotator", "carl", "--format", "json")
    assert len(json.loads(left.stdout)) == len(sample.lists) - 2
    assert f"2 of {len(sample.lists)} lists were judged by carl" in left.stderr


def test_what_is_printed_tells_no_shortcut_from_another(unjudged: Warehouse) -> None:
    for output in ("json", "csv", "table"):
        shown = run(unjudged, "--plausibility", MODEL, "--format", output).stdout
        assert shown
        assert not any(word in shown for word in ('"mat"', " mat ", ",mat,", "method", "state"))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no item": ({"item": None}, "line 2, item: it is missing"),
    "no model": ({"model": None}, "line 2, model: it is missing"),
    "not said": ({"plausible": None}, "line 2, plausible: it is missing"),
    "a number": ({"plausible": 1}, "line 2, plausible: 1 is not valid; write true or false"),
    "a word": ({"plausible": "maybe"}, "line 2, plausible: 'maybe' is not valid"),
    "nobody": ({"annotator": None}, "line 2, annotator: it is missing"),
    "everybody": ({"annotator": "All"}, "line 2, annotator: 'All' is not valid"),
    "the program": ({"annotator": "rules"}, "line 2, annotator: 'rules' is not valid"),
    "unknown": ({"item": "0-000000000000"}, "line 2, item: there is no 0-000000000000 in the sample"),
    "not a name": ({"item": "third"}, "line 2, item: there is no third in the sample"),
    "another model": ({"model": "tiny-2m"}, "line 2, model: tiny-2m has no lists of next tokens to judge"),
    "no such model": ({"model": "tiny-9m"}, "line 2, model: "),
    "another field": ({"concept": "x"}, "line 2, concept: there is no such field"),
}


@pytest.mark.parametrize("name", BAD)
def test_one_bad_line_and_nothing_is_written(unjudged: Warehouse, sample: ListSample, name: str) -> None:
    fields, sentence = BAD[name]
    before = unjudged.path.read_bytes()
    answer = run(unjudged, "--stdin", text=f"{json.dumps(line(sample))}\n{json.dumps(line(sample, 1, **fields))}")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert sentence in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert unjudged.path.read_bytes() == before


def test_a_list_is_judged_once_and_kinds_are_not_mixed(unjudged: Warehouse, sample: ListSample) -> None:
    twice = f"{json.dumps(line(sample))}\n{json.dumps(line(sample, plausible=False))}"
    assert "line 2, item: the same annotator judged it already (line 1)" in run(unjudged, "--stdin", text=twice).stderr
    concept = {"address": f"{MODEL}/L0N0", "concept": None, "annotator": "anna"}
    mixed = f"{json.dumps(concept)}\n{json.dumps(line(sample))}"
    assert "line 1, item: it is missing, and other lines have it" in run(unjudged, "--stdin", text=mixed).stderr


def test_a_sheet_says_yes_or_no(unjudged: Warehouse, sample: ListSample) -> None:
    sheet = f"model,item,annotator,plausible,text,1\n{MODEL},{sample.lists[0].handle},anna,perhaps,x,1 y\n"
    assert "line 2, plausible: 'perhaps' is not valid" in run(unjudged, "--stdin", text=sheet).stderr
    wrong = "model,item,plausible,concept\n"
    assert "line 1, concept: there is no such field" in run(unjudged, "--stdin", text=wrong).stderr
