"""The guide to thresholds: its statements run as printed, and a moved threshold gives what loops give."""

import csv
import io
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import neurothek
from neurothek.queries.views.contents import thresholds
from tests.support import detectors as planted
from tests.support import ngrams as oracle
from tests.support import tiny
from tests.support import warehouse as made

PAGE = (Path(__file__).parents[2] / "docs" / "thresholds.md").read_text("utf-8")
POSITIONAL, DEAD, DETECTORS = re.findall(r"```sql\n(.*?)```", PAGE, flags=re.DOTALL)
(SHELL,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def ngrams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("thresholds") / "ngrams.duckdb"
    planted.publish(path)
    return path


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("thresholds") / "full.duckdb"
    made.create(path)
    return path


@pytest.mark.parametrize("query", [POSITIONAL, DEAD, DETECTORS])
def test_an_empty_warehouse_answers_with_no_rows(tmp_path: Path, query: str) -> None:
    made.create_empty(tmp_path / "empty.duckdb")
    assert neurothek.open(tmp_path / "empty.duckdb").sql(query).is_empty()


def shown(table: str) -> list[dict[str, Any]]:
    rows = made.hand_made().rows[table]
    return [row for row in rows if row["corpus_id"] == made.hand_made().shown[row["model_id"]]]


def test_positional_neurons_at_other_values(full: Path) -> None:
    rows = {row["model"]: row for row in neurothek.open(full).sql(POSITIONAL).to_dicts()}
    for model_id, plan in enumerate(tiny.MODELS[:3]):
        values = [
            row["mutual_information_corrected"]
            for row in shown("positions")
            if row["model_id"] == model_id and row["domain"] == "all"
        ]
        assert rows[plan.name]["watched"] == len(values)
        for name, least in (("above_002", 0.02), ("above_005", 0.05), ("above_010", 0.1)):
            assert rows[plan.name][name] == sum(value > least for value in values)
    assert "gelu-1m" not in rows


def test_nearly_dead_neurons(full: Path) -> None:
    active: Counter[tuple[int, int, int]] = Counter()
    for row in shown("activity"):
        active[row["model_id"], row["layer"], row["neuron"]] += row["n_active"]
    rows = {(row["model"], row["layer"]): row for row in neurothek.open(full).sql(DEAD).to_dicts()}
    for (model, layer), row in rows.items():
        own = [n for (at, of, _), n in active.items() if (tiny.MODELS[at].name, of) == (model, layer)]
        assert (row["never"], row["at_most_five"]) == (own.count(0), sum(n <= 5 for n in own))
    assert len(rows) == len({key[:2] for key in active})


def n_detectors(model: str, recall: float) -> int:
    """Token detectors by loops, with another recall."""
    found = 0
    for key in planted.NEURONS:
        counts = oracle.activations(planted.lines(model, *key), 1)
        seen = oracle.occurrences(planted.lines(model, *key), 1)
        total = sum(counts.values())
        if total < 100 or oracle.coverage(counts, 95) > 5:
            continue
        held = sum(n for ngram, n in counts.items() if seen[ngram] >= 10 and n >= recall * seen[ngram])
        found += held >= 0.95 * total
    return found


def test_detectors_at_several_recalls(ngrams: Path) -> None:
    rows = neurothek.open(ngrams).sql(DETECTORS).to_dicts()
    found = {(row["model"], row["least_recall"]): row["token_detectors"] for row in rows}
    assert {float(recall) for _, recall in found} == {0.8, 0.9, 0.95, 0.99}
    for (model, recall), number in found.items():
        assert number == n_detectors(model, float(recall))
    # The planted neurons that answer 94.5% and 95% of their token stand on either side.
    counts = [n_detectors("planted", recall) for recall in (0.9, 0.95, 0.99)]
    assert counts[0] > counts[1] > counts[2]


def test_the_shell_lines_move_one_constant(ngrams: Path, tmp_path: Path) -> None:
    command = tmp_path / "neurothek"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "import neurothek; neurothek.main()" "$@"\n')
    command.chmod(0o755)
    root = str(Path(neurothek.__file__).parents[1])
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": root, "NEUROTHEK_WAREHOUSE": str(ngrams)}
    subprocess.run(["bash", "-euo", "pipefail", "-c", SHELL], check=True, cwd=tmp_path, env=environment, timeout=120)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "detected-at-90.csv").read_text("utf-8"))))
    found = {(row["model"], row["layer"], row["neuron"]) for row in rows if row["n"] == "1"}
    assert len([one for one in found if one[0] == "planted"]) == n_detectors("planted", 0.9)


def test_the_table_names_constants_that_exist() -> None:
    table = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, flags=re.MULTILINE)
    assert table
    for view, cell in table:
        assert set(re.findall(r"`(\w+)`", cell)) <= set(thresholds(view))
