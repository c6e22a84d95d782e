"""Which corpus is shown, and which a name stands for, where several have it."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurothek.catalog.publishing.summaries import rebuild_facts, refresh
from neurothek.queries.names import models
from neurothek.queries.names.models import choose_corpora, measured_corpora

# Tokens of a corpus, and the jobs that read it.
texts = st.tuples(st.sampled_from([10, 20, 30]), st.sets(st.sampled_from(["activity", "contexts"]), min_size=1))


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


@pytest.fixture(scope="module")
def blank(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The hand-made warehouse, in which no text was run through the first model."""
    path = tmp_path_factory.mktemp("blank") / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("create temp table whole_runs as from store.runs where model_id = 0 and job = 'activity'")
        connection.execute("create temp table whole_corpora as from store.corpora limit 1")
        connection.execute("delete from store.runs where model_id = 0 and corpus_id is not null")
        connection.execute("delete from store.pins where model_id = 0")
        yield connection


@pytest.mark.long
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(texts, min_size=1, max_size=4), st.integers(-1, 3))
def test_the_shown_corpus_is_one_rule_wherever_it_is_written(
    blank: duckdb.DuckDBPyConnection, measured: list[tuple[int, set[str]]], pinned: int
) -> None:
    """The view, the flat rows that publishing makes, and Python's choice among corpora of one name."""
    blank.execute("begin")
    for number, (n_tokens, jobs) in enumerate(measured):
        blank.execute(
            "insert into store.corpora select * replace (? as corpus_id, ? as n_tokens, ? as sha256, 'text' as name)"
            " from whole_corpora",
            [100 + number, n_tokens, f"text {number}"],
        )
        for place, job in enumerate(sorted(jobs)):
            blank.execute(
                "insert into store.runs select * replace (? as run_id, ? as corpus_id, ? as job, ? as run_key)"
                " from whole_runs limit 1",
                [1000 + 10 * number + place, 100 + number, job, f"run {number} {job}"],
            )
    is_pinned = 0 <= pinned < len(measured)
    if is_pinned:
        blank.execute("insert into store.pins (model_id, corpus_id) values (0, ?)", [100 + pinned])
    rebuild_facts(blank, 0)

    # The rule in words: the pinned one; else one with activity, of these the longest, of equals the latest.
    def rank(one: int) -> tuple[bool, bool, int, int]:
        n_tokens, jobs = measured[one]
        return (is_pinned and one == pinned, "activity" in jobs, n_tokens, one)

    expected = 100 + max(range(len(measured)), key=rank)
    try:
        rows = measured_corpora(blank, ["tiny-1m"])
        assert [row.corpus_id for row in rows if row.is_shown] == [expected]
        facts = blank.execute("select distinct corpus_id from store.neuron_facts where set_id = 0").fetchall()
        assert facts == [(expected,)]
        if not is_pinned:
            # Without what the view says, Python orders them alike.
            alike = sorted((replace(row, is_shown=False) for row in rows), key=models._order)
            assert alike[0].corpus_id == expected
    finally:
        blank.execute("rollback")
