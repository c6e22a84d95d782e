"""Verifying a few of many layers, examples and sentences judges these and no others."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek
from neurothek.catalog.tables.registry import BY_NAME
from neurothek.catalog.upkeep.verification import Agreement
from neurothek.ingest.jobs.events.job import EventsJob
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.registry import NAMES
from neurothek.ingest.jobs.shortcuts import fitting
from neurothek.ingest.pipeline.verify import Skipped
from neurothek.ingest.request import DEFAULT_BATCH_TOKENS, IngestRequest
from tests.support import ingests
from tests.support.models import build, edit_tensors
from tests.support.shortcuts import write_sentences

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("verify_samples")]

N_LAYERS, N_EXAMPLES, EXAMPLES_OF_A_SHARD, SENTENCES_OF_A_SHARD = 3, 60, 20, 10

# Tables of which a shard holds a layer, some of the examples, and some of the sentences.
LAYERED = ("projections", "activity", "neighbours", "controls", "sub_module_fits")
OF_EXAMPLES = ("examples", "streams", "sub_updates", "events")
OF_SENTENCES = ("shortcut_readings", "shortcut_tops")


def small_events(context: JobContext, asked: IngestRequest) -> EventsJob:
    return EventsJob(
        context, n_examples=asked.examples, n_event_examples=N_EXAMPLES, shard_examples=EXAMPLES_OF_A_SHARD
    )


@pytest.fixture(scope="module", autouse=True)
def small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "SENTENCES_AT_ONCE", SENTENCES_OF_A_SHARD)
        patch.setattr(EventsJob, "from_options", small_events)
        yield


@pytest.fixture(scope="module")
def folder(small_shards: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    model = build(folder / "tiny", "opt", n_layers=N_LAYERS)
    text = write_sentences(folder, n=100)
    asked = ingests.request((text,), jobs=tuple(NAMES), examples=N_EXAMPLES, batch_tokens=DEFAULT_BATCH_TOKENS)
    ingests.measure(ingests.open_warehouse(folder / "w.duckdb"), model, asked)
    return folder


@pytest.fixture
def door(folder: Path, tmp_path: Path) -> Neurothek:
    """A copy of the warehouse that a test may damage."""
    shutil.copy(folder / "w.duckdb", tmp_path)
    return neurothek.open(tmp_path / "w.duckdb")


def verified(door: Neurothek, *, sample: int = 1) -> dict[str, Agreement]:
    found = door.verify("tiny", sample=sample)
    assert all(isinstance(part, Agreement) for part in found)
    return {part.table: part for part in found if isinstance(part, Agreement)}


def n_rows(door: Neurothek, table: str) -> int:
    with door.reader() as connection:
        return int(connection.execute(f"select count(*) from store.{table}").fetchall()[0][0])


def assert_same(found: dict[str, Agreement]) -> None:
    assert [part.table for part in found.values() if part.n_equal != part.n_rows or part.n_different] == []


def test_a_sample_of_what_was_measured_agrees(door: Neurothek) -> None:
    sample = 2
    found = verified(door, sample=sample)
    assert_same(found)
    assert {name: found[name].n_rows for name in LAYERED} == {
        name: n_rows(door, name) * sample // N_LAYERS for name in LAYERED
    }
    assert found["examples"].n_rows == sample * EXAMPLES_OF_A_SHARD
    assert found["streams"].n_rows == sample * EXAMPLES_OF_A_SHARD * N_LAYERS * 2
    assert all(0 < found[name].n_rows < n_rows(door, name) for name in (*OF_EXAMPLES, *OF_SENTENCES))


def test_rows_that_are_gone_are_missed(door: Neurothek) -> None:
    names = (*LAYERED, *OF_EXAMPLES, *OF_SENTENCES)
    sound = verified(door)
    assert_same(sound)
    with door.warehouse.writer() as connection:
        for name in names:
            connection.execute(f"delete from store.{name}")
    found = {part.table: part for part in door.verify("tiny") if isinstance(part, Agreement)}
    assert {name: found[name].n_different for name in names} == {name: sound[name].n_rows for name in names}


def test_rows_where_there_should_be_none_are_found(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        connection.execute(
            "insert into store.sub_updates select * replace (101 as rank) from store.sub_updates"
            " where kind = 'dominant' and rank = 1 and layer = 2"
        )
        connection.execute("update store.exits set accuracy = accuracy - 0.1 where method = 'mat'")
    few, all_of_them = door.verify("tiny"), door.verify("tiny", sample=99)
    for found, n_found in ((few, EXAMPLES_OF_A_SHARD), (all_of_them, N_EXAMPLES)):
        by_table = {part.table: part for part in found if isinstance(part, Agreement)}
        assert by_table["sub_updates"].n_different == n_found
    # Exits are worked out from the sub-updates, and are no reason to keep silent about these.
    (exits,) = [part for part in all_of_them if isinstance(part, Skipped)]
    assert exits.job == "exits"
    assert "some of those rows are missing or do not belong there" in exits.reason
    assert exits.is_broken
    # Others are worked out from the shortcuts.
    assert {part.table: part for part in all_of_them if isinstance(part, Agreement)}["exits"].n_different > 0


def test_what_an_earlier_release_did_not_measure_is_not_called_wrong(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        connection.execute("delete from store.shuffled_ngrams")
        connection.execute("delete from store.logit_histograms")
    found = door.verify("tiny")
    assert_same({part.table: part for part in found if isinstance(part, Agreement)})
    skipped = {part.job: part for part in found if isinstance(part, Skipped)}
    assert set(skipped) == {"projections", "ngrams"}
    assert not any(part.is_broken for part in skipped.values())
    assert (
        "without shuffled_ngrams; `neurothek ingest tiny --job ngrams --force` adds these" in skipped["ngrams"].reason
    )


def test_a_sentence_that_is_gone_is_missed(door: Neurothek) -> None:
    with door.warehouse.writer() as connection:
        ((n_gone,),) = connection.execute(
            "delete from store.shortcut_readings"
            " where sentence_id = (select max(sentence_id) from store.shortcut_readings)"
        ).fetchall()
    found = door.verify("tiny", sample=99)
    by_table = {part.table: part for part in found if isinstance(part, Agreement)}
    assert by_table["shortcut_readings"].n_different == n_gone > 0
    assert [part.job for part in found if isinstance(part, Skipped) and part.is_broken] == ["exits"]


@pytest.mark.parametrize("is_broken", [False, True])
def test_the_command_exits_with_1_where_rows_are_broken(
    door: Neurothek, monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    skipped = Skipped("exits", "so it is", is_broken=is_broken)
    monkeypatch.setattr(Neurothek, "verify", lambda *_, **__: [skipped])
    result = CliRunner().invoke(neurothek.main, ["verify", "tiny", "--warehouse", str(door.path)])
    assert result.exit_code == int(is_broken)
    assert "exits was not verified: so it is" in result.stderr


def test_a_row_of_shards_that_have_none_is_found(folder: Path, tmp_path: Path) -> None:
    """Without methods that replace parts nothing is fitted to a layer."""
    model = build(tmp_path / "tiny", "opt")
    asked = ingests.request((f"prose={folder / 'prose'}",), jobs=("shortcuts",), methods=("id",))
    door = neurothek.open(tmp_path / "w.duckdb")
    ingests.measure(door.warehouse, model, dataclasses.replace(asked, batch_tokens=DEFAULT_BATCH_TOKENS))
    assert_same(verified(door, sample=99))
    values = dict.fromkeys(BY_NAME["sub_module_fits"].schema, "1") | {"sub_module": "'ffn'"}
    with door.warehouse.writer() as connection:
        connection.execute(
            f"insert into store.sub_module_fits by name select model_id, corpus_id, run_id,"
            f" {', '.join(f'{value} as {name}' for name, value in values.items())} from store.runs"
        )
    found = verified(door, sample=99)["sub_module_fits"]
    assert found.first_difference == "layer 1, sub_module ffn: only in the warehouse"


def test_a_row_of_a_layer_that_has_none_is_found(folder: Path, tmp_path: Path) -> None:
    """In a layer that never fires the place of nothing is measured again."""
    model = build(tmp_path / "tiny", "opt")
    edit_tensors(model, lambda tensors: tensors["model.decoder.layers.0.fc1.bias"].fill_(-1e4))
    asked = ingests.request((f"prose={folder / 'prose'}",), jobs=("contexts",), batch_tokens=DEFAULT_BATCH_TOKENS)
    door = neurothek.open(tmp_path / "w.duckdb")
    ingests.measure(door.warehouse, model, asked)
    with door.warehouse.writer() as connection:
        assert connection.execute("select distinct layer from store.contexts").fetchall() == [(1,)]
        connection.execute("insert into store.contexts select * replace (0 as layer) from store.contexts limit 1")
    found = verified(door, sample=99)["contexts"]
    assert (found.n_different, found.n_equal) == (1, found.n_rows)
    assert found.first_difference == "layer 0, neuron 0, rank 1: only in the warehouse"
