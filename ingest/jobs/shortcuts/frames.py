"""Linear shortcuts as rows of the tables `shortcuts`, `shortcut_readings`, `shortcut_tops` and their like."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.tables.shortcuts import (
    SHORTCUT_PREDICTIONS,
    SHORTCUT_READINGS,
    SHORTCUT_SENTENCES,
    SHORTCUT_TOPS,
)
from neurothek.ingest.corpora.prompts import Prompt, SentenceSample
from neurothek.ingest.lens.logit_lens import Lens, ranks, top_rows, tops
from neurothek.ingest.models.tokenizer import Tokenizer

N_LISTED = 5
"""Tokens that are listed of a substitute."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One substitute of some sentences, read through the model's own head."""

    tops: Int[Tensor, " sentences"]  # the row of the vocabulary with the largest logit, ties to the first
    probabilities: Float[Tensor, " sentences"]  # float64, its probability
    seconds: Float[Tensor, " sentences"]  # float64, the second largest probability; 0 in a vocabulary of one
    ranks: Int[Tensor, " sentences"]  # 1 + the rows to which the model gives a strictly larger logit than to this one
    # float64 nats, minus the logarithm of the probability that the model gives it
    surprisals: Float[Tensor, " sentences"]


@dataclass(frozen=True, eq=False)
class Listed:
    """The tokens that a substitute puts first."""

    rows: Int[Tensor, "sentences listed"]  # of the vocabulary, best first, ties to the first
    probabilities: Float[Tensor, "sentences listed"]  # float64


class Judge:
    """Reads substitutes of some sentences beside the model's own last states."""

    def __init__(self, lens: Lens, last: Float[Tensor, "sentences d_model"]) -> None:
        """Take the last states, before the final norm."""
        self._lens = lens
        self._logits = lens.logits(last)
        self._log_sums = self._logits.logsumexp(1).double()
        self.reading = self._read(self._logits)
        """The model's own prediction, as a reading like the others."""

    def read(self, substitutes: Float[Tensor, "sentences d_model"]) -> Reading:
        """Read one state a sentence."""
        return self._read(self._lens.logits(substitutes))

    def _read(self, logits: Float[Tensor, "sentences vocab"]) -> Reading:
        log_sums = logits.logsumexp(1).double()
        largest, tokens = tops(logits)
        return Reading(
            tops=tokens,
            probabilities=(largest.double() - log_sums).exp(),
            seconds=(_seconds(logits, tokens, largest).double() - log_sums).exp(),
            ranks=ranks(self._logits, tokens[:, None])[:, 0],
            surprisals=self._log_sums - self._logits.gather(1, tokens[:, None])[:, 0].double(),
        )


def first_tokens(lens: Lens, states: Float[Tensor, "sentences d_model"]) -> Listed:
    """The first tokens of one state a sentence."""
    logits = lens.logits(states)
    best = top_rows(logits, N_LISTED)
    log_sums = logits.logsumexp(1).double()
    return Listed(best, (logits.gather(1, best).double() - log_sums[:, None]).exp())


def _seconds(
    logits: Float[Tensor, "sentences vocab"], tokens: Int[Tensor, " sentences"], largest: Float[Tensor, " sentences"]
) -> Float[Tensor, " sentences"]:
    """[sentences] the largest logit but one; the logits are as they were afterwards."""
    logits.scatter_(1, tokens[:, None], -torch.inf)
    second = logits.amax(1)
    logits.scatter_(1, tokens[:, None], largest[:, None])
    return second


WITHIN = (1, 5, 10)
"""A prediction counts where it is among so many first of the model."""


def sentences_frame(sample: SentenceSample, tokenizer: Tokenizer) -> pl.DataFrame:
    """One row a sentence."""
    rows = [
        {
            "sentence_id": one.number,
            "domain": one.domain,
            "is_validation": one.number >= sample.n_fit,
            "tokens": one.tokens.tolist(),
            "position": one.position,
            "own_position": one.own_position,
            "text": _text(one, tokenizer),
        }
        for one in sample.rows
    ]
    return pl.DataFrame(rows, schema=SHORTCUT_SENTENCES.schema)


def _text(sentence: Prompt, tokenizer: Tokenizer) -> str:
    """What was read, without special tokens but for a mask, which stands where it stood."""
    tokens, place = sentence.tokens, sentence.position
    if tokens[place] != tokenizer.mask_id:
        return tokenizer.decode(tokens)
    (mask,) = tokenizer.texts(tokens[place : place + 1])
    parts = (tokenizer.decode(tokens[:place]), mask, tokenizer.decode(tokens[place + 1 :]))
    return " ".join(part for part in parts if part)


def readings_frame(
    sentences: Sequence[Prompt], reading: Reading, ids: np.ndarray, *, method: str, state: int
) -> pl.DataFrame:
    """One row a sentence, of one method and state."""
    columns = {
        "sentence_id": [one.number for one in sentences],
        "method": [method] * len(sentences),
        "state": [state] * len(sentences),
        "top_token": ids[reading.tops.cpu().numpy()],
        "top_probability": reading.probabilities.cpu().numpy(),
        "second_probability": reading.seconds.cpu().numpy(),
        "rank_in_model": reading.ranks.cpu().numpy(),
        "surprisal": reading.surprisals.cpu().numpy(),
    }
    return pl.DataFrame(columns).cast(pl.Schema(SHORTCUT_READINGS.schema))


def tops_frame(
    sentences: Sequence[Prompt], listed: Listed, ids: np.ndarray, *, method: str, state: int
) -> pl.DataFrame:
    """One row a sentence and rank, of one method and state."""
    n, n_listed = listed.rows.shape
    columns = {
        "sentence_id": np.repeat([one.number for one in sentences], n_listed),
        "method": [method] * (n * n_listed),
        "state": [state] * (n * n_listed),
        "rank": np.tile(np.arange(1, n_listed + 1), n),
        "token_id": ids[listed.rows.cpu().numpy()].ravel(),
        "probability": listed.probabilities.cpu().numpy().ravel(),
    }
    return pl.DataFrame(columns).cast(pl.Schema(SHORTCUT_TOPS.schema))


def predictions_frame(readings: pl.LazyFrame) -> pl.DataFrame:
    """One row per method and state: shares with Wilson's intervals, and the mean surprisal with the normal one."""
    columns = readings.select("method", "state", "rank_in_model", "surprisal").collect()
    groups = columns.partition_by("method", "state", as_dict=True)
    rows = [
        {"method": method, "state": state, **_summed_up(group)} for (method, state), group in sorted(groups.items())
    ]
    return pl.DataFrame(rows, schema=SHORTCUT_PREDICTIONS.schema)


def _summed_up(readings: pl.DataFrame) -> dict[str, float | int]:
    n = readings.height
    summary: dict[str, float | int] = {"n": n}
    for k in WITHIN:
        count = int((readings["rank_in_model"] <= k).sum())
        low, high = wilson(count, n)
        summary |= {f"precision_{k}": count / n, f"precision_{k}_low": low, f"precision_{k}_high": high}
    surprisals = readings["surprisal"].to_list()
    # Exact sums, so that the order of the sentences changes no bit.
    mean = math.fsum(surprisals) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in surprisals) / (n - 1))
    half = NORMAL_975 * sd / math.sqrt(n)
    return summary | {"surprisal": mean, "surprisal_low": mean - half, "surprisal_high": mean + half}


NORMAL_975 = 1.959963984540054
"""The standard normal distribution lies within so far of 0 with a probability of 95%."""


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's interval of the share count / n (Wilson 1927), which never leaves 0 to 1."""
    share, z2 = count / n, NORMAL_975**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = NORMAL_975 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # Rounding may leave an end of 0 or of 1 a hair's breadth on the wrong side of the share.
    return max(0.0, min(share, centre - half)), min(1.0, max(share, centre + half))
