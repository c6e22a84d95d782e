"""Which models a claim is asked of, and the counts of their neurons against a loop over the view `neurons`."""

import math
from dataclasses import replace

import duckdb
import pytest

from queries.claims.claim import CannotTell
from queries.claims.family import (
    DEAD,
    DETECTOR,
    FEW,
    FIRST_HALF,
    POSITIONAL,
    Family,
    FamilyUnclear,
    FamilyUnknown,
    _with_plain,
)
from queries.errors import UnknownModel
from queries.names.models import choose_models
from tests.support.claims import family


@pytest.fixture(scope="module")
def names(full: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    known: dict[str, list[str]] = {}
    for model in choose_models(full):
        known.setdefault(model.family, []).append(model.name)
    return known


def test_several_families_are_not_judged_together(full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]) -> None:
    assert len(names) > 1
    with pytest.raises(FamilyUnclear, match=f"--family {min(names)}"):
        Family.of(full)
    with pytest.raises(FamilyUnknown, match="no model here is of the family nobody"):
        Family.of(full, family="nobody")
    with pytest.raises(UnknownModel):
        Family.of(full, ["nobody"])


def test_the_sizes_are_the_plain_models_that_may_be_compared(
    full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]
) -> None:
    for name in names:
        own = Family.of(full, family=name)
        plain = {model.name for model in choose_models(full) if model.family == name and model.variant is None}
        assert {*own.sizes, *own.left_out} == plain
        assert not {*own.sizes} & {*own.left_out}


def test_neurons_are_counted_as_a_loop_counts_them(
    full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]
) -> None:
    n_checked = 0
    for name in names:
        own = Family.of(full, family=name)
        for model in own.sizes:
            of = {row[0]: row[1] for row in full.execute("select model, n_layers from models").fetchall()}
            cursor = full.execute("select * from neurons where model = ? and n_tokens_seen is not null", [model])
            columns = [column[0] for column in cursor.description]
            neurons = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
            if not neurons:
                continue
            n_checked += 1
            early = [one for one in neurons if 2 * one["layer"] + 1 <= of[model]]
            if neurons[0]["is_dead"] is not None:
                assert own.count(model, DEAD) == (sum(one["is_dead"] for one in neurons), len(neurons))
                assert own.count(model, DEAD, FIRST_HALF) == (sum(one["is_dead"] for one in early), len(early))
            frequencies = [one["frequency"] for one in neurons]
            found = own.moments(model, "frequency")
            assert found.n == len(frequencies)
            assert found.mean == pytest.approx(math.fsum(frequencies) / len(frequencies))
            if neurons[0]["unigrams_95"] is not None:
                few = sum(one["n_active"] >= 100 and one["unigrams_95"] <= 5 for one in neurons)
                assert own.count(model, FEW)[0] == few
                logs = [math.log10(one["unigrams_95"]) for one in neurons if one["n_active"] >= 100]
                assert own.moments(model, "coverage").total == pytest.approx(math.fsum(logs))
                assert own.count(model, DETECTOR)[0] == sum(bool(one["is_token_detector"]) for one in neurons)
            if neurons[0]["position_kind"] is not None:
                kinds = ("not positional", "too few sequences")
                assert own.count(model, POSITIONAL)[0] == sum(one["position_kind"] not in kinds for one in neurons)
    assert n_checked >= 2


def test_what_was_not_measured_is_said_with_its_command() -> None:
    made = family({}, ["made-a", "made-b"], jobs=frozenset({"activity"}))
    assert made.lacking(("activity",)) == ""
    assert made.lacking(("activity", "ngrams")) == (
        "measure it first with `neurothek ingest made-a made-b --job ngrams`"
    )
    with pytest.raises(CannotTell, match="no plain size"):
        family({}, []).lacking(("activity",))


def test_variants_stand_beside_the_plain_model_of_their_size() -> None:
    variants = [
        ("step 20", "late", "a"),
        ("step 3", "early", "a"),
        ("step 5", "of b", "b"),
        ("no-position", "alone", None),
    ]
    made = family({}, ["a", "b"], variants=variants)
    assert made.steps() == (["early", "late"], "a")
    with pytest.raises(CannotTell, match="no variant 'no-position' with a plain model"):
        made.variant("no-position")


def test_a_variant_of_another_size_stands_beside_the_model_of_its_layers_and_neurons(
    full: duckdb.DuckDBPyConnection,
) -> None:
    known = {model.name: model for model in choose_models(full)}
    small, large = known["tiny-1m"], known["tiny-2m"]
    same_size = replace(large, name="same size", variant="no-position")
    same_shape = replace(small, name="same shape", variant="post-norm", size=small.size + 1)
    neither = replace(small, name="neither", variant="post-norm", size=small.size + 1, d_ffn=small.d_ffn + 1)
    found = list(_with_plain([small, large, same_size, same_shape, neither]))
    assert found == [
        ("no-position", "same size", "tiny-2m"),
        ("post-norm", "same shape", "tiny-1m"),
        # Nearest by ratio: 1,000,001 parameters.
        ("post-norm", "neither", "tiny-1m"),
    ]
    assert list(_with_plain([neither])) == [("post-norm", "neither", None)]
