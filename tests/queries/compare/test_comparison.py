"""Models side by side: the view's numbers, the verdict among the chosen, the pooled stretches of depth."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from catalog.publishing import summaries
from queries import errors
from queries.compare.comparability import Way, why_not_comparable
from queries.compare.comparison import LAYER_COLUMNS, compare
from queries.views import install
from tests.support import tiny
from tests.support import warehouse as made


def verdicts(frame: pl.DataFrame) -> dict[str, str | None]:
    return {row["model"]: row["why_not"] for row in frame.select("model", "why_not").to_dicts()}


def test_all_models_are_the_view(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full)
    view = full.sql("select * from scaling order by size, variant nulls first, model").pl()
    assert_frame_equal(comparison.models, view)
    assert dict(comparison.layers.schema) == dict(LAYER_COLUMNS)
    assert comparison.models.get_column("model").to_list()[0] == "weights-only"


def test_verdict_is_among_the_chosen(full: duckdb.DuckDBPyConnection) -> None:
    assert verdicts(compare(full, ["gelu-1m"]).models) == {"gelu-1m": None}
    pair = compare(full, ["tiny-1m", "tiny-2m"])
    assert verdicts(pair.models) == {"tiny-1m": "another text", "tiny-2m": None}
    assert pair.hints == ["more of these models were measured on builtin: compare them with --corpus"]
    assert "--corpus" not in " ".join(pair.notes)


def test_on_a_common_corpus(full: duckdb.DuckDBPyConnection) -> None:
    pair = compare(full, ["tiny-1m", "tiny-2m"], corpus="builtin")
    assert verdicts(pair.models) == {"tiny-1m": None, "tiny-2m": None}
    assert pair.models.get_column("n_tokens_seen").to_list() == [41, 41]
    shown = compare(full, ["tiny-1m"]).models.row(0, named=True)
    here = pair.models.row(0, named=True)
    # Its shown corpus is this one, so both ways give the same numbers.
    for name in ("corpus", "n_dead", "dead_share", "first_half_dead_share", "never_active_share", "n_alive"):
        assert here[name] == shown[name]
    assert here["mean_frequency"] == pytest.approx(shown["mean_frequency"], rel=1e-12)
    assert here["median_frequency"] == shown["median_frequency"]
    both = compare(full, corpus="builtin")
    assert verdicts(both.models)["gelu-1m"] == "active means m > 0 instead of m != 0"
    assert verdicts(both.models)["weights-only"] == "its activity was not measured"


def test_by_depth_pools_whole_layers(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full, ["tiny-1m", "tiny-2m", "gelu-1m"])
    layers = {(row["model"], row["layer"]): row for row in comparison.layers.to_dicts()}
    rows = {row["depth"]: row for row in comparison.by_depth("dead_share").to_dicts()}
    # The shallowest has two layers; the middle one of three begins the second half.
    assert list(rows) == ["0-50%", "50-100%"]
    assert rows["0-50%"]["tiny-2m"] == pytest.approx(layers["tiny-2m", 0]["n_dead"] / 6)
    dead = layers["tiny-2m", 1]["n_dead"] + layers["tiny-2m", 2]["n_dead"]
    assert rows["50-100%"]["tiny-2m"] == pytest.approx(dead / 12)
    assert rows["0-50%"]["gelu-1m"] is None
    frequencies = {row["depth"]: row for row in comparison.by_depth("mean_frequency").to_dicts()}
    parts = [layers["tiny-2m", 1], layers["tiny-2m", 2]]
    alive = [row["n_neurons"] - row["n_never_active"] for row in parts]
    pooled = sum(row["mean_frequency"] * n for row, n in zip(parts, alive, strict=True)) / sum(alive)
    assert frequencies["50-100%"]["tiny-2m"] == pytest.approx(pooled, rel=1e-12)


def test_a_size_says_that_it_leaves_embeddings_out(full: duckdb.DuckDBPyConnection) -> None:
    table = compare(full).table()
    assert table.columns[:2] == ["model", "size w/o embeddings"]
    parameters = {plan.name: plan.size for plan in tiny.MODELS}
    assert dict(table.select("model", "size w/o embeddings").iter_rows()) == parameters


def test_notes_name_variants(full: duckdb.DuckDBPyConnection) -> None:
    assert "tiny-2m-nopos is a variant (no-position), not a size" in compare(full).notes


def test_model_without_text(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full, ["weights-only"])
    assert comparison.layers.is_empty()
    assert len(comparison.sections()) == 1
    assert "weights-only" in repr(comparison)


def test_errors(full: duckdb.DuckDBPyConnection, empty: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(errors.UnknownModel, match="nearest: tiny-2m"):
        compare(full, ["tiny-3m"])
    with pytest.raises(errors.UnknownCorpus, match="there are: builtin, long"):
        compare(full, corpus="zzz")
    with pytest.raises(errors.NoModels):
        compare(empty)


def test_repr_in_a_notebook(full: duckdb.DuckDBPyConnection) -> None:
    assert "<table>" in compare(full)._repr_html_()
    assert "share of dead neurons by depth" in repr(compare(full))


ways = st.lists(
    st.builds(
        Way,
        model=st.just(""),
        family=st.sampled_from(["opt", "gpt"]),
        size=st.sampled_from([7, 8]),
        variant=st.sampled_from([None, "step 10", "seed 1"]),
        corpus=st.just("c"),
        text_sha256=st.sampled_from(["a", "b"]),
        sequence_length=st.sampled_from([64, 128]),
        activation_rule=st.sampled_from(["m != 0", "m > 0"]),
        dtype=st.sampled_from(["float32", "bfloat16"]),
        n_tokens=st.sampled_from([100, 199, 200, 250, 500]),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=15)
@given(measured=ways)
def test_the_verdict_in_python_is_the_view_s(measured: list[Way], tmp_path_factory: pytest.TempPathFactory) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "verdicts.duckdb"
    if not path.exists():
        made.create_empty(path)
    measured = [Way(**{**vars(way), "model": f"m{number}"}) for number, way in enumerate(measured)]
    source = made.hand_made().rows
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")
        made.insert(connection, "tokenizers", source["tokenizers"][:1])
        for number, way in enumerate(measured):
            parameters = {"n_parameters": way.size + 5, "n_parameters_embedding": 5, "size": way.size}
            what = {"name": way.model, "family": way.family, "variant": way.variant, **parameters}
            made.insert(connection, "models", [{**source["models"][0], "model_id": number, **what}])
            corpus = {**source["corpora"][0], "corpus_id": number, "text_sha256": way.text_sha256}
            lengths = {"sequence_length": way.sequence_length, "n_tokens": way.n_tokens}
            made.insert(connection, "corpora", [{**corpus, **lengths}])
            run = {**source["runs"][1], "run_id": number, "model_id": number, "corpus_id": number, "dtype": way.dtype}
            made.insert(connection, "runs", [{**run, "parameters": f'{{"activation_rule": "{way.activation_rule}"}}'}])
            summaries.refresh(connection, number)
        found = dict(connection.execute("select model, why_not from scaling").fetchall())
        connection.execute("rollback")
    assert found == why_not_comparable(measured)
    alike = [[one.model for one in measured if one.kind == way.kind] for way in measured]
    for way, twins in zip(measured, alike, strict=True):
        told = "no variant tells them apart" in (found[way.model] or "")
        assert told == (len(twins) > 1)
    if all(len(twins) == 1 for twins in alike):
        assert list(found.values()).count(None) >= 1


def test_views_are_current() -> None:
    assert "scaling" in install.all_views()
