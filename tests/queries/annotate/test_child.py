"""The process that saves what people wrote on a page: one request in, one answer out, whatever is in it."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NeurothekError, Unavailable
from neurothek.queries.annotate.child import main
from tests.support.tiny import ENGLISH

LINE: dict[str, Any] = {"concept": "é\u2028\U0001f600 c", "class": "names", "ranks": [1, 2, 3, 4], "annotator": "anna"}


@pytest.fixture
def path(full_path: Path, tmp_path: Path) -> Path:
    """The hand-made warehouse before anybody annotated."""
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.annotations")
    return path


def answered(path: Path, *annotations: dict[str, Any]) -> NeurothekError | None:
    request = {"warehouse": str(path), "wait_seconds": 5, "annotations": list(annotations)}
    answers = io.BytesIO()
    main(io.BytesIO(json.dumps(request).encode()), answers)
    answer = json.loads(answers.getvalue())
    assert list(answer) == ["error"]
    return None if answer["error"] is None else NeurothekError.from_dict(answer["error"])


def concepts(path: Path) -> list[tuple[str, list[int]]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("select concept, token_ids from store.annotations order by 1").fetchall()


def test_all_is_saved_and_nothing_is_said(path: Path) -> None:
    line = {name: value for name, value in LINE.items() if name != "concept"}
    assert answered(path, {"address": "tiny-1m/L0N0", "concept": "schools", **line}) is None
    ((concept, tokens),) = concepts(path)
    assert concept == "schools"
    # The planted neuron's highest tokens.
    assert {ENGLISH[token] for token in tokens} == {" school", "School", "SCHOOL", " university"}


def test_one_that_cannot_be_saved_keeps_all_from_it(path: Path) -> None:
    whole = {"address": "tiny-1m/L0N0", **LINE, "concept": "schools"}
    said = answered(path, whole, {**whole, "address": "tiny-1m/L9N0"})
    assert said is not None
    assert said.message.startswith("line 2, address: ")
    assert concepts(path) == []


def test_a_line_break_in_a_text_is_the_texts(path: Path) -> None:
    said = answered(path, {"address": "tiny-1m/L0N0", **LINE, "concept": "a\nb"})
    assert isinstance(said, Invalid)
    assert (said.option, said.message.partition(": ")[0]) == ("concept", "line 1, concept")
    assert len(str(said).splitlines()) == 1


def test_a_warehouse_that_is_missing_is_told_and_not_made(path: Path, tmp_path: Path) -> None:
    none = tmp_path / "none here.duckdb"
    said = answered(none, {"address": "tiny-1m/L0N0", **LINE, "concept": "c"})
    assert isinstance(said, Unavailable)
    assert (said.what, said.name) == ("warehouse", str(none))
    assert answered(path) is not None, "an empty request saves nothing, and says so"
    assert not none.exists()
