"""A traced prompt against plain loops over transformers' own forward pass, and prompts that cannot be traced."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from catalog.tables.traces import Traced
from ingest.errors import OtherWeights, PositionMissing, PromptEmpty, PromptTooLong, WeightsNotAtHand
from ingest.models.checkpoints import find
from ingest.models.finding import Measured
from ingest.models.measured import open_measured
from ingest.trace import trace
from tests.support import events as plain
from tests.support.events import PlainStreams
from tests.support.models import CAUSAL_KINDS, build
from tests.support.shortcuts import PlainShortcuts

PROMPT = "the school is near the river and the old"
TOLERANCE = 2e-4
TOKEN = 300


@pytest.fixture(scope="module", params=CAUSAL_KINDS)
def folder(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> Path:
    return tiny_models[request.param]


def traced(folder: Path, prompt: str = PROMPT, **options: Any) -> Traced:
    opened = open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))
    return trace.trace(*opened, prompt, **options)


@pytest.mark.parametrize("position", [None, 3])
def test_a_trace_is_what_the_model_does(folder: Path, position: int | None) -> None:
    reference = PlainStreams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    place = len(ids) - 1 if position is None else position
    layers = reference.layers(ids[: place + 1])
    final = int(np.argmax(reference.logits(layers[-1].post)))
    found = traced(folder, position=position, top=4, token_id=TOKEN)
    assert (found.position, found.final_token, len(found.tokens)) == (place, final, len(ids))
    assert found.final_probability == pytest.approx(
        plain.probability(reference.logits(layers[-1].post), final), rel=TOLERANCE
    )
    tops = [int(np.argmax(reference.logits(layer.post))) for layer in layers]
    assert found.saturation_layer == plain.saturation_layer(tops)
    for number, layer in enumerate(layers):
        row = found.layers.row(number, named=True)
        before, after = reference.logits(layer.pre), reference.logits(layer.post)
        candidate = int(np.argmax(before))
        assert row["candidate_token"] == candidate
        assert row["candidate_rank_after"] == plain.rank(after, candidate)
        for moment, logits in (("before", before), ("after", after)):
            assert row[f"final_rank_{moment}"] == plain.rank(logits, final)
            assert row[f"token_rank_{moment}"] == plain.rank(logits, TOKEN)
            said = found.top_tokens.filter(layer=number, moment={"before": "pre", "after": "post"}[moment])
            expected = np.argsort(-logits, kind="stable")[:4].tolist()
            assert said["token_id"].to_list() == expected
            probabilities = [plain.probability(logits, token) for token in expected]
            assert said["probability"].to_list() == pytest.approx(probabilities, rel=TOLERANCE)
        assert row["is_saturation"] == (number == found.saturation_layer)
        assert row["is_elimination"] == (number == found.elimination_layer)


@pytest.mark.parametrize("position", [None, 3])
def test_states_are_read_as_they_are_and_through_matrices(folder: Path, position: int | None) -> None:
    reference = PlainStreams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    place = len(ids) - 1 if position is None else position
    states = PlainShortcuts(folder).states(ids, place)
    last = len(states) - 1
    chance = np.random.default_rng(5)
    matrices = [chance.normal(size=(32, 32)).astype(np.float32) / 6 for _ in range(last)]
    found = traced(folder, position=position, top=4, token_id=TOKEN, matrices=matrices)
    assert found.states.select("state", "method").rows() == [(s, way) for s in range(last + 1) for way in ("id", "mat")]
    final = int(np.argmax(reference.logits(states[last])))
    for row in found.states.to_dicts():
        through = row["method"] == "mat" and row["state"] < last
        matrix = matrices[row["state"]].astype(np.float64) if through else np.eye(32)
        logits = reference.logits(matrix @ states[row["state"]])
        expected = np.argsort(-logits, kind="stable")[:4].tolist()
        assert row["token_ids"] == expected
        assert (row["final_rank"], row["token_rank"]) == (plain.rank(logits, final), plain.rank(logits, TOKEN))
        probabilities = [plain.probability(logits, token) for token in expected]
        assert row["probabilities"] == pytest.approx(probabilities, rel=TOLERANCE)


def test_without_matrices_no_states_are_read(folder: Path) -> None:
    assert traced(folder).states.is_empty()


def test_its_neurons_are_the_dominant_ones(folder: Path) -> None:
    reference = PlainStreams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    found = traced(folder, token_id=TOKEN)
    layers = reference.layers(ids)
    for number, layer in enumerate(layers):
        rows = found.neurons.filter(layer=number).to_dicts()
        assert [row["neuron"] for row in rows] == plain.dominant(layer)
        sizes = np.abs(layer.coefficients) * np.linalg.norm(layer.values, axis=1)
        for row in rows:
            m, value = layer.coefficients[row["neuron"]], layer.values[row["neuron"]]
            assert row["share"] == pytest.approx(sizes[row["neuron"]] / sizes.sum(), rel=TOLERANCE)
            for name, token in (("final", found.final_token), ("token", TOKEN)):
                expected = m * float(reference.unembedding[token] @ value)
                assert row[f"score_{name}"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)


def test_without_a_token_its_columns_are_empty(folder: Path) -> None:
    found = traced(folder)
    assert found.layers["token_rank_after"].null_count() == found.layers.height
    assert found.neurons["score_token"].null_count() == found.neurons.height


def test_positions_count_from_either_end(folder: Path) -> None:
    n = len(traced(folder).tokens)
    assert traced(folder, position=-1).position == traced(folder).position == n - 1
    assert traced(folder, position=-n).position == 0
    for position in (n, -n - 1):
        with pytest.raises(PositionMissing, match=f"there is no position {position} in a prompt of {n} tokens"):
            traced(folder, position=position)


def test_a_prompt_of_nothing_and_one_that_is_too_long_are_refused(folder: Path) -> None:
    with pytest.raises(PromptEmpty, match="the prompt '' has no tokens"):
        traced(folder, "")
    with pytest.raises(PromptTooLong, match="but the model reads at most 64"):
        traced(folder, "one two three " * 40)


def test_bytes_that_are_no_text_are_read_as_question_marks(folder: Path) -> None:
    assert traced(folder, "the \udcff").tokens == traced(folder, "the ?").tokens


def test_weights_that_are_gone_or_others_are_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "opt", d_ffn=8)
    known = Measured("tiny", str(folder), None, find(str(folder)).weights_sha256)
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    with pytest.raises(WeightsNotAtHand, match=f"were not usable at '{folder}'.*--weights PATH"):
        open_measured(known, weights=None)
    with pytest.raises(WeightsNotAtHand, match=r"were not usable at '.*nowhere'"):
        open_measured(known, weights=tmp_path / "nowhere")
    assert open_measured(known, weights=moved)
    other = build(tmp_path / "other", "opt", d_ffn=8, seed=1)
    with pytest.raises(OtherWeights, match="are not the ones that were measured as tiny"):
        open_measured(known, weights=other)
