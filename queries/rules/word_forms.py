"""Inflected words, known by their ending and by their stem, which is a word of the same vocabulary."""

from collections.abc import Callable, Iterator, Sequence

from neurothek.queries.rules.chance import Property, Vocabulary

_FEWEST_LETTERS = 3
"""Of a stem: shorter ones are often syllables."""


def word_forms(vocabulary: Vocabulary) -> list[Property]:
    """Five inflections of English: plurals, past tense, -ing, adverbs, and comparatives with their superlatives."""
    words = {token_id: bare.lower() for token_id, bare in vocabulary.first_parts.items()}
    words = {token_id: word for token_id, word in words.items() if word not in STOP_WORDS}
    return [
        Property(concept, "syntactic", frozenset(_having(words, stems, vocabulary.words)))
        for concept, stems in _STEMS.items()
    ] + [Property("comparatives and superlatives", "syntactic", frozenset(_compared(words, vocabulary.words)))]


def are_one_word(tokens: Sequence[str]) -> bool:
    """Whether tokens are variants of one word: the same but for capitals and white space, or inflected from one stem.

    Signs are words too; nothing but white space is none. Irregular forms (ran, run) are not known.
    """
    words = [token.strip().casefold() for token in tokens]
    return all(words) and bool(set.intersection(*({word, *_stems_of(word)} for word in words)))


def _stems_of(word: str) -> Iterator[str]:
    """What a word may be an inflection of, whether or not there is such a word."""
    stems_there = [*(stem for stems in _STEMS.values() for stem in stems(word)), word.removesuffix("'s")]
    stems_there += [word.removesuffix(ending) for ending in ("er", "est")]
    yield from (stem for stem in stems_there if len(stem) >= _FEWEST_LETTERS)


def _having(words: dict[int, str], stems: Callable[[str], Iterator[str]], existing: frozenset[str]) -> Iterator[int]:
    for token_id, word in words.items():
        if any(len(stem) >= _FEWEST_LETTERS and stem in existing for stem in stems(word)):
            yield token_id


def _plural(word: str) -> Iterator[str]:
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        yield word[:-1]
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        yield word[:-2]
    if word.endswith("ies"):
        yield f"{word[:-3]}y"


def _past(word: str) -> Iterator[str]:
    if word.endswith("ed"):
        yield word[:-1]
        yield from _before(word[:-2])
    if word.endswith("ied"):
        yield f"{word[:-3]}y"


def _ing(word: str) -> Iterator[str]:
    if word.endswith("ing"):
        yield f"{word[:-3]}e"
        yield from _before(word[:-3])


def _adverb(word: str) -> Iterator[str]:
    if word.endswith("ly"):
        yield word[:-2]
        yield f"{word[:-1]}e"
    if word.endswith("ily"):
        yield f"{word[:-3]}y"


def _before(stem: str) -> Iterator[str]:
    """What an ending may have been put to: the stem, or one whose last consonant was doubled."""
    yield stem
    if len(stem) > _FEWEST_LETTERS and stem[-1] == stem[-2]:
        yield stem[:-1]


def _compared(words: dict[int, str], existing: frozenset[str]) -> Iterator[int]:
    """Words in -er and -est whose two forms are both in the vocabulary: a teacher has no superlative."""
    for token_id, word in words.items():
        stem = word.removesuffix("er") if word.endswith("er") else word.removesuffix("est")
        if stem != word and len(stem) >= _FEWEST_LETTERS and {f"{stem}er", f"{stem}est"} <= existing:
            yield token_id


_STEMS: dict[str, Callable[[str], Iterator[str]]] = {
    "plurals and third persons in -s": _plural,
    "past tense in -ed": _past,
    "-ing forms": _ing,
    "adverbs in -ly": _adverb,
}


STOP_WORDS = frozenset(
    word
    for words in (
        # articles, demonstratives, quantifiers
        "a an the this that these those some any each every either neither all both few many much more most other"
        " another such no none same own several enough",
        # pronouns
        "i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its itself"
        " we us our ours ourselves they them their theirs themselves who whom whose which what whoever whatever"
        " someone somebody something anyone anybody anything everyone everybody everything nobody nothing",
        # auxiliaries
        "am is are was were be been being have has had having do does did doing done will would shall should can could"
        " may might must ought cannot",
        # prepositions
        "of in to for with on at from by about as into like through after over between out against during without"
        " before under around among upon within along across behind beyond beneath beside besides below above near"
        " since until till toward towards off up down per via onto despite except throughout",
        # conjunctions
        "and but or nor so yet if because although though while unless whereas whether than",
        # adverbs of place, time, degree, negation and question
        "not there here then now when where why how again once also just only very too even still ever never always"
        " often quite rather almost already thus hence therefore however else perhaps further",
    )
    for word in words.split()
)
"""A closed list [ours]: the function words of English by their parts of speech."""

CONTRACTIONS = frozenset({"'s", "'re", "'ve", "'ll", "'d", "'m", "n't", "'t"})
"""What is left of function words behind an apostrophe."""


def stop_words(vocabulary: Vocabulary) -> list[Property]:
    """Tokens that are a stop word.

    One that does not start a word, such as `in`, is mostly part of another; with a capital it starts a sentence.
    """
    ids = [
        token_id
        for token_id, letters in vocabulary.letters.items()
        if letters.lower() in STOP_WORDS and (token_id in vocabulary.first_parts or letters[0].isupper())
    ]
    ids += [token_id for token_id, text in vocabulary.texts.items() if text.replace("\u2019", "'") in CONTRACTIONS]
    return [Property("stop words", "stopwords-punctuation", frozenset(ids))]
