"""One neuron's switch against transformers' own models whose weights were edited by hand, and planted neurons."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.activations import ACT2FN

from neurothek.catalog.problems import Invalid, LimitExceeded, Unsupported
from neurothek.catalog.tables.traces import Switched
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.ablation import (
    N_CHANGED,
    Ablation,
    _Pool,
    _random_sets,
    ablated,
    ablated_together,
    active_on,
)
from neurothek.ingest.trace.open_models import ids_of
from tests.ingest.interventions.test_changed import edited
from tests.support.anatomy import loaded
from tests.support.events import PlainStreams
from tests.support.models import CAUSAL_KINDS, Kind, build, edit_tensors

PROMPT = "the school is near the river and the old"
LAYER, NEURON = 1, 5
N_LAYERS, D_FFN = 3, 24
CLOSE = 2e-4
"""Float32 sums in another order, through three blocks."""

Opened = tuple[Transformer, Tokenizer]


@pytest.fixture(scope="module", params=(*CAUSAL_KINDS, "gemma2", "olmo2", "granite"))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("switched") / request.param
    return build(path, request.param, n_layers=N_LAYERS, d_ffn=D_FFN, seed=3)


def opened(folder: Path) -> Opened:
    return open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))


@pytest.fixture(scope="module")
def model(folder: Path) -> Opened:
    return opened(folder)


@cache
def tokenizer_of(folder: Path) -> PreTrainedTokenizerBase:
    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return tokenizer


def log_probabilities(module: nn.Module, folder: Path, *, position: int | None = None) -> np.ndarray:
    """What transformers' own model says after a position, of the ids that its tokenizer has, in float64."""
    tokenizer = tokenizer_of(folder)
    bos = tokenizer("a").input_ids[: -len(tokenizer("a", add_special_tokens=False).input_ids)]
    ids = [*bos, *tokenizer(PROMPT, add_special_tokens=False).input_ids]
    with torch.no_grad():
        logits = module(torch.tensor([ids])).logits[0, -1 if position is None else position].double().numpy()
    row = logits[: len(tokenizer)]
    said: np.ndarray = row - row.max() - np.log(np.exp(row - row.max()).sum())
    return said


def kl(before: np.ndarray, after: np.ndarray) -> float:
    return float((np.exp(before) * (before - after)).sum())


def changes_of(found: Switched, neuron: int) -> dict[int, tuple[float, float]]:
    rows = found.changes.filter(neuron=neuron).sort("rank")
    return {row["token_id"]: (row["probability_before"], row["probability_after"]) for row in rows.to_dicts()}


def agrees(found: Switched, said: Mapping[int, np.ndarray], before: np.ndarray) -> None:
    """Every number of an answer, from what edited models say: neuron -> log-probabilities."""
    assert found.token == int(before.argmax())
    assert found.probability == pytest.approx(float(np.exp(before.max())), rel=CLOSE)
    for row in found.neurons.to_dicts():
        after = said[row["neuron"]]
        assert row["kl"] == pytest.approx(kl(before, after), rel=5e-3, abs=1e-6)
        assert row["probability"] == pytest.approx(float(np.exp(after[row["token_id"]])), rel=CLOSE)
        assert after[row["token_id"]] == pytest.approx(after.max(), abs=CLOSE)
    for neuron in (found.neuron, found.median_neuron):
        sizes = np.abs(np.exp(said[neuron]) - np.exp(before))
        listed = changes_of(found, neuron)
        # Changes of rounding may be listed or not.
        largest = np.sort(sizes)[::-1][:N_CHANGED]
        expected = np.zeros(N_CHANGED)
        expected[: len(listed)] = [abs(after - before) for before, after in listed.values()]
        np.testing.assert_allclose(expected, largest, rtol=0, atol=1e-5)
        for token, pair in listed.items():
            assert pair == pytest.approx((np.exp(before[token]), np.exp(said[neuron][token])), rel=CLOSE)


def ranked(found: Switched) -> tuple[list[float], float]:
    """Divergences of the random neurons, and the neuron's own."""
    own = found.neurons.filter(~found.neurons["is_random"])
    assert own["neuron"].to_list() == [found.neuron]
    return found.neurons.filter(found.neurons["is_random"])["kl"].to_list(), own["kl"][0]


def standing(found: Switched) -> None:
    """The percentile and the median, counted one by one."""
    others, own = ranked(found)
    counted = sum(1.0 if one < own else 0.5 if one == own else 0.0 for one in others)
    assert found.percentile == (pytest.approx(100 * counted / len(others)) if len(others) >= 20 else None)
    assert others == sorted(others, reverse=True)
    median = found.neurons.filter(neuron=found.median_neuron)["kl"][0]
    assert median == sorted(others)[(len(others) - 1) // 2]


@pytest.mark.parametrize("position", [None, 4])
def test_off_is_a_row_of_zeros(folder: Path, model: Opened, position: int | None) -> None:
    found = ablated(*model, PROMPT, Ablation(LAYER, NEURON, 0.0), position=position, n_random=4)
    said = {
        neuron: log_probabilities(edited(folder, {LAYER: [(neuron, 0.0)]}), folder, position=position)
        for neuron in found.neurons["neuron"]
    }
    agrees(found, said, log_probabilities(loaded(folder), folder, position=position))
    standing(found)
    assert found.neurons.height == 5
    assert NEURON not in found.neurons["neuron"][1:]
    assert any(one > 1e-6 for one in ranked(found)[0])


def test_on_is_a_bias_of_so_much(folder: Path, model: Opened) -> None:
    found = ablated(*model, PROMPT, Ablation(LAYER, NEURON, 3.0), n_random=3)
    said = {
        neuron: log_probabilities(edited(folder, {LAYER: [(neuron, 0.0)]}, to=3.0), folder)
        for neuron in found.neurons["neuron"]
    }
    agrees(found, said, log_probabilities(loaded(folder), folder))
    standing(found)


def test_before_the_non_linearity_it_passes_through_it_and_gates_refuse_it(folder: Path, model: Opened) -> None:
    before = Ablation(LAYER, NEURON, 1.7, is_before=True)
    if model[0].shape.is_gated:
        with pytest.raises(Unsupported, match=r"the neurons of (llama|gemma2|olmo2|granite) models have gates"):
            ablated(*model, PROMPT, before)
        return
    passed = float(ACT2FN[model[0].shape.activation](torch.tensor(1.7)))
    found = ablated(*model, PROMPT, before, n_random=2)
    said = {
        neuron: log_probabilities(edited(folder, {LAYER: [(neuron, 0.0)]}, to=passed), folder)
        for neuron in found.neurons["neuron"]
    }
    agrees(found, said, log_probabilities(loaded(folder), folder))


def test_its_own_activation_is_told(folder: Path, model: Opened) -> None:
    reference = PlainStreams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    coefficients = reference.layers(ids[:4])[LAYER].coefficients
    found = ablated(*model, PROMPT, Ablation(LAYER, NEURON, 0.0), position=3)
    for row in found.neurons.to_dicts():
        assert row["coefficient"] == pytest.approx(coefficients[row["neuron"]], rel=CLOSE, abs=CLOSE)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """OPT with a neuron that writes a token's row of the unembedding but never fires, and with another that is dead."""
    made = opened(build(tmp_path_factory.mktemp("planted") / "opt", "opt", n_layers=2, d_ffn=D_FFN))
    transformer = made[0]
    with transformer.block(1) as block, torch.no_grad():
        written, bias = block._values.weight, block._keys.bias
        assert isinstance(written, Tensor)
        assert isinstance(bias, Tensor)
        written[:, NEURON] = 20 * transformer.unembedding()[TOKEN]
        bias[[NEURON, DEAD]] = -1e4
    return made


TOKEN, DEAD = 33, 7


def test_a_neuron_that_writes_a_token_raises_it_when_it_is_on(planted: Opened) -> None:
    on = ablated(*planted, PROMPT, Ablation(1, NEURON, 3.0))
    assert on.neurons.row(0, named=True)["token_id"] == TOKEN
    (first, *_), (before, after) = changes_of(on, NEURON), changes_of(on, NEURON)[TOKEN]
    assert first == TOKEN
    assert after > before + 0.2
    assert on.percentile == 100
    # Random neurons of the layer do not raise it.
    assert changes_of(on, on.median_neuron).get(TOKEN, (0, 0))[1] < after / 2


def test_a_dead_neuron_turned_off_changes_nothing_to_the_bit(planted: Opened) -> None:
    off = ablated(*planted, PROMPT, Ablation(1, DEAD, 0.0))
    own = off.neurons.row(0, named=True)
    assert (own["kl"], own["coefficient"]) == (0, 0)
    assert (own["token_id"], own["probability"]) == (off.token, off.probability)
    assert changes_of(off, DEAD) == {}
    assert off.percentile is not None
    assert off.percentile < 50
    assert max(ranked(off)[0]) > 0
    # Where it is turned on, it is no longer dead.
    assert changes_of(ablated(*planted, PROMPT, Ablation(1, DEAD, 3.0)), DEAD)


def active_by_hand(folder: Path, layer: int, position: int) -> set[int]:
    """Neurons that are active at any position up to one, of the last layer at it: by gates, or by coefficients."""
    model, heard = loaded(folder), list[Tensor]()
    is_gated = (folder / "config.json").read_text().count('"llama"') > 0
    name = f"layers.{layer}.mlp.gate_proj" if is_gated else f"layers.{layer}.fc2"
    (module,) = [part for path, part in model.named_modules() if path.endswith(name)]
    if is_gated:
        module.register_forward_hook(lambda _, given, out: heard.append(out[0]))
    else:
        module.register_forward_pre_hook(lambda _, given: heard.append(given[0].view(-1, given[0].shape[-1])))
    plain = PlainStreams(folder).plain
    ids = [*plain.bos, *plain.tokenizer(PROMPT, add_special_tokens=False).input_ids][: position + 1]
    with torch.no_grad():
        model(torch.tensor([ids]))
    rows = heard[0].tolist()
    assert len(rows) == len(ids)
    rows = rows[-1:] if layer == model.config.num_hidden_layers - 1 else rows
    return {n for n in range(len(rows[0])) if any(row[n] > 0 if is_gated else row[n] != 0 for row in rows)}


@pytest.mark.parametrize("kind", ["opt", "llama"])
def test_random_neurons_are_active_on_the_prompt_as_far_as_there_are_enough(tmp_path: Path, kind: Kind) -> None:
    folder = build(tmp_path / kind, kind, n_layers=3, d_ffn=D_FFN, seed=5)
    if kind == "opt":
        # Of the neurons of layer 1 a third never fires.
        edit_tensors(folder, lambda tensors: tensors["model.decoder.layers.1.fc1.bias"][::3].fill_(-1e4))
    made = opened(folder)
    for layer, position in ((1, 0), (1, 2), (2, 2)):
        active = active_by_hand(folder, layer, position) - {NEURON}
        assert 2 < len(active) <= D_FFN - 3
        for n_random in (3, len(active)):
            few = ablated(*made, PROMPT, Ablation(layer, NEURON, 0.0), position=position, n_random=n_random)
            drawn = set(few.neurons["neuron"].to_list()) - {NEURON}
            assert (len(drawn), few.n_candidates, few.n_active) == (n_random, len(active), len(active))
            assert drawn <= active
        silent = sorted(set(range(D_FFN)) - active - {NEURON})
        # The rest are of those that fire on a corpus, where that is known.
        firing = [*silent[:2], NEURON, min(active)]
        more = ablated(*made, PROMPT, Ablation(layer, NEURON, 0.0), position=position, firing=firing, n_random=D_FFN)
        assert set(more.neurons["neuron"].to_list()) - {NEURON} == active | set(silent[:2])
        assert (more.n_candidates, more.n_active) == (len(active) + 2, len(active))
        every = ablated(*made, PROMPT, Ablation(layer, NEURON, 0.0), position=position, n_random=D_FFN)
        assert set(every.neurons["neuron"].to_list()) == set(range(D_FFN))
        if kind == "opt":
            # What is active nowhere is 0 as it is.
            kl = dict(every.neurons.select("neuron", "kl").rows())
            assert all(kl[neuron] == 0 for neuron in silent)
            assert all(kl[neuron] > 0 for neuron in active)


def test_random_neurons_are_the_same_for_a_seed(planted: Opened) -> None:
    def drawn(**how: object) -> list[int]:
        found = ablated(*planted, PROMPT, Ablation(1, NEURON, 0.0), **how)  # type: ignore[arg-type]  # options of the call
        return found.neurons["neuron"].to_list()

    assert drawn(n_random=5) == drawn(n_random=5, seed=0)
    assert len(set(drawn(n_random=5))) == 6
    assert set(drawn(n_random=5, seed=1)) != set(drawn(n_random=5))


def test_random_sets_are_active_on_the_prompt_as_far_as_there_are_enough(tmp_path: Path) -> None:
    folder = build(tmp_path / "opt", "opt", n_layers=2, d_ffn=D_FFN, seed=5)
    edit_tensors(folder, lambda tensors: tensors["model.decoder.layers.1.fc1.bias"][3:].fill_(-1e4))
    made = opened(folder)
    active = active_by_hand(folder, 1, 2)
    assert 2 <= len(active) <= 3
    first, *rest = sorted(active)
    pool = _Pool.of(1, [first, 9], np.array(sorted(active)), [4, 5, 9], D_FFN)
    assert (pool.active.tolist(), pool.others.tolist()) == (rest, [4, 5])
    assert active_on(made[0], ids_of(made[1], PROMPT, context_length=64)[:3], [1])[1].tolist() == sorted(active)
    for seed in range(5):
        for one in _random_sets({1: [first, 9]}, {1: pool}, n_random=4, seed=seed):
            assert len(one[1]) == 2
            # All that are active are taken before any other.
            assert len(set(one[1]) & set(rest)) == min(2, len(rest))
            assert set(one[1]) <= {*rest, 4, 5}


def test_what_comes_after_the_position_changes_nothing_there(planted: Opened) -> None:
    whole = ablated(*planted, PROMPT, Ablation(0, NEURON, 2.0), position=3)
    cut = ablated(*planted, "the school is", Ablation(0, NEURON, 2.0))
    assert cut.position == whole.position == 3
    assert whole.neurons.equals(cut.neurons)
    assert whole.changes.equals(cut.changes)
    assert len(whole.tokens) > len(cut.tokens)


def test_what_cannot_be_asked_is_refused(tiny_models: dict[str, Path], tmp_path: Path, planted: Opened) -> None:
    with pytest.raises(Unsupported, match="bert models are masked ones"):
        ablated(*opened(tiny_models["bert"]), PROMPT, Ablation(0, 0, 0.0))
    with pytest.raises(Invalid, match="has no tokens"):
        ablated(*planted, "", Ablation(0, 0, 0.0))
    with pytest.raises(LimitExceeded, match="but the model reads at most"):
        ablated(*planted, "one two three " * 40, Ablation(0, 0, 0.0))
    with pytest.raises(Invalid, match="there is no position 99"):
        ablated(*planted, PROMPT, Ablation(0, 0, 0.0), position=99)
    with pytest.raises(Invalid, match=r"set to 1e\+30 .* nearer to 0"):
        ablated(*planted, PROMPT, Ablation(0, 0, 1e30))
    with pytest.raises(Unsupported, match="layer 0 has no other neuron"):
        ablated(*opened(build(tmp_path / "one", "opt", d_ffn=1)), PROMPT, Ablation(0, 0, 0.0))


def test_neurons_together_are_transformers_own_model_with_all_of_them_at_the_value(folder: Path, model: Opened) -> None:
    """Of two layers: each alone, all together, and random sets that are drawn from others of the same layers."""
    reference = PlainStreams(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    places = [(0, 3), (2, 7), (2, 9)]

    def log_of(changed: Sequence[tuple[int, int]]) -> np.ndarray:
        handles = []
        for layer in {layer for layer, _ in changed}:
            columns = [neuron for other, neuron in changed if other == layer]

            def become(_: object, given: tuple[Tensor], columns: list[int] = columns) -> tuple[Tensor]:
                own = given[0].clone()
                own[..., columns] = 2.5
                return (own,)

            handles.append(reference.body.values(layer).register_forward_pre_hook(become))
        logits = reference.own_logits(ids)
        for handle in handles:
            handle.remove()
        said: np.ndarray = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
        return said

    switches = [Ablation(layer, neuron, 2.5) for layer, neuron in places]
    found = ablated_together(*model, PROMPT, switches, firing={0: [3, 4, 6]}, n_random=5)
    before = log_of([])
    own = reference.layers(ids)
    rows = found.sets.to_dicts()
    assert [row["kind"] for row in rows] == ["alone"] * 3 + ["together"] + ["random"] * 5
    assert found.token == int(before.argmax())
    assert found.probability == pytest.approx(float(np.exp(before.max())), rel=CLOSE)
    for row, changed in zip(rows, [*([one] for one in places), places], strict=False):
        after = log_of(changed)
        assert row["kl"] == pytest.approx(kl(before, after), rel=5e-3, abs=1e-6)
        assert row["probability"] == pytest.approx(float(np.exp(after.max())), rel=CLOSE)
        assert row["token_id"] == int(after.argmax())
        assert row["probability_of_token"] == pytest.approx(float(np.exp(after[found.token])), rel=CLOSE)
        if row["kind"] == "alone":
            m = own[row["layer"]].coefficients[row["neuron"]]
            assert row["coefficient"] == pytest.approx(m, rel=CLOSE, abs=CLOSE)
    together, random = rows[3]["kl"], [row["kl"] for row in rows[4:]]
    assert random == sorted(random, reverse=True)
    assert (len(random), found.percentile) == (5, None)
    enough = ablated_together(*model, PROMPT, switches, firing={}, n_random=20)
    ranked = enough.sets.filter(kind="random")["kl"].to_list()
    assert (len(ranked), enough.percentile) == (20, 100 * sum(one < together for one in ranked) / 20)
    after = log_of(places)
    for row in found.changes.to_dicts():
        pair = (row["probability_before"], row["probability_after"])
        assert pair == pytest.approx([float(np.exp(one[row["token_id"]])) for one in (before, after)], rel=5e-3)
    with pytest.raises(Unsupported, match="has no other neuron"):
        ablated_together(*model, PROMPT, [Ablation(0, n, 0.0) for n in range(D_FFN)], firing={})


def test_what_is_written_then_is_what_transformers_own_model_says_token_by_token(folder: Path, model: Opened) -> None:
    """A plain loop over the whole text again for each token, with the columns set by hand; no keys are remembered."""
    reference = PlainStreams(folder)
    tokenizer = reference.plain.tokenizer
    start = [*reference.plain.bos, *tokenizer(PROMPT, add_special_tokens=False).input_ids][:6]
    n_written = 7

    def written(changed: Mapping[int, Sequence[int]]) -> str:
        def become(columns: Sequence[int]) -> Callable[[object, tuple[Tensor]], tuple[Tensor]]:
            def hook(_: object, given: tuple[Tensor]) -> tuple[Tensor]:
                own = given[0].clone()
                own[..., list(columns)] = 4.0
                return (own,)

            return hook

        handles = [
            reference.body.values(layer).register_forward_pre_hook(become(columns))
            for layer, columns in changed.items()
        ]
        ids = list(start)
        for _ in range(n_written):
            now = int(reference.own_logits(ids).argmax())
            if now == tokenizer.eos_token_id:
                break
            ids.append(now)
        for handle in handles:
            handle.remove()
        before, whole = (str(tokenizer.decode(one, skip_special_tokens=True)) for one in (start, ids))
        return whole.removeprefix(before)

    asked = {"position": len(start) - 1, "continuation": n_written}
    alone = ablated(*model, PROMPT, Ablation(LAYER, NEURON, 4.0), n_random=5, **asked)  # type: ignore[arg-type]  # options of the call
    texts = dict(alone.texts.select("kind", "text").iter_rows())
    assert texts == {
        "untouched": written({}),
        "changed": written({LAYER: [NEURON]}),
        "random": written({LAYER: [alone.median_neuron]}),
    }
    several = [Ablation(0, 3, 4.0), Ablation(2, 7, 4.0), Ablation(2, 9, 4.0)]
    together = ablated_together(*model, PROMPT, several, firing={}, n_random=5, **asked)  # type: ignore[arg-type]  # options of the call
    texts = dict(together.texts.select("kind", "text").iter_rows())
    assert texts["untouched"] == written({})
    assert texts["changed"] == written({0: [3], 2: [7, 9]})
    assert ablated(*model, PROMPT, Ablation(LAYER, NEURON, 4.0), n_random=1).texts.is_empty()


def test_a_neuron_that_writes_a_token_is_what_the_model_writes(planted: Opened) -> None:
    token = planted[1].texts(np.array([TOKEN]))[0]
    on = ablated(*planted, PROMPT, Ablation(1, NEURON, 30.0), continuation=4)
    texts = dict(on.texts.select("kind", "text").iter_rows())
    assert texts["changed"] == token * 4
    assert token not in texts["untouched"] + texts["random"]
    # A dead one says what the untouched model says.
    off = ablated(*planted, PROMPT, Ablation(1, DEAD, 0.0), continuation=4)
    assert off.texts.filter(kind="changed")["text"].item() == texts["untouched"]


def test_no_more_is_written_than_the_context_holds(model: Opened) -> None:
    room = model[0].shape.context_length - 4
    full = ablated(*model, PROMPT, Ablation(0, 0, 0.0), position=3, continuation=room, n_random=1)
    assert full.texts["n_tokens"].max() <= room  # type: ignore[operator]  # a number
    with pytest.raises(
        LimitExceeded, match=rf"{room + 1} tokens cannot be written after position 3: .* room for {room}"
    ):
        ablated(*model, PROMPT, Ablation(0, 0, 0.0), position=3, continuation=room + 1, n_random=1)
