"""The cookbook's questions, each admitted and run: on a warehouse with text, with weights only, and with none."""

import re
import shlex
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from neurothek import main
from queries import cookbook
from queries.admission import check_query
from queries.sandbox import known_relations, run_query
from queries.views import all_views

TEXT = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text("utf-8")
QUESTIONS = dict(re.findall(r"^### (\d+\. [^\n]+)\n(?:(?!^###).)*?^```sql\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL))
NEEDS_MORE_TEXT = {"13", "14", "15", "16", "23"}
"""Detectors need more text than the hand-made warehouse has, and exits were not measured there."""

every_question = pytest.mark.parametrize("question", list(QUESTIONS))


def test_there_are_twenty_and_more() -> None:
    assert [int(question.partition(".")[0]) for question in QUESTIONS] == list(range(1, len(QUESTIONS) + 1))
    assert len(QUESTIONS) > 20
    assert len(re.findall("^```sql$", TEXT, re.MULTILINE)) == len(QUESTIONS)


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
    check_query(QUESTIONS[question], known_relations(full), catalog="full")
    frame = run_query(full, QUESTIONS[question])
    assert frame.height > 0 or question.partition(".")[0] in NEEDS_MORE_TEXT


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
