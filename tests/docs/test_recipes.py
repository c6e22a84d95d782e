"""The recipes: their commands are understood, their texts can be read, and the views that they name exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import neurothek
from neurothek.ingest.corpora.sources.source import Source
from neurothek.queries.views import install

FOLDER = Path(neurothek.__file__).parents[1] / "docs" / "recipes"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))


def text_of(page: str) -> str:
    return (FOLDER / f"{page}.md").read_text("utf-8")


def commands(page: str) -> Iterator[tuple[click.Command, click.Context]]:
    """Every command of a page as the command line reads it, up to what the shell does with it."""
    blocks = re.findall(r"```sh\n(.*?)```", text_of(page), flags=re.DOTALL)
    for line in "".join(blocks).splitlines():
        program, *words = re.findall(r'"[^"]*"|\S+', re.split(r" [<>] ", line)[0])
        if program == "neurothek":
            name, *arguments = [word.strip('"') for word in words]
            parent = click.Context(neurothek.main, obj=neurothek.open())
            command = neurothek.main.commands[name]
            yield command, command.make_context(name, arguments, parent=parent)


def test_the_three_papers_have_one_each() -> None:
    assert PAGES == ["din", "geva", "voita"]


@pytest.mark.parametrize("page", PAGES)
def test_every_text_can_be_one(page: str) -> None:
    found = [spec for _, context in commands(page) for spec in context.params.get("corpora", ()) if "=" in spec]
    assert len(found) >= 3
    for spec in found:
        source = Source("x", spec.partition("=")[2])
        assert source.text.is_streamed or source.builtin_domain is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_view_exists(page: str) -> None:
    queried = set(re.findall(r'sql "select \* from (\w+)', text_of(page)))
    # Of a table of views, the cell in the middle or at the end.
    named = {view for row in re.findall(r"^\|(.*)\|$", text_of(page), flags=re.MULTILINE) for view in _views(row)}
    assert queried
    assert queried | named <= set(install.all_views())


def _views(row: str) -> list[str]:
    return [
        view
        for view in re.findall(r"`([a-z_]+)`", row)
        if ("_" in view or view == "plausibility") and view != "window_perplexity"
    ]


@pytest.mark.parametrize("page", PAGES)
def test_corpora_are_asked_for_by_names_that_were_given(page: str) -> None:
    """What is queried or intervened on was measured before, under that name."""
    given, asked = set(), set()
    for command, context in commands(page):
        if command.name == "ingest":
            given.add(context.params["corpus_name"])
        elif context.params.get("corpus"):
            corpus = context.params["corpus"]
            asked |= {corpus} if isinstance(corpus, str) else set(corpus)
    assert asked
    assert asked <= given
