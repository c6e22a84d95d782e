"""Publishing: all or nothing, replaced on repetition, and flat facts equal to a plain loop over the store."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.catalog.problems import Conflict
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import BY_NAME, FACTS, OWNERS
from tests.support import publications as made


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    made_here = Warehouse(tmp_path / "w.duckdb")
    with made_here.lingering():
        yield made_here


def rows(warehouse: Warehouse, query: str) -> list[tuple[Any, ...]]:
    with warehouse.reader() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found


def everything(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    tables = [*BY_NAME, "neuron_facts", "pins"]
    with warehouse.reader() as connection:
        return {table: connection.execute(f"from store.{table}").fetchall() for table in tables}


def test_every_row_arrives_with_its_ids(warehouse: Warehouse) -> None:
    frames = made.weights_frames()
    assert made.publish_job(warehouse, "projections", frames) == {name: len(frame) for name, frame in frames.items()}
    for name, frame in frames.items():
        columns = ", ".join(BY_NAME[name].schema)
        with warehouse.reader() as connection:
            stored = connection.sql(f"select {columns} from store.{name}").pl()
            ids = connection.execute(f"select distinct {OWNERS[name]}, run_id from store.{name}").fetchall()
        assert stored.equals(frame)
        assert ids == [(0, 0)]


def test_publishing_again_replaces_the_rows_and_takes_a_new_run_id(warehouse: Warehouse) -> None:
    made.publish_job(warehouse, "projections", made.weights_frames(0))
    made.publish_job(warehouse, "projections", made.weights_frames(1), key="another")
    stored = rows(warehouse, "select score_mean from store.projections")
    assert stored == made.weights_frames(1)["projections"].select("score_mean").rows()
    assert rows(warehouse, "select run_key, n_rows from store.runs") == [("another", 12 + 96 + 20 + 12 + 20)]


def test_rows_of_other_models_and_corpora_stay(warehouse: Warehouse) -> None:
    made.publish_everything(warehouse)
    before = rows(warehouse, "select * from store.activity where set_id = 0 and corpus_id = 0")
    made.publish_job(warehouse, "activity", made.activity_frames(5), text=made.corpus(sha256="c1", n_sequences=4))
    made.publish_job(warehouse, "activity", made.activity_frames(6), record=made.model("other"), text=made.corpus())
    assert rows(warehouse, "select * from store.activity where set_id = 0 and corpus_id = 0") == before
    assert rows(warehouse, "select count(distinct corpus_id) from store.activity where set_id = 0") == [(2,)]
    assert rows(warehouse, "select name, tokenizer_id from store.models") == [("tiny", 0), ("other", 0)]
    assert rows(warehouse, "select count(*) from store.corpora") == [(2,)]


def test_a_failing_publication_leaves_everything_as_it_was(warehouse: Warehouse) -> None:
    made.publish_everything(warehouse)
    before = everything(warehouse)
    broken = made.weights_frames(1) | {"postings": pl.DataFrame({"token_id": [1]})}
    with pytest.raises(duckdb.BinderException):
        made.publish_job(warehouse, "projections", broken, key="broken")
    assert everything(warehouse) == before


def test_a_name_stands_for_one_set_of_weights(warehouse: Warehouse) -> None:
    made.publish_job(warehouse, "projections", made.weights_frames())
    with pytest.raises(Conflict, match="already has a model tiny with other weights"):
        made.publish_job(warehouse, "projections", made.weights_frames(), record=made.model(weights="w1"))
    with pytest.raises(Conflict, match="a different tokenizer"):
        made.publish_job(warehouse, "projections", made.weights_frames(), record=made.model(tokenizer="t1"))
    assert rows(warehouse, "select count(*) from store.tokenizers") == [(1,)]


def test_every_fact_names_a_run_of_its_own_model_and_job(warehouse: Warehouse) -> None:
    made.publish_everything(warehouse)
    for table in FACTS:
        orphans = rows(
            warehouse,
            f"select count(*) from store.{table.name} as facts left join store.runs as runs"
            f" on runs.run_id = facts.run_id and runs.model_id = facts.{table.owner} where runs.run_id is null",
        )
        assert orphans == [(0,)], table.name


def test_facts_equal_a_plain_loop_over_the_store(warehouse: Warehouse) -> None:
    made.publish_everything(warehouse)
    text = made.corpus()
    projections = made.weights_frames()["projections"].rows(named=True)
    activity = made.activity_frames()["activity"].rows(named=True)
    counts: dict[int, int] = {}
    for row in text.token_counts.rows(named=True):
        counts[row["token_id"]] = counts.get(row["token_id"], 0) + row["n_occurrences"]
    with warehouse.reader() as connection:
        facts = connection.sql("select * from store.neuron_facts").pl().rows(named=True)
    assert [(fact["layer"], fact["neuron"]) for fact in facts] == [(layer, n) for layer in range(2) for n in range(6)]
    for fact, projection in zip(facts, projections, strict=True):
        mine = [row for row in activity if (row["layer"], row["neuron"]) == (fact["layer"], fact["neuron"])]
        assert fact["address"] == f"tiny/L{fact['layer']}N{fact['neuron']}"
        assert fact["depth"] == (fact["layer"] + 0.5) / 2
        assert fact["top_tokens"] == [f" w{i}" for i in projection["top_token_ids"]]
        assert fact["bottom_tokens"] == [f" w{i}" for i in projection["bottom_token_ids"]]
        logs = [math.log(1 + counts.get(i, 0)) for i in projection["top_token_ids"]]
        assert fact["top_token_log_frequency"] == pytest.approx(sum(logs) / len(logs), rel=1e-12)
        assert fact["n_positions"] == 12
        assert fact["n_active"] == sum(row["n_active"] for row in mine)
        # prose (4 positions) comes before code in the corpus; both first fire after one position of their own.
        assert fact["first_active"] == (None if fact["neuron"] == 0 else 1)


def test_a_model_has_no_number_of_a_set_of_units(warehouse: Warehouse) -> None:
    with warehouse.writer() as connection:
        connection.execute(
            "insert into store.unit_sets values"
            " (7, 7, 'other', 'ffn', null, null, null, 'ffn_input', 'ffn_output', 'relu', 'm != 0', true, false)"
        )
    made.publish_everything(warehouse)
    assert rows(warehouse, "select model_id from store.models") == [(8,)]
    assert rows(warehouse, "select set_id, layer, n_units, first_unit from store.unit_layers") == [
        (8, 0, 6, 0),
        (8, 1, 6, 6),
    ]


def test_facts_show_the_larger_corpus_then_the_newer_one(warehouse: Warehouse) -> None:
    made.publish_everything(warehouse)
    small = made.activity_frames(3)
    made.publish_job(warehouse, "activity", small, text=made.corpus(sha256="c1", n_sequences=2))
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(0,)]
    made.publish_job(warehouse, "activity", small, text=made.corpus(sha256="c2", n_sequences=3))
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(2,)]
