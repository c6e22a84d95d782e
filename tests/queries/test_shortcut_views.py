"""The views of linear shortcuts against rows made by hand, on the shown corpus alone, and without any shortcuts."""

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support import warehouse as made

METHODS = ("id", "mat")
MEASURED = ((0, 0), (0, 1), (1, 1))
"""(model, corpus); the first model is pinned to corpus 0, the second shows the larger one."""

NAMES = ("precision_1", "precision_5", "precision_10", "surprisal")


def fits() -> list[made.Row]:
    """One row a pair of states, each with a number of its own."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "method": method}
        | {"source_state": source, "target_state": target, "n_fit": 9, "n_validation": 3}
        | {"r2": 1 - (1 + model_id + 2 * corpus_id + 4 * source + 8 * target) / 64}
        | {"condition": None if method == "id" else 2.5, "rank": None if method == "id" else 4}
        for model_id, corpus_id in MEASURED
        for method in METHODS
        for source in range(made.MODELS[model_id].n_layers)
        for target in range(source + 1, made.MODELS[model_id].n_layers + 1)
    ]


def predictions() -> list[made.Row]:
    """One row a state."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "method": method, "state": state, "n": 3}
        | {
            f"{name}{end}": (1 + place + state + 3 * corpus_id + 5 * number) / 64
            for place, name in enumerate(NAMES)
            for number, end in enumerate(("", "_low", "_high"))
        }
        for model_id, corpus_id in MEASURED
        for method in METHODS
        for state in range(made.MODELS[model_id].n_layers + 1)
    ]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    path = tmp_path_factory.mktemp("shortcuts") / "w.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as writing:
        made.insert(writing, "shortcuts", fits())
        made.insert(writing, "shortcut_predictions", predictions())
    return duckdb.connect(str(path), read_only=True)


def ask(connection: duckdb.DuckDBPyConnection, view: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = connection.sql(f"select * from {view}").pl().to_dicts()
    return rows


def shown(rows: list[made.Row]) -> list[made.Row]:
    data = made.hand_made()
    return [row for row in rows if data.shown[row["model_id"]] == row["corpus_id"]]


@pytest.mark.parametrize(
    ("view", "rows", "key"),
    [
        ("shortcut_fit", fits(), ("method", "source_state", "target_state")),
        ("shortcut_quality", predictions(), ("method", "state")),
    ],
)
def test_a_view_has_the_rows_of_the_shown_corpus(
    connection: duckdb.DuckDBPyConnection, view: str, rows: list[made.Row], key: tuple[str, ...]
) -> None:
    expected = {(made.MODELS[row["model_id"]].name, *(row[name] for name in key)): row for row in shown(rows)}
    answer = ask(connection, view)
    found = {(row["model"], *(row[name] for name in key)): row for row in answer}
    assert len(found) == len(answer)
    assert found.keys() == expected.keys()
    assert 0 < len(expected) < len(rows)
    for place, row in found.items():
        plan = made.MODELS[expected[place]["model_id"]]
        assert (row["size"], row["variant"]) == (plan.size, plan.variant)
        assert row["corpus"] == made.CORPORA[expected[place]["corpus_id"]][0]
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
