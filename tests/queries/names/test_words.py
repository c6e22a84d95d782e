"""From words to tokens: spellings, splits, and what is near."""

import itertools
from collections.abc import Iterator

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid, NotFound
from neurothek.queries.names.words import Term, Token, fewest_pieces, find_terms, nearest_words, words_of
from tests.support.tiny import ENGLISH, OTHER


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
    with pytest.raises(NotFound):
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


def test_words_of_are_the_tokens_that_read_so(full: duckdb.DuckDBPyConnection) -> None:
    assert words_of(full, ["Bus", "school", "nosuch"], [1, 0]) == {
        ("Bus", 0): (token(" bus"), token("bus")),
        ("school", 0): (token(" school"), token("School"), token("SCHOOL")),
        ("school", 1): (Token(4, "School"), Token(5, " school")),
    }


def token(text: str) -> Token:
    return Token(ENGLISH.index(text), text)


def test_a_group_means_any_token_of_any_of_its_words(full: duckdb.DuckDBPyConnection) -> None:
    english, other = find_terms(full, [" coffee , bus,"], [0, 1], exact=False)
    assert english == Term(" coffee , bus,", 0, ((token(" coffee"), token(" bus"), token("bus")),))
    # The other tokenizer has no bus.
    assert other == Term(" coffee , bus,", 1, ((Token(6, " coffee"),),))
    assert not english.is_split


def test_a_tokenizer_without_any_word_of_a_group_has_no_term(full: duckdb.DuckDBPyConnection) -> None:
    assert [term.tokenizer_id for term in find_terms(full, ["bus,cat"], [0, 1], exact=False)] == [0]


def test_every_word_of_a_group_is_a_token(full: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFound, match="'schooler'"):
        find_terms(full, ["bus,schooler"], [0], exact=False)


@pytest.mark.parametrize("word", ["bus,", ",bus", " , bus ,"])
def test_a_comma_beside_one_word_makes_no_group(full: duckdb.DuckDBPyConnection, word: str) -> None:
    # No token of this warehouse has a comma, so it cannot be spelled.
    with pytest.raises(NotFound):
        find_terms(full, [word], [0], exact=False)


def test_an_exact_token_that_is_none_is_told_with_what_reads_like_it(full: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFound) as caught:
        find_terms(full, ["bUS"], [0, 1], exact=True)
    assert caught.value.known == [" bus", "bus"]
    # It is there, but in another tokenizer.
    with pytest.raises(NotFound):
        find_terms(full, [" cat"], [1], exact=True)


def test_an_exact_token_asked_for_twice_is_one(full: duckdb.DuckDBPyConnection) -> None:
    assert find_terms(full, ["\n", "↵", " the"], [0], exact=True) == [
        Term("\n", 0, ((token("\n"),),)),
        Term(" the", 0, ((token(" the"),),)),
    ]


@pytest.mark.parametrize("word", ["", " ", "\n\t"])
def test_a_blank_word_is_refused(full: duckdb.DuckDBPyConnection, word: str) -> None:
    with pytest.raises(Invalid):
        find_terms(full, [word], [0], exact=False)


@pytest.fixture
def planted() -> Iterator[duckdb.DuckDBPyConnection]:
    """A store of nothing but tokens: of one tokenizer words of given letters, of another pieces."""
    tokens = ["a,b", " a,b", "a", "b", "wxyz12", "wxy123", "wx1234", "q12", "qr1", ","]
    pieces = [" un", "un", " ", "do", "x", "do", "xy"]
    with duckdb.connect() as connection:
        connection.execute("create schema store")
        connection.execute(
            "create table store.tokens"
            " (tokenizer_id integer, token_id integer, text varchar, word varchar, is_special boolean)"
        )
        for tokenizer_id, texts in ((3, tokens), (5, pieces)):
            for token_id, text in enumerate(texts):
                row = [tokenizer_id, token_id, text, text.strip().casefold(), False]
                connection.execute("insert into store.tokens values (?, ?, ?, ?, ?)", row)
        yield connection


def test_a_token_with_a_comma_in_it_is_no_group(planted: duckdb.DuckDBPyConnection) -> None:
    (term,) = find_terms(planted, ["A,B"], [3], exact=False)
    assert term.parts == ((Token(0, "a,b"), Token(1, " a,b")),)
    # Beside it, the words of a group.
    (group,) = find_terms(planted, ["b,a"], [3], exact=False)
    assert group.parts == ((Token(3, "b"), Token(2, "a")),)


def test_near_words_differ_in_half_of_their_letters_at_most(planted: duckdb.DuckDBPyConnection) -> None:
    assert nearest_words(planted, " WXYZ!? ", [3]) == ["wxyz12", "wxy123"]
    # Of a short word two letters.
    assert nearest_words(planted, "qrs", [3])[:2] == ["qr1", "q12"]
    assert "wxyz12" not in nearest_words(planted, "qrs", [3])


def test_a_split_has_a_part_a_piece(planted: duckdb.DuckDBPyConnection) -> None:
    (term,) = find_terms(planted, [" undo "], [3, 5], exact=False)
    # Two ids are one piece: the lower stands for it.
    assert term == Term(" undo ", 5, ((Token(0, " un"),), (Token(3, "do"),)))
    assert term.is_split
    # The longest piece first, among splits into as many.
    (term,) = find_terms(planted, ["unxydo"], [5], exact=False)
    assert term.tokens == [" un", "xy", "do"]


def test_tokens_of_a_tokenizer_without_the_word_are_those_of_its_split(planted: duckdb.DuckDBPyConnection) -> None:
    planted.execute("insert into store.tokens values (3, 90, 'undo', 'undo', false)")
    assert [(term.tokenizer_id, term.tokens) for term in find_terms(planted, ["undo"], [3, 5], exact=False)] == [
        (3, ["undo"]),
        (5, [" un", "do"]),
    ]


def test_the_two_vocabularies_differ() -> None:
    assert ENGLISH.index(" school") != OTHER.index(" school")
