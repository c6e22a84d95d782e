"""The cookbook as cards: a question, and the views that answer it; a click asks it of the models that are there."""

from collections.abc import Sequence

import streamlit as st

from neurothek.dashboards.console.editor import put_query
from neurothek.dashboards.widgets.html import plain
from neurothek.queries.sql.cookbook import Recipe, questions
from neurothek.queries.views.install import all_views

_STYLE = """
<style>
[class*="st-key-card-"] button { width: 100%; justify-content: flex-start; text-align: left; padding: 0.45rem 0.7rem;
  border-radius: 6px; min-height: 0; }
[class*="st-key-card-"] button > div { justify-content: flex-start; }
[class*="st-key-card-"] button p { font-size: 0.88rem; line-height: 1.35; white-space: normal; }
[class*="st-key-card-"] button code { font-size: 0.76rem; }
</style>
"""


def show_recipes(models: Sequence[str]) -> None:
    """Draw the questions under the titles of their chapters.

    Args:
        models: whom they ask about, smallest first.
    """
    st.html(_STYLE)
    chapter = ""
    for recipe in questions():
        if recipe.chapter != chapter:
            chapter = recipe.chapter
            st.caption(plain(chapter))
        st.button(
            label_of(recipe),
            key=f"card-{recipe.number}",
            on_click=put_query,
            args=(recipe.about(models),),
            width="stretch",
        )


def label_of(recipe: Recipe) -> str:
    """A question with the views that it reads, as Markdown."""
    reads = " ".join(f"`{name}`" for name in views_of(recipe))
    return f"{recipe.number}. {plain(recipe.words)} {reads}"


def views_of(recipe: Recipe) -> list[str]:
    """The views that a query reads, in the order in which it names them."""
    return [name for name in dict.fromkeys(recipe.relations) if name in all_views()]
