"""Merging: the catalogs of two people become one, everything once, or nothing at all."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.exchange.exports import store_tables
from neurothek.catalog.exchange.merging import _OWNED, merge
from neurothek.catalog.problems import Conflict, Damaged, Invalid, Unavailable, Unreadable
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.foreign import FOREIGN
from neurothek.catalog.tables.registry import FACTS, OWNERS, WRITTEN_BY_PEOPLE
from neurothek.catalog.upkeep import checks
from neurothek.catalog.upkeep.changes import pin, remove, rename
from neurothek.catalog.upkeep.checks import check
from neurothek.ingest.jobs.registry import NAMES as JOBS
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.views import install
from tests.support import ingests
from tests.support.models import build

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("merging")]

NUMBERS = (
    "model_id",
    "corpus_id",
    "run_id",
    "tokenizer_id",
    "clustering_id",
    "other_model_id",
    "set_id",
    "other_set_id",
)
REBUILT = {"neuron_facts", "unit_sets", "unit_layers"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merging")
    for seed, name in enumerate(("tiny", "other")):
        build(folder / name, "opt", d_ffn=24, seed=seed)
    build(folder / "gpt", "gpt2", d_ffn=16)
    corpora = ingests.write_corpus(folder)
    for name, models in {"a": ("tiny",), "b": ("gpt", "other"), "all": ("gpt", "other")}.items():
        warehouse = ingests.open_warehouse(folder / f"{name}.duckdb")
        if name == "all":
            copied(folder / "a.duckdb", warehouse.path)
        for model in models:
            ingests.measure(warehouse, folder / model, ingests.request(corpora, jobs=tuple(JOBS)))
    return folder


@pytest.fixture
def ours(folder: Path, tmp_path: Path) -> Warehouse:
    return copied(folder / "a.duckdb", tmp_path / "ours.duckdb")


@pytest.fixture
def theirs(folder: Path, tmp_path: Path) -> Warehouse:
    return copied(folder / "b.duckdb", tmp_path / "theirs.duckdb")


def copied(path: Path, to: Path) -> Warehouse:
    to.write_bytes(path.read_bytes())
    found = Warehouse(to, views=install)
    shutil.copytree(Warehouse(path).maps, found.maps)
    return found


def rows(warehouse: Warehouse, table: str) -> list[tuple[Any, ...]]:
    with warehouse.reader() as connection:
        found: list[tuple[Any, ...]] = connection.execute(f"select * from store.{table}").fetchall()
    return found


def by_name(warehouse: Warehouse, table: str) -> list[tuple[Any, ...]]:
    """Rows of a model's table in their order, with names in place of the file's numbers."""
    with warehouse.reader() as connection:
        numbers = [column for column in store_tables(connection)[table] if column in NUMBERS]
        query = f"""
            select models.name, rows.* exclude ({", ".join(numbers)})
            from store.{table} as rows join store.models as models on models.model_id = rows.{OWNERS[table]}
        """
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return sorted(found, key=lambda row: row[0])


def test_two_catalogs_together_are_what_one_person_would_have_measured(
    folder: Path, ours: Warehouse, theirs: Warehouse
) -> None:
    before = theirs.path.read_bytes()
    merged = merge(ours, theirs.path)
    assert (merged.models, merged.extended) == (("gpt", "other"), ())
    assert check(ours) == []
    whole = Warehouse(folder / "all.duckdb")
    with ours.lingering(), whole.lingering():
        for fact in FACTS:
            found, expected = by_name(ours, fact.name), by_name(whole, fact.name)
            assert [repr(row) for row in found] == [repr(row) for row in expected], fact.name
        for name in ("tokenizers", "tokens", "corpora", "sequences", "token_counts", "models"):
            assert len(rows(ours, name)) == len(rows(whole, name)), name
    assert theirs.path.read_bytes() == before


def test_what_both_hold_is_taken_once(ours: Warehouse, theirs: Warehouse) -> None:
    merge(ours, theirs.path)
    with ours.reader() as connection:
        names = list(store_tables(connection))
    with ours.lingering():
        before = {name: rows(ours, name) for name in names}
        again = merge(ours, theirs.path)
        assert (again.models, again.extended, again.n_runs, again.n_rows) == ((), (), 0, 0)
        assert {name: rows(ours, name) for name in names} == before


def test_a_new_warehouse_takes_all(theirs: Warehouse, tmp_path: Path) -> None:
    fresh = Warehouse(tmp_path / "fresh.duckdb", views=install)
    pin(theirs, "gpt", "long+short")
    assert merge(fresh, theirs.path).models == ("gpt", "other")
    assert check(fresh) == []
    assert [rows(fresh, name) for name in ("models", "pins")] == [rows(theirs, name) for name in ("models", "pins")]


def test_runs_that_are_missing_are_added_to_a_model(folder: Path, ours: Warehouse, tmp_path: Path) -> None:
    whole = copied(folder / "a.duckdb", tmp_path / "whole.duckdb")
    remove(ours, "tiny", job="contexts")
    remove(ours, "tiny", job="clusters")
    assert rows(ours, "contexts") == []
    merged = merge(ours, whole.path)
    assert (merged.models, merged.extended, merged.n_runs) == ((), ("tiny",), 2)
    assert by_name(ours, "contexts") == by_name(whole, "contexts")
    assert rows(ours, "neuron_facts") == rows(whole, "neuron_facts")
    assert check(ours) == []


def refused(ours: Warehouse, theirs: Path, kind: type[Exception], sentence: str) -> None:
    before = ours.path.read_bytes() if ours.exists() else None
    with pytest.raises(kind, match=sentence):
        merge(ours, theirs)
    assert (ours.path.read_bytes() if ours.exists() else None) == before


def test_one_name_for_other_weights_is_refused(ours: Warehouse, theirs: Warehouse) -> None:
    rename(theirs, "other", "tiny")
    refused(ours, theirs.path, Conflict, "a model tiny, with different weights; give one .* `neurothek rename tiny")
    rename(theirs, "tiny", "another")
    assert merge(ours, theirs.path).models == ("gpt", "another")


def test_one_model_with_two_tokenizers_of_one_vocabulary_is_refused(
    folder: Path, ours: Warehouse, tmp_path: Path
) -> None:
    other = copied(folder / "a.duckdb", tmp_path / "other.duckdb")
    remove(ours, "tiny", job="contexts")
    with other.transaction() as connection:
        connection.execute('update store.runs set tokenizer_identity = \'{"model": "another"}\'')
    refused(ours, other.path, Conflict, "a model tiny, with different tokenizers; give one .* `neurothek rename")
    with other.transaction() as connection:
        # An earlier release did not know.
        connection.execute("update store.runs set tokenizer_identity = null")
    assert merge(ours, other.path).n_runs == 1


def test_the_same_job_measured_otherwise_is_refused(folder: Path, ours: Warehouse, tmp_path: Path) -> None:
    whole = copied(folder / "a.duckdb", tmp_path / "whole.duckdb")
    with whole.writer() as connection:
        connection.execute("update store.runs set run_key = 'other' where job = 'contexts'")
    refused(ours, whole.path, Conflict, "both warehouses measured contexts of tiny, with different parameters")


def test_what_cannot_be_merged_is_told(ours: Warehouse, theirs: Warehouse, tmp_path: Path) -> None:
    refused(ours, ours.path, Invalid, "cannot be merged with itself")
    refused(ours, tmp_path / "none.duckdb", Unavailable, "there is no warehouse at")
    with theirs.writer() as connection:
        connection.execute("update store.postings set run_id = 999 where rowid = 0")
    fresh = Warehouse(tmp_path / "fresh.duckdb")
    refused(fresh, theirs.path, Damaged, "violates the rule: .*neurothek check --warehouse")
    with theirs.writer() as connection:
        connection.execute("update store.schema_versions set version = 27")
    refused(
        ours, theirs.path, Unreadable, "it was written by an earlier neurothek .schema version 27; .*neurothek import"
    )


NOTHING = {"concept": None}
PATTERN = {"concept": "words", "class": "semantic", "ranks": [1, 2, 3, 4]}


def annotations(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    query = "select model, layer, neuron, annotator, concept, tokens, annotation_id from annotations order by all"
    with warehouse.reader() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found


def test_annotations_of_both_people_are_kept_and_taken_once(
    folder: Path, ours: Warehouse, theirs: Warehouse, tmp_path: Path
) -> None:
    annotate(theirs, [{"address": "other/L0N1", **PATTERN}, {"address": "gpt/L1N2", **NOTHING}], annotator="ben")
    annotate(ours, [{"address": "tiny/L0N1", **PATTERN}], annotator="anna")
    # Somebody else judged the same vector of the same model, with nothing else that is new.
    colleague = copied(folder / "a.duckdb", tmp_path / "colleague.duckdb")
    annotate(colleague, [{"address": "tiny/L0N1", **NOTHING}], annotator="carl")
    expected = sorted([*annotations(ours), *annotations(theirs), *annotations(colleague)], key=repr)
    assert merge(ours, theirs.path).n_annotations == 2
    merged = merge(ours, colleague.path)
    assert (merged.models, merged.n_runs, merged.n_annotations) == ((), 0, 1)
    assert sorted(annotations(ours), key=repr) == expected
    assert len(expected) == 4
    assert [merge(ours, other.path).n_annotations for other in (theirs, colleague)] == [0, 0]
    assert sorted(annotations(ours), key=repr) == expected
    assert check(ours) == []


def test_judgements_of_plausibility_come_with_their_model_s_number(ours: Warehouse, theirs: Warehouse) -> None:
    with theirs.writer() as connection:
        connection.execute(
            """
            insert into store.plausibility_judgements
            select 'uuid-' || name, model_id, 'a text', [3, 1, 2], true, 'ben', timestamp '2026-01-02'
            from store.models
            """
        )
        n = len(connection.execute("from store.models").fetchall())
    assert [merge(ours, theirs.path).n_annotations for _ in range(2)] == [n, 0]
    query = """
        select judgement_id = 'uuid-' || name, text, shown_token_ids, is_plausible, annotator
        from store.plausibility_judgements inner join store.models using (model_id)
    """
    with ours.reader() as connection:
        assert connection.execute(query).fetchall() == [(True, "a text", [3, 1, 2], True, "ben")] * n
    assert check(ours) == []


def test_explanations_come_with_what_was_judged_of_them(ours: Warehouse, theirs: Warehouse) -> None:
    with theirs.writer() as connection:
        connection.execute(
            """
            insert into store.explanations
            select 'text-' || name, model_id, 0, 1, 'negative', 'neuron', 'stub', 'words', null, timestamp '2026-01-02'
            from store.models
            """
        )
        connection.execute(
            """
            insert into store.explanation_judgements
            select 'uuid-' || name, 'text-' || name, model_id, 'judge', 'detection', 'explanation', 'upper', 3, 7, true,
                true, 'prompt', 'corpus', timestamp '2026-01-02'
            from store.models
            """
        )
        n = len(connection.execute("from store.models").fetchall())
    assert [merge(ours, theirs.path).n_annotations for _ in range(2)] == [n, 0]
    query = """
        select explanation_id = 'text-' || name, judgement_id = 'uuid-' || name
        from store.explanation_judgements inner join store.models using (model_id)
        inner join store.explanations using (explanation_id, model_id)
    """
    with ours.reader() as connection:
        assert connection.execute(query).fetchall() == [(True, True)] * n
        assert connection.execute("select distinct text, n_judged from explanations").fetchall() == [("words", 1)]
    assert check(ours) == []


def test_of_one_persons_two_judgements_the_later_counts(folder: Path, ours: Warehouse, tmp_path: Path) -> None:
    laptop = copied(folder / "a.duckdb", tmp_path / "laptop.duckdb")
    annotate(laptop, [{"address": "tiny/L0N1", **PATTERN}], annotator="anna")
    annotate(ours, [{"address": "tiny/L0N1", **NOTHING}], annotator="anna")
    merge(ours, laptop.path)
    with ours.reader() as connection:
        kept = connection.execute("select concept, is_latest from annotations order by created_at").fetchall()
        counted = connection.execute("select n_concepts, n_judgements from concept_share").fetchall()
    assert kept == [("words", False), (None, True)]
    assert counted == [(0, 1), (0, 1)]
    # A judgement here and now stands in place of both.
    assert annotate(ours, [{"address": "tiny/L0N1", **PATTERN}], annotator="anna").n_replaced == 2


def test_every_table_of_the_store_is_merged(ours: Warehouse) -> None:
    owned = {table for tables in _OWNED.values() for table in tables}
    with ours.reader() as connection:
        others = {table.name for table in (*FACTS, *WRITTEN_BY_PEOPLE, *FOREIGN)}
        taken = owned | others | {"runs"}
        assert set(store_tables(connection)) == taken | REBUILT


def test_the_command(ours: Warehouse, theirs: Warehouse) -> None:
    arguments = ["merge", str(theirs.path), "--warehouse", str(ours.path)]
    answer = CliRunner().invoke(neurothek.main, arguments)
    assert (answer.exit_code, "received 2 new models (gpt, other): " in answer.stderr) == (0, True)
    again = CliRunner().invoke(neurothek.main, arguments)
    assert (again.exit_code, "received no new models: 0 runs, 0 rows\n" in again.stderr) == (0, True)
    annotate(theirs, [{"address": "gpt/L1N2", **NOTHING}], annotator="ben")
    more = CliRunner().invoke(neurothek.main, arguments)
    assert (more.exit_code, "0 runs, 0 rows, 1 annotation" in more.stderr) == (0, True)


def test_a_law_that_a_merge_keeps_is_missed_when_it_has_another_name(
    ours: Warehouse, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = tmp_path / "checks"
    shutil.copytree(checks._WRITTEN, written)
    (written / "dimensions_exist.sql").rename(written / "dimensions_are_there.sql")
    monkeypatch.setattr(checks, "_WRITTEN", written)
    checks.checks.cache_clear()
    try:
        with pytest.raises(KeyError, match="dimensions_exist"):
            merge(ours, folder / "b.duckdb")
    finally:
        checks.checks.cache_clear()
