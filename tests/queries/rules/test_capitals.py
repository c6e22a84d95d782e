"""Names are capitalised words that are never small; what starts a sentence is small elsewhere."""

from neurothek.queries.rules.chance import Vocabulary
from neurothek.queries.rules.rulebook import names

TEXTS = (
    " London",
    " Paris",
    " The",
    " the",
    " However",
    " however",
    "Rome",
    " Al",
    " NASA",
    " A",
    " iPhone",
    " idleConf",
)
VOCABULARY = Vocabulary(dict(enumerate((*TEXTS, " McDonald", " \u00c5land", " \u6771\u4eac"))))


def test_names_and_capitals_are_told_apart() -> None:
    capitalised, in_capitals = names(VOCABULARY)
    assert {VOCABULARY.texts[one] for one in capitalised.token_ids} == {" London", " Paris", " \u00c5land"}
    assert {VOCABULARY.texts[one] for one in in_capitals.token_ids} == {" NASA"}
    assert {capitalised.concept_class, in_capitals.concept_class} == {"names"}
