"""How tokens are shown to people: white space and control characters get a mark, so that no two tokens look alike."""

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


def readable(text: str) -> str:
    """Running text on one line: spaces stay, line ends and tabs are marked, control characters escaped."""
    return "".join(" " if character == " " else visible(character) for character in text)


def harmless(text: str) -> str:
    """A message on one line that may hold names of others: marks stay, what would move the cursor or turn text is seen.

    For texts that show tokens already; `readable` is for those that are as they were written.
    """
    return text if text.isprintable() else "".join(_harmless(character) for character in text)


def is_text(text: str) -> bool:
    """Whether UTF-8 can write it: it cannot where a lone surrogate stands for a byte of another encoding."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def named(name: str) -> str:
    """A name in running text: in quotation marks where it is blank, or white space at its ends would be overlooked."""
    return name if name and name == name.strip() else repr(name)


def typed(token: str) -> str:
    """What `visible` showed, as the token that a person meant by typing it."""
    for character, mark in _MARKS.items():
        token = token.replace(mark, character)
    return token


def _harmless(character: str) -> str:
    return character if character.isprintable() else _MARKS.get(character) or _escaped(character)


def _escaped(character: str) -> str:
    if character.isprintable() and character not in _MARKS.values():
        return character
    number = ord(character)
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
