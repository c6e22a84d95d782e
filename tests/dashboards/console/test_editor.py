"""The editor: the address holds the query, what is put into it replaces what stands there, what is run does not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.console.editor import LINES, completions

Opener = Callable[..., AppTest]


def told(page: AppTest) -> dict[str, Any]:
    """What the browser is told of the editor."""
    (found,) = page.get("component_instance")
    said: dict[str, Any] = json.loads(found.proto.json_args)
    return said


def scripted(body: Callable[..., None], query: str | None = None) -> AppTest:
    page = AppTest.from_function(body)
    if query is not None:
        page.query_params["query"] = query
    return page


def edit() -> None:
    from unittest.mock import patch  # noqa: PLC0415 - it runs as a page of its own

    import streamlit as st  # noqa: PLC0415
    from code_editor import code_editor  # noqa: PLC0415

    from neurothek.dashboards.console import editor  # noqa: PLC0415

    def component(*args: object, **keywords: object) -> object:
        """The component, which says that a text was run where the test asks for that."""
        at_first = code_editor(*args, **keywords)
        return st.session_state.get("event", at_first)

    st.button("card", on_click=editor.put_query, args=("of a card",))
    with patch.object(editor, "code_editor", component):
        st.text(editor.show_editor("first"))


def run(page: AppTest, text: str, number: int) -> AppTest:
    """Let the component say that a text was run."""
    page.session_state["event"] = {"type": "submit", "text": text, "id": f"id{number}"}
    return page.run()


def test_without_a_query_it_is_the_first() -> None:
    page = scripted(edit).run()
    assert not page.exception
    assert (told(page)["code"], page.text[0].value, page.query_params["query"]) == ("first", "first", "first")
    asked = scripted(edit, "select 1").run()
    assert (told(asked)["code"], asked.text[0].value) == ("select 1", "select 1")


def test_the_browser_is_told_of_the_language_the_words_and_the_theme() -> None:
    said = told(scripted(edit).run())
    assert (said["lang"], said["theme"], said["height"]) == ("sql", "light", list(LINES))
    assert said["completions"] == [dict(one) for one in completions()]
    assert said["replace_completer"] is True
    (button,) = said["buttons"]
    assert (button["name"], button["commands"]) == ("Run", ["submit"])


def test_what_is_run_stays_as_it_stands_and_what_is_put_replaces_it() -> None:
    page = scripted(edit).run()
    first = told(page)
    run(page, "typed", 1)
    assert not page.exception
    assert (page.text[0].value, page.query_params["query"]) == ("typed", "typed")
    assert (told(page)["key"], told(page)["code"]) == (first["key"], "first")
    page.button[0].click().run()
    # The component says once more what was run before.
    assert (told(page)["code"], page.text[0].value, page.query_params["query"]) == ("of a card",) * 3
    second = told(page)["key"]
    assert second != first["key"]
    # The same once more: somebody may have typed into it.
    page.button[0].click().run()
    assert told(page)["key"] not in (first["key"], second)


def test_a_run_counts_once_and_an_empty_one_not_at_all() -> None:
    page = scripted(edit).run()
    run(page, "select 1", 1)
    page.query_params["query"] = "select 2"
    page.run()
    assert (page.text[0].value, told(page)["code"]) == ("select 2", "select 2")
    # The same text again is another run.
    run(page, "select 1", 2)
    assert page.text[0].value == "select 1"
    run(page, " \n", 3)
    assert (page.text[0].value, page.query_params["query"]) == ("select 1", "select 1")


def test_a_query_that_came_by_the_address_replaces_what_stands_there() -> None:
    page = scripted(edit, "select 1").run()
    first = told(page)["key"]
    page.query_params["query"] = "select 2"
    page.run()
    second = told(page)["key"]
    assert (told(page)["code"], second != first) == ("select 2", True)
    page.run()
    assert told(page)["key"] == second


@pytest.mark.parametrize("query", ["select '</script>'", "select '\u2028'", "-- \"'`${x}"])
def test_any_text_is_data(page: Opener, tmp_path: Path, query: str) -> None:
    opened = page(tmp_path / "none.duckdb", "sql", query=query)
    assert not opened.exception
    assert told(opened)["code"] == query
