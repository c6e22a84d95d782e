"""Projections of small models against loops over every token, read from the weight file and not through our view."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from safetensors.torch import load_file

from neurothek.catalog.tables.registry import BY_NAME
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.projections.job import ProjectionsJob
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.request import IngestRequest
from tests.support import jobs
from tests.support.models import KINDS, Kind, build, edit_tensors

LAYER = 1
ZERO, PLANTED, SCALED = 3, 4, 5
"""Neurons: a zero value vector; one that promotes token 50; one like neuron 4 but a millionth as long."""


@dataclass(frozen=True)
class Names:
    """Where a file keeps things: the unembedding, and in a block values, keys, and the norm before the FFN."""

    unembedding: str
    blocks: str
    values: str
    keys: str
    norm: str | None


NAMES = {
    "opt": Names("model.decoder.embed_tokens.weight", "model.decoder.layers", "fc2", "fc1", "final_layer_norm"),
    "opt350": Names("model.decoder.embed_tokens.weight", "model.decoder.layers", "fc2", "fc1", None),
    "gpt2": Names("transformer.wte.weight", "transformer.h", "mlp.c_proj", "mlp.c_fc", "ln_2"),
    "neox": Names(
        "embed_out.weight", "gpt_neox.layers", "mlp.dense_4h_to_h", "mlp.dense_h_to_4h", "post_attention_layernorm"
    ),
    "bert": Names(
        "bert.embeddings.word_embeddings.weight", "bert.encoder.layer", "output.dense", "intermediate.dense", None
    ),
    "llama": Names("lm_head.weight", "model.layers", "mlp.down_proj", "mlp.gate_proj", "post_attention_layernorm"),
}


@dataclass(frozen=True)
class Weights:
    """Float64 arrays: scores are exact, since the file holds small integers."""

    unembedding: np.ndarray
    values: np.ndarray
    keys: np.ndarray
    bias: np.ndarray
    norm: tuple[np.ndarray, np.ndarray] | None


def integers_(tensors: dict[str, torch.Tensor], kind: Kind) -> None:
    """Unembedding and value vectors of small integers; masked rows score highest and lowest of all."""
    generator = torch.Generator().manual_seed(7)

    def fill_(name: str, span: int) -> None:
        shape = tensors[name].shape
        tensors[name] = torch.randint(-span, span + 1, shape, generator=generator).float()

    names = NAMES[kind]
    fill_(names.unembedding, 3)
    table = tensors[names.unembedding]
    table[20:30] = table[10]
    table[50] = 5 * table[50].sign() + 1
    table[-8:] = 1000 * torch.sign(torch.randn(8, table.shape[1], generator=generator))
    if kind == "opt350":
        fill_("model.decoder.project_out.weight", 2)
    value = f"{names.blocks}.{LAYER}.{names.values}.weight"
    fill_(value, 2)
    values = tensors[value] if kind == "gpt2" else tensors[value].T
    values[ZERO] = 0
    values[PLANTED] = _unembedding(tensors, kind)[50]
    values[SCALED] = values[PLANTED] * 2.0**-20


def _unembedding(tensors: dict[str, torch.Tensor], kind: Kind) -> torch.Tensor:
    table = tensors[NAMES[kind].unembedding]
    return table @ tensors["model.decoder.project_out.weight"] if kind == "opt350" else table


def read(folder: Path, kind: Kind) -> Weights:
    tensors = {name: tensor.double() for name, tensor in load_file(folder / "model.safetensors").items()}
    names = NAMES[kind]
    block = f"{names.blocks}.{LAYER}"
    values, keys = tensors[f"{block}.{names.values}.weight"], tensors[f"{block}.{names.keys}.weight"]
    if kind != "gpt2":
        values, keys = values.T, keys.T
    # Llama has neither biases nor offsets.
    bias = tensors.get(f"{block}.{names.keys}.bias", torch.zeros(len(values)))
    scale = None
    if names.norm is not None:
        gamma = tensors[f"{block}.{names.norm}.weight"]
        scale = (gamma.numpy(), tensors.get(f"{block}.{names.norm}.bias", torch.zeros_like(gamma)).numpy())
    return Weights(_unembedding(tensors, kind).numpy(), values.numpy(), keys.T.numpy(), bias.numpy(), scale)


@dataclass(frozen=True)
class Case:
    kind: Kind
    transformer: Transformer
    tokenizer: Tokenizer
    weights: Weights

    def scores(self, neuron: int, ids: np.ndarray) -> list[float]:
        value = self.weights.values[neuron]
        return [float(sum(self.weights.unembedding[token] * value)) for token in ids]

    def job(self, **settings: int) -> ProjectionsJob:
        return ProjectionsJob(JobContext(self.transformer, self.tokenizer), **settings)

    def measure(self, job: ProjectionsJob, shard: str = f"layer-{LAYER:04d}") -> dict[str, pl.DataFrame]:
        frames = jobs.measure_shard(job, shard)
        return {name: BY_NAME[name].check(frame) for name, frame in frames.items()}


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    kind: Kind = request.param
    folder = build(tmp_path_factory.mktemp("projections") / kind, kind)
    edit_tensors(folder, lambda tensors: integers_(tensors, kind))
    return Case(kind, open_transformer(find(str(folder))), load(folder), read(folder, kind))


def expected(case: Case, neuron: int, ids: np.ndarray, k: int) -> dict[str, Any]:
    """DEFINITIONS, 'Projection to the vocabulary', one neuron at a time."""
    scores = case.scores(neuron, ids)
    pairs = list(zip(scores, ids.tolist(), strict=True))
    top = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:k]
    bottom = sorted(pairs)[:k]
    mean = sum(scores) / len(scores)
    sd = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    constant = min(scores) == max(scores)

    def standardized(power: int) -> float | None:
        return None if constant else sum(((score - mean) / sd) ** power for score in scores) / len(scores)

    fourth = standardized(4)
    return {
        "value_norm": sum(x * x for x in case.weights.values[neuron]) ** 0.5,
        "score_mean": mean,
        "score_sd": sd,
        "score_skewness": standardized(3),
        "score_kurtosis": None if fourth is None else fourth - 3,
        "score_negative_share": sum(score < 0 for score in scores) / len(scores),
        "top_token_ids": [token for _, token in top],
        "top_scores": [score for score, _ in top],
        "bottom_token_ids": [token for _, token in bottom],
        "bottom_scores": [score for score, _ in bottom],
        "preactivation_bound": bound(case, neuron),
    }


def bound(case: Case, neuron: int) -> float | None:
    weights = case.weights
    if weights.norm is None:
        return None
    gamma, beta = weights.norm
    key = weights.keys[neuron]
    product = gamma * key
    # An RMS norm takes off no mean.
    length = sum((product - (0 if case.kind == "llama" else product.mean())) ** 2) ** 0.5
    return float(length * len(key) ** 0.5 + beta @ key + weights.bias[neuron])


# Scores are exact. Moments are sums of float32 numbers around a shift, each cell of at most 64: see test_moments.py.
TOLERANCES = {"score_mean": 1e-6, "score_sd": 1e-6, "score_skewness": 1e-5, "score_kurtosis": 1e-4}


def check_row(row: dict[str, Any], wanted: dict[str, Any]) -> None:
    scale = {"score_mean": wanted["score_sd"] or 1.0, "score_sd": wanted["score_sd"] or 1.0}
    for name, value in wanted.items():
        if value is None:
            assert row[name] is None, name
        elif name in TOLERANCES:
            assert row[name] == pytest.approx(value, abs=TOLERANCES[name] * scale.get(name, 1.0)), name
        elif name in {"value_norm", "preactivation_bound", "score_negative_share"}:
            assert row[name] == pytest.approx(value, rel=1e-12), name
        else:
            assert row[name] == value, name


def test_every_neuron_is_that_of_the_loops(case: Case) -> None:
    """Masked rows score highest of all and are in no list, no moment and no count; equal rows tie and go by id."""
    frame = case.measure(case.job())["projections"]
    assert frame["neuron"].to_list() == list(range(128))
    assert frame["layer"].unique().to_list() == [LAYER]
    for row in frame.to_dicts():
        check_row(row, expected(case, row["neuron"], case.tokenizer.ids, 50))


@pytest.mark.parametrize("step", [2, 5])
def test_ids_that_the_tokenizer_lacks_are_masked_wherever_they_lie(case: Case, step: int) -> None:
    """With a fifth of the ids half of the vocabulary is 39 tokens: fewer than the 50 asked for."""
    ids = case.tokenizer.ids[1::step].copy()
    masked = replace(case, tokenizer=replace(case.tokenizer, ids=ids))
    frame = masked.measure(masked.job())["projections"]
    k = min(50, len(ids) // 2)
    assert frame["top_token_ids"].list.len().unique().to_list() == [k]
    for row in frame.filter(pl.col("neuron") < 20).to_dicts():
        check_row(row, expected(masked, row["neuron"], ids, k))


def test_planted_neurons(case: Case) -> None:
    frame = case.measure(case.job())["projections"]
    planted, scaled, zero = (frame.row(neuron, named=True) for neuron in (PLANTED, SCALED, ZERO))
    assert planted["top_token_ids"][0] == 50
    assert scaled["top_token_ids"] == planted["top_token_ids"]
    assert scaled["top_scores"] == [score * 2.0**-20 for score in planted["top_scores"]]
    assert scaled["score_kurtosis"] == planted["score_kurtosis"]
    assert zero["top_token_ids"] == zero["bottom_token_ids"] == case.tokenizer.ids[:50].tolist()
    assert (zero["value_norm"], zero["score_sd"], zero["score_skewness"]) == (0, 0, None)


def test_postings_repeat_both_lists_with_z_scores(case: Case) -> None:
    frames = case.measure(case.job(k=7))
    postings = frames["postings"]
    assert postings.height == 128 * 2 * 7
    for row in frames["projections"].to_dicts():
        for side, ids, scores in (
            ("promoted", "top_token_ids", "top_scores"),
            ("suppressed", "bottom_token_ids", "bottom_scores"),
        ):
            mine = postings.filter(neuron=row["neuron"], side=side, layer=LAYER).sort("rank")
            assert mine["token_id"].to_list() == row[ids]
            assert mine["score"].to_list() == row[scores]
            assert mine["rank"].to_list() == [1, 2, 3, 4, 5, 6, 7]
            z = [(score - row["score_mean"]) / row["score_sd"] if row["score_sd"] else 0.0 for score in row[scores]]
            # Stored as float32.
            assert mine["z_score"].to_list() == pytest.approx(z, rel=1e-6, abs=1e-6)


def test_histograms_count_every_token_once(case: Case) -> None:
    """Masked rows score highest and lowest of all: counted, they would lie in the open bins."""
    frames = case.measure(case.job())
    ids = case.tokenizer.ids
    counts = dict(frames["logit_histograms"].select("neuron", "counts").iter_rows())
    assert list(counts) == list(range(128))
    for neuron in (ZERO, PLANTED, SCALED, 0, 77):
        scores = case.scores(neuron, ids)
        mean = sum(scores) / len(scores)
        sd = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
        assert sum(counts[neuron]) == len(ids)
        for number in range(65):
            # An edge moved by what float32 may be off: see test_histograms.py.
            edge, below = number / 4 - 8, sum(counts[neuron][: number + 1])
            z = [(score - mean) / sd if sd else 0.0 for score in scores]
            assert sum(one < edge - 1e-4 for one in z) <= below <= sum(one < edge + 1e-4 * (sd > 0) for one in z)
    assert counts[PLANTED] == counts[SCALED]
    assert counts[ZERO][33] == len(ids)


def test_no_neighbours_are_rows_of_nothing(case: Case) -> None:
    request = IngestRequest(neighbours=0)
    job = ProjectionsJob.from_options(case.job().context, request)
    assert job.parameters() == {"k": 50, "neighbours": 0}
    assert ProjectionsJob.from_parameters(job.context, job.parameters()) == job
    frames = case.measure(job, "tokens")
    assert frames["token_neighbours"].is_empty()
    assert frames["token_indicators"].height == len(case.tokenizer.ids)


def test_token_neighbours(case: Case) -> None:
    frame = case.measure(case.job(neighbours=12), "tokens")["token_neighbours"]
    ids = case.tokenizer.ids
    rows = case.weights.unembedding[ids]
    directions = rows / np.linalg.norm(rows, axis=1)[:, None]
    assert frame.height == len(ids) * 12
    for token in (10, 25, 50, 300):
        mine = frame.filter(token_id=token).sort("rank")
        cosines = {int(other): float(directions[token] @ directions[other]) for other in ids if other != token}
        # Float32 sums of 32 products of unit vectors are within 32 * 2^-24 of exact ones.
        assert mine["cosine"].to_list() == pytest.approx(sorted(cosines.values(), reverse=True)[:12], abs=2e-6)
        assert [cosines[other] for other in mine["neighbour_id"]] == pytest.approx(mine["cosine"].to_list(), abs=2e-6)
        assert mine["neighbour_id"].n_unique() == 12
    # Tokens 10 and 20 to 29 have one and the same row.
    twins = frame.filter(token_id=25).filter(pl.col("cosine") > 1 - 1e-6)["neighbour_id"].to_list()
    assert sorted(twins) == [10, *(twin for twin in range(20, 30) if twin != 25)]


def test_the_bound_holds_for_every_input_and_is_reached(case: Case) -> None:
    """No normalized vector lifts a neuron above its bound; the worst one reaches it."""
    frame = case.measure(case.job())["projections"]
    if case.weights.norm is None:
        assert frame["preactivation_bound"].null_count() == frame.height
        return
    weights = case.weights
    assert weights.norm is not None
    gamma, beta = weights.norm
    streams = np.random.default_rng(0).normal(size=(200, len(gamma)))
    streams = np.concatenate([streams, (gamma * weights.keys)[:20]])
    # A layer norm takes off the mean; both divide by the root of what is left in the mean square.
    if case.kind != "llama":
        streams = streams - streams.mean(1, keepdims=True)
    normalized = streams / np.sqrt((streams**2).mean(1, keepdims=True))
    reached = (normalized * gamma + beta) @ weights.keys.T + weights.bias
    bounds = frame["preactivation_bound"].to_numpy()
    assert (reached <= bounds + 1e-9).all()
    assert reached.max(0)[:20] == pytest.approx(bounds[:20], rel=1e-9)


def test_layers_may_be_measured_in_any_order_and_again(case: Case) -> None:
    """A resumed run measures some layers only; each gives the bits of a whole run."""
    whole = case.job()
    frames = {shard: case.measure(whole, shard) for shard in whole.shards()}
    assert list(frames) == ["tokens", "layer-0000", "layer-0001"]
    for shard in ("layer-0001", "layer-0000", "layer-0001"):
        again = case.measure(case.job(), shard)
        for name, frame in again.items():
            assert frame.equals(frames[shard][name])


def test_shards_name_their_tables(case: Case) -> None:
    job = case.job()
    for shard, tables in job.shards().items():
        assert set(case.measure(job, shard)) == set(tables)
    assert job.parameters() == {"k": 50, "neighbours": 20}
