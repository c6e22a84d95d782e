"""What figures are drawn from: sizes without variants, corpora and tokens as they were measured."""

from dataclasses import replace

import polars as pl

from neurothek.catalog.spelling import spoken_corpus
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.papers.figure import Setting
from neurothek.dashboards.papers.material import Material
from tests.support.tiny import CORPORA, MODELS

ALL = ["weights-only", "tiny-1m", "gelu-1m", "tiny-2m", "tiny-2m-nopos"]


def with_models(of: Material, **columns: list[str | None]) -> Material:
    """The same, with other values in columns of the compared models."""
    models = of.comparison.models.with_columns(pl.Series(name, values) for name, values in columns.items())
    return replace(of, comparison=replace(of.comparison, models=models))


def test_sizes_are_the_models_that_are_no_variants_but_for_seeds(whole: Material) -> None:
    assert whole.comparison.models["model"].to_list() == ALL
    assert whole.sizes() == ALL[:4]
    seeds = with_models(whole, variant=[None, "seed 2", "step 10", None, "no-position"])
    assert seeds.sizes() == ["weights-only", "tiny-1m", "tiny-2m"]


def test_everybody_is_all_models_with_their_variants(whole: Material) -> None:
    assert whole.all_models() == ALL


def test_where_fewer_than_two_are_sizes_all_are_drawn(whole: Material) -> None:
    steps = with_models(whole, variant=["step 1", "step 2", "step 3", "step 4", None])
    assert steps.sizes() == ALL


def test_models_are_told_of_as_far_as_rows_tell_of_them(whole: Material) -> None:
    rows = pl.DataFrame({"model": ["tiny-2m", "tiny-1m", "tiny-2m", "stranger"]})
    assert whole.measured(rows) == ["tiny-1m", "tiny-2m"]
    assert whole.measured(rows, ["stranger", "tiny-2m", "gelu-1m"]) == ["stranger", "tiny-2m"]
    assert whole.measured(rows.clear()) == []


def test_corpora_are_those_that_are_shown(whole: Material) -> None:
    for plan in MODELS:
        if plan.corpora:
            shown = {"tiny-1m": 0, "tiny-2m": 1, "tiny-2m-nopos": 0, "gelu-1m": 2}[plan.name]
            assert whole.corpora([plan.name]) == spoken_corpus(CORPORA[shown][0])
    assert whole.corpora(["tiny-1m", "tiny-2m-nopos"]) == "the built-in text"
    assert set(whole.corpora(["tiny-1m", "tiny-2m"]).split(", ")) == {"the built-in text", "long"}
    assert whole.corpora(["weights-only"]) == whole.corpora([]) == ""


def test_what_was_seen_is_said_once_where_it_is_the_same(whole: Material) -> None:
    seen = dict(whole.comparison.models.select("model", "n_tokens_seen").iter_rows())
    one = whole.seen(["tiny-1m", "tiny-2m-nopos"])
    assert one == f"{seen['tiny-1m']:,} tokens of the built-in text"
    two = whole.seen(["tiny-1m", "tiny-2m", "tiny-2m-nopos"])
    assert two.split("; ")[0] == f"tiny-1m, tiny-2m-nopos: {one}"
    assert two.split("; ")[1] == f"tiny-2m: {seen['tiny-2m']:,} tokens of long"


def test_a_star_marks_what_may_not_be_compared(whole: Material) -> None:
    setting = Setting(Look(whole.look.colours, {"gelu-1m": "another text"}))
    marked = replace(whole, setting=setting)
    assert [marked.mark(model) for model in ALL] == ["", "", " *", "", ""]
    (said,) = marked.not_comparable(ALL)
    assert "gelu-1m (another text)" in said
    assert marked.not_comparable(["tiny-1m"]) == []


def with_variants(whole: Material, variants: list[str | None]) -> Material:
    """The models as variants of one size and build of a family, but for the first, which is of another."""
    family: list[str | None] = ["other", "tiny", "tiny", "tiny", "tiny"]
    models = with_models(whole, variant=variants, family=family)
    sized = models.comparison.models.with_columns(size=pl.lit(1))
    return replace(whole, comparison=replace(models.comparison, models=sized), built={})


def test_a_model_without_positions_stands_beside_its_plain_model(whole: Material) -> None:
    of = with_variants(whole, [None, None, None, None, "no-position"])
    assert of.without_positions() == (["tiny-2m-nopos"], "tiny-1m")
    assert of.early_checkpoints() == ([], None)


def test_checkpoints_stand_in_the_order_of_training_beside_their_plain_model(whole: Material) -> None:
    steps = with_variants(whole, [None, "step 1000", "step 250", None, "step 30"])
    assert steps.early_checkpoints() == (["tiny-2m-nopos", "gelu-1m", "tiny-1m"], "tiny-2m")
    assert with_variants(whole, ["step 1", "step 2", "step 3", "step 4", "step 5"]).early_checkpoints() == ([], None)
    # Training leaves alone how a model knows positions: what knows none is no early state of one that does.
    built = {"tiny-2m-nopos": "without positions"}
    assert replace(steps, built=built).early_checkpoints() == (["gelu-1m", "tiny-1m"], "tiny-2m")


def test_where_something_is_missing_is_said_of_the_asked_corpus(whole: Material) -> None:
    assert whole.corpus_suffix == ""
    assert replace(whole, setting=Setting(whole.look, "long")).corpus_suffix == " on long"
