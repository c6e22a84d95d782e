"""A bigram detector written into a model by hand is found from end to end, and on shuffled words nothing is."""

import math
import random
from pathlib import Path
from typing import Any

import torch

from neurothek.ingest.models import tokenizer as tokenization
from tests.support.ingests import measure, open_warehouse, request
from tests.support.models import build, edit_tensors

PHRASES = (("the", "new", "roof"), ("old", "roof", "is", "one"), ("new", "school", "near", "river"), ("two", "three"))
WORDS = sorted({word for phrase in PHRASES for word in phrase})
CONTEXT_LENGTH, WIDTH, N_PHRASES = 64, 32, 900
BIGRAM, HALVES = 5, 9
"""Neurons of layer 0: one fires on "roof" after "new" alone, one in one half of every sequence whatever the words."""

# Coordinates of the stream: an angle that grows with the position, twice and of either sign, so that means stay 0 and
# variances equal and the norms tell nothing; one for each word, and its opposite; a pair for what is no word, such as
# the BOS; what stood before, and its opposite.
ANGLE, WORD, OPPOSITE, OTHER, BEFORE = 0, 4, 4 + len(WORDS), WIDTH - 4, WIDTH - 2
STEP = 2 * math.pi / CONTEXT_LENGTH
# Attention falls by exp(-20) from the position before to its neighbours, whose cosine is 0.995.
SHARPNESS = 3000.0


def plant(folder: Path) -> Path:
    """A model whose one head looks at the position before, and in which two neurons fire."""
    build(folder, "opt", n_layers=1, n_heads=1, d_model=WIDTH, d_ffn=16, context_length=CONTEXT_LENGTH)
    tokenizer = tokenization.load(folder)
    ids = [int(tokenizer.encode([f" {word}"])[0][0]) for word in WORDS]
    angles = STEP * torch.arange(CONTEXT_LENGTH)
    places = torch.stack([angles.cos(), angles.sin(), -angles.cos(), -angles.sin()], dim=1)
    # A stream of four ones has a variance of 4 / 32: normalized, its entries are this large.
    entry = (WIDTH / 4) ** 0.5

    def edit(tensors: dict[str, torch.Tensor]) -> None:
        layer = {name: tensor for name, tensor in tensors.items() if "layers.0." in name}
        for name, tensor in layer.items():
            tensor.fill_(1 if name.endswith("norm.weight") else 0)
        part = {name.split("layers.0.")[1]: tensor for name, tensor in layer.items()}
        table, positions = (tensors[f"model.decoder.embed_{name}.weight"] for name in ("tokens", "positions"))
        table.zero_()
        positions.zero_()
        table[:, OTHER], table[:, OTHER + 1] = 1, -1
        table[ids] = 0
        for place, token in enumerate(ids):
            table[token, WORD + place], table[token, OPPOSITE + place] = 1, -1
        # OPT's position ids start at 2.
        positions[2:, ANGLE : ANGLE + 4] = places
        cosine, sine = SHARPNESS * math.cos(STEP), SHARPNESS * math.sin(STEP)
        part["self_attn.q_proj.weight"][:2, :2] = torch.tensor([[cosine, sine], [-sine, cosine]])
        part["self_attn.k_proj.weight"][:2, :2] = torch.eye(2)
        part["self_attn.v_proj.weight"][0, WORD + WORDS.index("new")] = 1 / entry
        part["self_attn.out_proj.weight"][BEFORE, 0], part["self_attn.out_proj.weight"][BEFORE + 1, 0] = 1, -1
        keys, bias = part["fc1.weight"], part["fc1.bias"]
        bias.fill_(-1)
        # With both, the variance is 6 / 32 and the sum 2 * 2.31; either alone is at most 2.83.
        keys[BIGRAM, WORD + WORDS.index("roof")] = keys[BIGRAM, BEFORE] = 1
        bias[BIGRAM] = -3.7
        keys[HALVES, ANGLE + 1], bias[HALVES] = 1, 0

    return edit_tensors(folder, edit)


def found(folder: Path, *, shuffled: bool) -> dict[str, list[dict[str, Any]]]:
    """What the views say after one ingest of some thousand words."""
    draw = random.Random(3)
    words = [word for _ in range(N_PHRASES) for word in draw.choice(PHRASES)]
    if shuffled:
        draw.shuffle(words)
    (folder / "text.txt").write_text(" " + " ".join(words))
    warehouse = open_warehouse(folder / "w.duckdb")
    asked = request((f"prose={folder / 'text.txt'}",), text={"sequence_length": 50}, jobs=("activity", "ngrams"))
    measure(warehouse, plant(folder / "planted"), asked)
    with warehouse.reader() as connection:
        names = ("token_detectors", "ngram_detectors", "detectors_by_layer", "neurons", "corpus_ngrams")
        return {name: connection.sql(f"select * from {name}").pl().to_dicts() for name in names}


def test_the_planted_bigram_is_found_and_nothing_else(tmp_path: Path) -> None:
    answers = found(tmp_path, shuffled=False)
    assert answers["token_detectors"] == []
    detected = sorted((row["n"], row["neuron"], row["text"], row["recall"]) for row in answers["ngram_detectors"])
    assert detected == [(2, BIGRAM, " new roof", 1.0), (3, BIGRAM, " the new roof", 1.0)]


def test_on_shuffled_words_there_are_no_detectors(tmp_path: Path) -> None:
    """The words come as often as before, and bigrams often enough to be labelled: only their order is gone."""
    answers = found(tmp_path, shuffled=True)
    assert answers["token_detectors"] == answers["ngram_detectors"] == []
    labelled = {row["n"]: row["can_be_labelled"] for row in answers["corpus_ngrams"]}
    assert labelled[2]
    fired = {row["neuron"] for row in answers["neurons"] if not row["is_dead"]}
    assert fired == {BIGRAM, HALVES}
