"""The views of leaving early, and what compare says of it, against plain loops over the same rows."""

import itertools
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.compare.comparison import compare
from neurothek.queries.compare.exits import EARLY_EXIT_COLUMNS, TRADEOFF_COLUMNS
from neurothek.queries.views.install import all_views
from tests.support import event_warehouse as made
from tests.support import exit_rows
from tests.support.tiny import MODELS

ROWS = exit_rows.rows((*made.MEASURED, made.UNSHOWN))
CLOSE = 1e-9
"""Means of a few doubles in another order differ by less."""

Z = 1.959963984540054

Row = dict[str, Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("exits") / "exits.duckdb"
    made.create(path)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def ask(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def shown(method: str, model_id: int) -> list[Row]:
    """Rows of a model and method on its shown corpus."""
    corpus_id = dict(made.MEASURED)[model_id]
    wanted = {"model_id": model_id, "corpus_id": corpus_id, "method": method}
    return [row for row in ROWS if all(row[name] == value for name, value in wanted.items())]


def spread(values: list[float]) -> object:
    return pytest.approx(statistics.stdev(values), abs=CLOSE) if len(values) > 1 else None


@pytest.mark.parametrize("view", ["early_exits", "exit_tradeoff"])
def test_keys_are_unique(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    key = ", ".join(all_views()[view].key)
    ((n_rows, n_keys),) = connection.execute(f"select count(*), count(distinct ({key})) from {view}").fetchall()
    assert n_rows == n_keys > 0


def test_early_exits(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(row["model"], row["method"]): row for row in ask(connection, "select * from early_exits")}
    expected = {
        (model_id, method): rows
        for model_id, _ in made.MEASURED
        for method in exit_rows.RULES
        if (rows := shown(method, model_id))
    }
    assert found.keys() == {(MODELS[model_id].name, method) for model_id, method in expected}
    assert len(expected) == 14
    for (model_id, method), rows in expected.items():
        row = found[MODELS[model_id].name, method]
        assert row["n_seeds"] == len(rows) == (1 if method == "cluster_sets" else 5)
        assert row["n"] == sum(one["n"] for one in rows)
        assert row["n_clusters_asked"] == (exit_rows.N_CLUSTERS if method.startswith("cluster") else None)
        for name in ("accuracy", "layers_saved", "layers_saved_correct"):
            values = [one[name] for one in rows]
            assert row[name] == pytest.approx(statistics.fmean(values), abs=CLOSE)
            assert row[f"{name}_sd"] == spread(values)
        n_layers, n_exited = MODELS[model_id].n_layers, sum(one["n_exited"] for one in rows)
        assert row["saved_share"] == pytest.approx(row["layers_saved"] / n_layers)
        assert row["exited_share"] == pytest.approx(n_exited / row["n"])
        n_wrong = sum(one["n"] - one["n_correct"] for one in rows)
        assert row["exited_accuracy"] == (pytest.approx(1 - n_wrong / n_exited) if n_exited else None)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The roots of (p - share)^2 = z^2 p (1 - p) / n."""
    a, b, c = 1 + Z**2 / n, -(2 * share + Z**2 / n), share**2
    root = (b * b - 4 * a * c) ** 0.5
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


def at_95(rows: list[Row]) -> float | None:
    """Layers at the first place where the curve, drawn by straight lines, rises through 95%."""
    points = sorted((row["layers_run"], row["accuracy"]) for row in rows)
    for (left, below), (right, above) in itertools.pairwise(points):
        if below < 0.95 <= above:
            return float(left + (right - left) * (0.95 - below) / (above - below))
    return None


def test_exit_tradeoff(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["model"], row["method"], row["parameter"]): row for row in ask(connection, "select * from exit_tradeoff")
    }
    n_seen, crossed = 0, set()
    for model_id, _ in made.MEASURED:
        name, n_layers = MODELS[model_id].name, MODELS[model_id].n_layers
        for method in exit_rows.SHORTCUTS:
            rows = shown(method, model_id)
            crossing = at_95(rows)
            crossed.add((method, crossing is not None))
            for one in rows:
                row = found[name, method, one["parameter"]]
                n_seen += 1
                assert (row["n"], row["precision_1"]) == (exit_rows.N_SENTENCES, one["accuracy"])
                low, high = wilson(one["accuracy"], exit_rows.N_SENTENCES)
                assert (row["precision_1_low"], row["precision_1_high"]) == pytest.approx((low, high), abs=CLOSE)
                half = Z * one["layers_run_sd"] / exit_rows.N_SENTENCES**0.5
                ends = (one["layers_run"] - half, one["layers_run"] + half)
                assert (row["layers_run_low"], row["layers_run_high"]) == pytest.approx(ends, abs=CLOSE)
                assert row["run_share"] == pytest.approx(one["layers_run"] / n_layers)
                assert row["saved_share"] == pytest.approx(1 - one["layers_run"] / n_layers)
                if crossing is None:
                    assert row["layers_at_95"] is row["layers_saved_at_95"] is row["saved_share_at_95"] is None
                    continue
                assert row["layers_at_95"] == pytest.approx(crossing)
                assert row["layers_saved_at_95"] == pytest.approx(n_layers - crossing)
                assert row["saved_share_at_95"] == pytest.approx(1 - crossing / n_layers)
    assert n_seen == len(found)
    # Through it twice, always above, exactly to it, always below: the curves have each sort.
    assert crossed == {("mat", True), ("id", False), ("fixed_mat", True), ("fixed_id", False)}


def test_columns_of_scaling(connection: duckdb.DuckDBPyConnection) -> None:
    metrics = {
        (row["model"], row["metric"]): row
        for row in ask(connection, "select * from scaling_long where metric like '%exit%'")
    }
    for row in ask(connection, "select * from scaling"):
        model_id = [plan.name for plan in MODELS].index(row["model"])
        if model_id not in dict(made.MEASURED):
            assert row["n_exit_examples"] is row["n_exit_sentences"] is row["mat_exit_saved_share"] is None
            continue
        n_layers, rules = MODELS[model_id].n_layers, shown("cluster_ranks", model_id)
        layers = at_95(shown("mat", model_id))
        assert layers is not None
        expected = {
            "cluster_exit_accuracy": statistics.fmean(one["accuracy"] for one in rules),
            "cluster_exit_saved_share": statistics.fmean(one["layers_saved"] for one in rules) / n_layers,
            "mat_exit_saved_share": 1 - layers / n_layers,
        }
        assert row["n_exit_examples"] == sum(one["n"] for one in rules)
        assert row["n_exit_sentences"] == exit_rows.N_SENTENCES
        assert row["id_exit_saved_share"] is None
        for name, value in expected.items():
            assert row[name] == pytest.approx(value)
            long = metrics.pop((row["model"], name))
            assert long["value"] == row[name]
            assert long["n"] == row["n_exit_examples" if name.startswith("cluster") else "n_exit_sentences"]
            assert long["source_view"] == ("early_exits" if name.startswith("cluster") else "exit_tradeoff")
    assert metrics == {}


def test_compare_prints_both(connection: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(connection)
    sections = {section.title: section.frame for section in comparison.sections()}
    rules = sections["early exit by sub-updates, and by classifiers"].to_dicts()
    rows = ask(connection, "select * from early_exits order by size, model")
    assert [row["model"] for row in rules] == [row["model"] for row in rows]
    by_method = {(row["model"], row["method"]): row for row in rules}
    for row in rows:
        shown_as = by_method[row["model"], exit_words(row["method"])]
        accuracy, _, sd = shown_as["accuracy"].partition(" +- ")
        assert float(accuracy) == pytest.approx(row["accuracy"], abs=5e-4)
        assert (sd == "") == (row["n_seeds"] == 1)
        assert shown_as["correct"] == row["exited_accuracy"]
    saved = {row["model"]: row for row in sections["layers saved at 95% precision by shortcuts"].to_dicts()}
    for row in ask(connection, "select distinct model, method, layers_saved_at_95 from exit_tradeoff"):
        assert saved[row["model"]][exit_words(row["method"])] == row["layers_saved_at_95"]
    assert dict(comparison.data()["early_exits"].schema) == dict(EARLY_EXIT_COLUMNS)
    assert dict(comparison.data()["exit_tradeoff"].schema) == dict(TRADEOFF_COLUMNS)


def exit_words(method: str) -> str:
    fixed = method.removeprefix("fixed_")
    words = {"cluster_ranks": "clusters by rank", "cluster_sets": "clusters as sets"}
    words |= {f"logistic_{what}": f"classifier: {said}" for what, said in (("stream", "stream"), ("sum", "sum"))}
    words["logistic_ffn"] = "classifier: FFN"
    return words.get(method, fixed if fixed == method else f"{fixed}, fixed")


def test_models_without_exits_have_no_section(full: duckdb.DuckDBPyConnection) -> None:
    assert not [section.title for section in compare(full).sections() if "exit" in section.title]
