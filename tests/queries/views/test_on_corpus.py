"""Views that tell of the corpus that was asked for, against loops over its coefficients; the reader stays as it is."""

from collections.abc import Mapping
from typing import Any

import duckdb
import pytest

from neurothek.catalog.problems import NotFound, NotMeasured, Unsupported
from neurothek.queries.views.install import all_views, views_that_read
from neurothek.queries.views.on_corpus import FACTS, of_facts, on_corpus, refuse_facts
from tests.support.tiny import BOS, MODELS, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()
NEURONS = "select address, corpus, n_tokens_seen, frequency from neurons where model = ?"


def told(connection: duckdb.DuckDBPyConnection, model: str) -> Mapping[str, tuple[Any, ...]]:
    """Address -> name of the corpus, tokens seen and frequency."""
    return {place: (corpus, n, share) for place, corpus, n, share in connection.execute(NEURONS, [model]).fetchall()}


def counted(model_id: int, corpus_id: int, name: str) -> Mapping[str, tuple[Any, ...]]:
    first = 0 if BOS[MODELS[model_id].tokenizer_id] is None else 1
    expected = {}
    for neuron in neurons_of(model_id):
        values = [m for line in MADE.coefficients[corpus_id, neuron].values() for m in line[first:]]
        share = pytest.approx(sum(m > 0 for m in values) / len(values), rel=1e-12)
        expected[address(neuron)] = (name, len(values), share)
    return expected


@pytest.mark.parametrize(("model_id", "corpus_id", "name"), [(0, 1, "long"), (1, 0, "builtin"), (0, 0, "builtin")])
def test_neurons_are_those_of_the_corpus(
    full: duckdb.DuckDBPyConnection, model_id: int, corpus_id: int, name: str
) -> None:
    model = MODELS[model_id].name
    before = told(full, model)
    with on_corpus(full, [model], name) as asked:
        assert told(asked, model) == counted(model_id, corpus_id, name)
        assert told(full, model) == before


def test_nothing_is_changed_where_the_corpus_is_the_shown_one(full: duckdb.DuckDBPyConnection) -> None:
    nothing: list[str] = []
    for models, corpus in ((nothing, None), (["tiny-1m"], None), (["tiny-1m"], "builtin"), (["tiny-2m"], "long")):
        with on_corpus(full, models, corpus) as same:
            assert same is full
    with on_corpus(full, ["tiny-1m", "tiny-2m"], "builtin") as other:
        assert other is not full


def test_views_that_hang_on_no_text_are_left_to_the_file(full: duckdb.DuckDBPyConnection) -> None:
    """To define all of them takes longer than most questions."""
    with on_corpus(full, ["tiny-1m"], "long") as asked:
        query = "select view_name from duckdb_views() where temporary and not internal"
        temporary = {name for (name,) in asked.execute(query).fetchall()}
    assert temporary == {"measured_corpora", *(view.name for view in views_that_read("measured_corpora", FACTS))}
    assert temporary < set(all_views())


def test_of_what_was_not_measured_there_nothing_is_told(full: duckdb.DuckDBPyConnection) -> None:
    with on_corpus(full, ["tiny-1m", "tiny-2m-nopos"], "long") as asked:
        assert {row[0] for row in told(asked, "tiny-1m").values()} == {"long"}
        assert {*told(asked, "tiny-2m-nopos").values()} == {(None, None, None)}
        # Nor of a model that was not asked about, though it was measured there.
        assert {*told(asked, "tiny-2m").values()} <= {(None, None, None)}
        # Tables of the store stay what they are.
        ((n_rows,),) = asked.execute("select count(*) from store.activity").fetchall()
    assert n_rows == len(MADE.rows["activity"])


def test_two_corpora_can_be_told_of_at_once(full: duckdb.DuckDBPyConnection) -> None:
    with on_corpus(full, ["tiny-1m"], "long") as one, on_corpus(full, ["tiny-2m"], "builtin") as other:
        assert told(one, "tiny-1m") == counted(0, 1, "long")
        assert told(other, "tiny-2m") == counted(1, 0, "builtin")


def test_the_lease_ends_with_its_block(full: duckdb.DuckDBPyConnection) -> None:
    before = told(full, "tiny-1m")
    with pytest.raises(ZeroDivisionError), on_corpus(full, ["tiny-1m"], "long") as asked:
        raise ZeroDivisionError
    with pytest.raises(duckdb.ConnectionException):
        asked.execute("select 1")
    assert told(full, "tiny-1m") == before


def test_what_is_not_there_is_told(full: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection) -> None:
    nothing: list[str] = []
    for connection, models, corpus, error in (
        (full, ["tiny-1m"], "lang", NotFound),
        (full, ["gelu-1m"], "long", NotFound),
        (full, ["tiny-9m"], "long", NotFound),
        (empty, nothing, "long", NotMeasured),
    ):
        with pytest.raises(error), on_corpus(connection, models, corpus):
            pytest.fail("a connection was leased")


def test_a_query_that_reads_the_flat_table_is_refused(
    full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests
) -> None:
    for query, reads in [
        ("from store.neuron_facts", True),
        ("select 1 from models, STORE.Neuron_Facts as f", True),
        ("with t as (from store.neuron_facts) from t", True),
        ("select (select max(layer) from store.neuron_facts)", True),
        ("from neurons", False),
        ("from neuron_facts", False),
        ("select 'store.neuron_facts' from store.models", False),
        ("from store.activity -- store.neuron_facts", False),
    ]:
        with subtests.test(query=query, reads=reads):
            if reads:
                with pytest.raises(Unsupported, match="long"):
                    refuse_facts(full, query, "long")
            else:
                refuse_facts(full, query, "long")


def test_a_statement_on_the_flat_table_reads_the_asked_corpus(full: duckdb.DuckDBPyConnection) -> None:
    text = f"select address, n_positions from {FACTS} where set_id = 0"
    with on_corpus(full, ["tiny-1m"], "long") as asked:
        rows = dict(asked.execute(of_facts(text)).fetchall())
    assert rows == {place: n for place, (_, n, _) in counted(0, 1, "long").items()}
    assert of_facts("from store.models") == "from store.models"
