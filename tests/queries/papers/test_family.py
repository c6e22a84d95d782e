"""Which models a claim is asked of, and the counts of their neurons against a loop over the view `neurons`."""

import math
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.names.models import choose_models
from neurothek.queries.papers.family import (
    DEAD,
    DETECTOR,
    FEW,
    FIRST_HALF,
    POSITIONAL,
    SMOOTH,
    Family,
    _with_plain,
)
from neurothek.queries.papers.findings import NotApplicable
from tests.support.claims import family
from tests.support.detectors import detectors, publish
from tests.support.known import known_model


@pytest.fixture(scope="module")
def names(full: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    known: dict[str, list[str]] = {}
    for model in choose_models(full):
        known.setdefault(model.family, []).append(model.name)
    return known


def test_several_families_are_not_judged_together(full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]) -> None:
    assert len(names) > 1
    with pytest.raises(Invalid, match=f"--family {min(names)}"):
        Family.of(full)
    with pytest.raises(NotFound, match="no model here is of the family nobody"):
        Family.of(full, family="nobody")
    with pytest.raises(NotFound):
        Family.of(full, ["nobody"])


def test_the_sizes_are_the_plain_models_that_may_be_compared(
    full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]
) -> None:
    for name in names:
        own = Family.of(full, family=name)
        plain = {model.name for model in choose_models(full) if model.family == name and model.variant is None}
        assert {*own.sizes, *own.left_out} == plain
        assert not {*own.sizes} & {*own.left_out}


def test_the_sizes_of_a_family_in_one_quantization_are_its_models(full_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set family = 'other' where variant is not null")
        connection.execute("update store.models set variant = 'Q4_1' where family <> 'other'")
    with Warehouse(path).reader() as connection:
        name = next(model.family for model in choose_models(connection, ["tiny-2m"]))
        plain = [model.name for model in choose_models(connection) if model.family == name]
        own = Family.of(connection, family=name)
        assert {*own.sizes, *own.left_out} == {*plain}
        assert own.sizes
        assert own.variants == ()


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
                # N-grams of models without exact zeros count other activations than `n_active`.
                counted = {
                    row[:2]: row[2]
                    for row in full.execute(
                        "select layer, neuron, n_active from store.ngrams join store.models on model_id = set_id"
                        " join measured_corpora using (model_id, corpus_id) where name = ? and n = 1 and is_shown",
                        [model],
                    ).fetchall()
                }
                often = {(one["layer"], one["neuron"]): counted[one["layer"], one["neuron"]] >= 100 for one in neurons}
                few = sum(often[one["layer"], one["neuron"]] and one["unigrams_95"] <= 5 for one in neurons)
                assert own.count(model, FEW)[0] == few
                logs = [math.log10(one["unigrams_95"]) for one in neurons if often[one["layer"], one["neuron"]]]
                assert own.moments(model, "coverage").total == pytest.approx(math.fsum(logs))
                assert own.count(model, DETECTOR)[0] == sum(bool(one["is_token_detector"]) for one in neurons)
            if neurons[0]["position_kind"] is not None:
                kinds = ("not positional", "too few sequences")
                assert own.count(model, POSITIONAL)[0] == sum(one["position_kind"] not in kinds for one in neurons)
    assert n_checked >= 2


def test_activations_that_n_grams_do_not_count_cover_nothing(
    full_path: Path, tmp_path: Path, names: dict[str, list[str]]
) -> None:
    """A gate that is open is no strong activation: of gated models n-grams count others than `n_active`."""
    path = tmp_path / "open.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "update store.neuron_facts set n_active = 1000, unigrams_95 = 1 + neuron % 10,"
            " unigram_active = case when neuron % 2 = 0 then 99 else 100 + neuron end where n_positions is not null"
        )
        facts = connection.execute(
            "select name, neuron from store.neuron_facts join store.models on model_id = set_id"
            " where n_positions is not null"
        ).fetchall()
    n_checked = 0
    with Warehouse(path).reader() as connection:
        for name in names:
            own = Family.of(connection, family=name)
            for model in own.sizes:
                if not (covering := [1 + neuron % 10 for of, neuron in facts if of == model and neuron % 2]):
                    continue
                assert own.count(model, FEW)[0] == sum(n <= 5 for n in covering)
                moments = own.moments(model, "coverage")
                assert (moments.n, own.texts[model]["n_active_enough"]) == (len(covering), len(covering))
                assert moments.total == pytest.approx(math.fsum(map(math.log10, covering)))
                n_checked += 1
    assert n_checked >= 2


def test_smooth_neurons_are_those_of_their_profiles(
    full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]
) -> None:
    rough = full.execute(
        "select models.name, layer, neuron, roughness from store.neuron_facts join store.models on model_id = set_id"
    ).fetchall()
    smooth = {row[:3] for row in rough if row[3] is not None and row[3] <= 0.02}
    labels = full.execute("select model, layer, neuron, position_kind from neurons").fetchall()
    n_checked = 0
    for name in names:
        own = Family.of(full, family=name)
        for model in own.sizes:
            kinds = {row[:3]: row[3] for row in labels if row[0] == model and row[3] is not None}
            if kinds:
                expected = sum(
                    kind not in ("not positional", "too few sequences") and key in smooth for key, kind in kinds.items()
                )
                assert own.count(model, SMOOTH)[0] == expected
                n_checked += len(kinds)
    assert n_checked


def test_what_text_suffices_is_counted_as_a_loop_counts_it(
    full: duckdb.DuckDBPyConnection, names: dict[str, list[str]]
) -> None:
    n_checked = 0
    for name in names:
        for model, found in Family.of(full, family=name).texts.items():
            active = full.execute(
                "select n_active, n_position_sequences from neurons where model = ?", [model]
            ).fetchall()
            alive = sorted(row[0] for row in active if row[0])
            corpus = "select n_tokens, sequence_length from measured_corpora where model = ? and is_shown"
            assert (found["n_tokens"], found["sequence_length"]) == full.execute(corpus, [model]).fetchone()
            assert found["n_full_sequences"] == max((row[1] or 0 for row in active), default=0)
            assert (found["n_alive"], found["n_active_enough"]) == (len(alive), sum(n >= 100 for n in alive))
            middle = len(alive) // 2
            median = (alive[middle] + alive[~middle]) / 2 if alive else 0
            assert found["median_active"] == median
            n_checked += bool(alive)
    assert n_checked >= 2


def test_groups_and_layers_of_detectors_are_those_of_the_stored_triggers(tmp_path: Path) -> None:
    publish(tmp_path / "planted.duckdb")
    with Warehouse(tmp_path / "planted.duckdb").reader() as connection:
        own = Family.of(connection, ["planted"])
        text = dict(connection.execute("select token_id, text from store.tokens").fetchall())
        known = {(0, 0): {3, 5}, (0, 3): {11, 12, 13, 14, 15}}
        groups = {key: {ids[0] for ids in one.detected} for key, one in detectors("planted", 1).items()}
        assert known.items() <= groups.items()
        rows = own.view(
            "token_detectors", ("address", "detected_tokens"), ("layer", "neuron"), models=["planted"]
        ).to_dicts()
        found = {row["address"]: set(row["detected_tokens"]) for row in rows}
        assert found == {f"planted/L{at}N{n}": {text[token] for token in group} for (at, n), group in groups.items()}
        below: set[int] = set()
        expected = []
        for layer in sorted({at for at, _ in groups}):
            here = set().union(*(group for (at, _), group in groups.items() if at == layer))
            expected.append((layer, len(here), len(here - below)))
            below |= here
        layers = own.view(
            "detected_by_layer", ("layer", "n_detected", "n_new"), ("layer",), where="n = 1 and n_detected > 0"
        )
        assert layers.rows() == expected


def test_what_was_not_measured_is_said_with_its_command() -> None:
    made = family({}, ["made-a", "made-b"], jobs=frozenset({"activity"}))
    assert made.lacking(("activity",)) == ""
    assert made.lacking(("activity", "ngrams")) == (
        "measure it first with `neurothek ingest made-a made-b --job ngrams`"
    )
    with pytest.raises(NotApplicable, match="no plain size"):
        family({}, []).lacking(("activity",))
    unlike = replace(family({}, []), left_out={"made-a": "100 tokens of the text instead of 300"})
    with pytest.raises(
        NotApplicable, match=r"may be compared; made-a is left out: 100 tokens of the text instead of 300"
    ):
        unlike.lacking(("activity",))


def test_variants_stand_beside_the_plain_model_of_their_size() -> None:
    variants = [
        ("step 20", "late", "a"),
        ("step 3", "early", "a"),
        ("step 5", "of b", "b"),
        ("no-position", "alone", None),
    ]
    made = family({}, ["a", "b"], variants=variants)
    assert made.steps() == (["early", "late"], "a")
    with pytest.raises(NotApplicable, match="no variant 'no-position' with a plain model"):
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


@pytest.mark.parametrize("step", [0, 250])
def test_an_early_checkpoint_of_another_architecture_stands_beside_no_plain_model(step: int) -> None:
    """Training names an unfinished model without positions `step N`, as it does one with them."""
    plain = known_model(name="plain", built="pre learned")
    ways = {"own": "pre learned", "nopos": "pre none", "postnorm": "post learned"}
    early = [known_model(name=name, variant=f"step {step}", built=built) for name, built in ways.items()]
    twins = {name: twin for _, name, twin in _with_plain([plain, *early])}
    assert twins == {"own": "plain", "nopos": None, "postnorm": None}
