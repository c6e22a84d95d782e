"""The sentence about sizes, against made-up warehouses whose neurons are counted here one by one."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from statistics import median

import duckdb
import polars as pl
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.compare.comparison import Comparison, compare
from neurothek.queries.compare.conclusion import Conclusion, conclude, short
from neurothek.queries.compare.trends import HEADLINES, MEASURES
from tests.support.size_warehouse import Size, create

DEAD, NEGLIGIBLE, MEDIAN, EFFECTIVE = HEADLINES


def neurons(n_dead: int, n_alive: int, n_active: int) -> tuple[int, ...]:
    """Some that never fired, and some that fired about so often: as many below as above."""
    return (*[0] * n_dead, *(n_active + 2 * place - n_alive + 1 for place in range(n_alive)))


RISING = (
    Size("1m", 1_000_000, neurons(0, 100, 200), trained_on=40),
    Size("2m", 2_000_000, neurons(10, 190, 300), trained_on=20),
    Size("4m", 4_000_000, neurons(100, 300, 420), trained_on=10),
)
FALLING = (
    Size("1m", 1_000_000, neurons(40, 60, 400)),
    Size("2m", 2_000_000, neurons(10, 90, 200)),
)
FLAT = (
    Size("1m", 1_000_000, neurons(25, 75, 300)),
    Size("2m", 2_000_000, neurons(51, 149, 310)),
    Size("4m", 4_000_000, neurons(100, 300, 598), n_tokens=2000),
)
ONE = (Size("1m", 1_000_000, neurons(25, 75, 200)),)
UNLIKE = (
    Size("1m", 1_000_000, neurons(0, 100, 200)),
    Size("2m", 2_000_000, neurons(50, 50, 400), text="other text", n_tokens=2000),
)
FEW = (
    Size("1m", 1_000_000, neurons(1, 9, 200)),
    Size("2m", 2_000_000, neurons(4, 16, 200)),
)
UP_AND_DOWN = (
    Size("1m", 1_000_000, neurons(0, 100, 200), trained_on=None),
    Size("2m", 2_000_000, neurons(50, 50, 100)),
    Size("4m", 4_000_000, neurons(0, 100, 200)),
)
VARIANTS = (
    Size("1m-nopos", 1_000_000, neurons(0, 100, 200), variant="no-position"),
    Size("1m-seed1", 1_000_000, neurons(50, 50, 200), variant="seed 1"),
)
SMOOTH = (
    Size("1m", 1_000_000, neurons(0, 100, 200), has_exact_zeros=False),
    Size("2m", 2_000_000, neurons(50, 50, 400), has_exact_zeros=False),
)
QUANTIZED = tuple(replace(size, variant="Q4_1") for size in RISING)
HALF_COMPARABLE = (
    *RISING[:2],
    Size("4m", 4_000_000, neurons(200, 200, 900), rule="m > 0"),
    Size("2m-seed1", 2_000_000, neurons(200, 200, 900), variant="seed 1"),
)


Comparer = Callable[[tuple[Size, ...]], Comparison]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparer:
    """Compares the models of a made-up warehouse."""

    @cache
    def compare_all(sizes: tuple[Size, ...]) -> Comparison:
        path = tmp_path_factory.mktemp("sizes") / "made.duckdb"
        create(path, sizes)
        with Warehouse(path).reader() as connection:
            return compare(connection)

    return compare_all


def told_of(sizes: tuple[Size, ...], compared: Comparer) -> Conclusion:
    """What is told of a warehouse, once its numbers are known to be those of the neurons and of the view."""
    comparison = compared(sizes)
    (told,) = comparison.conclusions
    planned = {size.model: size for size in sizes}
    view = {row["model"]: row for row in comparison.models.to_dicts()}
    assert told.tokens_seen == tuple(planned[model].n_tokens for model in told.models)
    for trend in told.trends:
        assert trend.models == told.models
        for model, number in zip(trend.models, trend.numbers, strict=True):
            assert number.value == view[model][trend.measure.column]
            own = planned[model]
            fired = [n for n in own.n_active if n > 0]
            if trend.measure in (DEAD, NEGLIGIBLE):
                n_dead = len(own.n_active) - len(fired)
                assert number.counts == (n_dead, len(own.n_active))
                assert number.value == n_dead / len(own.n_active)
            else:
                assert trend.measure is (MEDIAN if own.has_exact_zeros else EFFECTIVE)
                assert number.counts is None
                assert number.value == pytest.approx(median(n / own.n_tokens for n in fired), rel=1e-12)
    return told


@pytest.mark.parametrize(
    ("sizes", "kind", "sentence"),
    [
        (
            RISING,
            "trend",
            "From 1m to 4m, dead neurons rise from 0% to 25% and the median frequency rises from 20% to 42%.",
        ),
        (
            FALLING,
            "trend",
            "From 1m to 2m, dead neurons fall from 40% to 10% and the median frequency falls from 40% to 20%.",
        ),
        (
            FLAT,
            "trend",
            "From 1m to 4m, dead neurons stay flat (25% to 26%) and the median frequency stays flat (30% to 31%).",
        ),
        (ONE, "one size", "made-1m has 25% dead neurons and a median frequency of 20%. One size shows no trend."),
        (
            UNLIKE,
            "not comparable",
            "The sizes of made are not comparable, so no trend is given:"
            " made-1m (another text); made-2m (the reference).",
        ),
        (
            UP_AND_DOWN,
            "trend",
            "From 1m to 4m, dead neurons go up and down (0%, 50%, 0%) and the median frequency goes up and down"
            " (20%, 10%, 20%).",
        ),
        (
            VARIANTS,
            "no size",
            "No plain size of made is among these models, so no trend is given:"
            " made-1m-nopos (a variant: no-position); made-1m-seed1 (a variant: seed 1).",
        ),
        (
            FEW,
            "trend",
            "From 1m to 2m, dead neurons show no clear trend (10%, 20%) and the median frequency stays at 20%.",
        ),
        (
            SMOOTH,
            "trend",
            "From 1m to 2m, negligible neurons rise from 0% to 50% and the median effective frequency rises from 20% to"
            " 40%.",
        ),
        # Where all are of one quantization these are the sizes; beside plain ones they are variants.
        (
            QUANTIZED,
            "trend",
            "From 1m to 4m, dead neurons rise from 0% to 25% and the median frequency rises from 20% to 42%.",
        ),
        (
            HALF_COMPARABLE,
            "trend",
            "From 1m to 2m, dead neurons rise from 0% to 5.0% and the median frequency rises from 20% to 30%.",
        ),
    ],
    ids=[
        "rising",
        "falling",
        "flat",
        "one",
        "unlike",
        "up and down",
        "variants",
        "few",
        "no zeros",
        "quantized",
        "half comparable",
    ],
)
def test_made_up_warehouses(sizes: tuple[Size, ...], kind: str, sentence: str, compared: Comparer) -> None:
    told = told_of(sizes, compared)
    assert told.kind == kind
    assert told.sentence == sentence


def test_what_it_rests_on(compared: Comparer) -> None:
    told = told_of(RISING, compared)
    assert told.rests_on == [
        "Each saw 1,000 tokens of text.",
        "Training tokens per parameter fall from 40.0 to 10.0, so size is not the only difference.",
        "Without embeddings, 1m has 1.0M, 2m has 2.0M, 4m has 4.0M parameters.",
    ]
    assert told.omission == ""


def test_tokens_that_differ_and_the_same_training(compared: Comparer) -> None:
    told = told_of(FLAT, compared)
    assert told.rests_on[:2] == [
        "They saw 1,000 to 2,000 tokens of text.",
        "Training tokens per parameter are about the same (20.0 to 20.0).",
    ]


def test_training_that_is_unknown_of_one_is_unknown(compared: Comparer) -> None:
    told = told_of(UP_AND_DOWN, compared)
    assert (
        told.rests_on[1] == "The number of training tokens is unknown for some, so size may not be the only difference."
    )


def test_training_that_goes_up_and_down_is_told_by_its_least_and_largest(compared: Comparer) -> None:
    trained = [10, 30, 10]
    sizes = tuple(replace(size, trained_on=number) for size, number in zip(RISING, trained, strict=True))
    told = told_of(sizes, compared)
    assert (
        told.rests_on[1]
        == "Training tokens per parameter lie between 10.0 and 30.0, so size is not the only difference."
    )


def test_a_variant_is_not_called_unmeasured(compared: Comparer) -> None:
    """The plain sizes were not run on any text, and the variant was."""
    models = compared(HALF_COMPARABLE).models
    unknown = [
        pl.when(pl.col("variant").is_not_null()).then(pl.col(column)).alias(column)
        for column in ("n_tokens_seen", "dtype", "dead_share", "median_frequency")
    ]
    (told,) = conclude(models.with_columns(unknown))
    assert told.kind == "not measured"
    assert told.sentence == "The activity of made-1m, made-2m and made-4m was not measured."


@pytest.mark.parametrize(
    ("sizes", "kind", "sentence"),
    [
        (RISING, "trend", "The activation frequency of the neurons of made-1m, made-2m and made-4m is unknown."),
        (ONE, "one size", "The activation frequency of the neurons of made-1m is unknown."),
    ],
)
def test_sizes_that_saw_a_text_but_have_no_such_number(
    sizes: tuple[Size, ...], kind: str, sentence: str, compared: Comparer
) -> None:
    lacking = [pl.lit(None, pl.Float64).alias(measure.column) for measure in HEADLINES]
    (told,) = conclude(compared(sizes).models.with_columns(lacking))
    assert (told.kind, told.sentence) == (kind, sentence)


def test_models_that_are_left_out_are_named_with_the_reason(compared: Comparer) -> None:
    told = told_of(HALF_COMPARABLE, compared)
    assert told.models == ("made-1m", "made-2m")
    assert told.left_out == {
        "made-2m-seed1": "a variant: seed 1",
        "made-4m": "active means m > 0 instead of m != 0",
    }
    assert told.omission == (
        "Left out: made-2m-seed1 (a variant: seed 1); made-4m (active means m > 0 instead of m != 0)."
    )


def test_where_no_trend_is_told_no_number_is(compared: Comparer) -> None:
    for sizes in (UNLIKE, VARIANTS):
        told = told_of(sizes, compared)
        assert not told.trends
        assert not told.models
        assert told.rests_on == []
        assert "%" not in told.sentence


def test_a_comparison_begins_with_it(compared: Comparer) -> None:
    comparison = compared(RISING)
    (told,) = comparison.conclusions
    assert comparison.summary == " ".join([told.sentence, *told.rests_on])
    assert repr(comparison).startswith("From 1m to 4m, dead neurons rise from 0% to 25%")


def test_families_are_told_apart_and_unmeasured_ones_are_passed_over(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full)
    told = {one.family: one for one in comparison.conclusions}
    assert {family: one.kind for family, one in told.items()} == {
        "weights": "not measured",
        "tiny": "not comparable",
        "gelu": "one size",
    }
    assert told["weights"].sentence == "The activity of weights-only was not measured."
    assert "weights-only" not in comparison.summary
    # On one text the sizes of a family are compared, whole names telling families apart.
    here = {one.family: one for one in compare(full, corpus="builtin").conclusions}
    assert here["tiny"].sentence.startswith("From tiny-1m to tiny-2m, dead neurons ")
    assert here["tiny"].left_out == {"tiny-2m-nopos": "a variant: no-position"}
    assert "dead neurons" not in here["gelu"].sentence


def test_a_quantization_of_all_is_said_once_and_beside_a_plain_size_is_left_out(compared: Comparer) -> None:
    whole = compared(QUANTIZED)
    (told,) = whole.conclusions
    assert told.rests_on[-1] == "Without embeddings, 1m has 1.0M, 2m has 2.0M, 4m has 4.0M parameters, as Q4_1."
    assert not told.left_out
    assert not [note for note in whole.notes if "variant" in note]
    mixed = compared((RISING[0], replace(RISING[1], variant="Q4_1")))
    (told,) = mixed.conclusions
    assert (told.kind, told.models) == ("one size", ("made-1m",))
    assert told.left_out == {"made-2m": "a variant: Q4_1"}
    assert "made-2m is a variant (Q4_1), not a size" in mixed.notes


def test_every_measure_is_a_column_of_the_view(full: duckdb.DuckDBPyConnection) -> None:
    comparison = compare(full, ["tiny-1m", "tiny-2m"], corpus="builtin")
    (told,) = comparison.conclusions
    rows = {row["model"]: row for row in comparison.models.to_dicts()}
    for measure in MEASURES:
        assert measure.column in comparison.models.columns
        # Both have exact zeros.
        says = measure.has_zeros is not False
        having = [model for model in told.models if says and rows[model][measure.column] is not None]
        trend = told.trend(measure)
        assert (() if trend is None else trend.models) == tuple(having)
        for model, number in zip(trend.models, trend.numbers, strict=True) if trend else ():
            assert number.value == rows[model][measure.column]
            if number.counts is not None:
                assert number.value == pytest.approx(number.counts[0] / number.counts[1], rel=1e-12)


def test_a_number_that_some_sizes_lack_names_those_that_have_it(compared: Comparer) -> None:
    comparison = compared(RISING)
    lacking = pl.when(pl.col("model") != "made-2m").then(pl.col("dead_share"))
    (told,) = conclude(comparison.models.with_columns(lacking.alias("dead_share")))
    assert told.sentence.startswith("From 1m to 4m, dead neurons rise from 0% to 25% (1m and 4m) and the median ")


def test_large_numbers_are_short(subtests: pytest.Subtests) -> None:
    for number, said in [
        (999, "999"),
        (150_080, "150K"),
        (2_669_568, "2.7M"),
        (124_000_000, "124M"),
        (6.7e9, "6.7B"),
        (3e11, "300B"),
    ]:
        with subtests.test(number=number, said=said):
            assert short(number) == said


def test_one_size_is_advised_another_in_the_same_quantization(compared: Comparer) -> None:
    other = ": measure another of its family, such as HuggingFaceTB/SmolLM2-360M"
    (one,) = compared(ONE).conclusions
    for variant, advice in ((None, ""), ("Q4_1", ", in the same quantization (Q4_1)")):
        smollm2 = replace(one, models=("smollm2-135m",), variant=variant)
        assert smollm2.sentence.endswith(f"One size shows no trend{other}{advice}.")
