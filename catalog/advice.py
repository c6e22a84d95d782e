"""What a sentence recommends to type: a command that the shell takes as it stands, about the right warehouse."""

import re
from pathlib import Path
from shlex import join, quote

_ADVICE = re.compile(r"`(neurothek (?!(?:golden|train)\b)[a-z]+\b(?![^`]*--help)[^`]*)`")
"""A command in a sentence, if it works on a warehouse."""

DEFAULT_WAREHOUSE = "neurothek.duckdb"
"""The file in the current folder that a command is about unless another is named."""


def command_line(*words: str) -> str:
    """What to type: `neurothek` and these words, quoted as the shell needs it.

    Every command that is recommended anywhere is written by this: a test runs each where it is printed.
    """
    return join(("neurothek", *words))


def about(text: str, path: Path) -> str:
    """A sentence whose commands, in backticks, name the warehouse; one that names another keeps it."""

    def complete(command: re.Match[str]) -> str:
        return f"`{with_warehouse(command[1], path)}`"

    return _ADVICE.sub(complete, text)


def with_warehouse(command: str, path: Path) -> str:
    """The command with the warehouse that it is about, unless it names one."""
    return command if "--warehouse" in command else f"{command} --warehouse {quote(str(path))}"
