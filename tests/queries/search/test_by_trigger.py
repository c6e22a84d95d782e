"""Search by trigger: planted detectors come first, with the recall and share that loops count."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NotMeasured
from neurothek.catalog.spelling import visible
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.ngrams import trigger_scores as ngram_triggers
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.names.models import which_corpora
from neurothek.queries.search.by_likeness import alike
from neurothek.queries.search.by_trigger import COLUMNS, STORED_TRIGGERS, triggered
from neurothek.queries.search.by_word import search
from neurothek.queries.search.question import Question
from neurothek.queries.views import install as installer
from tests.support import ngrams as oracle
from tests.support import publications as made
from tests.support.detectors import MODELS, NEURONS, frames, lines


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("triggers") / "triggers.duckdb"
    warehouse = Warehouse(path, views=installer)
    for model in MODELS:
        record, corpus = made.model(model, weights=model), made.corpus(sha256=model)
        made.publish_job(warehouse, "projections", made.weights_frames(), record=record)
        made.publish_job(warehouse, "ngrams", frames(model), record=record, text=corpus)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def text_of(connection: duckdb.DuckDBPyConnection, token_id: int) -> str:
    ((text,),) = connection.execute(
        "select any_value(text) from store.tokens where token_id = ?", [token_id]
    ).fetchall()
    return str(text)


def expected(model: str, ngram: oracle.Ngram) -> dict[str, tuple[float, float]]:
    """Address -> recall and share, by loops over the text, for the neurons that list the n-gram."""
    found = {}
    for layer, neuron in NEURONS:
        counts = oracle.activations(lines(model, layer, neuron), len(ngram))
        seen = oracle.occurrences(lines(model, layer, neuron), len(ngram))
        listed = dict(oracle.kept(counts, seen, len(ngram)))
        if listed.get(ngram):
            n = counts[ngram]
            found[f"{model}/L{layer}N{neuron}"] = (n / seen[ngram], n / sum(counts.values()))
    return found


@pytest.mark.parametrize("token", [3, 5, 11, 19])
def test_a_token(connection: duckdb.DuckDBPyConnection, token: int) -> None:
    question = Question(words=(), triggered_by=(text_of(connection, token),), models=("planted",), exact=True, limit=99)
    result = triggered(connection, question)
    assert dict(result.neurons.schema) == dict(COLUMNS)
    found = {
        row["address"]: (row["recalls"][0], row["shares"][0], row["strength"]) for row in result.neurons.to_dicts()
    }
    loops = expected("planted", (token,))
    assert set(found) == set(loops)
    for address, (recall, share) in loops.items():
        assert found[address] == pytest.approx((recall, share, 2 * recall * share / (recall + share)))
    strengths = result.neurons["strength"].to_list()
    assert strengths == sorted(strengths, reverse=True)


def test_the_planted_detector_comes_first(connection: duckdb.DuckDBPyConnection) -> None:
    words = (text_of(connection, 3), text_of(connection, 5))
    question = Question(words=(), triggered_by=words, models=("planted",), exact=True, match_all=True, limit=99)
    result = triggered(connection, question)
    first = result.neurons.row(0, named=True)
    assert first["address"] == "planted/L0N0"
    assert first["recalls"] == [1.0, 1.0]
    assert sum(first["shares"]) == pytest.approx(1)
    both = set(expected("planted", (3,))) & set(expected("planted", (5,)))
    assert set(result.neurons["address"]) == both
    assert "fire on" in result.title
    assert "planted/L0N0" in repr(result)


def test_it_is_a_condition_beside_words(connection: duckdb.DuckDBPyConnection) -> None:
    word = text_of(connection, 3)
    everything = search(connection, Question(words=(word,), models=("planted",), exact=True, limit=99))
    question = Question(words=(word,), triggered_by=(word,), models=("planted",), exact=True, limit=99)
    narrowed = search(connection, question)
    firing = set(expected("planted", (3,)))
    assert set(narrowed.neurons["address"]) == set(everything.neurons["address"]) & firing
    assert narrowed.title.endswith(f"and fire on {visible(word)}")


def test_what_is_not_kept_is_said(connection: duckdb.DuckDBPyConnection) -> None:
    """A token that fires a neuron less than many others do is no trigger in the store: the answer says that."""
    word = text_of(connection, 3)
    alone = triggered(connection, Question(words=(), triggered_by=(word,), models=("planted",), exact=True))
    beside = search(connection, Question(words=(word,), triggered_by=(word,), models=("planted",), exact=True))
    assert STORED_TRIGGERS in alone.notes
    assert STORED_TRIGGERS in beside.notes
    assert STORED_TRIGGERS not in search(connection, Question(words=(word,), models=("planted",), exact=True)).notes
    tokens, longer, narrow = (
        int(number) for number in re.findall(r"first (\d+) .* (\d+) trigrams .* (\d+) of", STORED_TRIGGERS)[0]
    )
    assert (tokens, narrow) == (ngram_triggers.BRIEF[1], ngram_triggers.NARROW)
    # What `Triggers.of` keeps where BRIEF names nothing, which the loops know too.
    assert longer == 5


def test_one_neuron_is_one(connection: duckdb.DuckDBPyConnection) -> None:
    words = (text_of(connection, 3), text_of(connection, 5))
    where = "address = 'planted/L0N0'"
    question = Question(words=(), triggered_by=words, models=("planted",), exact=True, where=where)
    title = triggered(connection, question).title
    assert title.startswith("1 neuron that fires on ")
    assert title.endswith(f"{question.display(words[:1])} or {question.display(words[1:])}")
    every = triggered(connection, replace(question, match_all=True)).title
    assert every.endswith(f"{question.display(words[:1])} and {question.display(words[1:])}")


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        ({"suppresses": ("the",)}, "suppresses"),
        ({"side": "both"}, "side"),
        ({"without": ("the",), "min_count": 3}, "without, min-count"),
        ({"concept": True, "neighbours": 3}, "concept, neighbours"),
        ({"concept": True, "left_out": ("the",)}, "concept, leave-out"),
    ],
)
def test_conditions_that_it_would_pass_over_are_refused(
    connection: duckdb.DuckDBPyConnection, condition: dict[str, Any], named: str
) -> None:
    word = text_of(connection, 3)
    with pytest.raises(Invalid, match="by what they fire on alone, only triggered-by, model") as caught:
        triggered(connection, Question(words=(), triggered_by=(word,), exact=True, **condition))
    assert sorted(str(caught.value).partition(" cannot")[0].split(", ")) == sorted(named.split(", "))
    for more in (condition, {"match_all": True}, {"exact": True}, {"words": (word,)}, {"triggered_by": (word,)}):
        with pytest.raises(Invalid, match="cannot be used with neurons like one, only model, layer"):
            alike(connection, "planted/L0N0", Question(**{"words": (), **more}))


def test_conditions_hold(connection: duckdb.DuckDBPyConnection) -> None:
    word = text_of(connection, 3)
    asked = Question(words=(), triggered_by=(word,), exact=True, layers=(1, 1), where="neuron < 3", limit=99)
    result = triggered(connection, asked)
    assert set(result.neurons["layer"]) == {1}
    assert max(result.neurons["neuron"]) < 3
    with pytest.raises(Invalid, match="cannot be evaluated"):
        triggered(connection, Question(words=(), triggered_by=(word,), exact=True, where="address > 5"))


def test_what_was_not_counted_is_said(full: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotMeasured, match=re.escape("`neurothek ingest MODEL --job ngrams`")):
        triggered(full, Question(words=(), triggered_by=("school",)))
    with pytest.raises(NotMeasured):
        triggered(empty, Question(words=(), triggered_by=("school",)))
    with pytest.raises(Invalid, match=r"is 4 tokens .* n-grams of at most 3 were counted; use a shorter"):
        triggered(full, Question(words=(), triggered_by=("the dog cat tea",), models=("tiny-1m",)))


def test_a_corpus_of_the_same_name_is_another(tmp_path: Path) -> None:
    """Its n-grams were counted on a short corpus; the longer one of the same name is shown."""
    warehouse = Warehouse(tmp_path / "two.duckdb", views=installer)
    short, long = made.corpus(sha256="short"), made.corpus(sha256="long", n_sequences=6)
    other = made.model("other", weights="other")
    for record, counted in ((made.model(), short), (other, long)):
        made.publish_job(warehouse, "projections", made.weights_frames(), record=record)
        made.publish_job(warehouse, "ngrams", made.ngrams_frames(), record=record, text=counted)
        made.publish_job(warehouse, "activity", made.activity_frames(), record=record, text=long)
    with warehouse.reader() as connection:
        with pytest.raises(NotMeasured, match="ngrams"):
            triggered(connection, Question(words=(), triggered_by=(text_of(connection, 1),), models=("tiny",)))
        both = Question(words=(), triggered_by=(text_of(connection, 1),), models=("tiny", "other"), exact=True)
        result = triggered(connection, both)
        shown = which_corpora(connection, ["tiny", "other"])
    assert set(result.neurons["model"]) == {"other"}
    assert "no n-grams counted on the shown corpus, so left out: tiny" in result.remarks()
    assert [sentence.partition(";")[0] for sentence in shown] == [
        "on the shown corpora text (other), text@24 (tiny)",
    ]


def test_a_token_copied_from_a_table_is_the_token(connection: duckdb.DuckDBPyConnection) -> None:
    """Tables mark white space; asked for in both ways, or twice, it is one trigger."""
    word = text_of(connection, 3)
    assert visible(word) != word

    def found(*words: str) -> list[dict[str, Any]]:
        asked = Question(words=(), triggered_by=words, models=("planted",), exact=True, match_all=True, limit=99)
        return triggered(connection, asked).neurons.to_dicts()

    plain = found(word)
    assert plain
    assert found(visible(word)) == found(word, visible(word)) == found(word, word) == plain


def test_every_trigger_is_needed_where_every_word_is(connection: duckdb.DuckDBPyConnection) -> None:
    one, other = (set(expected("planted", (token,))) for token in (3, 11))
    assert one & other < one | other
    sizes = set()
    for token in range(3, 20):
        plain = Question(words=(text_of(connection, token),), models=("planted",), exact=True, limit=99)
        listing = set(search(connection, plain).neurons["address"])
        triggers = (text_of(connection, 3), text_of(connection, 11))
        any_of, all_of = (
            set(search(connection, replace(plain, triggered_by=triggers, match_all=match_all)).neurons["address"])
            for match_all in (False, True)
        )
        assert (any_of, all_of) == (listing & (one | other), listing & one & other)
        sizes.add((len(any_of), len(all_of)))
    assert any(n_any > n_all for n_any, n_all in sizes)


def test_the_sql_of_the_answer_runs_as_it_stands(connection: duckdb.DuckDBPyConnection) -> None:
    words = (text_of(connection, 5),)
    result = triggered(connection, Question(words=(), triggered_by=words, models=("planted",), exact=True))
    frames_again = [run_query(connection, one.sql) for one in result.statements]
    assert any(result.neurons.height == frame.height and "strength" in frame.columns for frame in frames_again)


def test_phrases_whose_n_grams_stayed_at_home_are_told(path: Path, tmp_path: Path) -> None:
    """What is published without texts has triggers of single tokens alone: no neuron found would be another answer."""
    copied = tmp_path / "bare.duckdb"
    shutil.copyfile(path, copied)
    with duckdb.connect(str(copied)) as writer:
        writer.execute("delete from store.triggers where n > 1")
    with Warehouse(path).reader() as whole, Warehouse(copied).reader() as bare:
        # Two tokens that no token of the vocabulary is together.
        word = text_of(whole, 3)
        phrase = f"{word.strip()} {text_of(whole, 5).strip()}"
        asked = Question(words=(), triggered_by=(phrase,), models=("planted",))
        assert triggered(whole, asked).n_found == len(expected("planted", (3, 5)))
        for ask, question in ((triggered, asked), (search, replace(asked, words=(word,)))):
            with pytest.raises(NotMeasured, match="no n-grams of several tokens are here"):
                ask(bare, question)
        single = replace(asked, triggered_by=(word,))
        assert triggered(bare, single).neurons.equals(triggered(whole, single).neurons)


def test_a_word_that_the_text_does_not_have_is_said(path: Path, tmp_path: Path) -> None:
    """Nothing can have fired on it; where its counts stayed at home nobody knows."""
    copy = tmp_path / "w.duckdb"
    shutil.copyfile(path, copy)
    counts = "insert into store.token_counts select corpus_id, 'prose', 3, 5 from store.corpora"

    def absent(token: int) -> list[str]:
        with Warehouse(copy).reader() as connection:
            asked = Question(
                words=(),
                triggered_by=(text_of(connection, token),),
                models=("planted",),
                exact=True,
                where="address = 'nobody'",
            )
            result = triggered(connection, asked)
            assert set(result.absent) <= set(result.notes)
            return list(result.absent)

    with duckdb.connect(str(copy)) as connection:
        connection.execute("delete from store.token_counts")
    assert absent(5) == []
    with duckdb.connect(str(copy)) as connection:
        connection.execute(counts)
    assert absent(3) == []
    (note,) = absent(5)
    assert " is not in the " in note
    assert note.endswith(" seen by planted")
