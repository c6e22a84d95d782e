"""Models side by side: the view's numbers, the verdict among the chosen, the pooled stretches of depth."""

from pathlib import Path

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.queries.compare.comparison import LAYER_COLUMNS, compare
from neurothek.queries.views import install
from tests.support import sign_rows, tiny


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
    assert pair.hints == ["more of these models were measured on builtin; use --corpus to compare on it"]
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
    with pytest.raises(NotFound, match="nearest: tiny-2m"):
        compare(full, ["tiny-3m"])
    with pytest.raises(NotFound, match="there are: builtin, long"):
        compare(full, corpus="zzz")
    with pytest.raises(NotMeasured):
        compare(empty)


def test_repr_in_a_notebook(full: duckdb.DuckDBPyConnection) -> None:
    assert "<table>" in compare(full)._repr_html_()
    assert "share of dead neurons by depth" in repr(compare(full))


def test_views_are_current() -> None:
    assert "scaling" in install.all_views()


def test_traits_stand_beside_chance_where_they_were_measured(full_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        assert compare(connection, ["tiny-1m", "tiny-2m"]).traits.is_empty()
        assert "traits of neurons" not in [one.title for one in compare(connection, ["tiny-1m"]).sections()]
        sign_rows.insert(connection)
        comparison = compare(connection, ["tiny-1m", "tiny-2m"])
        view = {row["model"]: row for row in connection.sql("from traits_by_model").pl().to_dicts()}
        (section,) = [one for one in comparison.sections() if one.title == "traits of neurons"]
        assert comparison.traits["model"].to_list() == ["tiny-1m", "tiny-2m"]
        for row, printed in zip(comparison.traits.to_dicts(), section.frame.to_dicts(), strict=True):
            assert row.items() <= view[row["model"]].items()
            assert row["selective_share"] == printed["selective"]
            assert (row["n_super_weights"], row["n_massive_layers"]) == (printed["super weights"], printed["massive"])
            assert (row["n_super_weights"], row["shuffled_share"] > 0) == (row["n_massive_layers"], True)
            assert (row["writer_share"], row["writer_chance"]) == (printed["writers"], printed["writers by chance"])
            assert row["writer_chance"] == pytest.approx(3 / 51)
        connection.execute("delete from store.entropy")
        section = next(one for one in compare(connection, ["tiny-1m"]).sections() if one.title == "traits of neurons")
        writers = ["writers", "writers by chance"]
        assert section.frame.columns == ["model", "selective", "shuffled", "massive", "super weights", *writers]
