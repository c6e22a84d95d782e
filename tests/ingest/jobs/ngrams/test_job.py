"""The job `ngrams` against loops over every n-gram: exact at every coverage, rank, length and cut of the text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import batches
from neurothek.ingest.jobs.job import JobContext, Partials
from neurothek.ingest.jobs.ngrams import index
from neurothek.ingest.jobs.ngrams import job as job_module
from neurothek.ingest.jobs.ngrams.job import NgramsJob, NgramsObserver, shuffled_columns, shuffled_positions
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from tests.support import ngrams as oracle
from tests.support.coefficients import output_of
from tests.support.models import build
from tests.support.ngrams import PERCENTAGES, Line

RULE = ActivationRule(None)


@dataclass(frozen=True)
class Opened:
    transformer: Transformer
    tokenizer: Tokenizer


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    """A model whose layer is no multiple of eight neurons wide."""
    folder = build(tmp_path_factory.mktemp("models") / "tiny", "opt", n_layers=2, d_ffn=21)
    return Opened(open_transformer(checkpoints.find(str(folder))), tokenization.load(folder))


def make_corpus(sequences: Sequence[Sequence[int]], *, has_bos: bool = True, n_domains: int = 2) -> Corpus:
    """A corpus of ids; every sequence gets a BOS in front where there is one."""
    ids = [[2, *sequence] if has_bos else list(sequence) for sequence in sequences]
    lengths = [len(sequence) for sequence in ids]
    return Corpus(
        name="made",
        sha256="0",
        text_sha256="0",
        tokenizer_sha256="0",
        sequence_length=max(lengths),
        has_bos=has_bos,
        domains=tuple("abcd"[:n_domains]),
        tokens=np.array([token for sequence in ids for token in sequence], dtype=np.int32),
        offsets=np.cumsum([0, *lengths]).astype(np.int64),
        domain_of=np.array([i * n_domains // len(ids) for i in range(len(ids))], dtype=np.int16),
        starts_document=np.ones(len(ids), dtype=np.bool_),
        recipe="{}",
    )


def observed(corpus: Corpus, coefficients: torch.Tensor, chunks: Sequence[range], *rules: ActivationRule) -> Partials:
    """What observers hand over that see [n_tokens d_ffn] coefficients, BOS included; padding fires everywhere."""
    parts = []
    for chunk in chunks:
        observer = NgramsObserver(coefficients.shape[1], *rules)
        for batch in batches(corpus, chunk, batch_tokens=100):
            shown = torch.ones(*batch.tokens.shape, coefficients.shape[1])
            for row, length in enumerate(batch.lengths):
                start = int(corpus.offsets[batch.first_sequence + row])
                shown[row, :length] = coefficients[start : start + length]
            observer.observe(batch, output_of(shown))
        parts.append(observer.result().lazy())
    return Partials(tuple(parts))


def fold(
    opened: Opened,
    corpus: Corpus,
    coefficients: torch.Tensor,
    *,
    chunks: Sequence[range] | None = None,
    rule: ActivationRule = RULE,
    layer: int = 0,
) -> dict[str, pl.DataFrame]:
    job = NgramsJob(JobContext(opened.transformer, opened.tokenizer, corpus), rule)
    return job.fold(layer, observed(corpus, coefficients, chunks or corpus.chunks(), rule))


def lines_of(corpus: Corpus, active: np.ndarray, neuron: int) -> list[Line]:
    """The counted positions of every sequence."""
    first = int(corpus.has_bos)
    spans = [(int(corpus.offsets[i]) + first, int(corpus.offsets[i + 1])) for i in range(corpus.n_sequences)]
    return [Line(corpus.tokens[a:b].tolist(), active[a:b, neuron].tolist()) for a, b in spans]


def zipf(n_sequences: int, *, longest: int, seed: int, vocab: int = 300) -> list[list[int]]:
    """Ragged sequences of ids whose frequencies fall like those of words, with phrases that come again and again."""
    random = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocab + 1)
    phrases = [random.integers(4, 4 + vocab, size=4).tolist() for _ in range(12)]
    sequences = []
    for _ in range(n_sequences):
        ids: list[int] = []
        wanted = int(random.integers(1, longest + 1))
        while len(ids) < wanted:
            if random.random() < 0.3:
                ids += phrases[int(random.integers(len(phrases)))]
            else:
                ids.append(4 + int(random.choice(vocab, p=weights / weights.sum())))
        sequences.append(ids[:wanted])
    return sequences


def check(frames: dict[str, pl.DataFrame], corpus: Corpus, active: np.ndarray) -> None:
    """Every row of all three tables against loops."""
    totals = {(row["neuron"], row["n"]): row for row in frames["ngrams"].iter_rows(named=True)}
    listed: dict[tuple[int, int], list[dict[str, object]]] = {}
    for row in frames["triggers"].iter_rows(named=True):
        listed.setdefault((row["neuron"], row["n"]), []).append(row)
    assert set(totals) == {(neuron, n) for neuron in range(active.shape[1]) for n in (1, 2, 3)}
    for (neuron, n), row in totals.items():
        lines = lines_of(corpus, active, neuron)
        counts, seen = oracle.activations(lines, n), oracle.occurrences(lines, n)
        assert (row["n_active"], row["n_distinct"]) == (sum(counts.values()), len(counts))
        for percent in PERCENTAGES:
            assert row[f"n_covering_{percent}"] == oracle.coverage(counts, percent), (neuron, n, percent)
        kept = [(list(ngram), count, seen[ngram]) for ngram, count in oracle.kept(counts, seen, n)]
        found = listed.get((neuron, n), [])
        assert [(one["token_ids"], one["n_active"], one["n_occurrences"]) for one in found] == kept
        assert [one["rank"] for one in found] == list(range(1, len(kept) + 1))
    spectrum = {(n, often): distinct for n, often, distinct in frames["ngram_spectrum"].iter_rows()}
    expected = {
        (n, often): distinct
        for n in (1, 2, 3)
        for often, distinct in Counter(oracle.occurrences(lines_of(corpus, active, 0), n).values()).items()
    }
    assert spectrum == expected


@pytest.mark.parametrize("has_bos", [True, False])
@pytest.mark.parametrize("seed", [0, 1])
def test_every_row_equals_the_loops(opened: Opened, *, has_bos: bool, seed: int) -> None:
    corpus = make_corpus(zipf(80, longest=60, seed=seed), has_bos=has_bos)
    random = np.random.default_rng(seed)
    # From dead to always on: few activations tie often, many overflow a byte.
    rates = np.linspace(0, 1, 21) ** 3
    active = random.random((corpus.n_tokens, 21)) < rates
    check(fold(opened, corpus, torch.from_numpy(active).float()), corpus, active)


@pytest.mark.parametrize("near", [0, 1, 20])
def test_ties_are_broken_by_ids_however_far_one_looks(
    opened: Opened, near: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "FIRST_BY_IDS", near)
    corpus = make_corpus(zipf(80, longest=60, seed=2))
    # Every trigram fires for some of these neurons once or never.
    active = np.random.default_rng(2).random((corpus.n_tokens, 21)) < np.linspace(0, 0.1, 21)
    check(fold(opened, corpus, torch.from_numpy(active).float()), corpus, active)


def test_counts_beyond_a_byte(opened: Opened) -> None:
    random = np.random.default_rng(5)
    corpus = make_corpus([random.choice([7, 8, 9, 10], p=[0.7, 0.2, 0.08, 0.02], size=60).tolist() for _ in range(60)])
    active = random.random((corpus.n_tokens, 21)) < np.linspace(0, 1, 21)
    frames = fold(opened, corpus, torch.from_numpy(active).float())
    assert max(frames["triggers"]["n_active"].to_list()) > 2 * 255
    check(frames, corpus, active)


def test_exact_multiples_of_a_piece(opened: Opened) -> None:
    ids = [5] * 255 + [6] * 256 + [7] * 510 + [8] * 254 + [9]
    corpus = make_corpus([[token] for token in ids])
    active = np.ones((corpus.n_tokens, 21), dtype=np.bool_)
    frames = fold(opened, corpus, torch.from_numpy(active).float())
    check(frames, corpus, active)
    # Sequences of one id have no bigrams.
    assert frames["ngrams"].filter(pl.col("n") > 1)["n_active"].to_list() == [0] * 42


def test_chunks_and_parts_give_the_same_bits(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make_corpus(zipf(50, longest=40, seed=3))
    coefficients = torch.from_numpy(np.random.default_rng(3).random((corpus.n_tokens, 21)) < 0.2).float()
    whole = fold(opened, corpus, coefficients, chunks=[range(50)])
    cut = fold(opened, corpus, coefficients, chunks=[range(1), range(1, 7), range(7, 50)])
    # Three columns of eight neurons: two of them counted together and one alone, then each alone.
    monkeypatch.setattr(job_module, "_BLOCK_BYTES", 2 * corpus.n_counted)
    by_two = fold(opened, corpus, coefficients, chunks=[range(25), range(25, 50)])
    monkeypatch.setattr(job_module, "READ_BYTES", 1)
    by_column = fold(opened, corpus, coefficients, chunks=[range(25), range(25, 50)])
    for name, frame in whole.items():
        assert frame.equals(cut[name])
        assert frame.equals(by_two[name])
        assert frame.equals(by_column[name])


def test_each_length_lies_apart(opened: Opened) -> None:
    """Scores are null but for single tokens: mixed, each null would take the room of a number."""
    corpus = make_corpus(zipf(30, longest=30, seed=5))
    coefficients = torch.from_numpy(np.random.default_rng(5).random((corpus.n_tokens, 21)) < 0.3).float()
    frames = fold(opened, corpus, coefficients)
    for name, key in (("ngrams", ("n", "neuron")), ("triggers", ("n", "neuron", "rank"))):
        places = frames[name].select(key).rows()
        assert places == sorted(places)
        assert {place[0] for place in places} == {1, 2, 3}


def test_the_rule_says_what_is_active(opened: Opened) -> None:
    corpus = make_corpus(zipf(30, longest=30, seed=4))
    coefficients = torch.from_numpy(np.random.default_rng(4).standard_normal((corpus.n_tokens, 21))).float()
    check(fold(opened, corpus, coefficients, rule=ActivationRule(0.5)), corpus, (coefficients > 0.5).numpy())


def test_strong_activations_count_at_the_pole_of_the_strongest(opened: Opened) -> None:
    """A neuron is asked about at one pole, which the whole text decides, whatever a chunk holds."""
    corpus = make_corpus(zipf(30, longest=30, seed=6))
    random = np.random.default_rng(6)
    made = random.standard_normal((corpus.n_tokens, 21)).astype(np.float32)
    # The last sequence alone turns neurons 3 and 9 around.
    made[-1, 3], made[-1, 9] = -50, 50
    bounds = random.uniform(0.2, 1.5, 21).astype(np.float32)
    counted = np.ones(corpus.n_tokens, dtype=np.bool_)
    if corpus.has_bos:
        counted[corpus.offsets[:-1]] = False
    active = np.zeros(made.shape, dtype=np.bool_)
    for neuron in range(21):
        own = made[counted, neuron]
        sign = -1 if -own.min() > own.max() else 1
        active[:, neuron] = sign * made[:, neuron] > bounds[neuron]
    chunks = [range(0, 11), range(11, corpus.n_sequences)]
    job = NgramsJob(JobContext(opened.transformer, opened.tokenizer, corpus), ActivationRule(3.0, is_relative=True))
    rules = job.rule.poles(torch.from_numpy(bounds), both=True)
    frames = job.fold(0, observed(corpus, torch.from_numpy(made), chunks, *rules))
    check(frames, corpus, active)
    assert (active & counted[:, None]).any(0).all()


def test_shuffled_activations_are_counted_beside_them(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Activations keep their sequences and lose their tokens: a detector of one token detects nothing then."""
    monkeypatch.setattr(job_module, "N_SHUFFLED", 1)
    corpus = make_corpus(zipf(60, longest=40, seed=8))
    random = np.random.default_rng(8)
    active = random.random((corpus.n_tokens, 21)) < 0.4
    (often,) = np.bincount(corpus.tokens[corpus.tokens > 4]).argsort()[-1:]
    active[:, 5] = corpus.tokens == often
    frames = fold(opened, corpus, torch.from_numpy(active).float())
    order = shuffled_positions(corpus)
    counted = np.ones(corpus.n_tokens, dtype=np.bool_)
    if corpus.has_bos:
        counted[corpus.offsets[:-1]] = False
    lengths = np.diff(corpus.offsets) - int(corpus.has_bos)
    sequence_of = np.repeat(np.arange(len(lengths)), lengths)
    assert sorted(order.tolist()) == list(range(len(order)))
    assert (sequence_of[order] == sequence_of).all()
    assert (order != np.arange(len(order))).mean() > 0.8
    turned = np.zeros_like(active)
    turned[counted] = active[counted][order]
    rows = frames["shuffled_ngrams"]
    assert sorted(rows["neuron"].unique().to_list()) == list(range(8))
    by_hand = fold(opened, corpus, torch.from_numpy(turned).float())
    detected = dict.fromkeys(rows.select("neuron", "n").rows(), 0)
    for row in by_hand["triggers"].to_dicts():
        if row["n_occurrences"] >= 10 and 100 * row["n_active"] >= 95 * row["n_occurrences"]:
            detected[row["neuron"], row["n"]] = detected.get((row["neuron"], row["n"]), 0) + row["n_active"]
    kept = ("neuron", "n", "n_active", "n_distinct", "n_covering_95")
    expected = by_hand["ngrams"].filter(pl.col("neuron").is_in(rows["neuron"].unique().to_list())).select(kept)
    assert rows.select(kept).equals(expected)
    for row in rows.to_dicts():
        is_narrow = row["n_covering_95"] <= 64
        assert row["detected_active"] == (detected[row["neuron"], row["n"]] if is_narrow else None)
    (planted,) = rows.filter(neuron=5, n=1).to_dicts()
    (whole,) = frames["ngrams"].filter(neuron=5, n=1).to_dicts()
    assert (whole["n_covering_95"], whole["n_active"] > 10) == (1, True)
    assert not planted["detected_active"]
    assert planted["n_covering_95"] > 5


def test_the_spectrum_is_handed_over_once(opened: Opened) -> None:
    corpus = make_corpus(zipf(10, longest=10, seed=4))
    frames = fold(opened, corpus, torch.ones(corpus.n_tokens, 21), layer=1)
    assert frames["ngram_spectrum"].is_empty()
    assert set(frames["triggers"]["layer"]) == {1}


def neuron_scores(opened: Opened, layer: int, neuron: int) -> np.ndarray:
    """float64 [ids] by plain sums."""
    table, value = opened.transformer.unembedding(), opened.transformer.value_vectors(layer)[neuron]
    rows = table[torch.from_numpy(opened.tokenizer.ids.astype(np.int64))].double().numpy()
    scores: np.ndarray = (rows * value.double().numpy()).sum(1)
    return scores


def tokens_of(frames: dict[str, pl.DataFrame]) -> Iterator[dict[str, object]]:
    return frames["triggers"].filter(pl.col("n") == 1).iter_rows(named=True)


def test_scores_of_triggers(opened: Opened) -> None:
    corpus = make_corpus(zipf(40, longest=40, seed=6))
    active = np.random.default_rng(6).random((corpus.n_tokens, 21)) < 0.1
    frames = fold(opened, corpus, torch.from_numpy(active).float(), layer=1)
    assert (
        frames["triggers"].filter(pl.col("n") > 1)["score"].null_count()
        == frames["triggers"].filter(pl.col("n") > 1).height
    )
    ids = opened.tokenizer.ids.tolist()
    for row in tokens_of(frames):
        scores = neuron_scores(opened, 1, int(str(row["neuron"])))
        (token,) = row["token_ids"] if isinstance(row["token_ids"], list) else []
        own = scores[ids.index(token)]
        # Sums of 32 float32 products of size 1.
        assert row["score"] == pytest.approx(own, abs=1e-5)
        assert row["score_centred"] == pytest.approx(own - scores.mean(), abs=1e-5)
        assert row["z_score"] == pytest.approx((own - scores.mean()) / scores.std(), abs=1e-4)
        below = 1 + (scores < own - 1e-5).sum()
        assert below <= int(str(row["rank_from_bottom"])) <= 1 + (scores < own + 1e-5).sum()


def planted(corpus: Corpus) -> torch.Tensor:
    """[n_tokens 21]: neuron 0 detects ids 10 and 11, neuron 1 the bigram (12, 13); the others are dead."""
    tokens = torch.from_numpy(corpus.tokens.astype(np.int64))
    coefficients = torch.zeros(len(tokens), 21)
    coefficients[:, 0] = ((tokens == 10) | (tokens == 11)).float()
    coefficients[1:, 1] = ((tokens[1:] == 13) & (tokens[:-1] == 12)).float()
    return coefficients


def test_controls_are_tokens_of_the_same_tenth(opened: Opened) -> None:
    corpus = make_corpus(zipf(200, longest=60, seed=7))
    frames = fold(opened, corpus, planted(corpus))
    seen = Counter(token for i in range(corpus.n_sequences) for token in corpus.sequence(i)[1:].tolist())
    by_frequency = sorted(seen, key=lambda token: (-seen[token], token))
    tenth = {token: 10 * place // len(by_frequency) for place, token in enumerate(by_frequency)}
    ids = opened.tokenizer.ids.tolist()
    drawn = [row for row in tokens_of(frames) if row["control_scores"] is not None]
    assert {(row["neuron"], str(row["token_ids"])) for row in drawn} >= {(0, "[10]"), (0, "[11]")}
    for row in drawn:
        (token,) = row["token_ids"] if isinstance(row["token_ids"], list) else []
        controls = row["control_scores"]
        assert isinstance(controls, list)
        assert len(controls) == 100
        scores = neuron_scores(opened, 0, int(str(row["neuron"])))
        peers = np.array([scores[ids.index(one)] for one in by_frequency if tenth[one] == tenth[token]])
        distances = np.abs(np.array(controls)[:, None] - peers).min(1)
        assert distances.max() < 1e-5
        # All peers of a tenth are drawn about as often: none of 30 is missed by more than chance.
        assert len({round(score, 4) for score in controls}) > len(peers) // 2
    again = fold(opened, corpus, planted(corpus))
    assert again["triggers"].equals(frames["triggers"])


def test_planted_detectors_have_full_recall(opened: Opened) -> None:
    corpus = make_corpus([*zipf(200, longest=60, seed=8), *[[9, 12, 13, 12, 5]] * 20])
    frames = fold(opened, corpus, planted(corpus))
    tokens = frames["triggers"].filter((pl.col("neuron") == 0) & (pl.col("n") == 1))
    assert sorted(tokens["token_ids"].explode().to_list()) == [10, 11]
    assert tokens["n_active"].to_list() == tokens["n_occurrences"].to_list()
    bigrams = frames["triggers"].filter((pl.col("neuron") == 1) & (pl.col("n") == 2))
    assert bigrams["token_ids"].to_list() == [[12, 13]]
    assert bigrams["n_active"].to_list() == bigrams["n_occurrences"].to_list()


def test_a_neuron_that_never_fires_has_no_triggers(opened: Opened) -> None:
    corpus = make_corpus(zipf(20, longest=20, seed=9))
    frames = fold(opened, corpus, torch.zeros(corpus.n_tokens, 21))
    assert frames["triggers"].is_empty()
    covering = [f"n_covering_{percent}" for percent in PERCENTAGES]
    assert frames["ngrams"].select("n_active", "n_distinct", *covering).sum().row(0) == (0,) * 7


def test_the_job_is_identified_by_what_changes_its_numbers(opened: Opened) -> None:
    context = JobContext(opened.transformer, opened.tokenizer)
    job = NgramsJob(context, RULE)
    assert job.parameters() != NgramsJob(context, RULE, seed=1).parameters()
    assert job.parameters() != NgramsJob(context, ActivationRule(0.5)).parameters()


def test_what_fires_often_comes_before_what_fires_once(opened: Opened) -> None:
    """Neurons whose brief lists need both, and those of which neither is enough to fill one."""
    often = [[5, 6, 7]] * 5 + [[8, 9]] * 2
    corpus = make_corpus([*often, *[[token, token + 1] for token in range(10, 300, 2)]])
    active = np.random.default_rng(4).random((corpus.n_tokens, 21)) < np.linspace(0, 1, 21)
    is_often = np.isin(corpus.tokens, [5, 6, 7, 8, 9])
    active[:, 0], active[:, 1], active[:, 2] = True, ~is_often, is_often
    active[:, 3] = np.cumsum(~is_often) < 80
    check(fold(opened, corpus, torch.from_numpy(active).float()), corpus, active)


def test_what_is_kept_at_the_edges(opened: Opened) -> None:
    """Neurons just narrow and just not, and n-grams that just could detect and just could not, beyond the first 64."""
    once = range(10, 80)
    frequent = range(100, 164)
    # Neuron 2 fires on half of the occurrences of 200, and on less of 201; 202 and 203 occur fewer than ten times.
    occurrences = {200: 10, 201: 11, 202: 8, 203: 9, 204: 10, 205: 20}
    fires = {200: 5, 201: 5, 202: 4, 203: 9, 204: 10, 205: 10}
    ids = [*once, *(token for token in frequent for _ in range(20))]
    ids += [token for token, often in occurrences.items() for _ in range(often)]
    corpus = make_corpus([[token] for token in ids])
    active = np.zeros((corpus.n_tokens, 21), dtype=np.bool_)
    # 95% of 67 n-grams that each fire once are 64 of them, 95% of 68 are 65.
    active[:, 0], active[:, 1] = np.isin(corpus.tokens, once[:67]), np.isin(corpus.tokens, once[:68])
    active[:, 2] = np.isin(corpus.tokens, frequent)
    for token, often in fires.items():
        active[np.flatnonzero(corpus.tokens == token)[:often], 2] = True
    frames = fold(opened, corpus, torch.from_numpy(active).float())
    check(frames, corpus, active)
    kept = frames["triggers"].filter(pl.col("n") == 1)
    assert [kept.filter(pl.col("neuron") == neuron).height for neuron in (0, 1)] == [64, 10]
    beyond = kept.filter((pl.col("neuron") == 2) & (pl.col("rank") > 64))["token_ids"].explode().to_list()
    assert beyond == [204, 205, 200]


@pytest.mark.parametrize("n_columns", [1, 15, 16, 17, 31, 47, 192, 1_120])
def test_the_shuffled_neurons_are_spread_over_the_whole_layer(n_columns: int) -> None:
    columns = sorted(shuffled_columns(8 * n_columns - 3))
    assert len(columns) == min(16, n_columns)
    # No stretch is left out: from one to the next, and from the last to the end, is the same but for rounding.
    steps = np.diff([*columns, n_columns])
    assert columns[0] == 0
    assert steps.max() - steps.min() <= 1
