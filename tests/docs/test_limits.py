"""The documents say which damage the commands cannot see, as `tests/catalog/test_damage.py` shows, and whose memory."""

from pathlib import Path

import pytest
from click import Context

from neurothek.cli.upkeep import check

ROOT = Path(__file__).parents[2]


def read_as_prose(text: str) -> str:
    return " ".join(text.split())


def test_check_says_what_it_covers_and_what_it_cannot_see(subtests: pytest.Subtests) -> None:
    for said in [
        # What it covers.
        "every block of the file that is in use",
        "its header and its entries are checked too",
        "The matrices kept beside the file",
        # What it cannot see.
        "It skips blocks that are no longer used",
        "A truncated log looks like a transaction that did not finish",
        "an entry whose damaged length reaches beyond the end",
        "A deleted log looks as if there had been none",
    ]:
        with subtests.test(said=said):
            assert said in read_as_prose(check.get_help(Context(check)))
            assert said in read_as_prose((ROOT / "docs" / "commands.md").read_text("utf-8"))


def test_the_readme_says_what_nothing_can_see() -> None:
    readme = read_as_prose((ROOT / "README.md").read_text("utf-8"))
    assert "One loss cannot be detected: commits that a killed process left in a log" in readme


def test_what_memory_does_not_bound_is_said_where_memory_is_described() -> None:
    command = read_as_prose((ROOT / "docs" / "commands.md").read_text("utf-8"))
    readme = read_as_prose((ROOT / "README.md").read_text("utf-8"))
    said = "A row of a hub dataset counts once the library datasets returns it; memory the library uses while reading"
    assert f"Texts of any size are read within --memory. {said}" in command
    assert "Texts of any size are read within `--memory`. A row of a hub dataset counts once" in readme
