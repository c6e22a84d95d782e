"""What neurons say of their triggers: moments against float64, scores and tenths against loops, and the draws."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from neurothek.ingest.jobs.ngrams import trigger_scores
from neurothek.ingest.jobs.ngrams.index import number_ngrams
from neurothek.ingest.jobs.ngrams.trigger_scores import Peers, ScoreMoments, TriggerScores
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.transformer import open_transformer
from tests.support.coefficients import corpus
from tests.support.models import build

VOCABULARY = 50_265


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (5.0, 0.1), (-300.0, 1.0), (1e-3, 1e-3), (0.01, 20.0)])
def test_moments_lose_millionths(mean: float, sd: float) -> None:
    moments = ScoreMoments.of(VOCABULARY)
    for seed in range(10):
        drawn = np.random.default_rng(seed).standard_t(4, VOCABULARY)
        scores = (drawn * sd + mean).astype(np.float32)
        found_mean, found_sd = moments.mean_and_sd(scores)
        exact = scores.astype(np.float64)
        # Each of a product's lanes adds up thousands of numbers, rounded to 2^-24: some 2^-24 sqrt(3,000) = 3e-6.
        assert abs(found_mean - exact.mean()) < 1e-5 * exact.std()
        assert found_sd == pytest.approx(exact.std(), rel=1e-5)


def test_what_the_first_mean_is_off_by_is_mended() -> None:
    # A float32 of this size knows no halves, so that the first mean is off by as much as the scores vary.
    scores = np.array([1e7, 1e7 + 1] * 2, dtype=np.float32)
    assert ScoreMoments.of(4).mean_and_sd(scores) == (1e7 + 0.5, 0.5)


def test_equal_scores_do_not_vary() -> None:
    scores = np.full(7, 0.1, dtype=np.float32)
    mean, sd = ScoreMoments.of(7).mean_and_sd(scores)
    assert mean == pytest.approx(np.float64(scores[0]), rel=1e-12)
    # A variance that rounding makes negative is none.
    assert 0 <= sd < 1e-8


@pytest.mark.parametrize("n_tokens", [1, 3, 10, 25, 104])
def test_a_tenth_draws_all_of_its_tokens_and_no_other(n_tokens: int) -> None:
    # Token 5 i + 2 occurs n_tokens - i times.
    sequences = [[5 * i + 2] for i in range(n_tokens) for _ in range(n_tokens - i)]
    peers = peers_of(sequences)
    assert peers.tokens.tolist() == [5 * i + 2 for i in range(n_tokens)]
    tenths: dict[int, set[int]] = {}
    for place in range(n_tokens):
        # The tenth that a token's place lies in: [0, 0.1), [0.1, 0.2), ... of all places.
        tenth = next(tenth for tenth in range(10) if 10 * place < (tenth + 1) * n_tokens)
        tenths.setdefault(tenth, set()).add(5 * place + 2)
    for tenth, members in tenths.items():
        for token in members:
            assert peers.decile_of[token] == tenth
            draws = [peers.draw(token, np.random.default_rng(seed)) for seed in range(10)]
            # A member of eleven is missed by 1,000 draws once in 10^41 times.
            assert {int(one) for drawn in draws for one in drawn} == members
            assert {len(drawn) for drawn in draws} == {100}
    assert set(np.flatnonzero(peers.decile_of < 0)) == set(range(5 * n_tokens - 2)) - set(peers.tokens.tolist())


def peers_of(sequences: Sequence[Sequence[int]]) -> Peers:
    text = corpus([("a", len(sequence)) for sequence in sequences], has_bos=False)
    tokens = np.array([token for sequence in sequences for token in sequence], dtype=np.int32)
    return Peers.of(next(number_ngrams(replace(text, tokens=tokens), longest=1)))


# A model of 400 rows whose numbers are integers: scores are exact whatever their order.
WIDTH, IDS = 8, np.array([0, 1, 3, 4, 8, 9, 10, 30, 31, 32, 50, 399], dtype=np.int32)
N_NEURONS, SEED = 7, 5


def made_scores(seed: int = SEED) -> TriggerScores:
    random = np.random.default_rng(1)
    rows = torch.from_numpy(random.integers(-4, 5, size=(len(IDS), WIDTH))).float()
    row_of = np.full(400, -1, dtype=np.int64)
    row_of[IDS] = np.arange(len(IDS))
    # Each id twice as often as the next.
    peers = peers_of([[int(token)] for place, token in enumerate(IDS) for _ in range(2 ** (len(IDS) - place))])
    return TriggerScores(rows, row_of, peers, seed)


def made_values() -> torch.Tensor:
    values = torch.from_numpy(np.random.default_rng(2).integers(-4, 5, size=(N_NEURONS, WIDTH))).float()
    values[4] = 0
    return values


# Neurons 2 and 6 have no triggers; the last has one beyond every block of 3.
NEURONS = np.array([0, 0, 0, 1, 3, 3, 4, 5, 5])
TOKENS = np.array([0, 399, 9, 31, 9, 3, 4, 50, 32])
IS_DRAWN = np.array([True, False, True, False, False, True, True, True, False])


def framed(scores: TriggerScores, *, layer: int = 1, chosen: Sequence[int] = range(9)) -> pl.DataFrame:
    rows = list(chosen)
    return scores.frame(layer, made_values(), neurons=NEURONS[rows], tokens=TOKENS[rows], is_drawn=IS_DRAWN[rows])


@pytest.mark.parametrize("block", [1, 2, 3, 7, 768])
def test_every_row_equals_plain_sums_however_neurons_are_cut(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigger_scores, "BLOCK", block)
    scores, values = made_scores(), made_values()
    frame = framed(scores)
    assert frame.height == len(NEURONS)
    for row, neuron, token, drawn in zip(frame.iter_rows(named=True), NEURONS, TOKENS, IS_DRAWN, strict=True):
        said = {
            int(one): sum(float(a * b) for a, b in zip(scores.unembedding[place], values[neuron], strict=True))
            for place, one in enumerate(IDS)
        }
        own, mean = said[int(token)], sum(said.values()) / len(said)
        sd = (sum((one - mean) ** 2 for one in said.values()) / len(said)) ** 0.5
        assert row["score"] == own
        assert row["score_centred"] == pytest.approx(own - mean, rel=1e-5, abs=1e-5)
        assert row["z_score"] == pytest.approx((own - mean) / sd if sd else 0, rel=1e-5, abs=1e-6)
        assert row["rank_from_bottom"] == 1 + sum(one < own for one in said.values())
        assert (row["control_scores"] is not None) == drawn
        if drawn:
            place, n = IDS.tolist().index(token), len(IDS)
            tenth = {said[int(one)] for other, one in enumerate(IDS) if 10 * other // n == 10 * place // n}
            assert len(row["control_scores"]) == 100
            assert set(row["control_scores"]) == tenth


def test_without_triggers_there_is_no_row() -> None:
    assert framed(made_scores(), chosen=[]).height == 0


def test_draws_of_a_trigger_hang_on_no_other() -> None:
    whole = framed(made_scores())["control_scores"].to_list()
    for row in np.flatnonzero(IS_DRAWN).tolist():
        assert framed(made_scores(), chosen=[row])["control_scores"].to_list() == [whole[row]]


def test_draws_are_others_for_another_seed_layer_neuron_or_token() -> None:
    scores = made_scores()
    # Neuron 0's trigger of id 0 shares its tenth with id 1, so that 100 draws are 100 coins.
    alike = {
        "one": framed(scores)["control_scores"][0],
        "seed": framed(made_scores(SEED + 1))["control_scores"][0],
        "layer": framed(scores, layer=2)["control_scores"][0],
    }
    of_another = scores.frame(
        1, made_values()[[1, 0]], neurons=np.array([1]), tokens=np.array([0]), is_drawn=np.array([True])
    )
    alike["neuron"] = of_another["control_scores"][0]
    assert len({tuple(drawn) for drawn in alike.values()}) == 4
    assert len({frozenset(drawn) for drawn in alike.values()}) == 1


def test_rows_of_a_vocabulary_with_gaps_and_without(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "opt")
    transformer, tokenizer = open_transformer(checkpoints.find(str(folder))), tokenization.load(folder)
    table, peers = transformer.unembedding(), peers_of([[1, 2]])
    for ids in (IDS, IDS[:2], np.array([1, 2], dtype=np.int32), np.array([0, 2, 3], dtype=np.int32)):
        found = TriggerScores.of(transformer, replace(tokenizer, ids=ids), peers, seed=3)
        assert torch.equal(found.unembedding, torch.stack([table[int(one)] for one in ids]))
        assert [int(found.row_of[one]) for one in ids] == list(range(len(ids)))
        assert len(found.row_of) == ids[-1] + 1
        assert (found.row_of >= 0).sum() == len(ids)
        assert (found.peers, found.seed) == (peers, 3)


def test_a_vocabulary_without_gaps_is_not_copied(tmp_path: Path) -> None:
    folder = build(tmp_path / "tiny", "opt")
    transformer, tokenizer = open_transformer(checkpoints.find(str(folder))), tokenization.load(folder)
    table = transformer.unembedding()
    found = TriggerScores.of(transformer, tokenizer, peers_of([[1, 2]]), seed=0)
    assert found.unembedding.data_ptr() == table.data_ptr()
    assert len(found.unembedding) == len(tokenizer.ids)
