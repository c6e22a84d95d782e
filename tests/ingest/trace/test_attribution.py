"""Effects on a difference of logits: against models written out by hand whose factors are held, and ablation."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from neurothek.catalog.problems import Unsupported
from neurothek.catalog.tables.traces import Attributed, AttributionOrder
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.trace.attribution import LEAST_CORRELATED, N_ABLATED, _correlation, attributed
from tests.ingest.interventions.test_changed import edited
from tests.support.anatomy import loaded
from tests.support.models import CAUSAL_KINDS, GATED, Kind, build, edit_config

KINDS: tuple[Kind, ...] = (*CAUSAL_KINDS, "neox_sequential", *GATED[1:])
PROMPT = "the school is near the river and the old"
N_LAYERS, D_FFN = 3, 24
ALL = N_LAYERS * D_FFN
CLOSE = 2e-4
"""Float32 sums in another order, through three blocks."""


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory, request.param)


def made(factory: pytest.TempPathFactory, kind: Kind) -> Path:
    return made_at(factory.mktemp("attributed") / kind, kind)


def made_at(path: Path, kind: Kind) -> Path:
    return build(path, kind, n_layers=N_LAYERS, d_ffn=D_FFN, seed=3)


def opened(folder: Path) -> tuple[Transformer, Tokenizer]:
    return open_transformer(find(str(folder))), load(folder)


def ids_of(tokenizer: Tokenizer, prompt: str = PROMPT) -> Tensor:
    bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
    return torch.tensor([[*bos, *tokenizer.encode([prompt])[0].tolist()]])


def tokens(tokenizer: Tokenizer) -> tuple[int, int]:
    """Two tokens, of which the model predicts neither in particular."""
    river, bus = (int(tokenizer.encode([word])[0][-1]) for word in (" river", " bus"))
    return river, bus


def by_place(result: Attributed) -> dict[tuple[int, int], dict[str, Any]]:
    return {(row["layer"], row["neuron"]): row for row in result.neurons.to_dicts()}


def logits_by_transformers(folder: Path, ids: Tensor, model: nn.Module | None = None) -> Tensor:
    """[vocab] of the last position, float64, before a cap; of the model as it is, or of one that was edited."""
    own = loaded(folder)
    with torch.inference_mode():
        logits: Tensor = (own if model is None else model)(ids).logits[0, -1].double()
    cap = getattr(own.config.get_text_config(), "final_logit_softcapping", None)
    return logits if cap is None else cap * torch.atanh(logits / cap)


@pytest.mark.parametrize("sort", ["relevance", "direct"])
def test_the_largest_effects_are_listed(tmp_path_factory: pytest.TempPathFactory, sort: AttributionOrder) -> None:
    folder = made(tmp_path_factory, "opt")
    transformer, tokenizer = opened(folder)
    result = attributed(transformer, tokenizer, PROMPT, limit=ALL, sort=sort)
    assert result.final_token == result.toward == int(logits_by_transformers(folder, ids_of(tokenizer)).argmax())
    assert len(by_place(result)) == ALL
    assert result.neurons["rank"].to_list() == list(range(1, ALL + 1))
    assert result.neurons[sort].abs().is_sorted(descending=True)
    assert result.neurons["ablated"].null_count() == ALL
    assert attributed(transformer, tokenizer, PROMPT, limit=7, sort=sort).neurons.equals(result.neurons.head(7))
    if sort == "relevance":
        assert attributed(transformer, tokenizer, PROMPT).neurons.equals(result.neurons.head(20))


def test_fewer_than_three_effects_have_no_correlation(tmp_path_factory: pytest.TempPathFactory) -> None:
    transformer, tokenizer = opened(made(tmp_path_factory, "opt"))
    assert LEAST_CORRELATED == 3
    for limit in (2, 3):
        result = attributed(transformer, tokenizer, PROMPT, limit=limit, ablates=True)
        for correlation in (result.correlation_direct, result.correlation_relevance):
            assert (correlation is None) == (limit < 3)


def test_what_does_not_vary_has_no_correlation() -> None:
    assert _correlation([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) is None
    assert _correlation([4.0, 4.0, 4.0], [1.0, 2.0, 3.0]) is None
    # Effects of neurons that were not switched off are left out.
    assert _correlation([1.0, 2.0, 3.0, 99.0], [2.0, 4.0, 6.0]) == pytest.approx(1)


def test_the_difference_is_that_of_transformers_logits(folder: Path) -> None:
    transformer, tokenizer = opened(folder)
    toward, instead = tokens(tokenizer)
    logits = logits_by_transformers(folder, ids_of(tokenizer))
    result = attributed(transformer, tokenizer, PROMPT, toward=toward, instead=instead)
    assert result.difference == pytest.approx(float(logits[toward] - logits[instead]), abs=CLOSE)
    beside_mean = attributed(transformer, tokenizer, PROMPT, toward=toward)
    mean = float(logits[torch.from_numpy(tokenizer.ids.astype(np.int64))].mean())
    assert beside_mean.difference == pytest.approx(float(logits[toward]) - mean, abs=CLOSE)
    assert (beside_mean.toward, beside_mean.instead) == (toward, None)


@pytest.mark.parametrize("folder", [kind for kind in KINDS if kind != "opt350"], indirect=True)
def test_in_the_last_layer_both_effects_are_one(folder: Path) -> None:
    """What a neuron adds there goes through the final norm alone, of all families whose blocks end without a norm."""
    transformer, tokenizer = opened(folder)
    toward, instead = tokens(tokenizer)
    result = attributed(transformer, tokenizer, PROMPT, toward=toward, instead=instead, limit=ALL)
    rows = by_place(result)
    assert len(rows) == ALL
    for neuron in range(D_FFN):
        row = rows[N_LAYERS - 1, neuron]
        assert row["relevance"] == pytest.approx(row["direct"], abs=CLOSE)
    assert result.direct_total == pytest.approx(sum(row["direct"] for row in rows.values()), abs=CLOSE)


@pytest.mark.long
def test_ablation_is_that_of_edited_weights(folder: Path) -> None:
    transformer, tokenizer = opened(folder)
    toward, instead = tokens(tokenizer)
    ids = ids_of(tokenizer)
    result = attributed(transformer, tokenizer, PROMPT, toward=toward, instead=instead, limit=ALL, ablates=True)
    assert result.neurons["ablated"].drop_nulls().len() == N_ABLATED
    untouched = logits_by_transformers(folder, ids)
    before = float(untouched[toward] - untouched[instead])
    for row in result.neurons.head(5).to_dicts():
        model = edited(folder, {row["layer"]: [(row["neuron"], 0.0)]})
        logits = logits_by_transformers(folder, ids, model)
        assert row["ablated"] == pytest.approx(before - float(logits[toward] - logits[instead]), abs=2 * CLOSE)
    sample = result.neurons.head(N_ABLATED)
    for name, correlation in (("direct", result.correlation_direct), ("relevance", result.correlation_relevance)):
        assert correlation == pytest.approx(float(np.corrcoef(sample[name], sample["ablated"])[0, 1]), abs=1e-6)


class Held:
    """Numbers of a first pass that a second one takes as they were."""

    def __init__(self) -> None:
        self.numbers: list[Tensor] = []
        self.place: int | None = None

    def of(self, made: Tensor) -> Tensor:
        """The number, the first time as it is, the second time as it was."""
        if self.place is None:
            self.numbers.append(made)
            return made
        self.place += 1
        return self.numbers[self.place - 1]

    def again(self) -> "Held":
        self.place = 0
        return self


@dataclass(frozen=True)
class Plain:
    """A model of a few lines, in float64, with the patterns by which transformers' own attends."""

    weights: Mapping[str, Tensor]
    n_heads: int
    eps: float
    patterns: Sequence[Tensor]
    pair: tuple[int, int]
    activation: str

    def normed(self, x: Tensor, name: str, held: Held) -> Tensor:
        """A layer norm where the norm has a bias, else an RMS norm."""
        gamma, beta = self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias")
        centred = x if beta is None else x - x.mean(-1, keepdim=True)
        scaled = centred / held.of((centred.square().mean(-1, keepdim=True) + self.eps).sqrt()) * gamma
        return scaled if beta is None else scaled + beta

    def mapped(self, x: Tensor, name: str) -> Tensor:
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", torch.zeros(()))

    def attended(self, x: Tensor, name: str, layer: int, end: str) -> Tensor:
        width = len(self.weights[f"{name}.q_proj.weight"]) // self.n_heads
        values = self.mapped(x, f"{name}.v_proj").view(len(x), -1, width)
        shared = self.n_heads // values.shape[1]
        mixed = [self.patterns[layer][head] @ values[:, head // shared] for head in range(self.n_heads)]
        return self.mapped(torch.cat(mixed, dim=1), f"{name}.{end}")

    def end(self, x: Tensor, name: str, held: Held) -> float:
        rows = self.weights["lm_head.weight"]
        return float(self.normed(x[-1:], name, held)[0] @ (rows[self.pair[0]] - rows[self.pair[1]]))

    def opt(self, x: Tensor, held: Held, off: tuple[int, int] | None) -> float:
        for layer in range(N_LAYERS):
            at = f"model.decoder.layers.{layer}"
            read = self.normed(x, f"{at}.self_attn_layer_norm", held)
            x = x + self.attended(read, f"{at}.self_attn", layer, "out_proj")
            before = self.mapped(self.normed(x, f"{at}.final_layer_norm", held), f"{at}.fc1")
            active = before * held.of(ACT2FN[self.activation](before) / before)
            if off is not None and off[0] == layer:
                active[:, off[1]] = 0
            x = x + self.mapped(active, f"{at}.fc2")
        return self.end(x, "model.decoder.final_layer_norm", held)

    def llama(self, x: Tensor, held: Held, off: tuple[int, int] | None) -> float:
        for layer in range(N_LAYERS):
            at = f"model.layers.{layer}"
            read = self.normed(x, f"{at}.input_layernorm", held)
            x = x + self.attended(read, f"{at}.self_attn", layer, "o_proj")
            read = self.normed(x, f"{at}.post_attention_layernorm", held)
            gate, up = (self.mapped(read, f"{at}.mlp.{name}_proj") for name in ("gate", "up"))
            factor = held.of(ACT2FN[self.activation](gate) / gate)
            gate_before, up_before = held.of(gate), held.of(up)
            # What the product becomes is credited to the one factor by half, and to the other.
            by_gate, by_up = (gate - gate_before) * factor * up_before, (up - up_before) * factor * gate_before
            product = gate_before * factor * up_before + by_gate / 2 + by_up / 2
            if off is not None and off[0] == layer:
                product[:, off[1]] = 0
            x = x + self.mapped(product, f"{at}.mlp.down_proj")
        return self.end(x, "model.norm", held)


def held_difference(folder: Path, ids: Tensor, pair: tuple[int, int], off: Sequence[tuple[int, int]]) -> list[float]:
    """The difference of logits, then what it loses with each neuron off, all that RelP holds as in the first pass."""
    model = loaded(folder, attention="eager").double()
    with torch.inference_mode():
        outputs = model(ids, output_attentions=True, output_hidden_states=True)
    config = model.config
    plain = Plain(
        weights=dict(model.state_dict()),
        n_heads=config.num_attention_heads,
        eps=getattr(config, "rms_norm_eps", 1e-5),
        patterns=[one[0] for one in outputs.attentions],
        pair=pair,
        activation=getattr(config, "activation_function", None) or config.hidden_act,
    )
    run = plain.opt if config.model_type == "opt" else plain.llama
    entering, held = outputs.hidden_states[0][0], Held()
    difference = run(entering, held, None)
    return [difference, *(difference - run(entering, held.again(), one) for one in off)]


@pytest.mark.parametrize("kind", ["opt", "llama"])
def test_relevance_is_what_a_model_loses_whose_factors_are_held(
    kind: Kind, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Then it is linear in what a neuron adds, so that gradients and ablation must agree."""
    folder = made(tmp_path_factory, kind)
    transformer, tokenizer = opened(folder)
    pair = tokens(tokenizer)
    result = attributed(transformer, tokenizer, PROMPT, toward=pair[0], instead=pair[1], limit=ALL)
    neurons = [(layer, neuron) for layer in range(N_LAYERS) for neuron in range(D_FFN)]
    difference, *lost = held_difference(folder, ids_of(tokenizer), pair, neurons)
    assert result.difference == pytest.approx(difference, abs=CLOSE)
    rows = by_place(result)
    for place, expected in zip(neurons, lost, strict=True):
        assert rows[place]["relevance"] == pytest.approx(expected, abs=CLOSE), place
    assert max(map(abs, lost)) > 100 * CLOSE
    sizes = result.neurons["relevance"].abs()
    assert sizes.is_sorted(descending=True)
    assert not math.isclose(sum(row["direct"] for row in rows.values()), sum(lost), abs_tol=CLOSE)


def test_a_position_is_read_as_the_end_of_a_prompt(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    transformer, tokenizer = opened(made(tmp_path_factory, "llama"))
    toward, instead = tokens(tokenizer)
    alone = attributed(transformer, tokenizer, PROMPT, toward=toward, instead=instead)
    place = len(alone.tokens) - 1
    within = attributed(transformer, tokenizer, f"{PROMPT} bus", toward=toward, instead=instead, position=place)
    assert within.neurons.equals(alone.neurons)
    assert (within.position, within.tokens[: place + 1]) == (alone.position, alone.tokens)
    assert len(within.tokens) > len(alone.tokens)


def test_it_can_be_asked_for_after_passes_without_gradients(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Weights that such a pass loaded, and angles that it made for as many positions, are there."""
    folder = made(tmp_path_factory, "llama")
    first = attributed(*opened(folder), PROMPT)
    transformer, tokenizer = opened(folder)
    with torch.inference_mode():
        stream = transformer.embed(ids_of(tokenizer))
        for layer in range(N_LAYERS):
            with transformer.block(layer) as block:
                stream = block(stream).stream
    assert attributed(transformer, tokenizer, PROMPT).neurons.equals(first.neurons)


def test_a_model_that_fills_in_masked_tokens_predicts_no_next_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(Unsupported):
        attributed(*opened(made(tmp_path_factory, "bert")), PROMPT)


@pytest.mark.parametrize(
    ("kind", "activation"),
    [
        *(("opt", name) for name in ("gelu", "gelu_new", "silu", "quick_gelu", "relu2", "tanh")),
        *(("llama", name) for name in ("gelu_pytorch_tanh", "relu2", "tanh", "sigmoid", "mish")),
    ],
)
def test_any_non_linearity_is_held_at_what_it_multiplies_by(kind: Kind, activation: str, tmp_path: Path) -> None:
    """What the last layer makes of a neuron of the one below goes through m / pre, whatever the slope."""
    field = "activation_function" if kind == "opt" else "hidden_act"
    folder = edit_config(made_at(tmp_path / kind, kind), **{field: activation})
    transformer, tokenizer = opened(folder)
    toward, instead = tokens(tokenizer)
    rows = by_place(attributed(transformer, tokenizer, PROMPT, toward=toward, instead=instead, limit=ALL))
    ids = ids_of(tokenizer)
    _, *lost = held_difference(folder, ids, (toward, instead), [(1, neuron) for neuron in range(D_FFN)])
    for neuron, expected in enumerate(lost):
        assert rows[1, neuron]["relevance"] == pytest.approx(expected, abs=CLOSE), neuron


@pytest.mark.parametrize("without", [torch.no_grad, torch.inference_mode])
def test_whoever_turned_gradients_off_gets_the_same(
    without: Callable[[], AbstractContextManager[object]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = made(tmp_path_factory, "llama")
    first = attributed(*opened(folder), PROMPT)
    with without():
        assert attributed(*opened(folder), PROMPT).neurons.equals(first.neurons)
