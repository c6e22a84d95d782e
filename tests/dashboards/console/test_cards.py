"""The cookbook's cards: every question once, under its chapter, with the views that it reads."""

from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from neurothek.dashboards.console.cards import label_of, views_of
from neurothek.queries.ask.parse_tree import mentions_of
from neurothek.queries.sql.cookbook import questions
from neurothek.queries.views.install import all_views


def cards(page: AppTest) -> list[str]:
    return [str(one.label) for one in page.button if str(one.key).startswith("card-")]


def test_every_question_is_a_card_under_its_chapter(page: Callable[..., AppTest], tmp_path: Path) -> None:
    opened = page(tmp_path / "none.duckdb", "sql")
    assert not opened.exception
    assert cards(opened) == [label_of(recipe) for recipe in questions()]
    captions = [str(one.value).replace("\\", "") for one in opened.caption]
    for chapter in dict.fromkeys(recipe.chapter for recipe in questions()):
        assert captions.count(chapter) == 1


def test_a_card_names_the_views_that_duckdb_reads_for_it() -> None:
    for recipe in questions():
        read = {name for _, _, name in mentions_of(recipe.query).tables if name in all_views()}
        assert set(views_of(recipe)) == read
        assert read
        assert all(f"`{name}`" in label_of(recipe) for name in read)
