"""Rows of shortcuts made of hand-made sentences and readings: either side of a bound, masks, and plain sums."""

import math
import statistics
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from neurothek.catalog.tables.shortcuts import SHORTCUT_PREDICTIONS, SHORTCUT_READINGS
from neurothek.ingest.corpora.prompts import Prompt, SentenceSample
from neurothek.ingest.jobs.shortcuts.frames import NORMAL_975, predictions_frame, sentences_frame, wilson
from neurothek.ingest.models import tokenizer as tokenization
from tests.support.models import build


def sample(prompts: list[Prompt], *, n_validation: int) -> SentenceSample:
    return SentenceSample(len(prompts), prompts, domains=("d",), n_validation=n_validation)


def test_the_last_sentences_are_to_validate_on_and_a_mask_stands_where_it_stood(tmp_path: Path) -> None:
    tokenizer = tokenization.load(build(tmp_path / "masked", "bert"))
    (words,) = tokenizer.encode(["the old school has a new roof"])
    mask = tokenizer.mask_id
    assert mask is not None
    prompts = []
    for number, place in enumerate((0, 2, len(words) - 1)):
        tokens = np.where(np.arange(len(words)) == place, np.int32(mask), words)
        prompts.append(Prompt(number, "d", tokens, position=place, own_position=place))
    prompts.append(Prompt(3, "d", words, position=2, own_position=2))
    frame = sentences_frame(sample(prompts, n_validation=2), tokenizer)
    assert frame["is_validation"].to_list() == [False, False, True, True]
    parts = [tokenizer.decode(ids) for ids in (words[:2], words[3:], words[1:], words[:-1])]
    assert frame["text"].to_list() == [
        f"[MASK] {parts[2]}",
        f"{parts[0]} [MASK] {parts[1]}",
        f"{parts[3]} [MASK]",
        tokenizer.decode(words),
    ]


def test_predictions_sum_up_each_method_and_state() -> None:
    ranks = {("id", 0): [1, 2, 5, 6, 10, 11], ("mat", 1): [1, 1, 1, 3]}
    surprisals = {("id", 0): [0.5, 1.0, 2.5, 3.0, 4.0, 7.0], ("mat", 1): [0.25, 0.5, 0.125, 1.0]}
    rows = [
        {
            **{"sentence_id": number, "method": method, "state": state, "rank_in_model": rank, "surprisal": surprisal},
            **{"top_token": 0, "top_probability": 0.5, "second_probability": 0.25},
        }
        for (method, state), of_one in ranks.items()
        for number, (rank, surprisal) in enumerate(zip(of_one, surprisals[method, state], strict=True))
    ]
    found = predictions_frame(pl.LazyFrame(rows, schema=SHORTCUT_READINGS.schema))
    assert dict(found.schema) == dict(SHORTCUT_PREDICTIONS.schema)
    assert [(row["method"], row["state"]) for row in found.to_dicts()] == [*ranks]
    for row in found.to_dicts():
        of_one, values = ranks[row["method"], row["state"]], surprisals[row["method"], row["state"]]
        assert row["n"] == len(of_one)
        for k in (1, 5, 10):
            count = sum(rank <= k for rank in of_one)
            told = tuple(row[f"precision_{k}{end}"] for end in ("", "_low", "_high"))
            assert told == (count / len(of_one), *wilson(count, len(of_one)))
        mean = statistics.fmean(values)
        half = NORMAL_975 * statistics.stdev(values) / math.sqrt(len(values))
        # Sums of a few doubles, in another order.
        assert (row["surprisal"], row["surprisal_low"], row["surprisal_high"]) == pytest.approx(
            (mean, mean - half, mean + half), rel=1e-14
        )
