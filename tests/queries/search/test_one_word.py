"""A search of one word takes a way of its own, and says what the general one says."""

from dataclasses import dataclass, replace

import duckdb
import pytest

from neurothek.queries.names.models import choose_models
from neurothek.queries.names.words import find_terms
from neurothek.queries.search import by_word as searches
from neurothek.queries.search.by_word import search
from neurothek.queries.search.one_word import is_one_word
from neurothek.queries.search.question import SIDES, Question, Side

WORDS = ("school", "coffee,tea", "the", "un", "[bold]", "café", "UNIVERSITY", "</s>")


def generally(
    connection: duckdb.DuckDBPyConnection, question: Question, monkeypatch: pytest.MonkeyPatch
) -> searches.SearchResult:
    with monkeypatch.context() as patched:
        patched.setattr(searches, "is_one_word", lambda *_: False)
        return search(connection, question)


@pytest.mark.long
@pytest.mark.parametrize("side", SIDES)
def test_both_ways_say_the_same(full: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, side: Side) -> None:
    """The general way is asked once for all; that it says the first of them where fewer are asked for is seen once."""
    n_found = 0
    for word in WORDS:
        for models, variants in (((), False), ((), True), (("tiny-1m",), False), (("weights-only", "tiny-2m"), False)):
            question = Question(words=(word,), side=side, limit=500, models=models, variants=variants)
            general = generally(full, question, monkeypatch)
            assert general.n_found == general.neurons.height
            for limit in (1, 3, 500):
                fewer = replace(question, limit=limit)
                direct = search(full, fewer)
                if word == WORDS[0] and not models:
                    assert generally(full, fewer, monkeypatch).neurons.equals(general.neurons.head(limit))
                assert direct.neurons.equals(general.neurons.head(limit)), fewer
                assert (direct.n_found, direct.notes) == (general.n_found, general.notes)
                assert direct.left_out == general.left_out == (() if models or variants else ("tiny-2m-nopos",))
            n_found += general.n_found
    assert n_found > 100


@pytest.mark.parametrize(
    "question",
    [
        Question(words=("school", "coffee")),
        Question(words=("school",), min_count=2),
        Question(words=("school",), layers=(0, 1)),
        Question(words=("school",), depth=(0, 0.5)),
        Question(words=("school",), without=("tea",)),
        Question(words=("school",), suppresses=("tea",)),
        Question(words=("school",), concept=True),
        Question(words=("school",), where="layer = 0"),
        Question(words=("school",), alive=True),
        Question(words=("sun",), models=("tiny-1m",)),
    ],
    ids=str,
)
def test_conditions_take_the_general_way(
    full: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, question: Question
) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    expected = search(full, question)
    monkeypatch.setattr(searches, "one_word_rows", never)
    assert search(full, question).neurons.equals(expected.neurons)
    with pytest.raises(AssertionError):
        search(full, Question(words=("school",)))


@dataclass(frozen=True, kw_only=True)
class Louder(Question):
    """A question that asks for something new."""

    loudest: bool = False


def test_what_a_question_asks_beside_one_word_is_not_passed_over(full: duckdb.DuckDBPyConnection) -> None:
    (model,) = choose_models(full, ["tiny-1m"])
    terms = find_terms(full, ["school"], [model.tokenizer_id], exact=False)
    assert is_one_word(Question(words=("school",)), terms)
    assert is_one_word(Louder(words=("school",)), terms)
    assert not is_one_word(Louder(words=("school",), loudest=True), terms)
