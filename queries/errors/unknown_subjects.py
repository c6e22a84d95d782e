"""Errors of questions about what is not there: models, corpora, columns, neurons, matrices."""

from collections.abc import Sequence

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.catalog.spelling import named, one_line, visible
from neurothek.catalog.suggestions import enumerated, hint, nearest

RELATION = "view or table"
"""What an unknown relation is called in its error."""


def no_models() -> NotMeasured:
    """The warehouse holds nothing to ask about."""
    return NotMeasured(
        "the warehouse has no models yet", f"measure one with `{command_line('ingest', 'MODEL')}`", jobs=[]
    )


def unknown_corpus(name: str, corpora: Sequence[str]) -> NotFound:
    """The models asked about were not measured on the corpus."""
    return NotFound(
        f"none of the selected models was measured on a corpus {named(name)}",
        hint(name, corpora),
        what="corpus",
        name=name,
        known=corpora,
    )


def no_shortcuts(model: str, corpus: str | None, measured: Sequence[str], on: Sequence[str] = ()) -> NotMeasured:
    """A model's linear shortcuts were not measured, or not on the corpus."""
    where = f" on {corpus}" if corpus and measured else ""
    command = command_line("ingest", model, "--job", "shortcuts", *on)
    instead = f"they were measured on {', '.join(measured)}: select that corpus, or measure" if measured else "measure"
    return NotMeasured(
        f"{model} has no stored shortcuts{where}",
        f"{instead} them with `{command}`",
        jobs=["shortcuts"],
        models=[model],
        corpus=corpus,
    )


def unknown_relation(name: str, relations: Sequence[str]) -> NotFound:
    """No view and no table has the name."""
    return NotFound(
        f"there is no {RELATION} {name}",
        f"{hint(name, relations)} (see `{command_line('schema')}`)",
        what=RELATION,
        name=name,
        known=relations,
    )


def unknown_column(
    name: str, columns: Sequence[str], *, relation: str | None = None, instead: str | None = None
) -> NotFound:
    """No column has the name."""
    where = f" in {relation}" if relation else ""
    return NotFound(
        f"there is no column {name}{where}",
        instead or hint(name.rpartition(".")[2], columns),
        what="column",
        name=name,
        known=columns,
    )


def unknown_column_among(name: str, likeliest: Sequence[str], everywhere: Sequence[str]) -> NotFound:
    """No column has the name, where only the likeliest columns are known, if any, and the names of all relations'."""
    others = [one for one in everywhere if one.casefold() != name.casefold()]
    near = nearest(name, likeliest) or list(likeliest) or nearest(name, others)
    instead = f"nearest: {enumerated(near)}" if near else f"`{command_line('schema', 'VIEW')}` lists those of a view"
    return unknown_column(name, near, instead=instead)


def invalid_address(address: str) -> Invalid:
    """A text that is no address of a neuron."""
    return Invalid(
        f"{address!r} is not the address of a neuron",
        "give model, layer and neuron as in opt-125m/L3N1702",
        option="address",
        value=address,
    )


def unknown_neuron(address: str, n_layers: int, d_ffn: int) -> NotFound:
    """An address beyond the model."""
    return NotFound(
        f"there is no neuron {address}: the model has layers 0 to {n_layers - 1} and neurons 0 to {d_ffn - 1} in each",
        "choose an address in this range",
        what="neuron",
        name=address,
    )


def no_words() -> Invalid:
    """A search without words."""
    return Invalid(
        f"a search needs at least one word, for example `{command_line('search', 'school')}`", option="words"
    )


def one_word_only(words: Sequence[str]) -> Invalid:
    """Exact scores of more than one word, or of one that is no token."""
    return Invalid(
        f"exact scores need one word that is a single token, but {' '.join(words)!r} is not",
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
    return _word(f"{word!r} is not a token of the selected models", word, near)


def split_not_listed(word: str, parts: Sequence[str], near: Sequence[str]) -> NotFound:
    """A word of several tokens that no neuron lists together."""
    pieces = " ".join(map(visible, parts))
    return _word(
        f"{word!r} is not one token: it splits into {pieces}, which no selected neuron lists together",
        word,
        near,
    )


def unknown_token(text: str, alike: Sequence[str], advice: str = "leave out --exact to search by word") -> NotFound:
    """No token has exactly this text."""
    listed = enumerated(dict.fromkeys(repr(token) for token in alike))
    what = f"similar tokens: {listed}" if alike else f"no token is similar; {advice}"
    return NotFound(f"no token is exactly {text!r}", what, what="token", name=text, known=alike)


def _word(message: str, word: str, near: Sequence[str]) -> NotFound:
    if not near:
        return NotFound(
            f"{message}, and no word is similar",
            "choose a word from their vocabulary (the view tokens)",
            what="word",
            name=word,
        )
    return NotFound(
        f"{message}; the nearest words are {enumerated([one_line(one) for one in near])}",
        "try one of these",
        what="word",
        name=word,
        known=near,
    )
