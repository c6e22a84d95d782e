"""Stop words: as words and at the start of sentences, not as pieces of other words."""

from neurothek.queries.rules.chance import Vocabulary
from neurothek.queries.rules.word_forms import STOP_WORDS, stop_words
from tests.support.english import mini_vocabulary

TEXTS = (
    " the",
    "the",
    "The",
    " THE",
    " of",
    "in",
    "'s",
    "n't",
    "\u2019re",
    " school",
    " .",
    "'",
    " therefore",
    "A",
    "a",
)


def test_words_and_starts_of_sentences_are_found() -> None:
    vocabulary = Vocabulary(dict(enumerate(TEXTS)))
    (found,) = stop_words(vocabulary)
    assert {TEXTS[number] for number in found.token_ids} == {
        *(" the", "The", " THE", " of", "'s", "n't", "\u2019re", " therefore", "A"),
    }
    assert (found.concept, found.concept_class) == ("stop words", "stopwords-punctuation")


def test_the_list_is_of_small_words() -> None:
    assert 200 < len(STOP_WORDS) < 320
    assert all(word.isalpha() and word.islower() for word in STOP_WORDS)
    (found,) = stop_words(mini_vocabulary())
    # Far from half of the vocabulary: six of thirty are no chance.
    assert 0.02 < len(found.token_ids) / len(mini_vocabulary().texts) < 0.06
