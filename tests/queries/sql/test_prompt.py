"""SQL at a prompt: what is typed, completed, kept, and what ends the conversation."""

from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from neurothek.queries.sql.prompt import SqlCompleter, converse

RELATIONS = ("neurons", "neuron_tokens", "models", "store.models", "store.ngrams")


def completed(text: str, *, asked: bool = True) -> list[str]:
    event = CompleteEvent(completion_requested=asked)
    return [one.text for one in SqlCompleter(RELATIONS).get_completions(Document(text), event)]


def typed(text: str, history: Path | None = None) -> list[str]:
    heard: list[str] = []
    with create_pipe_input() as keyboard:
        keyboard.send_text(text)
        converse(RELATIONS, heard.append, history=history, source=keyboard, screen=DummyOutput())
    return heard


def test_relations_where_one_must_follow(subtests: pytest.Subtests) -> None:
    for text, expected in [
        ("select * from neu", ["neurons", "neuron_tokens"]),
        ("from ", list(RELATIONS)),
        ("select 1 from models join store.n", ["store.ngrams"]),
        ("describe mod", ["models"]),
        ("FROM NEUR", ["neurons", "neuron_tokens"]),
        ("select 'x' from nothing", []),
    ]:
        with subtests.test(text=text, expected=expected):
            assert completed(text) == expected


def test_columns_of_the_views_in_the_text_and_words_of_sql() -> None:
    assert completed("select * from neurons where position_k") == ["position_kind"]
    assert "unigrams_95" in completed("select unig")
    assert "select" in completed("sel")
    assert "corpus_count" not in completed("from neurons select corp")
    assert completed("select n", asked=False) == []


def test_a_query_ends_with_a_semicolon_and_may_have_lines() -> None:
    assert typed("select 1;\rselect\r2;\rexit\r") == ["select 1;", "select\n2;"]
    assert typed("\r;\rselect ';'\r;\r\\q\r") == ["select ';'\n;"]
    assert typed("select 1; -- one\rselect '-- ;\r';\rexit\r") == ["select 1; -- one", "select '-- ;\n';"]


def test_ctrl_d_leaves_and_ctrl_c_drops_the_line() -> None:
    assert typed("select 1\x03select 2;\r\x04") == ["select 2;"]


def test_what_was_typed_is_kept(tmp_path: Path) -> None:
    history = tmp_path / "history"
    typed("select 42;\r\x04", history)
    assert "select 42;" in history.read_text()
    # The key "up" brings it back.
    assert typed("\x1b[A\r\x04", history) == ["select 42;"]
