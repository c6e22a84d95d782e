"""Exact scores of tokens against a loop over the weights as transformers loads them, in float64."""

from pathlib import Path

import numpy as np
import pytest

from ingest.models.checkpoints import find
from ingest.models.finding import Measured
from ingest.models.measured import open_measured
from ingest.trace.token_scores import token_scores
from tests.support.models import KINDS
from tests.support.plain import PlainModel

TOKENS = (7, 300, 3)
TOLERANCE = 1e-4
"""float32 sums of 32 products of size 1, and ranks of scores that differ by more than that."""


@pytest.mark.parametrize("kind", KINDS)
def test_scores_and_ranks_equal_the_loop(kind: str, tiny_models: dict[str, Path]) -> None:
    folder = tiny_models[kind]
    opened = open_measured(Measured(kind, str(folder), None, find(str(folder)).weights_sha256))
    frame = token_scores(*opened, TOKENS, layers=(0, 1))
    plain = PlainModel(folder)
    table = plain.unembedding()[: len(plain.tokenizer)]
    assert frame.select("layer", "neuron", "token_id").rows() == [
        (layer, neuron, token)
        for layer in range(2)
        for neuron in range(len(plain.neurons(layer).values))
        for token in sorted(TOKENS)
    ]
    scores = {layer: plain.neurons(layer).values @ table.T for layer in range(2)}
    for row in frame.to_dicts():
        own = scores[row["layer"]][row["neuron"]]
        score = own[row["token_id"]]
        assert row["score"] == pytest.approx(score, abs=TOLERANCE)
        assert row["z_score"] == pytest.approx((score - own.mean()) / own.std(), abs=10 * TOLERANCE)
        above, below = np.sum(own > score + TOLERANCE), np.sum(own < score - TOLERANCE)
        ties = np.sum(np.abs(own - score) <= TOLERANCE)
        assert above < row["rank"] <= above + ties
        assert below < row["rank_from_bottom"] <= below + ties


def test_layers_are_chosen(tiny_models: dict[str, Path]) -> None:
    folder = tiny_models["opt"]
    opened = open_measured(Measured("opt", str(folder), None, find(str(folder)).weights_sha256))
    whole = token_scores(*opened, [5, 5], layers=(0, 1))
    part = token_scores(*opened, [5], layers=(1, 1))
    assert part.equals(whole.filter(layer=1))
