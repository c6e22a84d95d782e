"""The editor: the address holds the query, what is put into it replaces what stands there, what is run does not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboards.console.editor import COLOURS

Opener = Callable[..., AppTest]


def told(page: AppTest) -> dict[str, Any]:
    """What the browser is told of the editor."""
    (found,) = page.get("bidi_component")
    said: dict[str, Any] = json.loads(found.proto.json)
    return said


def scripted(body: Callable[..., None], query: str | None = None) -> AppTest:
    page = AppTest.from_function(body)
    if query is not None:
        page.query_params["query"] = query
    return page


def edit() -> None:
    import streamlit as st  # noqa: PLC0415 - it runs as a page of its own

    from dashboards.console.editor import put_query, run_query_of, show_editor  # noqa: PLC0415

    st.button("run", on_click=run_query_of, args=("typed",))
    st.button("card", on_click=put_query, args=("of a card",))
    st.text(show_editor("first"))


def test_without_a_query_it_is_the_first() -> None:
    page = scripted(edit).run()
    assert not page.exception
    assert (told(page)["query"], page.text[0].value, page.query_params["query"]) == ("first", "first", "first")
    assert told(page)["colours"] == COLOURS["light"]
    asked = scripted(edit, "select 1").run()
    assert (told(asked)["query"], asked.text[0].value) == ("select 1", "select 1")


def test_what_is_run_stays_as_it_stands_and_what_is_put_replaces_it() -> None:
    page = scripted(edit).run()
    first = told(page)["turn"]
    page.button[0].click().run()
    assert (page.text[0].value, page.query_params["query"], told(page)["turn"]) == ("typed", "typed", first)
    page.button[1].click().run()
    assert (told(page)["query"], page.query_params["query"]) == ("of a card", "of a card")
    assert told(page)["turn"] == first + 1
    # The same once more: somebody may have typed into it.
    page.button[1].click().run()
    assert told(page)["turn"] == first + 2


def test_a_query_that_came_by_the_address_replaces_what_stands_there() -> None:
    page = scripted(edit, "select 1").run()
    first = told(page)["turn"]
    page.query_params["query"] = "select 2"
    page.run()
    assert (told(page)["query"], told(page)["turn"]) == ("select 2", first + 1)
    page.run()
    assert told(page)["turn"] == first + 1


@pytest.mark.parametrize("query", ["select '</script>'", "select '\u2028'", "-- \"'`${x}"])
def test_any_text_is_data(page: Opener, tmp_path: Path, query: str) -> None:
    opened = page(tmp_path / "none.duckdb", "sql", query=query)
    assert not opened.exception
    assert told(opened)["query"] == query
