"""Linear shortcuts as rows of the tables `shortcuts`, `shortcut_readings`, `shortcut_tops` and their like."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from neurothek.catalog.tables.shortcuts import (
    SHORTCUT_PREDICTIONS,
    SHORTCUT_READINGS,
    SHORTCUT_SENTENCES,
    SHORTCUT_TOPS,
)
from neurothek.ingest.corpora.prompts import Prompt, SentenceSample
from neurothek.ingest.jobs.shortcuts.judge import Listed, Reading
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.numerics.intervals import NORMAL_975, wilson

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
    return pl.DataFrame(rows, schema=dict(SHORTCUT_SENTENCES.columns))


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
    return pl.DataFrame(columns).cast(pl.Schema(SHORTCUT_READINGS.columns))


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
    return pl.DataFrame(columns).cast(pl.Schema(SHORTCUT_TOPS.columns))


def predictions_frame(readings: pl.LazyFrame) -> pl.DataFrame:
    """One row per method and state: shares with Wilson's intervals, and the mean surprisal with the normal one."""
    wanted = readings.select("method", "state", "rank_in_model", "surprisal").collect()
    groups = wanted.partition_by("method", "state", as_dict=True)
    rows = [
        {"method": method, "state": state, **_summed_up(group)} for (method, state), group in sorted(groups.items())
    ]
    return pl.DataFrame(rows, schema=dict(SHORTCUT_PREDICTIONS.columns))


def _summed_up(readings: pl.DataFrame) -> dict[str, float | int]:
    n = readings.height
    found: dict[str, float | int] = {"n": n}
    for k in WITHIN:
        count = int((readings["rank_in_model"] <= k).sum())
        low, high = wilson(count, n)
        found |= {f"precision_{k}": count / n, f"precision_{k}_low": low, f"precision_{k}_high": high}
    surprisals = readings["surprisal"].to_list()
    # Exact sums, so that the order of the sentences changes no bit.
    mean = math.fsum(surprisals) / n
    sd = math.sqrt(math.fsum((value - mean) ** 2 for value in surprisals) / (n - 1))
    half = NORMAL_975 * sd / math.sqrt(n)
    return found | {"surprisal": mean, "surprisal_low": mean - half, "surprisal_high": mean + half}
