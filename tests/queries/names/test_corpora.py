"""Which corpus a name stands for, where several have it."""

import shutil
from pathlib import Path

import duckdb

from catalog.publishing.summaries import refresh
from queries.names.corpora import choose_corpora, measured_corpora


def test_of_one_name_the_corpus_with_activity_comes_first(full_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        before = choose_corpora(connection, ["tiny-1m"], "long")["tiny-1m"]
        assert (before.is_shown, before.activation_rule) == (False, "m != 0")
        for corpus_id, job in ((98, "contexts"), (99, "activity")):
            connection.execute(
                "insert into store.corpora select * replace (? as corpus_id, sha256 || ? as sha256)"
                " from store.corpora where corpus_id = ?",
                [corpus_id, str(corpus_id), before.corpus_id],
            )
            connection.execute(
                "insert into store.runs select * replace (? as run_id, ? as corpus_id, run_key || ? as run_key)"
                " from store.runs where corpus_id = ? and job = ? limit 1",
                [corpus_id * 1000, corpus_id, str(corpus_id), before.corpus_id, job],
            )
            refresh(connection, 0)
            found = choose_corpora(connection, ["tiny-1m"], "long")["tiny-1m"]
            assert found.corpus_id == (before.corpus_id if job == "contexts" else corpus_id)
        order = [one.corpus_id for one in measured_corpora(connection, ["tiny-1m"]) if one.corpus == "long"]
        assert order == [99, before.corpus_id, 98]
