"""Every command that a document, a help text or the header of a view shows is understood as it stands."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import neurothek
from tests.support import warehouse as made

ROOT = Path(neurothek.__file__).parents[1]

# docs/commands.md is the help texts, wrapped.
DOCUMENTS = [
    *("README.md", "CHANGELOG.md"),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs/recipes").glob("*.md"))),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("*.md")) if path.stem != "commands"),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "ingest/minis").glob("*/README.md"))),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "queries/views").glob("*.sql"))),
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "catalog/tables/schema").glob("*.sql"))),
]

_INLINE = re.compile(r"`(neurothek [^`]+)`")
_INDENTED = re.compile(r"^ {4}(neurothek .+)$", flags=re.MULTILINE)
_OF_THE_SHELL = set("|<>;&")


def commands_of(text: str) -> Iterator[list[str]]:
    """The words of each command, without `neurothek` and without what the shell makes of the rest of the line."""
    whole = re.sub(r"\\\n\s*", " ", text)
    fenced = re.findall(r"```(?:console|sh)\n(.*?)```", whole, flags=re.DOTALL)
    outside = re.sub(r"```.*?```", "", whole, flags=re.DOTALL)
    lines = [line for block in fenced for line in block.splitlines()]
    inline = [re.sub(r"\s*\n(?:--)?\s*", " ", found) for found in _INLINE.findall(outside)]
    for line in (*lines, *_INDENTED.findall(outside), *inline):
        yield from _of_line(line)


def _of_line(line: str) -> Iterator[list[str]]:
    split = shlex.shlex(line, posix=True, punctuation_chars="".join(_OF_THE_SHELL))
    split.whitespace_split = True
    words: list[str] = []
    for word in [*split, ";"]:
        if not set(word) <= _OF_THE_SHELL:
            words.append(word)
            continue
        if words and words[0] == "neurothek":
            yield words[1:]
        words = []


def understood(words: list[str]) -> None:
    """Have the command line read it, as far as it goes without running it."""
    root = neurothek.main
    if words[0].startswith("-"):
        root.make_context("neurothek", list(words), resilient_parsing=True)
        return
    command = root.commands[words[0]]
    # A command that is only named lacks its arguments.
    if len(words) > 1:
        command.make_context(words[0], words[1:], parent=click.Context(root, obj=neurothek.open()))


def test_a_documents_commands_are_understood(subtests: pytest.Subtests) -> None:
    for document in DOCUMENTS:
        with subtests.test(document=document):
            for words in commands_of((ROOT / document).read_text("utf-8")):
                understood(words)


def test_the_help_texts_commands_are_understood() -> None:
    helps = [str(command.help) for command in neurothek.main.commands.values()]
    found = [words for text in (str(neurothek.main.help), *helps) for words in commands_of(text)]
    assert ["search", "school"] in found
    for words in found:
        understood(words)


def test_the_documents_have_commands_of_every_kind() -> None:
    """Of blocks, of lines in prose, of several lines, of pipes, and of models' cards."""
    found = {document: list(commands_of((ROOT / document).read_text("utf-8"))) for document in DOCUMENTS}
    assert ["search", "--exact", " (", "--where", "frequency < 0.05"] in found["README.md"]
    assert ["label", "MODEL", "--family", "NAME", "--variant", "step 1000"] in found["README.md"]
    assert ["ingest", "facebook/opt-6.7b", "--plan"] in found["README.md"]
    assert ["sql", "-", "--format", "csv"] in found["docs/thresholds.md"]
    assert any(
        len(words) > 4 and words[:3] == ["search", "school", "--variants"] for words in found["docs/cookbook.md"]
    )
    assert all(found[card][-1][0] == "train" for card in DOCUMENTS if "minis" in card)


def test_what_is_none_is_not_understood(subtests: pytest.Subtests) -> None:
    for wrong in [
        ["serch", "school"],
        ["search", "--colour"],
        ["neuron"],
        ["compare", "--format", "gif"],
        ["merge", "a", "b"],
    ]:
        with subtests.test(wrong=wrong), pytest.raises((KeyError, click.UsageError)):
            understood([*wrong, "--quiet"])


def test_the_cookbooks_searches_find_neurons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.create(tmp_path / "full.duckdb")
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(tmp_path / "full.duckdb"))
    searches = [words for words in commands_of((ROOT / "docs/cookbook.md").read_text("utf-8")) if words[0] == "search"]
    assert len(searches) == 3
    for words in searches:
        answer = CliRunner().invoke(neurothek.main, words, catch_exceptions=False)
        assert answer.exit_code == 0, answer.output
