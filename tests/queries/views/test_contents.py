"""What the warehouse holds."""

from datetime import datetime

import duckdb
import pytest

from neurothek.catalog.problems import NotFound
from neurothek.queries.views import contents
from neurothek.queries.views.install import all_views

MANIFEST = {
    "run_key": "abc",
    "job": "activity",
    "job_version": 1,
    "model": "tiny-9m",
    "corpus": "builtin",
    "parameters": {"k": 50},
    "dtype": "float32",
    "started_at": "2026-01-02T03:04:05",
    "state": "interrupted",
    "problem": None,
}


def test_models_smallest_first(full: duckdb.DuckDBPyConnection) -> None:
    names = contents.models_frame(full).get_column("model").to_list()
    assert names == ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m", "tiny-2m-nopos"]
    assert set(contents.MODELS_TABLE) <= set(contents.models_frame(full).columns)
    shown = contents.models_table(contents.models_frame(full))
    assert shown.columns[:3] == ["model", "size w/o embeddings", "variant"]
    assert shown.get_column("variant").to_list() == [None, None, None, None, "no-position"]
    assert "variant" not in contents.models_table(contents.models_frame(full).head(4)).columns


def test_corpora(full: duckdb.DuckDBPyConnection) -> None:
    assert contents.corpora_frame(full).get_column("corpus").to_list() == ["builtin", "builtin", "long"]
    assert set(contents.CORPORA_TABLE) <= set(contents.corpora_frame(full).columns)


def test_runs_show_what_lies_in_staging_first(full: duckdb.DuckDBPyConnection) -> None:
    published = contents.runs(full)
    assert set(published.get_column("state")) == {"published"}
    finished = published.get_column("finished_at").to_list()
    assert finished == sorted(finished, reverse=True)
    both = contents.runs(full, [MANIFEST])
    assert both.height == published.height + 1
    first = both.row(0, named=True)
    assert (first["state"], first["model"], first["run_id"]) == ("interrupted", "tiny-9m", None)
    assert first["started_at"] == datetime(2026, 1, 2, 3, 4, 5)
    assert first["parameters"] == '{"k": 50}'


def test_runs_before_there_is_a_warehouse() -> None:
    assert contents.runs(None, [MANIFEST]).height == 1
    assert contents.runs(None).is_empty()
    assert set(contents.RUNS_TABLE) <= set(contents.runs(None).columns)


def test_empty_warehouse_lists_nothing(empty: duckdb.DuckDBPyConnection) -> None:
    for frame in (contents.models_frame(empty), contents.corpora_frame(empty), contents.runs(empty)):
        assert frame.is_empty()


def test_views_and_relations(full: duckdb.DuckDBPyConnection) -> None:
    assert contents.views().get_column("view").to_list() == sorted(all_views())
    names = contents.relations(full).get_column("name").to_list()
    assert set(all_views()) < set(names)
    assert "store.postings" in names
    assert contents.relations(full).get_column("description").null_count() == 0


def test_columns(full: duckdb.DuckDBPyConnection) -> None:
    # `models` is the view; the table of the store is called store.models.
    assert contents.columns(full, "models").get_column("column").to_list() == list(all_views()["models"].columns)
    assert "model_id" in contents.columns(full, "store.models").get_column("column").to_list()
    assert contents.columns(full, "postings").equals(contents.columns(full, "store.postings"))
    assert contents.columns(full, "store.postings").get_column("description").null_count() == 0
    with pytest.raises(NotFound, match=r"nearest: store\.postings"):
        contents.columns(full, "store.posting")
    with pytest.raises(NotFound, match="nearest: models"):
        contents.view_columns("model")
    assert contents.view_columns("models").height == len(all_views()["models"].columns)
