"""What a neuron's page says of what it reads."""

import duckdb
import polars as pl
import pytest

from neurothek.queries.neuron.page import NeuronPage, neuron_page
from tests.support import reads

pytestmark = pytest.mark.xdist_group("reads")


def page(connection: duckdb.DuckDBPyConnection, model: str) -> NeuronPage:
    return neuron_page(connection, f"{model}/L0N{reads.PLANTED}")


def section(one: NeuronPage) -> pl.DataFrame:
    (table,) = (section.frame for section in one.sections() if section.title == "reads")
    return table


@pytest.mark.long
@pytest.mark.parametrize("model", reads.MODELS)
def test_the_lists_are_those_of_the_postings(measured_reads: duckdb.DuckDBPyConnection, model: str) -> None:
    frame = page(measured_reads, model).data()["reads"]
    stored = measured_reads.execute(
        "select reader::varchar, pole::varchar, rank, token_id, score::double, z_score::double"
        " from store.key_postings join store.models on model_id = set_id"
        " where name = ? and layer = 0 and neuron = ? order by 1, pole::varchar desc, rank",
        [model, reads.PLANTED],
    ).fetchall()
    columns = ("reader", "pole", "rank", "token_id", "score", "z_score")
    assert frame.select(columns).rows() == [(*row[:5], pytest.approx(row[5], abs=1e-4)) for row in stored]


def test_what_it_reads_stands_before_what_it_writes(measured_reads: duckdb.DuckDBPyConnection) -> None:
    ungated, gated = (page(measured_reads, model) for model in reads.MODELS)
    assert [section.title for section in ungated.sections()][:2] == ["reads", "promotes"]
    assert section(ungated).columns == ["rank", "token", "score", "z_score", "corpus_count"]
    assert section(ungated)["token"][0].strip() == reads.WORD
    of_ups = ["up_positive", "up_positive_z", "up_negative", "up_negative_z"]
    assert section(gated).columns == ["rank", "gate", "gate_z", *of_ups]
    first = section(gated).row(0, named=True)
    assert (first["gate"].strip(), first["up_negative"].strip()) == (reads.WORD, reads.WORD)


def test_the_sentence_counts_contexts_as_the_view_does(measured_reads: duckdb.DuckDBPyConnection) -> None:
    for model in reads.MODELS:
        one = page(measured_reads, model)
        query = "select reader, n_read from read_agreement where address = ?"
        counted = dict(measured_reads.execute(query, [one.address]).fetchall())
        assert one.reads.n_read == counted
        for reader, n_read in counted.items():
            assert "reads “" in one.reads.sentence()
            assert f"(at {n_read} of its {one.reads.n_contexts} strongest contexts)" in one.reads.sentence(), reader
        assert one.reads.sentence() in one.summary


def test_without_keys_nothing_is_said(measured_reads: duckdb.DuckDBPyConnection) -> None:
    one = page(measured_reads, reads.UNMEASURED)
    assert one.reads.sentence() == ""
    assert one.data()["reads"].is_empty()
    assert "reads" not in {section.title for section in one.sections()}
