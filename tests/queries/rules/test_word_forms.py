"""Inflected words: by their ending, where the vocabulary has the word that they are a form of."""

import pytest

from neurothek.queries.rules.chance import Vocabulary
from neurothek.queries.rules.word_forms import are_one_word, word_forms

STEMS = (" walk", " bake", " stop", " carry", " glass", " quick", " happy", " gentle", " sing", " great", " hope")
FORMS = {
    "plurals and third persons in -s": (" walks", " carries", " glasses", " Walks"),
    "past tense in -ed": (" walked", " baked", " stopped", " carried"),
    "-ing forms": (" walking", " baking", " stopping", " carrying"),
    "adverbs in -ly": (" quickly", " happily", " gently"),
    "comparatives and superlatives": (" greater", " greatest"),
}
OTHERS = (
    " this",
    " his",
    " bus",
    " thing",
    " king",
    " ring",
    " red",
    " family",
    " teacher",
    " teach",
    "walking",
    " moss",
)
TEXTS = (*STEMS, *OTHERS, *(form for forms in FORMS.values() for form in forms))


def test_forms_of_words_are_found_and_no_others(subtests: pytest.Subtests) -> None:
    for concept, forms in FORMS.items():
        with subtests.test(concept):
            found = {one.concept: one for one in word_forms(Vocabulary(dict(enumerate(TEXTS))))}
            assert found.keys() == FORMS.keys()
            assert {TEXTS[number] for number in found[concept].token_ids} == {*forms}
            assert found[concept].concept_class == "syntactic"


def test_without_its_stem_no_word_is_a_form() -> None:
    assert not any(one.token_ids for one in word_forms(Vocabulary({0: " walking", 1: " greatest", 2: " quickly"})))


def test_variants_of_one_word() -> None:
    alike = [["the"], ["The", " the", "THE\n"], ["walk", " walked", "Walking", "walks"], ["try", "tries", "tried"]]
    alike += [
        ["stop", "stopped"],
        ["make", "making"],
        ["quick", " quickly", "quicker"],
        ["John", "John's"],
        [",", " ,"],
    ]
    apart = [["the", " a"], ["walk", "talk"], ["walk", "walked", "talked"], ["ran", "run"], [" ", "\n"], ["as", "a"]]
    apart += [["do", "doing"]]
    wrong = [tokens for tokens in (*alike, *apart) if are_one_word(tokens) is not (tokens in alike)]
    assert not wrong
