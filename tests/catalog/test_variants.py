"""Families and variants: which forms are read, how they are kept, in which order they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurothek.catalog.problems import Invalid
from neurothek.catalog.variants import (
    described,
    family_of,
    step_of,
    step_of_revision,
    variant_of,
    variant_of_sizes,
    variant_order,
    weights_told,
)


def test_variants_are_kept_in_one_form(subtests: pytest.Subtests) -> None:
    for written, kept in [
        ("step 1000", "step 1000"),
        ("step1000", "step 1000"),
        ("Step_0010", "step 10"),
        ("step 0", "step 0"),
        ("seed 2", "seed 2"),
        (" no-position ", "no-position"),
        ("Post-Norm", "post-norm"),
        ("plain", None),
    ]:
        with subtests.test(written=written, kept=kept):
            assert variant_of(written) == kept


def test_another_form_is_refused_with_those_that_are_known(subtests: pytest.Subtests) -> None:
    for written in ["", "step", "seed", "step -1", "step 1.5", "steps 3", "midway", "none", None, 7]:
        with (
            subtests.test(written=written),
            pytest.raises(
                Invalid, match="write 'step 1000', 'seed 2', 'Q4_1', no-position or post-norm, or plain for none"
            ),
        ):
            variant_of(written)


def test_a_family_is_named_as_models_are(subtests: pytest.Subtests) -> None:
    for name in ["", "a b", "x" * 201, "a/b", None]:
        with subtests.test(name=name):
            assert family_of("mini-opt.2+x") == "mini-opt.2+x"
            with pytest.raises(Invalid, match="cannot be named"):
                family_of(name)


@given(st.sampled_from(["step", "seed"]), st.integers(0, 10**18 - 1))
def test_what_is_kept_is_read_as_itself(kind: str, number: int) -> None:
    kept = variant_of(f"{kind}{number}")
    assert variant_of(kept) == kept == f"{kind} {number}"
    assert step_of(kept) == (number if kind == "step" else None)


def test_a_revision_names_its_step(subtests: pytest.Subtests) -> None:
    for revision, step in [
        ("step1000", 1000),
        ("step0", 0),
        ("checkpoint-400", 400),
        ("main", None),
        ("stepping1", None),
        ("v1", None),
    ]:
        with subtests.test(revision=revision, step=step):
            assert step_of_revision(revision) == step


def test_steps_stand_in_the_order_of_training() -> None:
    variants = ["step 1000", None, "step 250", "seed 10", "no-position", "seed 9"]
    assert sorted(variants, key=variant_order) == [None, "no-position", "seed 9", "seed 10", "step 250", "step 1000"]


def test_models_of_one_quantization_are_sizes_and_other_variants_are_none(subtests: pytest.Subtests) -> None:
    cases: list[tuple[list[str | None], str | None]] = [
        ([], None),
        ([None, None], None),
        (["Q4_1", "Q4_1"], "Q4_1"),
        (["BF16"], "BF16"),
        (["Q8_0", "Q4_1"], "Q4_1"),
        (["Q8_0", "Q4_1", "Q8_0"], "Q8_0"),
        (["Q4_1", "seed 1", "seed 1"], "Q4_1"),
        (["Q4_1", None], None),
        (["seed 1", "seed 1"], None),
        (["no-position"], None),
    ]
    for variants, sizes in cases:
        with subtests.test(variants=variants):
            assert variant_of_sizes(variants) == sizes


def test_a_quantized_model_is_not_called_a_variant(subtests: pytest.Subtests) -> None:
    for variant, words in [
        ("Q4_1", "a quantization (Q4_1) of smollm2"),
        ("IQ4_XS", "a quantization (IQ4_XS) of smollm2"),
        (None, "a plain size of smollm2"),
        ("step 1000", "a variant (step 1000) of smollm2"),
        ("no-position", "a variant (no-position) of smollm2"),
    ]:
        with subtests.test(variant=variant):
            assert described("smollm2", variant) == words


def test_weights_are_told_as_far_as_a_name_does_not_say_them(subtests: pytest.Subtests) -> None:
    for name, variant, source, words in [
        (
            "smollm2-135m",
            "Q4_1",
            "/models/SmolLM2-135M-Instruct.Q4_1.gguf",
            "weights Q4_1, from SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
        ("opt-125m", None, "facebook/opt-125m", ""),
        ("smollm2-135m", None, "HuggingFaceTB/SmolLM2-135M", ""),
        ("pythia-14m-step1000", "step 1000", "EleutherAI/pythia-14m", ""),
        ("mini-opt-2m", None, "mini-opt-2m", ""),
        ("mine", None, "/models/checkpoint-400/", "weights from checkpoint-400"),
        ("mine-q8_0.gguf", "Q8_0", "/models/mine-Q8_0.gguf", ""),
        ("mine", "Q8_0", "mine", "weights Q8_0"),
    ]:
        with subtests.test(name=name, source=source):
            assert weights_told(name, variant, source) == words
