"""SQL that people type: one question, answered or refused in a sentence."""

import duckdb
import polars as pl
import pytest

from neurothek.catalog.problems import Failed, Invalid, NeurothekError, NotFound, Refused
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
    with pytest.raises(Failed, match="parameter"):
        run_query(full, query, {"model": "tiny-1m"})


def test_everything_else_is_refused_in_one_sentence(full: duckdb.DuckDBPyConnection, subtests: pytest.Subtests) -> None:
    for query, error, sentence in [
        ("", Invalid, "the query is empty; write one"),
        ("-- nothing", Invalid, "contains only comments and semicolons; write one"),
        ("select 1; select 2", Invalid, "has 2 statements; run one at a time"),
        ("drop view neurons", Refused, "DROP is refused"),
        ("insert into store.pins values (1, 1)", Refused, "INSERT is refused"),
        ("set threads = 1", Refused, "SET is refused"),
        ("create temp table x as select 1", Refused, "CREATE is refused"),
        ("attach 'x.duckdb'", Refused, "ATTACH is refused"),
        ("copy models to 'x.csv'", Refused, "COPY is refused"),
        ("pragma database_list", Refused, "PRAGMA is refused"),
        ("selec 1", Failed, 'the query failed: syntax error at or near "selec"'),
        ("select * from neuronz", NotFound, "no view or table neuronz; nearest: neurons"),
        ("select * from store.model", NotFound, "nearest: models, store.models"),
        ("select frequenzy from neurons", NotFound, "no column frequenzy; nearest: frequency"),
        ("select n.frequenzy from neurons as n", NotFound, "no column frequenzy; nearest: frequency"),
        ("select text from models", NotFound, "no column text; nearest: "),
        ("select m.qqqq from models as m", NotFound, "qqqq; `neurothek schema VIEW` lists those of a view"),
        ("pivot neurons on layer using count(*)", Failed, r"PIVOT needs .* write ON column IN"),
        ("select * from 'file.csv'", NeurothekError, "file"),
        ("select * from read_text('/etc/hostname')", Failed, "disabled by configuration"),
        ("with x as (insert into store.pins values (1, 1) returning 1) from x", Failed, "read-only"),
        ("select 1 / 'x'", Failed, "Could not convert string"),
    ]:
        with subtests.test(query=query, error=error, sentence=sentence):
            with pytest.raises(error, match=sentence) as caught:
                run_query(full, query)
            assert "\n" not in str(caught.value)


def test_the_reader_goes_on_after_a_refusal(full: duckdb.DuckDBPyConnection) -> None:
    for query in ("selec 1", "select * from nowhere", "select error('no')"):
        with pytest.raises(NeurothekError):
            run_query(full, query)
    assert run_query(full, "select 1 as one").item() == 1
