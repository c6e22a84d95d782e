"""The cookbook's questions, each admitted and run: on a warehouse with text, with weights only, and with none."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from neurothek import main
from neurothek.catalog.publishing import summaries
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.ask.parse_tree import known_relations
from neurothek.queries.sql import cookbook
from neurothek.queries.sql.admission import check_query
from neurothek.queries.views.install import all_views
from tests.support import cookbook_causes, cookbook_labels, cookbook_tokens, detectors, event_warehouse, sign_rows
from tests.support.cookbook import Rows, Store
from tests.support.values import is_same

TEXT = (Path(__file__).parents[3] / "docs" / "cookbook.md").read_text("utf-8")
QUESTIONS = dict(re.findall(r"^### (\d+\. [^\n]+)\n(?:(?!^###).)*?^```sql\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
NEEDS_MORE_TEXT = {"13", "14", "15", "16", "23", *map(str, cookbook_causes.ANSWERS)}
"""Detectors need more text than the hand-made warehouse has; exits, and what is asked for by name, it lacks."""

ANSWERS = {**cookbook_tokens.ANSWERS, **cookbook_labels.ANSWERS, **cookbook_causes.ANSWERS}

ON_DETECTORS = {13, 14, 15, 16, 19}
"""Questions whose answers have rows where detectors were planted; the others name models of the hand-made warehouse."""

every_question = pytest.mark.parametrize("question", list(QUESTIONS))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The hand-made warehouse with events, exits, and rows of what is asked for by name."""
    path = tmp_path_factory.mktemp("cookbook") / "whole.duckdb"
    event_warehouse.create(path)
    with Warehouse(path).writer() as connection:
        sign_rows.insert(connection)
        # A z of theirs is rare by chance.
        connection.execute("update store.contrast_neurons set q = q / 8")
        for (model_id,) in connection.execute("select model_id from store.models").fetchall():
            summaries.rebuild_facts(connection, model_id)
    with Warehouse(path).reader() as connection:
        yield connection


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """One with detectors."""
    path = tmp_path_factory.mktemp("cookbook") / "planted.duckdb"
    detectors.publish(path)
    with Warehouse(path).reader() as connection:
        yield connection


def test_there_are_twenty_and_more() -> None:
    assert [int(question.partition(".")[0]) for question in QUESTIONS] == list(range(1, len(QUESTIONS) + 1))
    assert len(QUESTIONS) > 20
    assert len(re.findall("^```sql$", TEXT, re.MULTILINE)) == len(QUESTIONS)
    assert len(ANSWERS) == len(QUESTIONS)


def test_the_page_offers_each_of_them() -> None:
    offered = {f"{one.number}. {one.words}": one.query for one in cookbook.questions()}
    assert offered == {question: query.strip() for question, query in QUESTIONS.items()}


def test_a_question_is_asked_of_the_models_that_are_there(full: duckdb.DuckDBPyConnection) -> None:
    asked = [one.about(["tiny-2m", "tiny-2m-nopos", "gelu-1m"]) for one in cookbook.questions()]
    assert not any("tiny-1m" in query for query in asked)
    assert any("'gelu-1m'" in query for query in asked)
    # One model is the smaller and the larger; none leaves what is written.
    for one in cookbook.questions():
        run_query(full, one.about(["tiny-2m"]))
        assert one.about([]) == one.query


@every_question
def test_it_is_answered(question: str, full: duckdb.DuckDBPyConnection) -> None:
    check_query(QUESTIONS[question], known_relations(), catalog="full")
    frame = run_query(full, QUESTIONS[question])
    assert frame.height > 0 or question.partition(".")[0] in NEEDS_MORE_TEXT


def checked(question: str, connection: duckdb.DuckDBPyConnection) -> Rows:
    """The rows that the question was answered, held against loops over the measurements."""
    found = run_query(connection, QUESTIONS[question]).rows()
    expected = ANSWERS[int(question.partition(".")[0])](Store(connection))
    assert len(found) == len(expected)
    assert [(one, other) for one, other in zip(found, expected, strict=True) if not is_same(one, other)] == []
    return found


@every_question
def test_its_answer_is_that_of_loops_over_the_measurements(question: str, whole: duckdb.DuckDBPyConnection) -> None:
    assert checked(question, whole) or int(question.partition(".")[0]) in ON_DETECTORS


@pytest.mark.parametrize("question", [one for one in QUESTIONS if int(one.partition(".")[0]) in ON_DETECTORS])
def test_so_are_answers_about_detectors(question: str, planted: duckdb.DuckDBPyConnection) -> None:
    assert checked(question, planted)


def test_no_neuron_is_counted_twice(whole: duckdb.DuckDBPyConnection) -> None:
    (question,) = (one for one in QUESTIONS if one.startswith("8."))
    models = {row["name"]: row["n_layers"] * row["d_ffn"] for row in Store(whole)["models"]}
    for row in run_query(whole, QUESTIONS[question]).to_dicts():
        assert row["n_neurons"] == models[row["model"]]


@every_question
def test_it_is_no_error_where_less_was_measured(
    question: str, weights: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection
) -> None:
    run_query(weights, QUESTIONS[question])
    assert run_query(empty, QUESTIONS[question]).is_empty()


@pytest.mark.parametrize("command", re.findall(r"`neurothek (search [^`]+)`", TEXT))
def test_its_commands_are_commands(command: str, full_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(full_path))
    assert CliRunner().invoke(main, shlex.split(command), catch_exceptions=False).exit_code == 0


def test_it_names_no_view_that_is_gone() -> None:
    mentioned = set(re.findall(r"(?:from|join) ([a-z_]+)", "\n".join(QUESTIONS.values())))
    own = set(re.findall(r"(?:with|,) ([a-z_]+) as \(", "\n".join(QUESTIONS.values())))
    assert mentioned - own <= set(all_views())
