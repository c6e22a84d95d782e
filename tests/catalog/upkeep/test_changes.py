"""Pin, rename, remove: what changes, what stays, and what wrong names are told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Conflict, Invalid, NotFound, NotMeasured, Unavailable
from neurothek.catalog.publishing.staging import RunManifest, now, staged_manifests, staged_run
from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import JOB_TABLES
from neurothek.catalog.upkeep.changes import count_annotations, pin, remove, rename
from neurothek.catalog.upkeep.checks import check
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.views import install
from tests.support import publications as made


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    made_here = Warehouse(tmp_path / "w.duckdb")
    made.publish_everything(made_here)
    with made_here.lingering():
        yield made_here


def rows(warehouse: Warehouse, query: str) -> list[tuple[Any, ...]]:
    with warehouse.reader() as connection:
        found: list[tuple[Any, ...]] = connection.execute(query).fetchall()
    return found


FROM_CONTEXTS = {"context_windows": 10, "activation_histograms": 12}
FROM_NGRAMS = {"shuffled_ngrams": 10, "ngrams": 10, "triggers": 20, "ngram_spectrum": 1}


def test_a_pin_decides_which_corpus_is_shown(warehouse: Warehouse) -> None:
    made.publish_job(
        warehouse, "activity", made.activity_frames(3), text=made.corpus("short", sha256="c1", n_sequences=2)
    )
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(0,)]
    pin(warehouse, "tiny", "short")
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(1,)]
    pin(warehouse, "tiny", "text")
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(0,)]
    assert rows(warehouse, "select count(*) from store.pins") == [(1,)]


def test_a_rename_changes_addresses_and_no_number(warehouse: Warehouse) -> None:
    before = rows(warehouse, "select * exclude (address) from store.neuron_facts")
    rename(warehouse, "tiny", "renamed-1")
    assert rows(warehouse, "select * exclude (address) from store.neuron_facts") == before
    assert rows(warehouse, "select address from store.neuron_facts limit 1") == [("renamed-1/L0N0",)]
    with pytest.raises(NotFound, match="did you mean renamed-1"):
        rename(warehouse, "renamed", "x")


def test_a_tokenizer_is_renamed_with_the_model_that_it_is_called_after_and_with_no_other(warehouse: Warehouse) -> None:
    # The second has a tokenizer of its own, the third that of the second.
    for name, weights in (("second", "w1"), ("third", "w2")):
        record = made.model(name, weights=weights, tokenizer="t1")
        made.publish_job(warehouse, "projections", made.weights_frames(4), record=record)
    before = rows(warehouse, "select name from store.tokenizers order by tokenizer_id")
    (first,), _ = before
    rename(warehouse, "third", "renamed-3")
    assert rows(warehouse, "select name from store.tokenizers order by tokenizer_id") == before
    with warehouse.writer() as connection:
        connection.execute("update store.tokenizers set name = 'second' where sha256 = 't1'")
    rename(warehouse, "second", "renamed-2")
    assert rows(warehouse, "select name from store.tokenizers order by tokenizer_id") == [(first,), ("renamed-2",)]


def test_a_removed_model_leaves_nothing_and_the_others_everything(warehouse: Warehouse) -> None:
    other = made.model("other", weights="w1", tokenizer="t1")
    made.publish_job(warehouse, "projections", made.weights_frames(4), record=other)
    before = rows(warehouse, "select * from store.postings where set_id = 1")
    deleted = {name: n for name, n in remove(warehouse, "tiny").items() if n}
    from_weights = {"projections": 12, "postings": 96, "token_neighbours": 20, "logit_histograms": 12}
    from_weights |= {"token_indicators": 20}
    from_weights |= {"clusterings": 2, "clusters": 24, "neighbours": 12, "cluster_controls": 2}
    from_weights |= {"controls": 2, "norm_overlaps": 4}
    from_text = {"activity": 24, "contexts": 10, "positions": 12, "coherences": 12, "control_coherences": 2}
    from_text |= FROM_CONTEXTS
    assert deleted == from_weights | from_text | FROM_NGRAMS
    for table in ("corpora", "sequences", "token_counts", "activity", "contexts", "ngrams", "triggers", "positions"):
        assert rows(warehouse, f"select count(*) from store.{table}") == [(0,)], table
    assert rows(warehouse, "select * from store.postings") == before
    assert rows(warehouse, "select sha256 from store.tokenizers") == [("t1",)]
    assert rows(warehouse, "select distinct set_id as model_id from store.neuron_facts") == [(1,)]


def test_annotations_go_with_their_model_alone(warehouse: Warehouse) -> None:
    other = made.model("other", weights="w1", tokenizer="t1")
    made.publish_job(warehouse, "projections", made.weights_frames(4), record=other)
    said = {"annotator": "anna", "concept": "words", "class": "names", "ranks": [1, 2, 3, 4]}
    annotate(warehouse, [{"address": f"{model}/L0N{n}", **said} for model in ("tiny", "other") for n in range(3)])
    rename(warehouse, "tiny", "renamed")
    remove(warehouse, "renamed", job="activity")
    remove(warehouse, "renamed", corpus="text")
    with warehouse.writer() as connection:
        connection.execute(
            """
            insert into store.plausibility_judgements
            select name, model_id, 'a text', [1, 2], true, 'anna', now()::timestamp from store.models
            """
        )
        # Nobody wrote what the rules say.
        connection.execute(
            """
            insert into store.annotations
            select * replace (uuid() as annotation_id, 'rules' as annotator) from store.annotations
            """
        )
    assert count_annotations(warehouse, "renamed") == 4
    asked = CliRunner().invoke(neurothek.main, ["remove", "renamed", "--warehouse", str(warehouse.path)], input="n\n")
    assert "Remove model renamed with the 4 annotations that people wrote from" in asked.output
    deleted = remove(warehouse, "renamed")
    assert (deleted["annotations"], deleted["plausibility_judgements"]) == (6, 1)
    assert rows(warehouse, "select model_id from store.plausibility_judgements") == [(1,)]
    assert rows(warehouse, "select model_id, count(*) from store.annotations group by model_id") == [(1, 6)]
    with pytest.raises(NotFound, match="there is no model"):
        count_annotations(warehouse, "renamed")


def test_the_clustering_with_most_clusters_is_shown_unless_another_is_pinned(warehouse: Warehouse) -> None:
    shown = "select distinct clustering_id, cluster_size from store.neuron_facts"
    assert rows(warehouse, shown) == [(0, 2)]
    pin(warehouse, "tiny", clusters=4)
    assert rows(warehouse, shown) == [(1, 3)]
    with pytest.raises(NotMeasured, match="no clustering into 5 clusters; it has clusterings into 4, 6: measure one"):
        pin(warehouse, "tiny", clusters=5)
    assert rows(warehouse, shown) == [(1, 3)]


def test_a_pinned_clustering_stays_pinned_when_it_is_measured_again(warehouse: Warehouse) -> None:
    pin(warehouse, "tiny", clusters=4)
    made.publish_job(warehouse, "clusters", made.clusters_frames(), key="again")
    assert rows(warehouse, "select distinct clustering_id from store.neuron_facts") == [(3,)]
    assert rows(warehouse, "select clustering_id, n_clusters from store.clusterings") == [(2, 6), (3, 4)]
    assert rows(warehouse, "select clustering_id, count(*) from store.clusters group by all") == [(2, 12), (3, 12)]


def test_a_run_replaces_its_own_kind_of_controls_only(warehouse: Warehouse) -> None:
    kinds = "select kind, count(*) from store.controls group by kind order by kind"
    others = made.controls_frames()["controls"].with_columns(kind=pl.lit("ffn_update"))
    made.publish_job(warehouse, "events", {"controls": others}, text=made.corpus())
    assert rows(warehouse, kinds) == [("ffn_update", 2), ("random", 2)]
    made.publish_job(warehouse, "controls", made.controls_frames(), text=made.corpus(), key="again")
    assert rows(warehouse, kinds) == [("ffn_update", 2), ("random", 2)]
    assert remove(warehouse, "tiny", job="controls")["controls"] == 2
    assert rows(warehouse, kinds) == [("ffn_update", 2)]


def test_a_run_on_another_corpus_leaves_the_first_with_the_rows_it_has(warehouse: Warehouse) -> None:
    said = "select n_rows from store.runs where job = 'controls' order by run_id"
    before = rows(warehouse, said)
    made.publish_job(warehouse, "controls", made.controls_frames(), text=made.corpus("other", sha256="c1"), key="other")
    # Two controls and four overlaps are the model's, whatever the text.
    assert rows(warehouse, said) == [(before[0][0] - 6,), before[0]]
    assert "rows of controls" not in {finding.name for finding in check(warehouse)}


def test_one_job_or_one_corpus_can_be_removed(warehouse: Warehouse) -> None:
    assert remove(warehouse, "tiny", job="contexts") == {"contexts": 10} | FROM_CONTEXTS
    jobs = [("activity",), ("clusters",), ("controls",), ("ngrams",), ("positions",), ("projections",)]
    assert rows(warehouse, "select job from store.runs order by job") == jobs
    removed = {name: n for name, n in remove(warehouse, "tiny", corpus="text").items() if n}
    of_controls = {"controls": 2, "norm_overlaps": 4, "coherences": 12, "control_coherences": 2}
    assert removed == {"activity": 24, "positions": 12} | of_controls | FROM_NGRAMS
    assert not {finding.name for finding in check(warehouse) if finding.name.startswith(("runs of", "rows of"))}
    assert rows(warehouse, "select count(*), count(n_active) from store.neuron_facts") == [(12, 0)]
    assert rows(warehouse, "select count(*) from store.projections") == [(12,)]


def test_a_corpus_that_no_model_was_measured_on_goes_with_its_last_rows_and_its_pin(warehouse: Warehouse) -> None:
    pin(warehouse, "tiny", "text")
    remove(warehouse, "tiny", corpus="text")
    for table in ("corpora", "sequences", "token_counts", "pins"):
        assert rows(warehouse, f"select count(*) from store.{table}") == [(0,)], table
    assert rows(warehouse, "select count(*) from store.tokens") != [(0,)]


def test_after_removing_all_a_model_can_come_back(warehouse: Warehouse) -> None:
    remove(warehouse, "tiny")
    made.publish_everything(warehouse)
    filled = {table.name for job in made.JOBS for table in JOB_TABLES[job]}
    assert all(rows(warehouse, f"select count(*) > 0 from store.{table}") == [(True,)] for table in filled)


def test_wrong_names_are_told(warehouse: Warehouse) -> None:
    with pytest.raises(NotFound, match="there is no model huge in the warehouse; it has tiny"):
        pin(warehouse, "huge", "text")
    with pytest.raises(NotFound, match="was not measured on a corpus txt; it was measured on text"):
        pin(warehouse, "tiny", "txt")
    with pytest.raises(Invalid, match="use letters"):
        rename(warehouse, "tiny", "my model")
    with pytest.raises(Conflict, match="there is already a model"):
        rename(warehouse, "tiny", "tiny")
    with pytest.raises(NotFound, match="did you mean contexts"):
        remove(warehouse, "tiny", job="context")


def test_nothing_is_created_for_a_warehouse_that_is_not_there(tmp_path: Path) -> None:
    for act in (lambda w: pin(w, "a", "b"), lambda w: rename(w, "a", "b"), lambda w: remove(w, "a")):
        with pytest.raises(Unavailable, match="there is no warehouse at"):
            act(Warehouse(tmp_path / "none.duckdb"))
    assert list(tmp_path.iterdir()) == []


def test_a_corpus_of_two_with_one_name_is_named_by_its_tokens(warehouse: Warehouse) -> None:
    with warehouse.writer() as connection:
        connection.execute(
            "insert into store.corpora select * replace (9 as corpus_id, 7 as n_tokens) from store.corpora"
        )
        connection.execute(
            "insert into store.runs select * replace (99 as run_id, 9 as corpus_id) from store.runs"
            " where job = 'activity'"
        )
    with pytest.raises(Invalid, match=r"2 corpora called text; choose one by its tokens: text@\d+ or text@7"):
        pin(warehouse, "tiny", "text")
    with pytest.raises(Invalid, match="2 corpora called text"):
        remove(warehouse, "tiny", corpus="text")
    pin(warehouse, "tiny", "text@7")
    assert rows(warehouse, "select corpus_id from store.pins") == [(9,)]


def test_a_job_that_reads_no_text_has_no_corpus_to_be_removed_of(warehouse: Warehouse) -> None:
    with pytest.raises(Invalid, match="projections reads no text"):
        remove(warehouse, "tiny", job="projections", corpus="text")


def test_what_is_staged_of_a_model_goes_with_it(warehouse: Warehouse) -> None:
    for model in ("tiny", "other"):
        manifest = RunManifest(model * 8, "activity", 1, model, "text", {}, "float32", now())
        with staged_run(warehouse.staging, manifest):
            pass
    remove(warehouse, "tiny", job="activity")
    assert len(staged_manifests(warehouse.staging)) == 2
    remove(warehouse, "tiny")
    assert [manifest["model"] for manifest in staged_manifests(warehouse.staging)] == ["other"]


def test_a_corpus_with_activity_is_shown_before_a_larger_one_without(warehouse: Warehouse) -> None:
    with warehouse.writer() as connection:
        connection.execute(
            "insert into store.corpora select * replace (9 as corpus_id, 'large' as name, 1000000 as n_tokens)"
            " from store.corpora"
        )
        connection.execute(
            "insert into store.runs select * replace (99 as run_id, 9 as corpus_id, 'events' as job) from store.runs"
            " where job = 'activity'"
        )
        rebuild_facts(connection, 0)
    assert rows(warehouse, "select distinct corpus_id from store.neuron_facts") == [(0,)]
    with Warehouse(warehouse.path, views=install).current_reader() as connection:
        assert connection.execute("select corpus from measured_corpora where is_shown").fetchall() == [("text",)]
