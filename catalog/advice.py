"""What a sentence recommends to type: a command that the shell takes as it stands, about the right warehouse."""

import json
import re
from shlex import join, quote

_ADVICE = re.compile(r"`(neurothek (?!(?:copy|golden|train)\b)[a-z]+\b(?![^`]*--help)[^`]*)`")
"""A command in a sentence, if it works on a warehouse."""

DEFAULT_WAREHOUSE = "neurothek.duckdb"
"""The file in the current folder that a command is about unless another is named."""


def command_line(*words: str) -> str:
    """What to type: `neurothek` and these words, quoted as the shell needs it.

    Every command that is recommended anywhere is written by this: a test runs each where it is printed.
    """
    return join(("neurothek", *words))


def text_words(name: str, sequence_length: int, recipe: str) -> list[str]:
    """The options of `ingest` that ask for a corpus as it was read.

    builtin is whatever is asked for; other names stand for what was read, but for the length of a sequence.

    Args:
        name: of the corpus.
        sequence_length: ids of its longest sequence.
        recipe: how it was made, as JSON.
    """
    settings = json.loads(recipe)
    limit, is_packed = settings.get("tokens_per_domain"), settings.get("packing", True)
    tokens = ["--tokens", str(limit)] if name == "builtin" and limit is not None else []
    packing = [] if name != "builtin" or is_packed else ["--no-packing"]
    return ["--corpus", name, *tokens, "--sequence-length", str(sequence_length), *packing]


def about(text: str, path: object) -> str:
    """A sentence whose commands, in backticks, name the warehouse; one that names another keeps it."""

    def complete(command: re.Match[str]) -> str:
        return f"`{with_warehouse(command[1], path)}`"

    return _ADVICE.sub(complete, text)


def with_warehouse(command: str, path: object) -> str:
    """The command with the warehouse that it is about, unless it names one."""
    return command if "--warehouse" in command else f"{command} --warehouse {quote(str(path))}"
