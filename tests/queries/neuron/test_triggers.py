"""A neuron's triggers and what they make of it, against loops over planted text."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.neuron.contexts import DETECTION_COLUMNS, TRIGGER_COLUMNS, rule
from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support import detectors as planted
from tests.support import ngrams as oracle


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path: Path = tmp_path_factory.mktemp("triggers") / "triggers.duckdb"
    planted.publish(path)
    with Warehouse(path).reader() as connection:
        yield connection


def page(connection: duckdb.DuckDBPyConnection, model: str, layer: int, neuron: int) -> NeuronPage:
    return neuron_page(connection, f"{model}/L{layer}N{neuron}")


@pytest.mark.parametrize("model", planted.MODELS)
@pytest.mark.parametrize(("layer", "neuron"), planted.NEURONS)
def test_triggers_are_those_of_the_loops(
    connection: duckdb.DuckDBPyConnection, model: str, layer: int, neuron: int
) -> None:
    found = page(connection, model, layer, neuron).triggers
    assert dict(found.ngrams.schema) == dict(TRIGGER_COLUMNS)
    lines = planted.lines(model, layer, neuron)
    for n in (1, 2, 3):
        counts, seen = oracle.activations(lines, n), oracle.occurrences(lines, n)
        rows = found.ngrams.filter(n=n).to_dicts()
        assert [(tuple(row["token_ids"]), row["n_active"]) for row in rows] == oracle.kept(counts, seen, n)
        for row in rows:
            ngram = tuple(row["token_ids"])
            assert row["recall"] == pytest.approx(counts[ngram] / seen[ngram])
            assert row["share"] == pytest.approx(counts[ngram] / sum(counts.values()))
            assert row["score"] == (planted.score(layer, neuron, *ngram) if n == 1 else None)


def status(model: str, layer: int, neuron: int, n: int) -> str:
    """The label by the definitions."""
    if not planted.can_be_labelled(model, n):
        return "cannot be labelled"
    if sum(oracle.activations(planted.lines(model, layer, neuron), n).values()) < 100:
        return "too few activations"
    found = planted.detector(model, layer, neuron, n)
    return "not" if found is None else "strict detector" if found.is_strict else "detector"


@pytest.mark.parametrize("model", planted.MODELS)
def test_status_is_the_definition_s(connection: duckdb.DuckDBPyConnection, model: str) -> None:
    labels = set()
    for layer, neuron in planted.NEURONS:
        rows = page(connection, model, layer, neuron).triggers.detection
        assert dict(rows.schema) == dict(DETECTION_COLUMNS)
        expected = [status(model, layer, neuron, n) for n in (1, 2, 3)]
        assert rows.get_column("status").to_list() == expected
        labels |= set(expected)
    wanted = {"not", "too few activations"} | (
        {"strict detector", "detector"} if model == "planted" else {"cannot be labelled"}
    )
    assert labels >= wanted


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (("planted", 0, 5), "n = 1: 6 tokens cover its activations, more than 5"),
        (("planted", 1, 4), "n = 1: 99 activations, but 100 are needed"),
        (("planted", 1, 2), "n = 1: tokens that activate it 95% of the time hold 0% of its activations"),
        (("shuffled", 0, 4), "n = 3: trigrams that occur at least 10 times hold"),
    ],
)
def test_the_reason_is_said(connection: duckdb.DuckDBPyConnection, place: tuple[str, int, int], sentence: str) -> None:
    assert sentence in repr(page(connection, *place))


def test_suppression_is_said_with_what_chance_gives(connection: duckdb.DuckDBPyConnection) -> None:
    found = page(connection, "planted", 0, 0)
    assert found.summary.endswith(
        "Token detector: it detects 2 tokens and suppresses them (mean score -2;"
        f" {100 * found.data()['suppression']['expected']:.0f}% of equally frequent tokens would be suppressed too)."
    )
    assert page(connection, "planted", 0, 4).triggers.suppression is None


def test_the_rule_names_the_thresholds() -> None:
    assert "at most 5 tokens (50 n-grams)" in " ".join(rule())
    assert "and 95% of them on n-grams that occur at least 10 times and activate it 95% of the time" in " ".join(rule())


def test_nothing_is_said_where_ngrams_were_not_counted(full: duckdb.DuckDBPyConnection) -> None:
    found = neuron_page(full, "tiny-1m/L0N0")
    assert found.triggers.ngrams.is_empty()
    assert not any("trigger" in section.title for section in found.sections())
