"""Tables of what is measured on a text: each of a model and a corpus, and lying where its shards are made."""

import pytest

from neurothek.catalog.tables import events, texts
from neurothek.catalog.tables.events import EVENT_SAMPLES
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.tables.table import DOUBLE, FLOAT, Table
from neurothek.catalog.tables.texts import CONTROL_COHERENCES, NGRAM_SPECTRUM, TRIGGERS

TABLES = {name: value for name, value in {**vars(texts), **vars(events)}.items() if isinstance(value, Table)}


def test_each_is_of_a_model_and_a_corpus_and_some_job_fills_it(subtests: pytest.Subtests) -> None:
    for table in TABLES.values():
        with subtests.test(table=table):
            assert table.ids in (("model_id", "corpus_id"), ("set_id", "corpus_id"))
            assert ("set_id" in table.ids) == ("neuron" in table.schema)
            assert not {*table.ids} & {*table.schema}
            assert sum(table in filled for filled in JOB_TABLES.values()) == 1


def test_a_row_lies_by_its_example_or_by_its_layer(subtests: pytest.Subtests) -> None:
    """A sample that is measured again is told by it: what lies nowhere is measured as a whole."""
    for table in TABLES.values():
        with subtests.test(table=table):
            if "example_id" in table.schema:
                assert table.place == "example_id"
            elif table in (NGRAM_SPECTRUM, EVENT_SAMPLES):
                assert table.place is None
            else:
                assert table.place == "layer"


def test_counts_are_never_unknown_and_numbers_that_may_be_are_real() -> None:
    for table in TABLES.values():
        assert not {name for name in table.rows.nullable if name.startswith("n_")}, table.name
    assert {CONTROL_COHERENCES.schema[name] for name in CONTROL_COHERENCES.rows.nullable} == {DOUBLE}
    assert {TRIGGERS.schema[name] for name in ("score", "z_score", "score_centred")} == {FLOAT}


def test_kinds_of_controls_are_replaced_one_by_one() -> None:
    assert [name for name, table in TABLES.items() if table.part] == ["CONTROL_COHERENCES"]
    assert CONTROL_COHERENCES.part in CONTROL_COHERENCES.key
