"""SQL that people type: one question, answered or refused in a sentence."""

import duckdb
import polars as pl
import pytest

from neurothek.catalog.errors import NeurothekError
from neurothek.queries import errors
from neurothek.queries.ask.one_query import run_query


@pytest.mark.parametrize(
    "query",
    [
        "select model from models",
        "with x as (select 1 as one) select * from x",
        "from models select model",
        "describe neurons",
        "summarize models",
        "show tables",
        "explain select 1",
        "values (1, 2)",
        "select 1 -- with a comment; and a semicolon",
        "select ';' as text;",
        "pivot (select model, layer from neurons) on layer in (0, 1) using count(*)",
    ],
)
def test_questions_are_answered(full: duckdb.DuckDBPyConnection, query: str) -> None:
    assert run_query(full, query).width >= 1


def test_rows_come_as_they_are(full: duckdb.DuckDBPyConnection) -> None:
    frame = run_query(full, "select address, top_tokens[1] as top from neurons where address = 'tiny-1m/L0N0'")
    assert frame.to_dicts() == [{"address": "tiny-1m/L0N0", "top": " school"}]


def test_types_that_frames_lack_are_written_out(full: duckdb.DuckDBPyConnection) -> None:
    frame = run_query(full, "select interval 3 day as i, [interval 1 month] as l, 1 as i, '101'::bit as b")
    assert frame.to_dicts() == [{"i": "3 days", "l": "[1 month]", "i_1": 1, "b": "101"}]
    sides = run_query(full, "select side, count(*) as n from store.postings group by side order by side")
    assert (sides["side"].dtype, sides["side"].to_list()) == (pl.String(), ["promoted", "suppressed"])
    wide = run_query(full, "select sum(x) as s, 10::hugeint ** 30 as big from range(4) as t(x)")
    assert wide["s"].to_list() == [6]


def test_values_are_bound(full: duckdb.DuckDBPyConnection) -> None:
    query = "select layer from neurons where model = $model and neuron = $neuron order by layer"
    assert run_query(full, query, {"model": "tiny-1m", "neuron": 0})["layer"].to_list() == [0, 1]
    with pytest.raises(errors.QueryFailed, match="parameter"):
        run_query(full, query, {"model": "tiny-1m"})


@pytest.mark.parametrize(
    ("query", "error", "sentence"),
    [
        ("", errors.EmptyQuery, "the query is empty; write one"),
        ("-- nothing", errors.EmptyQuery, "contains only comments and semicolons; write one"),
        ("select 1; select 2", errors.NotOneQuery, "has 2 statements; run one at a time"),
        ("drop view neurons", errors.NotAQuery, "DROP is refused"),
        ("insert into store.pins values (1, 1)", errors.NotAQuery, "INSERT is refused"),
        ("set threads = 1", errors.NotAQuery, "SET is refused"),
        ("create temp table x as select 1", errors.NotAQuery, "CREATE is refused"),
        ("attach 'x.duckdb'", errors.NotAQuery, "ATTACH is refused"),
        ("copy models to 'x.csv'", errors.NotAQuery, "COPY is refused"),
        ("pragma database_list", errors.NotAQuery, "PRAGMA is refused"),
        ("selec 1", errors.QueryFailed, 'the query failed: syntax error at or near "selec"'),
        ("select * from neuronz", errors.UnknownRelation, "no view or table neuronz; nearest: neurons"),
        ("select * from store.model", errors.UnknownRelation, "nearest: models, store.models"),
        ("select frequenzy from neurons", errors.UnknownColumn, "no column frequenzy; nearest: frequency"),
        ("select n.frequenzy from neurons as n", errors.UnknownColumn, "no column frequenzy; nearest: frequency"),
        ("select text from models", errors.UnknownColumn, "no column text; nearest: "),
        ("select m.qqqq from models as m", errors.UnknownColumn, "qqqq; `neurothek schema VIEW` lists those of a view"),
        ("pivot neurons on layer using count(*)", errors.QueryFailed, r"PIVOT needs .* write ON column IN"),
        ("select * from 'file.csv'", NeurothekError, "file"),
        ("select * from read_text('/etc/hostname')", errors.QueryFailed, "disabled by configuration"),
        ("with x as (insert into store.pins values (1, 1) returning 1) from x", errors.QueryFailed, "read-only"),
        ("select 1 / 'x'", errors.QueryFailed, "Could not convert string"),
    ],
)
def test_everything_else_is_refused_in_one_sentence(
    full: duckdb.DuckDBPyConnection, query: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence) as caught:
        run_query(full, query)
    assert "\n" not in str(caught.value)


def test_the_reader_goes_on_after_a_refusal(full: duckdb.DuckDBPyConnection) -> None:
    for query in ("selec 1", "select * from nowhere", "select error('no')"):
        with pytest.raises(NeurothekError):
            run_query(full, query)
    assert run_query(full, "select 1 as one").item() == 1
