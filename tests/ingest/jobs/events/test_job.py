"""Examples, streams, sub-updates and events against plain loops over transformers' own forward pass, and their laws."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.catalog.problems import Invalid
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.prompts import cut_prompts
from neurothek.ingest.corpora.sentences import corpus_documents, sentences
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.jobs.events.job import EventsJob
from neurothek.ingest.jobs.events.readings import events
from neurothek.ingest.jobs.events.sub_updates import Chosen, contributions, dominant, random_others, shares
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support import events as plain
from tests.support import jobs
from tests.support.events import PlainStreams
from tests.support.models import CAUSAL_KINDS, build

N_LAYERS = 3
N_EXAMPLES, N_EVENTS, SHARD = 40, 24, 16
BATCH_TOKENS = 120

SENTENCES = (
    "The school is near the river. The old school has a new roof! Is it near? One two three four five six seven.",
    "What is 12 + 30? It is 42. School begins on monday. SCHOOL ends on friday, and again one two three.",
    "And the river is near the old roof. A new school has a river. Ten nine eight seven six five four.",
)

# Streams are float32 of a batch of another shape than the reference's: absolute and relative, at lengths of about 10.
TOLERANCE = 2e-4


@dataclass(frozen=True)
class Measured:
    """One model's examples, measured and as the reference sees them."""

    reference: PlainStreams
    transformer: Transformer
    tokenizer: Tokenizer
    corpus: Corpus
    job: EventsJob
    tables: Mapping[str, pl.DataFrame]

    def rows(self, table: str, **where: object) -> list[dict[str, object]]:
        return self.tables[table].filter(**where).to_dicts()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    for number in range(12):
        chosen = " ".join(SENTENCES[(number + turn) % 3] for turn in range(1 + number % 3))
        (folder / f"{number:02d}.txt").write_text(chosen)
    return folder


def prepare(text: Path, tokenizer: Tokenizer, *, packing: bool = True) -> Corpus:
    recipe = corpora.recipe([Source("prose", str(text))], sequence_length=64, packing=packing)
    return corpora.prepare(recipe, tokenizer)


@pytest.fixture(scope="module", params=(*CAUSAL_KINDS, "gemma2", "olmo2", "granite"))
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, text: Path) -> Measured:
    folder = build(tmp_path_factory.mktemp("models") / request.param, request.param, n_layers=N_LAYERS)
    transformer, tokenizer = open_transformer(find(str(folder))), tokenization.load(folder)
    corpus = prepare(text, tokenizer)
    context = JobContext(transformer, tokenizer, corpus, batch_tokens=BATCH_TOKENS)
    job = EventsJob(context, n_examples=N_EXAMPLES, n_event_examples=N_EVENTS, seed=3, shard_examples=SHARD)
    tables = jobs.measure_all(job)
    return Measured(PlainStreams(folder), transformer, tokenizer, corpus, job, tables)


def test_streams_are_those_of_the_definition(measured: Measured) -> None:
    reference = measured.reference
    for example in measured.rows("examples"):
        layers = reference.layers(example["tokens"])  # type: ignore[arg-type]
        final = int(np.argmax(reference.logits(layers[-1].post)))
        for number, layer in enumerate(layers):
            before, after = reference.logits(layer.pre), reference.logits(layer.post)
            candidate = int(np.argmax(before))
            for moment, stream, logits in (("pre", layer.pre, before), ("post", layer.post, after)):
                (row,) = measured.rows("streams", example_id=example["example_id"], layer=number, moment=moment)
                top = int(np.argmax(logits))
                assert row["top_token"] == top
                assert row["top_probability"] == pytest.approx(plain.probability(logits, top), rel=TOLERANCE)
                assert row["final_token_rank"] == plain.rank(logits, final)
                assert row["candidate_rank"] == (plain.rank(logits, candidate) if moment == "post" else None)
                assert row["norm"] == pytest.approx(np.linalg.norm(stream), rel=TOLERANCE)


def test_shares_are_those_of_the_definition(measured: Measured) -> None:
    for example in measured.rows("examples"):
        for number, layer in enumerate(measured.reference.layers(example["tokens"])):  # type: ignore[arg-type]
            sizes = np.abs(layer.written) * np.linalg.norm(layer.values, axis=1)
            (row,) = measured.rows("streams", example_id=example["example_id"], layer=number, moment="post")
            ordered = np.sort(sizes)[::-1]
            assert row["contribution_sum"] == pytest.approx(sizes.sum(), rel=TOLERANCE)
            assert row["dominant_share"] == pytest.approx(ordered[:10].sum() / sizes.sum(), rel=TOLERANCE)
            # 0.24% of 128 neurons is one of them.
            assert row["leading_share"] == pytest.approx(ordered[0] / sizes.sum(), rel=TOLERANCE)
            assert row["effective_neurons"] == pytest.approx(sizes.sum() ** 2 / (sizes**2).sum(), rel=TOLERANCE)
            (before,) = measured.rows("streams", example_id=example["example_id"], layer=number, moment="pre")
            assert before["dominant_share"] is before["contribution_sum"] is None


def test_examples_and_events_are_those_of_the_definition(measured: Measured) -> None:
    reference = measured.reference
    for example in measured.rows("examples"):
        layers = reference.layers(example["tokens"])  # type: ignore[arg-type]
        tops = [int(np.argmax(reference.logits(layer.post))) for layer in layers]
        candidates = [int(np.argmax(reference.logits(layer.pre))) for layer in layers]
        ranks = [
            plain.rank(reference.logits(layer.post), token) for layer, token in zip(layers, candidates, strict=True)
        ]
        saturation, elimination = plain.saturation_layer(tops), plain.elimination_layer(ranks)
        last = reference.logits(layers[-1].post)
        assert example["final_token"] == tops[-1]
        assert example["final_probability"] == pytest.approx(plain.probability(last, tops[-1]), rel=TOLERANCE)
        if example["target_token"] is not None:
            probability = plain.probability(last, int(example["target_token"]))  # type: ignore[call-overload]
            assert example["target_probability"] == pytest.approx(probability, rel=TOLERANCE)
        assert example["saturation_layer"] == saturation
        by_ffn = saturation < len(layers) - 1 and candidates[saturation] != tops[-1]
        assert example["saturation_by_ffn"] == by_ffn
        assert example["elimination_layer"] == elimination
        found = {row["kind"]: row for row in measured.rows("events", example_id=example["example_id"])}
        if not example["in_event_sample"]:
            assert found == {}
            continue
        before = plain.rank(reference.logits(layers[saturation].pre), tops[-1])
        assert (found["saturation"]["layer"], found["saturation"]["token_id"]) == (saturation, tops[-1])
        assert (found["saturation"]["rank_before"], found["saturation"]["rank_after"]) == (before, 1)
        assert found["saturation"]["by_ffn"] == by_ffn
        assert ("elimination" in found) == (elimination is not None)
        if elimination is not None:
            row = found["elimination"]
            assert (row["layer"], row["token_id"]) == (elimination, candidates[elimination])
            assert (row["rank_before"], row["rank_after"], row["by_ffn"]) == (1, max(ranks), True)


def test_sub_updates_are_those_of_the_definition(measured: Measured) -> None:
    reference = measured.reference
    for example in measured.rows("examples"):
        layers = reference.layers(example["tokens"])  # type: ignore[arg-type]
        final = int(np.argmax(reference.logits(layers[-1].post)))
        for number, layer in enumerate(layers):
            candidate = int(np.argmax(reference.logits(layer.pre)))
            expected = plain.dominant(layer)
            sizes = np.abs(layer.written) * np.linalg.norm(layer.values, axis=1)
            rows = measured.rows("sub_updates", example_id=example["example_id"], layer=number)
            assert [row["neuron"] for row in rows if row["kind"] == "dominant"] == expected
            for row in rows:
                neuron = int(row["neuron"])  # type: ignore[call-overload]
                m, written = float(layer.coefficients[neuron]), float(layer.written[neuron])
                value = layer.values[neuron]
                if written == m:
                    assert row["multiplier"] is None
                else:
                    assert row["multiplier"] == pytest.approx(written, rel=TOLERANCE, abs=1e-6)
                assert row["coefficient"] == pytest.approx(m, rel=TOLERANCE, abs=TOLERANCE)
                assert row["contribution"] == pytest.approx(sizes[neuron], rel=TOLERANCE, abs=TOLERANCE)
                assert row["share"] == pytest.approx(sizes[neuron] / sizes.sum(), rel=TOLERANCE, abs=TOLERANCE)
                for name, token in (("candidate", candidate), ("final", final)):
                    raw = written * float(reference.unembedding[token] @ value)
                    logit = reference.logit_score(token, value, written, layer.pre)
                    assert row[f"score_{name}"] == pytest.approx(raw, rel=TOLERANCE, abs=TOLERANCE)
                    assert row[f"score_logit_{name}"] == pytest.approx(logit, rel=TOLERANCE, abs=TOLERANCE)


def test_random_sub_updates_are_others_and_only_of_the_event_sample(measured: Measured) -> None:
    for example in measured.rows("examples"):
        for number in range(N_LAYERS):
            rows = measured.rows("sub_updates", example_id=example["example_id"], layer=number)
            of_kind = {
                kind: [row for row in rows if row["kind"] == kind] for kind in ("dominant", "random", "random_active")
            }
            if not example["in_event_sample"]:
                assert len(rows) == len(of_kind["dominant"]) == 10
                continue
            chosen = {kind: [row["neuron"] for row in some] for kind, some in of_kind.items()}
            assert [len(neurons) for neurons in chosen.values()] == [10, 10, 10]
            for kind in ("random", "random_active"):
                assert len(set(chosen[kind])) == 10
                assert not set(chosen[kind]) & set(chosen["dominant"])
                assert [row["rank"] for row in of_kind[kind]] == list(range(1, 11))
            assert all(row["coefficient"] != 0 for row in of_kind["random_active"])


def test_extreme_score_is_the_percentile(measured: Measured) -> None:
    scores = measured.tables["sub_updates"].filter(kind="dominant")["score_candidate"].abs().to_numpy()
    (row,) = measured.rows("event_samples")
    assert row["extreme_score"] == pytest.approx(np.quantile(scores.astype(np.float64), 0.999))
    assert row["n_examples"] == N_EXAMPLES
    assert row["n_event_examples"] == N_EVENTS
    assert row["n_sentences"] == len(sentences(measured.corpus, measured.tokenizer))


def test_all_shares_of_a_layer_sum_to_one() -> None:
    coefficients, norms = torch.randn(5, 64), torch.rand(64) + 0.1
    contributed = contributions(coefficients, norms)
    spread = shares(contributed, k=64)
    torch.testing.assert_close(spread.dominant, torch.ones(5, dtype=torch.float64))
    assert bool((spread.leading <= spread.dominant).all())


def test_sub_updates_and_bias_are_the_ffn_output(measured: Measured) -> None:
    for example in measured.rows("examples")[:5]:
        for number, layer in enumerate(measured.reference.layers(example["tokens"])):  # type: ignore[arg-type]
            values = measured.transformer.value_vectors(number).double().numpy()
            total = layer.written @ values + measured.reference.ffn_bias(number)
            np.testing.assert_allclose(total, layer.ffn_output, rtol=1e-4, atol=1e-4)


def test_last_stream_through_the_lens_is_the_models_own_output(measured: Measured) -> None:
    lens = Lens.of(measured.transformer, measured.tokenizer)
    for example in measured.rows("examples")[:8]:
        last = measured.reference.layers(example["tokens"])[-1].post  # type: ignore[arg-type]
        found = lens.logits(torch.from_numpy(last).float()[None])[0].double().numpy()
        own = measured.reference.own_logits(example["tokens"])  # type: ignore[arg-type]
        np.testing.assert_allclose(found, own, rtol=1e-4, atol=1e-4)


def test_every_example_saturates_once_and_eliminates_at_most_once(measured: Measured) -> None:
    per_layer = measured.tables["examples"].group_by("saturation_layer").len()["len"]
    assert per_layer.sum() == N_EXAMPLES
    counts = measured.tables["events"].group_by("kind", "example_id").len()
    assert counts["len"].max() == 1


def test_batches_and_shards_change_no_identity(measured: Measured) -> None:
    """One example a batch is the same but for rounding: tokens, ranks and neurons stay."""
    context = dataclasses.replace(measured.job.context, batch_tokens=1)
    tables = jobs.measure_all(dataclasses.replace(measured.job, context=context, shard_examples=7))
    for name, frame in tables.items():
        exact = [column for column, dtype in frame.schema.items() if not dtype.is_float()]
        assert frame.select(exact).equals(measured.tables[name].select(exact)), name


def test_a_seed_is_a_sample(measured: Measured) -> None:
    def drawn(seed: int) -> list[tuple[int, ...]]:
        found = cut_prompts(measured.corpus, measured.tokenizer, context_length=64, seed=seed, n_prompts=N_EXAMPLES)
        return [tuple(example.tokens.tolist()) for example in found.rows]

    assert drawn(3) == drawn(3) != drawn(4)
    assert [tuple(row["tokens"]) for row in measured.rows("examples")] == drawn(3)  # type: ignore[arg-type]


def test_sentences_are_whole_and_in_order(tiny_models: dict[str, Path], text: Path) -> None:
    tokenizer = tokenization.load(tiny_models["opt"])
    expected = [
        sentence
        for number in range(12)
        for turn in range(1 + number % 3)
        for sentence in _by_hand(SENTENCES[(number + turn) % 3])
    ]
    for packing in (True, False):
        found = sentences(prepare(text, tokenizer, packing=packing), tokenizer)
        assert [tokenizer.decode(sentence.ids) for sentence in found] == expected
        assert {sentence.domain for sentence in found} == {"prose"}


def _by_hand(text: str) -> list[str]:
    """Every mark of these sentences ends one."""
    for mark in ".!?":
        text = text.replace(f"{mark} ", f"{mark}\n")
    return text.split("\n")


def test_documents_are_put_together_again(tiny_models: dict[str, Path], text: Path) -> None:
    for kind in ("opt", "gpt2"):
        tokenizer = tokenization.load(tiny_models[kind])
        for packing in (True, False):
            corpus = prepare(text, tokenizer, packing=packing)
            found = [document for _, document in corpus_documents(corpus, tokenizer)]
            assert found == [path.read_text() for path in sorted(text.glob("*.txt"))]


def test_ties_and_zeros_of_contributions_go_by_neuron() -> None:
    contributed = torch.tensor([[0.0, 2.0, 0.0, 2.0, 1.0, 0.0], [0.0] * 6])
    found = dominant(contributed, k=4)
    assert found.neurons.tolist() == [[1, 3, 4, 0], [0, 1, 2, 3]]
    assert bool(found.is_there.all())
    assert torch.isnan(shares(contributed, k=4).dominant).tolist() == [False, True]


def test_a_layer_smaller_than_the_kinds_fills_what_it_can() -> None:
    coefficients = torch.tensor([[1.0, 0.0, 3.0, 0.0, 5.0, 2.0]])
    largest = dominant(coefficients, k=3)
    assert dominant(coefficients, k=8).is_there.sum().item() == 6
    others, active = random_others(coefficients, largest, examples=[0], layer=0, seed=0, k=4)
    assert sorted(others.neurons[others.is_there].tolist()) == [0, 1, 3]
    assert active.neurons[active.is_there].tolist() == [0]


def test_random_neurons_are_uniform_among_the_others() -> None:
    coefficients = torch.zeros(400, 20)
    coefficients[:, ::2] = 1.0
    left_out = Chosen(torch.tensor([[0, 1]] * 400), torch.ones(400, 2, dtype=torch.bool))
    others, active = random_others(coefficients, left_out, examples=range(400), layer=1, seed=0, k=3)
    counts = torch.bincount(others.neurons.flatten(), minlength=20)
    # 1,200 draws over 18 neurons: 67 each, with a standard deviation of 8.
    assert counts[:2].tolist() == [0, 0]
    assert 30 < int(counts[2:].min()) <= int(counts[2:].max()) < 105
    assert set(active.neurons.flatten().tolist()) == set(range(2, 20, 2))


@pytest.mark.parametrize(
    ("posts", "expected"),
    [([3, 3, 3], 0), ([1, 3, 3], 1), ([3, 1, 3], 2), ([3, 3, 1], 2)],
)
def test_saturation_is_the_start_of_the_trailing_run(posts: list[int], expected: int) -> None:
    tops = np.array([[[9, post] for post in posts]])
    found = events(tops, np.ones((1, 3), dtype=np.int64))
    assert found.saturation.tolist() == [expected] == [plain.saturation_layer(posts)]
    assert found.by_ffn.tolist() == [expected < 2]
    assert found.elimination.tolist() == [-1]


def test_saturation_is_not_the_ffns_where_the_token_was_at_the_top_before() -> None:
    tops = np.array([[[3, 3], [1, 3], [3, 3]]])
    assert events(tops, np.ones((1, 3), dtype=np.int64)).by_ffn.tolist() == [False]


def test_elimination_takes_the_lowest_layer_on_ties() -> None:
    tops = np.zeros((2, 4, 2), dtype=np.int64)
    ranks = np.array([[1, 5, 2, 5], [1, 1, 1, 2]])
    assert events(tops, ranks).elimination.tolist() == [1, 3]


def test_a_corpus_without_sentences_is_refused(tiny_models: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text("\n\n   \n")
    tokenizer = tokenization.load(tiny_models["opt"])
    corpus = prepare(tmp_path, tokenizer)
    job = EventsJob(JobContext(open_transformer(find(str(tiny_models["opt"]))), tokenizer, corpus))
    with pytest.raises(Invalid, match="the corpus prose has none"):
        job.shards()
