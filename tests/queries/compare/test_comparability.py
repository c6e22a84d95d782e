"""Whether models may be compared: what the view says, a reference that most share, and reasons that name both sides."""

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.catalog.publishing import summaries
from neurothek.queries.compare.comparability import LEAST_TOKEN_RATIO, MeasurementSetup, why_not_comparable
from tests.support import warehouse as made

setups = st.lists(
    st.builds(
        MeasurementSetup,
        model=st.just(""),
        family=st.sampled_from(["opt", "gpt"]),
        size=st.sampled_from([7, 8]),
        variant=st.sampled_from([None, "step 10", "seed 1"]),
        corpus=st.just("c"),
        text_sha256=st.sampled_from(["a", "b"]),
        sequence_length=st.sampled_from([64, 128]),
        activation_rule=st.sampled_from(["m != 0", "m > 0"]),
        counting_rule=st.sampled_from([None, "m != 0", "m > 0", "m != 0, m > 0"]),
        dtype=st.sampled_from(["float32", "bfloat16"]),
        n_tokens=st.sampled_from([100, 199, 200, 250, 500]),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=15)
@given(measured=setups)
def test_the_verdict_in_python_is_the_view_s(
    measured: list[MeasurementSetup], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "verdicts.duckdb"
    if not path.exists():
        made.create_empty(path)
    measured = [MeasurementSetup(**{**vars(setup), "model": f"m{number}"}) for number, setup in enumerate(measured)]
    source = made.hand_made().rows
    with duckdb.connect(str(path)) as connection:
        connection.execute("begin")
        made.insert(connection, "tokenizers", source["tokenizers"][:1])
        for number, setup in enumerate(measured):
            parameters = {"n_parameters": setup.size + 5, "n_parameters_embedding": 5, "size": setup.size}
            what = {"name": setup.model, "family": setup.family, "variant": setup.variant, **parameters}
            made.insert(connection, "models", [{**source["models"][0], "model_id": number, **what}])
            corpus = {**source["corpora"][0], "corpus_id": number, "text_sha256": setup.text_sha256}
            lengths = {"sequence_length": setup.sequence_length, "n_tokens": setup.n_tokens}
            made.insert(connection, "corpora", [{**corpus, **lengths}])
            run = {**source["runs"][1], "run_id": number, "model_id": number, "corpus_id": number, "dtype": setup.dtype}
            rules = [] if setup.counting_rule is None else setup.counting_rule.split(", ")
            jobs = ["activity", *(("ngrams", "positions")[: len(rules)])]
            for place, (job, rule) in enumerate(zip(jobs, [setup.activation_rule, *rules], strict=True)):
                one = {"run_id": 10 * number + place, "job": job, "parameters": json.dumps({"activation_rule": rule})}
                made.insert(connection, "runs", [{**run, **one}])
            summaries.refresh(connection, number)
        found = dict(connection.execute("select model, why_not from scaling").fetchall())
        connection.execute("rollback")
    assert found == why_not_comparable(measured)
    alike = [[one.model for one in measured if one.kind == setup.kind] for setup in measured]
    for setup, twins in zip(measured, alike, strict=True):
        told = "no variant tells them apart" in (found[setup.model] or "")
        assert told == (len(twins) > 1)
    if all(len(twins) == 1 for twins in alike):
        assert list(found.values()).count(None) >= 1


def setup_of(model: str, size: int, **changed: object) -> MeasurementSetup:
    usual = MeasurementSetup(model, "opt", size, None, "c", "text", 128, "m != 0", None, "float32", 1000)
    return replace(usual, **changed)  # type: ignore[arg-type]


def test_no_models_and_one_have_nothing_against_them() -> None:
    assert why_not_comparable([]) == {}
    assert why_not_comparable([setup_of("a", 1, n_tokens=0)]) == {"a": None}


def test_most_decide_and_among_as_many_the_one_with_most_tokens() -> None:
    minority = [setup_of("a", 1, dtype="bfloat16", n_tokens=10**9), setup_of("b", 2), setup_of("c", 3)]
    assert why_not_comparable(minority) == {"a": "computed in bfloat16 instead of float32", "b": None, "c": None}
    even = [setup_of("a", 1, dtype="bfloat16", n_tokens=1001), setup_of("b", 2)]
    assert why_not_comparable(even) == {"a": None, "b": "computed in float32 instead of bfloat16"}


def test_all_that_differs_is_named() -> None:
    others = [setup_of("a", 1), setup_of("b", 2)]
    odd = setup_of("c", 3, text_sha256="x", sequence_length=64, activation_rule="m > 0", dtype="float16", n_tokens=1)
    assert why_not_comparable([*others, odd])["c"] == (
        "another text; sequences of 64 ids instead of 128; active means m > 0 instead of m != 0;"
        " computed in float16 instead of float32"
    )


def test_n_grams_that_count_otherwise_are_not_compared() -> None:
    strong, above = "|m| > 3 rms", "m > 0"
    uneven = [setup_of("a", 1, counting_rule=above), setup_of("b", 2, counting_rule=strong), setup_of("c", 3)]
    # As many of either: the first by name of the rule.
    assert why_not_comparable(uneven) == {
        "a": None,
        "b": "n-grams and positions count |m| > 3 rms instead of m > 0",
        "c": None,
    }
    most = [*uneven, setup_of("d", 4, counting_rule=strong)]
    assert why_not_comparable(most)["a"] == "n-grams and positions count m > 0 instead of |m| > 3 rms"
    few = [
        setup_of("a", 1, counting_rule=above),
        *(setup_of(name, 2, n_tokens=1, counting_rule=strong) for name in "bc"),
    ]
    assert why_not_comparable(few)["a"] is None


def test_less_than_half_of_the_text_is_too_little(subtests: pytest.Subtests) -> None:
    for n_tokens in [0, 499, 500, 501, 999]:
        with subtests.test(n_tokens=n_tokens):
            told = why_not_comparable([setup_of("a", 1), setup_of("b", 2, n_tokens=n_tokens)])["b"]
            assert told == (
                None if n_tokens >= LEAST_TOKEN_RATIO * 1000 else f"{n_tokens} tokens of the text instead of 1000"
            )


def test_twins_name_each_other_and_a_variant_is_none() -> None:
    told = why_not_comparable(
        [setup_of("b", 1), setup_of("a", 1), setup_of("c", 1), setup_of("d", 1, variant="seed 2"), setup_of("e", 2)]
    )
    assert {model: (reason or "").partition(" ")[0] for model, reason in told.items()} == {
        "a": "c",
        "b": "a",
        "c": "a",
        "d": "",
        "e": "",
    }


@given(measured=setups)
def test_the_order_in_which_models_are_given_decides_nothing(measured: list[MeasurementSetup]) -> None:
    measured = [replace(one, model=f"m{number}") for number, one in enumerate(measured)]
    assert why_not_comparable(measured) == why_not_comparable(measured[::-1])
