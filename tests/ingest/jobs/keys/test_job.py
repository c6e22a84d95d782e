"""What keys of small models read, against loops over every token of the weight file, and not through our view."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.keys.job import KeysJob
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.models.units import FfnNeurons
from neurothek.ingest.numerics.random_stream import Purpose
from tests.support import jobs, reads
from tests.support.anatomy import Anatomy, loaded
from tests.support.models import Kind, build, edit_tensors

KINDS: tuple[Kind, ...] = tuple(reads.NAMES)
LAYER, D_FFN, K, N_RANDOM = 1, 6, 9, 40
ZERO, PLANTED, TOKEN = 2, 4, 77
"""A neuron whose readers are zero, and one whose readers are a token's embedding, over the gain."""


@dataclass(frozen=True)
class Case:
    kind: Kind
    folder: Path
    transformer: Transformer
    tokenizer: Tokenizer
    frames: dict[str, pl.DataFrame]

    @property
    def ids(self) -> list[int]:
        numbers: list[int] = self.tokenizer.ids.tolist()
        return numbers


def planted_(tensors: dict[str, torch.Tensor], kind: Kind) -> None:
    """Rows without a token score highest and lowest of all; one neuron reads nothing, another one token."""
    table = tensors[f"{reads.NAMES[kind].embedding}.weight"]
    table[-8:] = 1000 * torch.sign(torch.randn(8, table.shape[1], generator=torch.Generator().manual_seed(1)))
    gain = reads.gain(tensors, kind, LAYER)
    embedding = 3 * table[TOKEN]
    table[TOKEN] = embedding
    if kind == "opt350":
        embedding = tensors["model.decoder.project_in.weight"] @ embedding
    for reader in reads.readers_of(kind):
        rows = reads.own_rows(tensors[reads.weight_name(kind, LAYER, reader)], kind, reader)
        rows[ZERO] = 0
        rows[PLANTED] = embedding if gain is None else embedding / gain


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    kind: Kind = request.param
    folder = build(tmp_path_factory.mktemp("keys") / kind, kind, d_ffn=D_FFN)
    edit_tensors(folder, lambda tensors: planted_(tensors, kind))
    transformer, tokenizer = open_transformer(find(str(folder))), load(folder)
    job = KeysJob(JobContext(transformer, tokenizer), k=K, n_random=N_RANDOM)
    return Case(kind, folder, transformer, tokenizer, jobs.measure_all(job))


def check(row: dict[str, object], scores: list[float], ids: list[int]) -> None:
    """Lists and moments of one vector, by the definitions."""
    pairs = list(zip(scores, ids, strict=True))
    top = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))[:K]
    bottom = sorted(pairs, key=lambda pair: (pair[0], pair[1]))[:K]
    # Scores are float32 sums of at most 32 products: relative to the largest term a few units of 1e-7 each.
    tolerance = 1e-5 * max(1e-9, *map(abs, scores))
    for name, listed in (("top", top), ("bottom", bottom)):
        assert row[f"{name}_token_ids"] == [token for _, token in listed], name
        assert row[f"{name}_scores"] == pytest.approx([score for score, _ in listed], abs=tolerance), name
    mean = sum(scores) / len(scores)
    sd = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    assert row["score_mean"] == pytest.approx(mean, abs=tolerance)
    assert row["score_sd"] == pytest.approx(sd, abs=tolerance)
    assert row["score_negative_share"] == sum(score < 0 for score in scores) / len(scores)


def test_scores_are_those_of_embeddings_times_the_gain(case: Case) -> None:
    frame = case.frames["key_projections"].filter(layer=LAYER)
    assert frame.select("neuron", "reader").rows() == [
        (neuron, reader) for neuron in range(D_FFN) for reader in reads.readers_of(case.kind)
    ]
    for reader in reads.readers_of(case.kind):
        parts = reads.read_file(case.folder, case.kind, LAYER, reader)
        for row in frame.filter(reader=reader).to_dicts():
            key = parts.rows[row["neuron"]]
            check(row, parts.scores(key, case.ids), case.ids)
            norm = sum((g * k) ** 2 for g, k in zip(parts.gain, key, strict=True)) ** 0.5
            assert row["reading_norm"] == pytest.approx(norm, rel=1e-6)


def test_a_key_that_is_one_tokens_direction_reads_it_first(case: Case) -> None:
    for reader in reads.readers_of(case.kind):
        (row,) = case.frames["key_projections"].filter(layer=LAYER, neuron=PLANTED, reader=reader).to_dicts()
        assert row["top_token_ids"][0] == TOKEN
        (zero,) = case.frames["key_projections"].filter(layer=LAYER, neuron=ZERO, reader=reader).to_dicts()
        assert (zero["score_sd"], zero["score_skewness"]) == (0, None)
        assert zero["top_token_ids"] == case.ids[:K]


def cosine(one: list[float], other: list[float]) -> float | None:
    norms = sum(x * x for x in one) ** 0.5 * sum(x * x for x in other) ** 0.5
    return sum(x * y for x, y in zip(one, other, strict=True)) / norms if norms else None


def test_cosines_of_what_is_read_and_written(case: Case) -> None:
    values = Anatomy(loaded(case.folder)).value_rows(LAYER)
    read = {}
    for reader in reads.readers_of(case.kind):
        parts = reads.read_file(case.folder, case.kind, LAYER, reader)
        read[reader] = [[g * k for g, k in zip(parts.gain, key, strict=True)] for key in parts.rows]
    rows = case.frames["input_output"].filter(layer=LAYER).sort("neuron").to_dicts()
    assert [row["neuron"] for row in rows] == list(range(D_FFN))
    for row in rows:
        written = values[row["neuron"]].tolist()
        expected = dict.fromkeys(("key_value", "up_value", "gate_value", "gate_up"))
        for reader, vectors in read.items():
            expected[f"{reader}_value"] = cosine(vectors[row["neuron"]], written)
        if "gate" in read:
            expected["gate_up"] = cosine(read["gate"][row["neuron"]], read["up"][row["neuron"]])
        for name, value in expected.items():
            assert row[name] == (None if value is None else pytest.approx(value, abs=1e-6)), name
        assert (row["neuron"] == ZERO) == all(row[name] is None for name in expected)
    drawn = case.frames["input_output_controls"].filter(layer=LAYER)
    assert drawn.height == N_RANDOM
    name = "key_value" if "key" in read else "up_value"
    # Of random vectors of 32 coordinates the standard deviation is about 0.18.
    assert 0.05 < np.std(drawn[name].to_list()) < 0.4


def test_postings_are_the_lists_with_z_scores(case: Case) -> None:
    """Of ups both ends, of the others the tokens of the highest scores alone."""
    expected = []
    for row in case.frames["key_projections"].to_dicts():
        sides = {"positive": "top", "negative": "bottom"} if row["reader"] == "up" else {"positive": "top"}
        for pole, side in sides.items():
            listed = zip(row[f"{side}_token_ids"], row[f"{side}_scores"], strict=True)
            for rank, (token, score) in enumerate(listed, start=1):
                z = (score - row["score_mean"]) / row["score_sd"] if row["score_sd"] else 0.0
                place = (row["layer"], row["neuron"], row["reader"], pole, rank)
                expected.append((*place, token, score, pytest.approx(z, abs=1e-4)))
    columns = ("layer", "neuron", "reader", "pole", "rank", "token_id", "score", "z_score")
    stored = case.frames["key_postings"].select(columns).rows()
    assert sorted(stored) == sorted(expected, key=lambda row: row[:6])


def test_random_keys_are_drawn_like_those_of_the_layer(case: Case) -> None:
    """Coordinates have the mean and spread of the layer's; those of ups, whose sign is a convention, the mean 0."""
    readers = FfnNeurons(case.transformer).readings(LAYER)
    assert tuple(readers) == reads.readers_of(case.kind)
    for reader, rows in readers.items():
        purpose = Purpose.RANDOM_UPS if reader == "up" else Purpose.RANDOM_KEYS
        many = random_vectors(rows, n=4000, seed=0, layer=LAYER, either_sign=reader == "up", purpose=purpose)
        exact = rows.double()
        centre = torch.zeros_like(exact[0]) if reader == "up" else exact.mean(0)
        spread = (exact - centre).square().mean(0).sqrt()
        # Of 4,000 draws the mean errs by sd / 63, and the spread by sd / 89: five times that.
        assert bool(((many.double().mean(0) - centre).abs() <= 5 * spread / 63).all())
        assert bool(((many.double().std(0) - spread).abs() <= 5 * spread / 89).all())
        frame = case.frames["key_controls"].filter(layer=LAYER, reader=reader)
        assert frame["control_id"].to_list() == list(range(N_RANDOM))
        parts = reads.read_file(case.folder, case.kind, LAYER, reader)
        bare = reads.Reader(parts.embedding, [1.0] * len(parts.gain), ())
        for row in frame.head(3).to_dicts():
            # The gain is in what they are drawn like.
            check(row, bare.scores(many[row["control_id"]].double().tolist(), case.ids), case.ids)


def test_random_keys_are_no_random_value_vectors() -> None:
    rows = torch.randn(30, 8, generator=torch.Generator().manual_seed(3))
    draws = [
        random_vectors(rows, n=2, seed=0, layer=1, purpose=purpose).numpy()
        for purpose in (Purpose.RANDOM_VECTORS, Purpose.RANDOM_KEYS, Purpose.RANDOM_UPS)
    ]
    assert not any(np.allclose(draws[one], draws[other]) for one, other in ((0, 1), (0, 2), (1, 2)))


def test_an_embedding_is_what_enters_the_first_block_but_for_positions(tmp_path: Path) -> None:
    """Of a model without positions in its embedding it is the stream itself, scaled as Gemma and Granite scale it."""
    kinds: tuple[Kind, ...] = ("llama", "granite", "gemma2", "gemma3")
    for kind in kinds:
        transformer = open_transformer(find(str(build(tmp_path / kind, kind, d_ffn=D_FFN))))
        ids = torch.arange(50)[None]
        assert torch.allclose(transformer.embed(ids)[0], transformer.embedding()[:50], rtol=1e-6, atol=0)
