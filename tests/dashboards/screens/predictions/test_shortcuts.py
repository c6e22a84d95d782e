"""The page of shortcuts: which model it shows where none is named, or one that has none."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from neurothek.dashboards.addresses import script_of
from neurothek.dashboards.parts.shortcuts import measured
from neurothek.queries.names.models import choose_models

Opener = Callable[..., AppTest]


@pytest.fixture
def names(whole_path: Path) -> tuple[list[str], list[str]]:
    """The models with shortcuts, smallest first, and those without."""
    with duckdb.connect(str(whole_path), read_only=True) as connection:
        every = [model.name for model in choose_models(connection)]
        having = measured(connection, every)
    return having, [name for name in every if name not in having]


def words(page: AppTest) -> str:
    assert not page.exception
    texts = [*(one.value for one in page.caption), *(one.proto.body for one in page.get("html"))]
    return " ".join(texts).replace("\\", "")


def test_the_largest_model_with_shortcuts_is_shown(
    page: Opener, whole_path: Path, names: tuple[list[str], ...]
) -> None:
    having, _ = names
    opened = page(whole_path, "shortcuts")
    assert opened.query_params["model"] == having[-1]
    assert "largest model" not in words(opened)


def test_a_model_without_leads_to_one_that_has_some(
    page: Opener, whole_path: Path, names: tuple[list[str], ...]
) -> None:
    having, without = names
    opened = page(whole_path, "shortcuts", model=without[-1])
    assert opened.query_params["model"] == without[-1]
    assert f"No linear shortcuts have been fitted to {without[-1]}" in words(opened)
    assert "The largest model that has shortcuts is" in words(opened)
    assert f"model={having[-1]}" in words(opened)
    assert "largest model" not in words(page(whole_path, "shortcuts", model=having[0]))


def test_who_comes_from_a_model_without_is_told(page: Opener, whole_path: Path, names: tuple[list[str], ...]) -> None:
    having, without = names
    opened = page(whole_path, "model", model=without[-1])
    opened.query_params.clear()
    opened.switch_page(script_of("shortcuts")).run()
    assert opened.query_params["model"] == having[-1]
    expected = f"{without[-1]} has no shortcuts yet: this is {having[-1]}, the largest model that has them."
    assert expected in words(opened)
