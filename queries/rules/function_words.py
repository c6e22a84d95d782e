"""Stop words: English words with a grammatical function and little meaning of their own."""

from neurothek.queries.rules.pattern import Property
from neurothek.queries.rules.vocabulary import Vocabulary

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
    found = [
        token_id
        for token_id, letters in vocabulary.letters.items()
        if letters.lower() in STOP_WORDS and (token_id in vocabulary.first_parts or letters[0].isupper())
    ]
    found += [token_id for token_id, text in vocabulary.texts.items() if text.replace("\u2019", "'") in CONTRACTIONS]
    return [Property("stop words", "stopwords-punctuation", frozenset(found))]
