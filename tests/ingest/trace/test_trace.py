"""A traced prompt against plain loops over transformers' own forward pass, and prompts that cannot be traced."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.catalog.problems import Conflict, Invalid, LimitExceeded, Unavailable
from neurothek.catalog.tables.traces import RaisingOrder, Traced
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace import trace
from tests.support import events as plain
from tests.support.events import PlainStreams
from tests.support.models import CAUSAL_KINDS, Kind, build, edit_tensors
from tests.support.shortcuts import PlainShortcuts

PROMPT = "the school is near the river and the old"
TOLERANCE = 2e-4
TOKEN = 300


@pytest.fixture(
    scope="module", params=(*CAUSAL_KINDS, "gemma2", "gemma3", "gemma3_seeing", "olmo2", "phi3", "smollm3", "granite")
)
def folder(request: pytest.FixtureRequest, tiny_models: dict[str, Path]) -> Path:
    return tiny_models[request.param]


@cache
def opened(folder: Path) -> tuple[Transformer, Tokenizer]:
    return open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))


@cache
def streams(folder: Path) -> PlainStreams:
    return PlainStreams(folder)


def traced(folder: Path, prompt: str = PROMPT, **options: Any) -> Traced:
    return trace.trace(*opened(folder), prompt, **options)


@pytest.mark.parametrize("position", [None, 3])
def test_a_trace_is_what_the_model_does(folder: Path, position: int | None) -> None:
    reference = streams(folder)
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
    reference = streams(folder)
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
    reference = streams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    found = traced(folder, token_id=TOKEN)
    layers = reference.layers(ids)
    for number, layer in enumerate(layers):
        rows = found.neurons.filter(layer=number).to_dicts()
        assert [row["neuron"] for row in rows] == plain.dominant(layer)
        sizes = np.abs(layer.written) * np.linalg.norm(layer.values, axis=1)
        for row in rows:
            m, value = layer.written[row["neuron"]], layer.values[row["neuron"]]
            assert row["coefficient"] == pytest.approx(layer.coefficients[row["neuron"]], rel=TOLERANCE, abs=TOLERANCE)
            assert row["share"] == pytest.approx(sizes[row["neuron"]] / sizes.sum(), rel=TOLERANCE)
            for name, token in (("final", found.final_token), ("token", TOKEN)):
                expected = m * float(reference.unembedding[token] @ value)
                assert row[f"score_{name}"] == pytest.approx(expected, rel=TOLERANCE, abs=TOLERANCE)
                scores = [m * float(e @ value) for e in reference.unembedding]
                centred = expected - sum(scores) / len(scores)
                assert row[f"centred_{name}"] == pytest.approx(centred, rel=TOLERANCE, abs=TOLERANCE)
                assert_rank(row[f"rank_{name}"], scores, token)


def assert_rank(found: int | None, scores: list[float], token: int) -> None:
    """A rank by m (e . v) is the counted one, but for tokens so near that float32 may put them in another order."""
    if not any(scores):
        assert found is None
        return
    assert found is not None
    above = sum(score > scores[token] + TOLERANCE for score in scores)
    near = sum(abs(score - scores[token]) <= TOLERANCE for score in scores)
    assert above + 1 <= found <= above + near


@cache
def raising_by_hand(folder: Path) -> list[dict[str, Any]]:
    """All neurons that raise the token."""
    reference = streams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    raising = []
    for number, layer in enumerate(reference.layers(ids)):
        total = sum(abs(m) * np.linalg.norm(v) for m, v in zip(layer.written, layer.values, strict=True))
        for neuron, (m, value) in enumerate(zip(layer.written, layer.values, strict=True)):
            scores = [m * float(e @ value) for e in reference.unembedding]
            centred = scores[TOKEN] - sum(scores) / len(scores)
            if centred > TOLERANCE:
                share = abs(m) * np.linalg.norm(value) / total
                row = {"layer": number, "neuron": neuron, "coefficient": layer.coefficients[neuron], "share": share}
                raising.append(row | {"score": scores[TOKEN], "centred": centred, "scores": scores})
    return raising


@pytest.mark.parametrize("sort", ["centred", "score", "share"])
def test_the_neurons_that_raise_a_token_are_those_of_a_loop_over_all(folder: Path, sort: RaisingOrder) -> None:
    expected = sorted(raising_by_hand(folder), key=lambda row: -row[sort])
    found = traced(folder, token_id=TOKEN, n_raising=20, sort=sort).raising.to_dicts()
    assert [row["rank"] for row in found] == list(range(1, 21))
    for row, wanted in zip(found, expected, strict=False):
        assert row[sort] == pytest.approx(wanted[sort], rel=TOLERANCE, abs=TOLERANCE)
        (own,) = (one for one in expected if (one["layer"], one["neuron"]) == (row["layer"], row["neuron"]))
        for name in ("coefficient", "share", "score", "centred"):
            assert row[name] == pytest.approx(own[name], rel=TOLERANCE, abs=TOLERANCE)
        assert_rank(row["token_rank"], own["scores"], TOKEN)


def test_effects_are_those_of_transformers_own_model_with_each_neuron_at_0(folder: Path) -> None:
    reference = streams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    found = traced(folder, n_raising=12, effects=True)
    untouched = reference.own_logits(ids)
    assert found.raised_token == found.final_token
    assert found.raised_logit == pytest.approx(untouched[found.final_token], rel=TOLERANCE, abs=TOLERANCE)
    rows = found.raising.to_dicts()
    for row in rows[: trace.N_EFFECTS]:

        def zero(_: object, given: tuple[torch.Tensor], neuron: int = row["neuron"]) -> tuple[torch.Tensor]:
            changed = given[0].clone()
            changed[..., neuron] = 0
            return (changed,)

        handle = reference.body.values(row["layer"]).register_forward_pre_hook(zero)
        logits = reference.own_logits(ids)
        handle.remove()
        assert row["logit_off"] == pytest.approx(logits[found.final_token], rel=TOLERANCE, abs=TOLERANCE)
        expected = plain.probability(logits, found.final_token)
        assert row["probability_off"] == pytest.approx(expected, rel=TOLERANCE)
    assert all(row["probability_off"] is None for row in rows[trace.N_EFFECTS :])
    assert traced(folder, n_raising=3).raising["probability_off"].null_count() == 3


OUTPUTS = {
    "opt": ("model.decoder.embed_tokens.weight", "model.decoder.layers.0.fc2.weight"),
    "gpt2": ("transformer.wte.weight", "transformer.h.0.mlp.c_proj.weight"),
    "llama": ("lm_head.weight", "model.layers.0.mlp.down_proj.weight"),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_what_is_added_to_every_token_alike_raises_none(kind: Kind, tmp_path: Path) -> None:
    """A planted neuron with the largest raw score for every token and a centred one of 0: a constant moves nothing."""
    unembedding, values = OUTPUTS[kind]
    folder = build(tmp_path / kind, kind)
    edit_tensors(folder, lambda tensors: tensors[unembedding][:, 0].fill_(1))
    reference = streams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    own = reference.layers(ids)[0].coefficients
    planted = int(np.abs(own).argmax())

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        rows = tensors[values] if kind == "gpt2" else tensors[values].T
        rows[planted] = 0
        rows[planted, 0] = 100 / float(own[planted])

    edit_tensors(folder, plant)
    found = traced(folder, token_id=TOKEN, n_raising=20)
    (row,) = found.neurons.filter(layer=0, neuron=planted).to_dicts()
    assert row["rank"] == 1
    assert row["score_token"] == found.neurons["score_token"].max() == pytest.approx(100, rel=TOLERANCE)
    assert abs(row["centred_token"]) < TOLERANCE
    assert (0, planted) not in found.raising.select("layer", "neuron").rows()
    assert (found.raising["centred"] > 0).all()


def test_signs_of_a_gated_ffn_are_a_convention(tmp_path: Path) -> None:
    """Negated rows of up_proj and columns of down_proj change no logit, and nothing of a trace but coefficients."""
    folder, flipped = build(tmp_path / "llama", "llama"), build(tmp_path / "flipped", "llama")
    chance = np.random.default_rng(4)
    signs = [torch.from_numpy(chance.choice([-1.0, 1.0], size=128)).float() for _ in range(2)]

    def flip(tensors: dict[str, torch.Tensor]) -> None:
        for layer, sign in enumerate(signs):
            tensors[f"model.layers.{layer}.mlp.up_proj.weight"] *= sign[:, None]
            tensors[f"model.layers.{layer}.mlp.down_proj.weight"] *= sign

    edit_tensors(flipped, flip)
    before, after = (traced(one, token_id=TOKEN, effects=True, n_raising=30) for one in (folder, flipped))
    assert before.final_probability == after.final_probability
    for name in ("layers", "top_tokens"):
        assert getattr(before, name).equals(getattr(after, name))
    for name in ("neurons", "raising"):
        one, other = getattr(before, name), getattr(after, name)
        sign = [float(signs[layer][neuron]) for layer, neuron in one.select("layer", "neuron").rows()]
        assert (one["coefficient"] * pl.Series(sign)).equals(other["coefficient"].cast(pl.Float64))
        assert one.drop("coefficient").equals(other.drop("coefficient"))


def test_without_a_token_its_columns_are_empty(folder: Path) -> None:
    found = traced(folder)
    assert found.layers["token_rank_after"].null_count() == found.layers.height
    assert found.neurons["score_token"].null_count() == found.neurons.height


def test_positions_count_from_either_end(folder: Path) -> None:
    n = len(traced(folder).tokens)
    assert traced(folder, position=-1).position == traced(folder).position == n - 1
    assert traced(folder, position=-n).position == 0
    for position in (n, -n - 1):
        with pytest.raises(Invalid, match=f"there is no position {position} in a prompt of {n} tokens"):
            traced(folder, position=position)


def test_a_prompt_of_nothing_and_one_that_is_too_long_are_refused(folder: Path) -> None:
    with pytest.raises(Invalid, match="the prompt '' has no tokens"):
        traced(folder, "")
    with pytest.raises(LimitExceeded, match="but the model reads at most 64"):
        traced(folder, "one two three " * 40)


def test_bytes_that_are_no_text_are_read_as_question_marks(folder: Path) -> None:
    assert traced(folder, "the \udcff").tokens == traced(folder, "the ?").tokens


def test_weights_that_are_gone_or_others_are_refused(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "opt", d_ffn=8)
    known = Measured("tiny", str(folder), None, find(str(folder)).weights_sha256)
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    with pytest.raises(Unavailable, match=f"were not usable at '{folder}'.*--weights PATH"):
        open_measured(known, weights=None)
    with pytest.raises(Unavailable, match=r"were not usable at '.*nowhere'"):
        open_measured(known, weights=tmp_path / "nowhere")
    assert open_measured(known, weights=moved)
    other = build(tmp_path / "other", "opt", d_ffn=8, seed=1)
    with pytest.raises(Conflict, match="are not the ones that were measured as tiny"):
        open_measured(known, weights=other)
