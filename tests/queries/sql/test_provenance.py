"""What a query is made of, down to the tables and the runs that wrote them."""

import duckdb
import pytest

from neurothek.catalog.problems import Failed
from neurothek.queries.sql.provenance import provenance
from neurothek.queries.views.install import all_views


def test_views_are_followed_down_to_tables(full: duckdb.DuckDBPyConnection) -> None:
    found = provenance(full, "select address, frequency as f, 1 as one from neurons where is_dead")
    relations = {row["relation"]: row for row in found.relations.to_dicts()}
    assert relations["neurons"]["kind"] == "view"
    assert relations["neurons"]["depth"] == 1
    assert relations["neurons"]["reads"] == ["store.corpora", "store.models", "store.neuron_facts"]
    assert relations["store.neuron_facts"]["kind"] == "table"
    assert relations["store.neuron_facts"]["depth"] == 2
    made_of = dict(zip(found.columns["column"], found.columns["made_of"].to_list(), strict=True))
    assert made_of == {
        "address": ["store.neuron_facts.address"],
        "f": ["store.neuron_facts.n_active", "store.neuron_facts.n_positions"],
        "one": [],
    }


def test_runs_are_those_of_the_tables(full: duckdb.DuckDBPyConnection) -> None:
    found = provenance(full, "select count(*) from store.postings")
    assert set(found.runs["job"]) == {"projections"}
    assert found.runs["model"].n_unique() == 5
    everything = provenance(full, "select address from neurons").runs
    assert {"projections", "activity", "positions"} <= set(everything["job"])


def test_names_of_the_query_itself_are_no_relations(full: duckdb.DuckDBPyConnection) -> None:
    found = provenance(full, "with models as (select 1 as x) select x from models")
    assert found.relations.is_empty()
    assert found.columns.to_dicts() == [{"column": "x", "made_of": []}]


@pytest.mark.parametrize("query", ["select * from TOKENS", "select t.* from main.Tokens as t"])
def test_names_are_known_as_duckdb_knows_them(full: duckdb.DuckDBPyConnection, query: str) -> None:
    plain, found = provenance(full, "select * from tokens"), provenance(full, query)
    assert plain.relations.height > 1
    for name, frame in plain.data().items():
        assert found.data()[name].equals(frame)


def test_a_table_is_known_whatever_its_case(full: duckdb.DuckDBPyConnection) -> None:
    found = provenance(full, "select p.set_id, count(*) as n from STORE.Postings as p group by 1")
    assert found.relations["relation"].to_list() == ["store.postings"]
    assert set(found.runs["job"]) == {"projections"}
    assert found.columns["made_of"].to_list()[0] == ["store.postings.set_id"]


@pytest.mark.long
def test_every_view_can_be_followed(full: duckdb.DuckDBPyConnection) -> None:
    for name in all_views():
        # One column is followed for each: all of a wide view take a second.
        found = provenance(full, f"select count(*) as n from {name}")
        tables = [row["relation"] for row in found.relations.to_dicts() if row["kind"] == "table"]
        assert tables
        assert all(table.startswith("store.") for table in tables)
        assert [section.title for section in found.sections()][:1] == ["views and tables that it reads"]


def test_what_is_no_select_is_made_of_nothing(full: duckdb.DuckDBPyConnection) -> None:
    for query in ("describe neurons", "-- why\nexplain select 1"):
        with pytest.raises(Failed, match="only a SELECT can be explained"):
            provenance(full, query)
