"""Classes of tokens, and tokens as tables print them, stand for what a loop over the vocabulary says."""

import re
import unicodedata
from collections.abc import Callable

import duckdb
import pytest

from neurothek.catalog.problems import Invalid
from neurothek.catalog.spelling import visible
from neurothek.queries.names.words import find_terms
from neurothek.queries.search.by_word import search
from neurothek.queries.search.question import Question

Rows = list[tuple[int, str]]


@pytest.fixture(scope="module")
def vocabulary(full: duckdb.DuckDBPyConnection) -> Rows:
    """Ids and texts of the tokens of one model that is searched."""
    query = """
        select token_id, text from store.tokens as tokens
        inner join store.models as models on models.tokenizer_id = tokens.tokenizer_id
        where models.name = 'tiny-1m' and not is_special
    """
    return full.execute(query).fetchall()


def neurons_that_list(full: duckdb.DuckDBPyConnection, ids: set[int]) -> set[str]:
    query = "select address, token_id from promotions where model = 'tiny-1m' and side = 'promoted'"
    return {address for address, token_id in full.execute(query).fetchall() if token_id in ids}


def test_classes_stand_for_their_tokens(full: duckdb.DuckDBPyConnection, vocabulary: Rows) -> None:
    def is_latin(text: str) -> bool:
        return any(unicodedata.name(letter, "").startswith("LATIN ") for letter in text)

    classes: list[tuple[dict[str, tuple[str, ...]], Callable[[str], bool]]] = [
        ({"patterns": ("^ ?s",)}, lambda text: re.search("^ ?s", text) is not None),
        ({"patterns": ("[0-9]{2}$",)}, lambda text: re.search("[0-9]{2}$", text) is not None),
        ({"scripts": ("Latin",)}, is_latin),
    ]
    for asked, holds in classes:
        ids = {token_id for token_id, text in vocabulary if holds(text)}
        assert ids, asked
        found = search(full, Question(words=(), models=("tiny-1m",), limit=10**6, **asked))  # type: ignore[arg-type]
        assert {token.token_id for term in found.terms for token in term.parts[0]} == ids, asked
        assert set(found.neurons["address"]) == neurons_that_list(full, ids), asked
        assert found.n_found == found.neurons.height


def test_a_class_is_joined_with_words(full: duckdb.DuckDBPyConnection) -> None:
    both = search(
        full, Question(words=("school",), patterns=("^ ?t",), models=("tiny-1m",), match_all=True, limit=10**6)
    )
    for asked in ({"words": ("school",)}, {"words": (), "patterns": ("^ ?t",)}):
        one = search(full, Question(models=("tiny-1m",), limit=10**6, **asked))
        assert set(both.neurons["address"]) <= set(one.neurons["address"])


def test_what_is_no_class_is_refused(full: duckdb.DuckDBPyConnection) -> None:
    for asked in ({"patterns": ("(",)}, {"patterns": ("^zzzzzz$",)}, {"scripts": ("Nowhere",)}):
        with pytest.raises(Invalid, match=" is not valid; "):
            search(full, Question(words=(), models=("tiny-1m",), **asked))  # type: ignore[arg-type]
    assert search(full, Question(words=(), models=("tiny-1m",), bytes=True)).neurons.height
    with pytest.raises(Invalid, match="script"):
        Question(words=(), scripts=("Han}|(.*",))


def test_a_token_as_a_table_prints_it_is_that_token(full: duckdb.DuckDBPyConnection, vocabulary: Rows) -> None:
    (tokenizer_id,) = full.execute("select tokenizer_id from store.models where name = 'tiny-1m'").fetchall()[0]
    n = 0
    for _, text in vocabulary[:400]:
        if text.startswith(" ") and text.strip() and "," not in text:
            terms = find_terms(full, [visible(text)], [tokenizer_id], exact=False)
            assert {token.text for term in terms for token in term.parts[0]} == {text}
            n += 1
    assert n > 3
