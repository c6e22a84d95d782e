"""What is recommended is what a shell takes, about the warehouse that the person named."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.advice import about, command_line, with_warehouse

# A shell ends a word at a zero byte, and a line of it holds none.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)


@given(words=st.lists(WORDS, max_size=4))
def test_a_shell_reads_back_every_word(words: list[str]) -> None:
    assert shlex.split(command_line(*words)) == ["neurothek", *words]


@given(name=WORDS.filter(lambda name: "/" not in name and name not in ("", ".", "..")))
def test_a_shell_reads_back_the_warehouse(name: str) -> None:
    path = Path("/folder") / name
    completed = with_warehouse(command_line("search", "a b"), path)
    assert shlex.split(completed) == ["neurothek", "search", "a b", "--warehouse", str(path)]
    assert with_warehouse(completed, Path("other")) == completed


def test_only_commands_on_a_warehouse_name_it(subtests: pytest.Subtests) -> None:
    for sentence, completed in [
        ("run `neurothek check`", "run `neurothek check --warehouse 'my w'`"),
        ("`neurothek a` or `neurothek b c`", "`neurothek a --warehouse 'my w'` or `neurothek b c --warehouse 'my w'`"),
        ("`neurothek check --warehouse other`", "`neurothek check --warehouse other`"),
        ("see `neurothek search --help`", "see `neurothek search --help`"),
        ("`neurothek train family`", "`neurothek train family`"),
        ("`neurothek trainer`", "`neurothek trainer --warehouse 'my w'`"),
        ("neurothek check, without marks", "neurothek check, without marks"),
        ("`pip install neurothek`", "`pip install neurothek`"),
        ("", ""),
    ]:
        with subtests.test(sentence=sentence, completed=completed):
            assert about(sentence, Path("my w")) == completed
            assert about(completed, Path("another")) == completed


def test_a_path_that_reads_like_a_pattern_stands_as_it_is() -> None:
    assert about("`neurothek check`", Path(r"\1\g<0>")) == r"`neurothek check --warehouse '\1\g<0>'`"
