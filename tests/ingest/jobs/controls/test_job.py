"""The job `controls` against loops over every vector and token, written from the definitions."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.prompts import cut_prompts
from neurothek.ingest.jobs.controls.coherence import judged
from neurothek.ingest.jobs.controls.job import ControlsJob, ffn_updates, mean_overlap, places
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.request import IngestRequest, TextRequest
from tests.support import ingests, jobs, models
from tests.support.models import Kind
from tests.support.plain import PlainModel

N_LAYERS, D_FFN, D_MODEL, N_RANDOM, N_UPDATES = 2, 12, 16, 40, 6
FLAT = 5
"""A neuron of layer 0 without a direction."""


@dataclass(frozen=True)
class Measured:
    kind: Kind
    folder: Path
    transformer: Transformer
    tokenizer: Tokenizer
    corpus: Corpus
    job: ControlsJob
    frames: list[dict[str, Any]]


def flatten(tensors: dict[str, torch.Tensor]) -> None:
    for name, tensor in tensors.items():
        if name.endswith(("layers.0.fc2.weight", "layers.0.mlp.dense_4h_to_h.weight", "layers.0.mlp.down_proj.weight")):
            tensor[:, FLAT] *= 1e-9
        if name.endswith("h.0.mlp.c_proj.weight"):
            tensor[FLAT] *= 1e-9


def random_text(tokenizer: Tokenizer) -> Corpus:
    """Ids of which the higher ones are rarer: about half of them come ten times."""
    random = np.random.default_rng(4)
    n_sequences, length = 60, 64
    ids = (tokenizer.ids.max() * random.random(n_sequences * length) ** 2).astype(np.int32)
    if tokenizer.bos_id is not None:
        ids[::length] = tokenizer.bos_id
    return Corpus(
        name="random",
        sha256="",
        text_sha256="",
        tokenizer_sha256=tokenizer.sha256,
        sequence_length=length,
        has_bos=tokenizer.bos_id is not None,
        domains=("one", "two"),
        tokens=ids,
        offsets=np.arange(n_sequences + 1, dtype=np.int64) * length,
        domain_of=(np.arange(n_sequences) % 2).astype(np.int16),
        starts_document=np.ones(n_sequences, dtype=np.bool_),
        recipe="{}",
    )


@pytest.fixture(scope="module", params=(*models.CAUSAL_KINDS, "gemma3", "granite"))
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Measured:
    kind: Kind = request.param
    folder = tmp_path_factory.mktemp(kind)
    model = models.build(folder / "m", kind, n_layers=N_LAYERS, d_ffn=D_FFN, d_model=D_MODEL, n_heads=2, seed=8)
    models.edit_tensors(model, flatten)
    transformer, tokenizer = open_transformer(find(str(model))), load(model)
    corpus = random_text(tokenizer)
    context = JobContext(transformer, tokenizer, corpus, batch_tokens=1)
    job = ControlsJob(context, n_random=N_RANDOM, n_updates=N_UPDATES)
    with job.open(jobs.NO_FOLDER, lambda table: pl.LazyFrame()) as measure:
        frames = [{name: frame.to_dicts() for name, frame in measure(shard).items()} for shard in job.shards()]
    return Measured(kind, model, transformer, tokenizer, corpus, job, frames)


def plain_coherence(measured: Measured, vector: np.ndarray) -> float:
    """Mean cosine over all pairs of the 30 best tokens that are not special and come ten times, or nan."""
    if np.linalg.norm(vector) < 1e-6:
        return math.nan
    E = measured.transformer.unembedding().double().numpy()
    counts = np.zeros(len(E), dtype=int)
    first = 1 if measured.corpus.has_bos else 0
    for number in range(measured.corpus.n_sequences):
        for token in measured.corpus.sequence(number)[first:].tolist():
            counts[token] += 1
    masked = set(range(len(E))) - set(measured.tokenizer.ids.tolist())
    known = [t for t in range(len(E)) if counts[t] >= 10 and t not in measured.tokenizer.special_ids | masked]
    assert len(known) > 35
    best = sorted(known, key=lambda token: (-(E[token] @ vector), token))[:30]
    centred = E[best] - E[measured.tokenizer.ids].mean(0)
    units = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    pairs = [float(units[i] @ units[j]) for i in range(30) for j in range(30) if i != j]
    return math.fsum(pairs) / len(pairs)


def plain_updates(measured: Measured, layer: int) -> list[np.ndarray]:
    """Outputs of the layer's FFN as transformers' own model has them, one example at a time and unpadded."""
    body = PlainModel(measured.folder).anatomy
    context = measured.transformer.shape.context_length
    drawn = cut_prompts(measured.corpus, measured.tokenizer, context_length=context, seed=0, n_prompts=2_000).rows
    chosen = [drawn[place].tokens for place in places(len(drawn), layer=layer, n=N_UPDATES, seed=0)]
    seen = [body.watch(torch.from_numpy(tokens).long()[None])[layer]["values out"] for tokens in chosen]
    outputs = [output.reshape(-1, output.shape[-1])[-1].double().numpy() for output in seen]
    norm = body.written_norm(layer)
    return [body.written_scale * (output if norm is None else norm(output)) for output in outputs]


def test_coherence_equals_a_plain_loop(measured: Measured) -> None:
    for layer in range(N_LAYERS):
        values = measured.transformer.value_vectors(layer)
        drawn = random_vectors(values, n=N_RANDOM, seed=0, layer=layer, either_sign=measured.transformer.shape.is_gated)
        null = np.array([plain_coherence(measured, vector) for vector in drawn.double().numpy()])
        for row, vector in zip(measured.frames[layer]["coherences"], values.double().numpy(), strict=True):
            # What a neuron promotes at coefficients below 0 is that of the opposite vector.
            poles = (("", 1), ("negative_", -1))
            for at, sign in poles:
                names = [f"{at}{name}" for name in ("coherence", "coherence_z", "coherence_percentile")]
                if (layer, row["neuron"]) == (0, FLAT) or (sign < 0 and not measured.transformer.shape.is_gated):
                    assert [row[name] for name in names] == [None, None, None]
                    continue
                expected = plain_coherence(measured, sign * vector)
                # Thirty float32 vectors of length 1 are added.
                assert row[names[0]] == pytest.approx(expected, abs=1e-6)
                assert row[names[1]] == pytest.approx((expected - null.mean()) / null.std(), abs=1e-3)
                below = sum(
                    1.0 if one < expected - 1e-6 else 0.5 if one < expected + 1e-6 else 0.0 for one in null.tolist()
                )
                assert row[names[2]] == pytest.approx(100 * below / N_RANDOM, abs=1e-9)
        controls = measured.frames[layer]["control_coherences"]
        drawn_only = [row for row in controls if row["kind"] == "random"]
        assert [row["control_id"] for row in drawn_only] == list(range(N_RANDOM))
        assert [row["coherence"] for row in drawn_only] == pytest.approx(null.tolist(), abs=1e-6)
        updates = [row for row in controls if row["kind"] == "ffn_update"]
        said = [plain_coherence(measured, update) for update in plain_updates(measured, layer)]
        assert [row["control_id"] for row in updates] == list(range(N_UPDATES))
        # The update itself is a float32 sum over the layer's neurons.
        assert [row["coherence"] for row in updates] == pytest.approx(said, abs=1e-4)
        above = [(one - null.mean()) / null.std() for one in said]
        assert [row["coherence_z"] for row in updates] == pytest.approx(above, abs=1e-2)


def test_norm_overlap_equals_a_plain_loop(measured: Measured) -> None:
    E = measured.transformer.unembedding().double().numpy()[measured.tokenizer.ids]
    norm = PlainModel(measured.folder).anatomy.final_norm()

    def top(vector: np.ndarray) -> set[int]:
        return set(np.argsort(-(E @ vector), kind="stable")[:30].tolist())

    for layer in range(N_LAYERS):
        values = measured.transformer.value_vectors(layer)
        drawn = random_vectors(values, n=N_RANDOM, seed=0, layer=layer, either_sign=measured.transformer.shape.is_gated)
        by_kind = {row["kind"]: row for row in measured.frames[layer]["norm_overlaps"]}
        assert by_kind.keys() == {"value", "random"}
        for kind, vectors in (("value", values), ("random", drawn)):
            row = by_kind[kind]
            assert row["n"] == len(vectors)
            assert (row["norm_overlap"] is None) == (norm is None) == (measured.kind == "opt350")
            if norm is None:
                continue
            for name, beta in (("norm_overlap", norm.beta), ("norm_overlap_without_bias", 0 * norm.beta)):
                found = []
                exact = vectors.double().numpy()
                is_either = kind == "value" and measured.transformer.shape.is_gated
                for vector in [*exact, *(-exact if is_either else ())]:
                    raw, normed = top(vector), top(replace(norm, beta=beta)(vector))
                    found.append(len(raw & normed) / len(raw | normed))
                # Float32 scores may swap a 30th and a 31st token of one vector.
                assert row[name] == pytest.approx(math.fsum(found) / len(found), abs=0.07 / len(found) + 1e-9)


def test_lists_of_controls_equal_a_plain_sort(measured: Measured) -> None:
    ids = measured.tokenizer.ids
    E = measured.transformer.unembedding().double().numpy()[ids]
    for layer in range(N_LAYERS):
        values = measured.transformer.value_vectors(layer)
        either_sign = measured.transformer.shape.is_gated
        drawn = random_vectors(values, n=N_RANDOM, seed=0, layer=layer, either_sign=either_sign).double().numpy()
        rows = measured.frames[layer]["controls"]
        assert [row["kind"] for row in rows] == ["random"] * N_RANDOM + ["ffn_update"] * N_UPDATES
        for row, vector in zip(rows, [*drawn, *plain_updates(measured, layer)], strict=True):
            scores = E @ vector
            assert row["value_norm"] == pytest.approx(np.linalg.norm(vector), rel=1e-5)
            assert row["score_mean"] == pytest.approx(scores.mean(), abs=1e-5)
            assert row["score_sd"] == pytest.approx(scores.std(), rel=1e-4)
            for side, sign in (("top", -1), ("bottom", 1)):
                best = np.argsort(sign * scores, kind="stable")[:50]
                assert row[f"{side}_scores"] == pytest.approx(scores[best].tolist(), abs=1e-4)
                # Updates are float32 sums: neighbours in a list may change places.
                assert row["kind"] == "ffn_update" or row[f"{side}_token_ids"] == ids[best].tolist()
                assert len(set(row[f"{side}_token_ids"]) & set(ids[best].tolist())) >= 49


def test_every_layer_has_its_own_examples_in_its_updates(measured: Measured) -> None:
    chosen = [places(500, layer=layer, n=10, seed=0) for layer in range(3)]
    assert all(len(set(some)) == 10 and some == sorted(some) for some in chosen)
    assert chosen[0] != chosen[1] != chosen[2] != chosen[0]
    assert places(500, layer=0, n=10, seed=1) != chosen[0] == places(500, layer=0, n=10, seed=0)
    assert places(3, layer=0, n=10, seed=0) == [0, 1, 2]
    context = measured.transformer.shape.context_length
    drawn = cut_prompts(measured.corpus, measured.tokenizer, context_length=context, seed=0, n_prompts=50).rows
    one_by_one = ffn_updates(measured.transformer, drawn, n=5, seed=0, batch_tokens=1)
    together = ffn_updates(measured.transformer, drawn, n=5, seed=0, batch_tokens=10_000)
    for alone, batched in zip(one_by_one, together, strict=True):
        assert torch.allclose(alone, batched, atol=1e-5)
    assert [len(some) for some in ffn_updates(measured.transformer, [], n=5, seed=0, batch_tokens=8)] == [0, 0]


def test_random_vectors_have_the_layers_spread() -> None:
    generator = torch.Generator().manual_seed(2)
    values = torch.randn(50, 6, generator=generator) * torch.tensor([0.0, 0.1, 1, 2, 3, 4]) + torch.arange(6)
    drawn = random_vectors(values, n=20_000, seed=3, layer=1)
    # The mean of 20,000 draws of spread 4 is off by 0.03, five times that is never seen.
    assert (drawn.mean(0) - values.mean(0)).abs().max() < 0.15
    assert (drawn.std(0) - values.std(0, correction=0)).abs().max() < 0.15
    assert (drawn[:, 0] == 0).all()
    assert np.abs(np.corrcoef(drawn[:, 1:].T.numpy()) - np.eye(5)).max() < 0.05
    assert torch.equal(random_vectors(values, n=20, seed=3, layer=1), drawn[:20])
    assert not torch.equal(random_vectors(values, n=20, seed=3, layer=2), drawn[:20])
    assert not torch.equal(random_vectors(values, n=20, seed=4, layer=1), drawn[:20])


def test_planted_coherence_stands_out(tmp_path: Path) -> None:
    """One neuron promotes tokens whose embeddings are nearly one vector; the others promote anything."""

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        E = tensors["model.decoder.embed_tokens.weight"]
        direction = torch.nn.functional.normalize(
            torch.randn(D_MODEL, generator=torch.Generator().manual_seed(1)), dim=0
        )
        E[60:140:2] += 0.8 * direction
        tensors["model.decoder.layers.1.fc2.weight"][:, 3] = direction

    model = models.build(tmp_path / "m", "opt", n_layers=2, d_ffn=40, d_model=D_MODEL, n_heads=2)
    models.edit_tensors(model, plant)
    transformer, tokenizer = open_transformer(find(str(model))), load(model)
    corpus = random_text(tokenizer)
    job = ControlsJob(JobContext(transformer, tokenizer, corpus, batch_tokens=1))
    frames = jobs.measure_shard(job, "layer-0001")
    rows = frames["coherences"].sort("coherence_z", descending=True)
    assert rows["neuron"][0] == 3
    assert rows["coherence_percentile"][0] > 99


def test_ties_count_half_and_no_spread_gives_no_z() -> None:
    found = judged(np.array([0.5, 1.0, 2.0, np.nan]), np.array([0.5, 1.0, 1.0, 1.5]))
    assert found.percentile.tolist()[:3] == [12.5, 50.0, 100.0]
    assert np.isnan(found.percentile[3])
    flat = judged(np.array([0.5, 1.0]), np.array([0.5, 0.5]))
    assert np.isnan(flat.z).all()
    assert flat.percentile.tolist() == [50.0, 100.0]
    nothing = judged(np.array([0.5]), np.array([np.nan]))
    assert np.isnan(nothing.z).all()
    assert np.isnan(nothing.percentile).all()


def test_overlap_of_sets() -> None:
    one = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4]])
    other = torch.tensor([[4, 3, 2, 1], [7, 3, 9, 1]])
    assert mean_overlap(one, other) == (1 + 2 / 6) / 2


def test_a_text_without_frequent_tokens_has_no_coherence(tmp_path: Path) -> None:
    model = models.build(tmp_path / "m", "gpt2", n_layers=2, d_ffn=12, d_model=16, n_heads=2)
    (tmp_path / "short.txt").write_text("the school is near the river")
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    text = TextRequest(corpora=(f"short={tmp_path / 'short.txt'}",))
    report = ingests.measure(warehouse, model, IngestRequest(jobs=("controls",), text=text))
    assert report.rows == {"controls": 1002, "norm_overlaps": 4, "coherences": 24, "control_coherences": 1002}
    assert ingests.table(warehouse, "coherences")["coherence"].null_count() == 24
    # One sentence is one update a layer.
    counts = dict(ingests.table(warehouse, "controls")["kind"].value_counts().iter_rows())
    assert counts == {"random": 1000, "ffn_update": 2}
    again = ingests.measure(warehouse, model, IngestRequest(jobs=("controls",), text=text))
    assert again.up_to_date == ("controls",)


def test_where_every_vector_has_the_same_tokens_none_is_more_coherent(tmp_path: Path) -> None:
    model = models.build(tmp_path / "m", "gpt2", n_layers=2, d_ffn=12, d_model=16, n_heads=2)
    transformer, tokenizer = open_transformer(find(str(model))), load(model)
    # Fewer tokens come ten times than a vector has compared, so every vector has all of them, in orders of its own.
    corpus = replace(random_text(tokenizer), tokens=np.arange(60 * 64, dtype=np.int32) % 25 + 20)
    job = ControlsJob(JobContext(transformer, tokenizer, corpus, batch_tokens=1), n_random=60)
    frames = jobs.measure_shard(job, "layer-0001")
    for name in ("coherences", "control_coherences"):
        assert frames[name]["coherence"].n_unique() == 1
        assert frames[name]["coherence_z"].null_count() == frames[name].height
        assert set(frames[name]["coherence_percentile"]) == {50.0}


def test_equal_coherences_have_no_spread_whatever_their_mean_rounds_to() -> None:
    alike = np.full(500, 0.3)
    assert alike.std() > 0
    assert np.isnan(judged(alike, alike).z).all()
