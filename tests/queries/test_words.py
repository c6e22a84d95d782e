"""From words to tokens: spellings, splits, and what is near."""

import itertools

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queries import errors
from queries.words import fewest_pieces, find_terms, nearest_words
from tests.support.warehouse import ENGLISH, OTHER


@given(text=st.text("ab", max_size=7), pieces=st.sets(st.text("ab", min_size=1, max_size=3), max_size=6))
def test_fewest_pieces_is_the_shortest_of_all_splits(text: str, pieces: set[str]) -> None:
    splits = []
    for n_cuts in range(len(text)):
        for cuts in itertools.combinations(range(1, len(text)), n_cuts):
            parts = [text[start:end] for start, end in itertools.pairwise([0, *cuts, len(text)])]
            if pieces.issuperset(parts):
                splits.append(parts)
    found = fewest_pieces(text, dict.fromkeys(pieces))
    best = min(splits, key=lambda parts: (len(parts), [-len(part) for part in parts]), default=[])
    assert len(found) == len(best)
    assert "".join(found) == (text if splits else "")
    assert not found or len(found[0]) == len(best[0])


def test_a_word_means_its_spellings_in_each_tokenizer(full: duckdb.DuckDBPyConnection) -> None:
    terms = find_terms(full, ["SCHOOL"], [0, 1], exact=False)
    assert [(term.tokenizer_id, term.tokens) for term in terms] == [
        (0, [" school", "School", "SCHOOL"]),
        (1, ["School", " school"]),
    ]
    assert not any(term.is_split for term in terms)


def test_white_space_around_a_word_and_repetition_do_not_matter(full: duckdb.DuckDBPyConnection) -> None:
    (term,) = find_terms(full, ["  bus ", "  bus "], [0], exact=False)
    assert term.tokens == [" bus", "bus"]


def test_split_stands_as_inside_a_sentence_else_at_the_beginning(full: duckdb.DuckDBPyConnection) -> None:
    (term,) = find_terms(full, ["schooler"], [0], exact=False)
    assert [[token.text for token in part] for part in term.parts] == [[" school"], ["er"]]
    # No token " Sch..." begins it, so it is read as the beginning of a text.
    (term,) = find_terms(full, ["Schooler"], [0], exact=False)
    assert term.tokens == ["School", "er"]


def test_tokenizers_that_cannot_write_a_word_are_left_out(full: duckdb.DuckDBPyConnection) -> None:
    assert [term.tokenizer_id for term in find_terms(full, ["cat"], [0, 1], exact=False)] == [0]


def test_special_tokens_are_found_by_name_but_split_no_word(full: duckdb.DuckDBPyConnection) -> None:
    (term,) = find_terms(full, ["</s>"], [0], exact=False)
    assert term.tokens == ["</s>"]
    with pytest.raises(errors.NoSuchWord):
        find_terms(full, ["er</s>"], [0], exact=False)


def test_exact(full: duckdb.DuckDBPyConnection) -> None:
    assert [term.tokens for term in find_terms(full, ["\n"], [0, 1], exact=True)] == [["\n"]]
    # A token that holds the mark itself is meant before the blank it stands for elsewhere.
    (term,) = find_terms(full, ["·"], [0], exact=True)
    assert term.tokens == ["·"]
    (term,) = find_terms(full, ["↵"], [0], exact=True)
    assert term.tokens == ["\n"]


def test_nearest_words(full: duckdb.DuckDBPyConnection) -> None:
    assert nearest_words(full, "scholl", [0])[0] == "school"
    assert nearest_words(full, "Univresity", [0]) == ["university"]
    assert nearest_words(full, "zzzzzzzzzz", [0, 1]) == []
    assert set(nearest_words(full, "dig", [1])) <= {text.strip().casefold() for text in OTHER}


def test_the_two_vocabularies_differ() -> None:
    assert ENGLISH.index(" school") != OTHER.index(" school")
