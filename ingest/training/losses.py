"""Losses on held-out text, and the controls to compare them with: bigrams and unigrams of the same text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional
from transformers import OPTForCausalLM

from neurothek.ingest.training.text import TrainingText, batch_ids

EVALUATED_AT_ONCE = 16
# Weights of the unigram in the bigram's mixture; the control gets the one that suits it best.
SMOOTHINGS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@dataclass(frozen=True)
class HeldOut:
    """Mean losses over the predicted ids of one domain's held-out sequences, in nats."""

    n_predicted: int
    model: float
    bigram: float
    unigram: float


def held_out_losses(model: OPTForCausalLM, text: TrainingText) -> dict[str, HeldOut]:
    """Loss of the model and of its two controls for every domain that has held-out text."""
    control = Bigram(text, model.config.vocab_size)
    return {
        domain: HeldOut(
            n_predicted=sum(len(ids) - 1 for ids in sequences),
            model=model_loss(model, sequences, text.pad_id),
            bigram=control.loss(sequences),
            unigram=control.unigram_loss(sequences),
        )
        for domain, sequences in text.held_out.items()
        if any(len(ids) > 1 for ids in sequences)
    }


@torch.inference_mode()
def model_loss(model: OPTForCausalLM, sequences: Sequence[np.ndarray], pad_id: int) -> float:
    """Mean nats per predicted id, in float32."""
    total, n = 0.0, 0
    for start in range(0, len(sequences), EVALUATED_AT_ONCE):
        ids, targets = batch_ids(sequences[start : start + EVALUATED_AT_ONCE], pad_id)
        wanted = targets.flatten() >= 0
        stream = model.model(input_ids=ids, use_cache=False).last_hidden_state.flatten(0, 1)
        total += float(
            functional.cross_entropy(model.lm_head(stream[wanted]), targets.flatten()[wanted], reduction="sum")
        )
        n += int(wanted.sum())
    return total / n


class Bigram:
    """The control: how well the id before predicts an id, by counts over the same training sequences.

    p(b | a) = (count(a b) + s p(b)) / (count(a) + s), with the unigram p(b) = (count(b) + 1) / (n + vocabulary).
    """

    def __init__(self, text: TrainingText, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        pairs = _pairs([text.corpus.sequence(int(i)) for i in text.trained])
        self._pairs, self._pair_counts = np.unique(pairs[:, 0] * vocab_size + pairs[:, 1], return_counts=True)
        self._before = np.bincount(pairs[:, 0], minlength=vocab_size)
        after = np.bincount(pairs[:, 1], minlength=vocab_size)
        self._unigram = (after + 1) / (len(pairs) + vocab_size)

    def unigram_loss(self, sequences: Sequence[np.ndarray]) -> float:
        """Mean nats per predicted id, whatever stands before it."""
        return float(-np.log(self._unigram[_pairs(sequences)[:, 1]]).mean())

    def loss(self, sequences: Sequence[np.ndarray]) -> float:
        """Mean nats per predicted id, with the smoothing that is best on these very sequences."""
        pairs = _pairs(sequences)
        codes = pairs[:, 0] * self._vocab_size + pairs[:, 1]
        place = np.minimum(np.searchsorted(self._pairs, codes), len(self._pairs) - 1)
        counts = np.where(self._pairs[place] == codes, self._pair_counts[place], 0)
        before, after = self._before[pairs[:, 0]], self._unigram[pairs[:, 1]]
        return min(float(-np.log((counts + s * after) / (before + s)).mean()) for s in SMOOTHINGS)


def _pairs(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """int64 [n, 2], each id with the one after it, inside sequences."""
    return np.concatenate([np.stack([ids[:-1], ids[1:]], axis=1) for ids in sequences]).astype(np.int64)
