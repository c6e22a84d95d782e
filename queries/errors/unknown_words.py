"""Errors of words that cannot be searched for."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.spelling import readable, visible
from neurothek.catalog.suggestions import enumerated


def no_words() -> Invalid:
    """A search without words."""
    return Invalid(
        f"a search needs at least one word, for example `{command_line('search', 'school')}`", option="words"
    )


def one_word_only(words: Sequence[str]) -> Invalid:
    """Exact scores of more than one word, or of one that is no token."""
    return Invalid(
        f"exact scores need one word that is a single token, but {' '.join(words)!r} is more",
        'give one word, or alternatives as "he,him,his"',
        option="words",
        value=list(words),
    )


def blank_word(word: str) -> Invalid:
    """A word of nothing but white space."""
    return Invalid(
        f"the word {word!r} is only white space", "search for such a token with --exact", option="words", value=word
    )


def unknown_word(word: str, near: Sequence[str]) -> NotFound:
    """A word that no tokenizer can write."""
    return _word(f"{word!r} is not a token of the selected models, and", word, near)


def split_not_listed(word: str, parts: Sequence[str], near: Sequence[str]) -> NotFound:
    """A word of several tokens that no neuron lists together."""
    pieces = " ".join(map(visible, parts))
    return _word(
        f"{word!r} is not one token: it splits into {pieces}, and none of the selected neurons lists all of these, and",
        word,
        near,
    )


def unknown_token(text: str, alike: Sequence[str], advice: str = "leave out --exact to search by word") -> NotFound:
    """No token has exactly this text."""
    listed = enumerated(dict.fromkeys(repr(token) for token in alike))
    what = f"similar tokens are {listed}" if alike else f"there is no similar token; {advice}"
    return NotFound(f"no token is exactly {text!r}", what, what="token", name=text, known=alike)


def _word(message: str, word: str, near: Sequence[str]) -> NotFound:
    if not near:
        return NotFound(
            f"{message} no word is similar",
            "choose a word from their vocabulary (the view tokens)",
            what="word",
            name=word,
        )
    return NotFound(
        f"{message} the nearest words are {enumerated([readable(one) for one in near])}",
        "try one of these",
        what="word",
        name=word,
        known=near,
    )
