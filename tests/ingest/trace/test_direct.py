"""What neurons add to a token's logit through the final norm: a loop over the model's own weights, and attribution."""

import math
from functools import cache
from pathlib import Path

import pytest
import torch

from neurothek.catalog.tables.traces import Traced, TracedGrid
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.attribution import attributed
from neurothek.ingest.trace.grid import trace_grid
from neurothek.ingest.trace.trace import trace
from tests.support.anatomy import loaded
from tests.support.events import PlainStreams
from tests.support.models import CAUSAL_KINDS, build, edit_tensors
from tests.support.tiny import Row

PROMPT = "the school is near the river and the old"
TOKEN = 300
MINI = Path(__file__).parents[3] / "ingest" / "minis" / "mini-opt-0.7m"
CLOSE = 2e-4
"""Float32 sums in another order, relative and absolute."""


@cache
def opened(folder: Path) -> tuple[Transformer, Tokenizer]:
    return open_measured(Measured("tiny", str(folder), None, find(str(folder)).weights_sha256))


@pytest.fixture(scope="module", params=["mini-opt", "llama"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model of ReLU neurons and layer norms, and one with gates and norms that do not centre but weigh."""
    if request.param == "mini-opt":
        return MINI

    def weigh(tensors: dict[str, torch.Tensor]) -> None:
        norm = tensors["model.norm.weight"]
        norm.copy_(torch.rand(len(norm), generator=torch.Generator().manual_seed(2)) ** 3 * 5)

    return edit_tensors(build(tmp_path_factory.mktemp("weighed") / "llama", "llama"), weigh)


class Plain:
    """The end of a model in lists of float64."""

    def __init__(self, folder: Path) -> None:
        model = loaded(folder)
        weights = {name: tensor.double() for name, tensor in model.state_dict().items()}
        self.is_centred = model.config.model_type == "opt"
        self.gamma = weights[
            "model.decoder.final_layer_norm.weight" if self.is_centred else "model.norm.weight"
        ].tolist()
        self.eps = getattr(model.config, "rms_norm_eps", 1e-5)
        ids = [int(token) for token in opened(folder)[1].ids]
        self.rows = dict(zip(ids, weights["lm_head.weight"][ids].tolist(), strict=True))
        self.mean = [math.fsum(column) / len(ids) for column in zip(*self.rows.values(), strict=True)]

    def centred(self, vector: list[float]) -> list[float]:
        mean = math.fsum(vector) / len(vector) if self.is_centred else 0.0
        return [x - mean for x in vector]

    def direct(self, m: float, value: list[float], last: list[float], token: int) -> float:
        """Of m v, a part of the last stream: its share of the normed stream, whose divisor is the whole stream's."""
        divisor = math.sqrt(math.fsum(x * x for x in self.centred(last)) / len(last) + self.eps)
        normed = [g * x / divisor for g, x in zip(self.gamma, self.centred([m * v for v in value]), strict=True)]
        row = [e - mean for e, mean in zip(self.rows[token], self.mean, strict=True)]
        return math.fsum(x * e for x, e in zip(normed, row, strict=True))


def test_the_grid_has_what_a_loop_over_the_models_own_weights_says(folder: Path) -> None:
    reference, plain = PlainStreams(folder), Plain(folder)
    grid = trace_grid(*opened(folder), PROMPT, n_dominant=10)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    signs = set()
    for position in (1, len(ids) - 1):
        layers = reference.layers(ids[: position + 1])
        last = layers[-1].post.tolist()
        final = grid.cells.filter(layer=len(layers) - 1, position=position)["token_ids"].to_list()[0][0]
        rows = grid.neurons.filter(position=position).to_dicts()
        assert len(rows) == 10 * len(layers)
        for row in rows:
            layer = layers[row["layer"]]
            m, value = float(layer.written[row["neuron"]]), layer.values[row["neuron"]].tolist()
            expected = plain.direct(m, value, last, final)
            assert row["direct_final"] == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
            score = m * math.fsum(v * (e - u) for v, e, u in zip(value, plain.rows[final], plain.mean, strict=True))
            assert row["centred_final"] == pytest.approx(score, rel=CLOSE, abs=CLOSE)
            signs.add(score * expected < -CLOSE)
    if folder != MINI:
        # A norm does not only scale: what raises a token before it may lower it.
        assert signs == {True, False}


def test_a_trace_has_it_of_the_final_token_of_another_and_of_all_neurons_that_raise_it(folder: Path) -> None:
    reference, plain = PlainStreams(folder), Plain(folder)
    ids = [*reference.plain.bos, *reference.plain.tokenizer(PROMPT, add_special_tokens=False).input_ids]
    layers = reference.layers(ids)
    last = layers[-1].post.tolist()
    found = trace(*opened(folder), PROMPT, token_id=TOKEN, n_raising=15, sort="direct")
    for row in found.neurons.to_dicts():
        layer = layers[row["layer"]]
        m, value = float(layer.written[row["neuron"]]), layer.values[row["neuron"]].tolist()
        for name, token in (("final", found.final_token), ("token", TOKEN)):
            expected = plain.direct(m, value, last, token)
            assert row[f"direct_{name}"] == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    every = [
        plain.direct(float(m), value.tolist(), last, TOKEN)
        for layer in layers
        for m, value in zip(layer.written, layer.values, strict=True)
        if m
    ]
    assert found.raising["direct"].to_list() == pytest.approx(sorted(every)[:-16:-1], rel=CLOSE, abs=CLOSE)
    assert trace(*opened(folder), PROMPT).neurons["direct_token"].null_count() == found.neurons.height


@pytest.mark.parametrize("kind", [*CAUSAL_KINDS, "gemma2", "gemma3", "olmo2", "phi3", "granite"])
def test_it_is_the_direct_effect_of_attribution(kind: str, tiny_models: dict[str, Path]) -> None:
    transformer, tokenizer = opened(tiny_models[kind])
    grid: TracedGrid = trace_grid(transformer, tokenizer, PROMPT, n_dominant=10)
    n_layers, everywhere = transformer.shape.n_layers, transformer.shape.n_layers * transformer.shape.d_ffn
    for position in (2, len(grid.tokens) - 1):
        final = grid.cells.filter(layer=n_layers - 1, position=position)["token_ids"].to_list()[0][0]
        traced: Traced = trace(transformer, tokenizer, PROMPT, position=position)
        effects = attributed(transformer, tokenizer, PROMPT, position=position, limit=everywhere, sort="direct")
        assert effects.toward == traced.final_token == final
        by_place: dict[tuple[int, int], Row] = {
            (row["layer"], row["neuron"]): row for row in effects.neurons.to_dicts()
        }
        for rows in (grid.neurons.filter(position=position), traced.neurons):
            for row in rows.to_dicts():
                expected = by_place[row["layer"], row["neuron"]]["direct"]
                assert row["direct_final"] == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
