"""Words that cannot be searched for."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import readable, visible
from neurothek.catalog.suggestions import enumerated


class NothingAsked(NeurothekError):
    """A search without words."""

    def __init__(self) -> None:
        super().__init__(f"a search needs at least one word, for example `{command_line('search', 'school')}`")


class OneWordOnly(NeurothekError):
    """Exact scores of more than one word, or of one that is no token."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(
            f"exact scores need one word that is a single token, but {' '.join(words)!r} is more; give one word, or"
            ' alternatives as "he,him,his"'
        )


class BlankWord(NeurothekError):
    """A word of nothing but white space."""

    def __init__(self, word: str) -> None:
        super().__init__(f"the word {word!r} is only white space; search for such a token with --exact")


class NoSuchWord(NeurothekError):
    """A word that no tokenizer can write."""

    def __init__(self, word: str, near: Sequence[str]) -> None:
        super().__init__(f"{word!r} is not a token of the selected models, and {_near(near)}")


class SplitNotFound(NeurothekError):
    """A word of several tokens that no neuron lists together."""

    def __init__(self, word: str, parts: Sequence[str], near: Sequence[str]) -> None:
        pieces = " ".join(map(visible, parts))
        super().__init__(
            f"{word!r} is not one token: it splits into {pieces}, and none of the selected neurons lists all of these,"
            f" and {_near(near)}"
        )


class NoSuchToken(NeurothekError):
    """No token has exactly this text."""

    def __init__(self, text: str, alike: Sequence[str], advice: str = "leave out --exact to search by word") -> None:
        self.text, self.alike = text, alike
        listed = enumerated(dict.fromkeys(repr(token) for token in alike))
        what = f"similar tokens are {listed}" if alike else f"there is no similar token; {advice}"
        super().__init__(f"no token is exactly {text!r}; {what}")


def _near(words: Sequence[str]) -> str:
    if not words:
        return "no word is similar; choose a word from their vocabulary (the view tokens)"
    return f"the nearest words are {enumerated([readable(word) for word in words])}; try one of these"
