"""Names: words that are written with a capital and never without, and words in capitals throughout."""

from neurothek.queries.rules.pattern import Property
from neurothek.queries.rules.vocabulary import Vocabulary

_FEWEST_LETTERS = 3
"""Of a name: shorter ones are initials and syllables."""


def names(vocabulary: Vocabulary) -> list[Property]:
    """Two properties: capitalised words whose small form the vocabulary lacks, and words in capitals.

    Words that start a sentence have a small form among the tokens, as function words always do.
    """
    capitalised = [
        token_id
        for token_id, letters in vocabulary.first_parts.items()
        if len(letters) >= _FEWEST_LETTERS
        and letters[0].isupper()
        and letters[1:].islower()
        and letters.lower() not in vocabulary.words
    ]
    in_capitals = [
        token_id for token_id, letters in vocabulary.first_parts.items() if len(letters) > 1 and letters.isupper()
    ]
    return [
        Property("capitalised names", "names", frozenset(capitalised)),
        Property("words in capital letters", "names", frozenset(in_capitals)),
    ]
