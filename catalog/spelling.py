"""Tokens as people see them: white space and control characters get a mark, so that no two tokens look alike."""

import re
from collections.abc import Iterable

_MARKS = {" ": "·", "\n": "↵", "\t": "⇥"}
"""The marks of TransformerLens and its viewers; the characters themselves are escaped where a token holds them."""


def visible(token: str) -> str:
    r"""The token with its white space marked: `·school` for " school", `↵` for a newline, `\x0b` for other controls."""
    # Most tokens are a word, with a blank before it or without: a page of a layer shows 150,000.
    if token.isalnum():
        return token
    if token[:1] == " " and token[1:].isalnum():
        return _MARKS[" "] + token[1:]
    return "".join(_MARKS.get(character) or _escaped(character) for character in token)


def visible_list(tokens: Iterable[str]) -> str:
    """Several tokens in a row, separated by the only real spaces in it."""
    return " ".join(map(visible, tokens))


def quoted(token: str) -> str:
    """The token in a sentence: its white space marked, in quotation marks that tell it from the sentence's own."""
    return f"“{visible(token)}”"


def quoted_list(tokens: Iterable[str]) -> str:
    """Several tokens in a sentence, each as `quoted` has it."""
    return " ".join(map(quoted, tokens))


def one_line(text: str) -> str:
    """Running text on one line: spaces stay, line ends and tabs are marked, control characters escaped."""
    # Of what can be printed only the blank, and what looks like a mark, would not stay as it is.
    if text.isprintable() and not any(mark in text for mark in _MARKS.values()):
        return text
    return "".join(" " if character == " " else visible(character) for character in text)


_TOKEN_OF_LABEL = re.compile(r"“(.*?)”(?= “| \(|;| and |$)", re.DOTALL)
"""A token of a label; what follows tells the quotation mark after it from one that it holds."""


def marked_label(label: str) -> str:
    """A label on one line as people see it: the white space of its tokens marked."""
    parts = _TOKEN_OF_LABEL.split(label)
    return "".join(quoted(part) if place % 2 else one_line(part) for place, part in enumerate(parts))


def escape_controls(text: str) -> str:
    """A message on one line with control characters and characters that turn text escaped; marks stay.

    For texts that show tokens already; `one_line` is for those that are as they were written.
    """
    return text if text.isprintable() else "".join(_escape_control(character) for character in text)


def is_text(text: str) -> bool:
    """True where UTF-8 can write it; a lone surrogate, which stands for a byte of another encoding, it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def named(name: str) -> str:
    """A name in running text: in quotation marks where it is blank, or white space at its ends would be overlooked."""
    return name if name and name == name.strip() else repr(name)


BUILT_IN = "builtin"
"""Name of the corpus that ships."""


def spoken_corpus(name: str | None) -> str:
    """A corpus in running text: the one that ships by what it is, any other by its name; nothing for none."""
    return "the built-in text" if name == BUILT_IN else name or ""


def unmark(token: str) -> str:
    """The token that marks stand for: the inverse of `visible`, for what a person typed."""
    for character, mark in _MARKS.items():
        token = token.replace(mark, character)
    return token


def _escape_control(character: str) -> str:
    return character if character.isprintable() else _MARKS.get(character) or _escaped(character)


def _escaped(character: str) -> str:
    if character.isprintable() and character not in _MARKS.values():
        return character
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
