"""The views of linear shortcuts against rows made by hand, on the shown corpus alone, and without any shortcuts."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support import shortcut_rows, tiny
from tests.support import warehouse as made

MEASURED = ((0, 0), (0, 1), (1, 1))
"""(model, corpus); the first model is pinned to corpus 0, the second shows the larger one."""

FITS = shortcut_rows.fits(MEASURED)
PREDICTIONS = shortcut_rows.predictions(MEASURED)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = tmp_path_factory.mktemp("shortcuts") / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as writing:
        made.insert(writing, "shortcuts", FITS)
        made.insert(writing, "shortcut_predictions", PREDICTIONS)
    return duckdb.connect(str(path), read_only=True)


def ask(connection: duckdb.DuckDBPyConnection, view: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(f"select * from {view}").pl().to_dicts()
    return rows


def shown(rows: list[tiny.Row]) -> list[tiny.Row]:
    data = made.hand_made()
    return [row for row in rows if data.shown[row["model_id"]] == row["corpus_id"]]


@pytest.mark.parametrize(
    ("view", "rows", "key"),
    [
        ("shortcut_fit", FITS, ("method", "source_state", "target_state")),
        ("shortcut_quality", PREDICTIONS, ("method", "state")),
    ],
)
def test_a_view_has_the_rows_of_the_shown_corpus(
    connection: duckdb.DuckDBPyConnection, view: str, rows: list[tiny.Row], key: tuple[str, ...]
) -> None:
    expected = {(tiny.MODELS[row["model_id"]].name, *(row[name] for name in key)): row for row in shown(rows)}
    answer = ask(connection, view)
    found = {(row["model"], *(row[name] for name in key)): row for row in answer}
    assert len(found) == len(answer)
    assert found.keys() == expected.keys()
    assert 0 < len(expected) < len(rows)
    for place, row in found.items():
        plan = tiny.MODELS[expected[place]["model_id"]]
        assert (row["size"], row["variant"]) == (plan.size, plan.variant)
        assert row["corpus"] == tiny.CORPORA[expected[place]["corpus_id"]][0]
        for name, value in expected[place].items():
            if name not in ("model_id", "corpus_id", "run_id"):
                assert row[name] == value
        depths = {"depth": "state", "source_depth": "source_state", "target_depth": "target_state"}
        for depth, state in depths.items():
            if state in row:
                assert row[depth] == row[state] / plan.n_layers


@pytest.mark.parametrize("view", ["shortcut_fit", "shortcut_quality"])
def test_without_shortcuts_there_are_no_rows(tmp_path: Path, view: str) -> None:
    made.create(tmp_path / "w.duckdb", tables=frozenset({"projections", "postings"}))
    with duckdb.connect(str(tmp_path / "w.duckdb"), read_only=True) as bare:
        assert ask(bare, view) == []
