"""What DuckDB objects to, in one sentence with the nearest names; complaints about the file are left to the lease."""

import duckdb
import pytest

from neurothek.catalog.problems import Failed, NotFound
from neurothek.queries.ask.parse_tree import known_columns, known_relations, objection
from neurothek.queries.views.install import all_views


def objected(connection: duckdb.DuckDBPyConnection, query: str) -> str:
    with pytest.raises(duckdb.Error) as refused:
        connection.execute(query)
    return str(objection(connection, refused.value))


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("from modles", "there is no view or table modles; nearest: models"),
        ("from store.postngs", "there is no view or table postngs; nearest: "),
        ("select famly from models", "there is no column famly; nearest: family"),
        ("select m.famly from models as m", "there is no column famly; nearest: family"),
        ("select zzzzzzzzzz from models", "there is no column zzzzzzzzzz; "),
        ("select 1 as x where x + 'a' > 1", "the query failed: "),
        ("select sum(layer) over (order by sum(layer)) from neurons group by all having", "the query failed: "),
        ("select error('mine')", "the query failed: mine; fix it"),
        ("select 'a'::integer", "the query failed: Could not convert string 'a' to INT32"),
    ],
)
def test_an_objection_is_one_sentence(empty: duckdb.DuckDBPyConnection, query: str, sentence: str) -> None:
    said = objected(empty, query)
    assert said.startswith(sentence)
    assert "\n" not in said
    assert "Error:" not in said


def test_the_kind_of_error_says_what_is_unknown(empty: duckdb.DuckDBPyConnection) -> None:
    def kind(error: duckdb.Error) -> type[Exception]:
        return type(objection(empty, error))

    assert kind(duckdb.CatalogException("Catalog Error: Table with name x does not exist!")) is NotFound
    assert kind(duckdb.BinderException('Binder Error: Referenced column "x" not found in FROM clause!')) is NotFound
    assert kind(duckdb.OutOfRangeException("Out of Range Error: too large!")) is Failed


def test_columns_that_stand_there_come_before_those_of_other_relations(empty: duckdb.DuckDBPyConnection) -> None:
    error = duckdb.BinderException(
        'Binder Error: Referenced column "modl" not found in FROM clause!\nCandidate bindings: "mode", "node"'
    )
    assert str(objection(empty, error)) == "there is no column modl; nearest: mode, node"


@pytest.mark.parametrize(
    "error",
    [
        duckdb.IOException("IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2"),
        OSError("Could not read file: it ends"),
    ],
)
def test_damage_is_no_fault_of_the_query(empty: duckdb.DuckDBPyConnection, error: duckdb.Error | OSError) -> None:
    with pytest.raises(type(error)) as raised:
        objection(empty, error)
    assert raised.value is error


def test_words_of_a_query_that_read_like_damage_are_the_querys(empty: duckdb.DuckDBPyConnection) -> None:
    assert objected(empty, "select error('Corrupt database file')").startswith(
        "the query failed: Corrupt database file"
    )


def test_relations_and_columns_are_those_of_views_and_tables(empty: duckdb.DuckDBPyConnection) -> None:
    relations = known_relations()
    assert {*all_views()} <= {*relations}
    tables = [name for name in relations if name.startswith("store.")]
    assert "store.models" in tables
    assert list(relations) == [name for name in relations if name not in tables] + tables
    assert {"address", "layer", "run_key"} <= {*known_columns(empty)}
