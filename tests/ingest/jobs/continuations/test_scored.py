"""Scores as rows: each text scored once, and none without a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from neurothek.catalog.tables.interventions import ATTRIBUTE_SCORES, CONTINUATIONS
from neurothek.ingest.jobs.continuations.job import scores_of


@dataclass
class Counting:
    """A scorer by the length of a text, which remembers what it was asked."""

    spec: str = "length"
    is_foreign: bool = False
    attributes: tuple[str, ...] = ("short", "long")
    identity: Mapping[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        long = np.array([min(len(text) / 10, 1.0) for text in texts])
        return np.stack([1 - long, long], axis=1)

    def words(self, attribute: str) -> tuple[str, ...]:
        return ()


def continuations(texts: Sequence[str]) -> pl.DataFrame:
    rows = [("mine", "untouched", 0, n, "prompt", text, 1) for n, text in enumerate(texts, start=1)]
    return pl.DataFrame(rows, schema=CONTINUATIONS.schema, orient="row")


def test_equal_texts_are_scored_once_and_each_gets_its_score() -> None:
    scorer = Counting()
    found = ATTRIBUTE_SCORES.check(scores_of(continuations(["abcd", "ab", "abcd", " \n\t", ""]), [scorer]))
    assert scorer.asked == ["abcd", "ab"]
    by_prompt = {(row["prompt_number"], row["attribute"]): row["score"] for row in found.to_dicts()}
    assert by_prompt == {
        (1, "short"): 0.6,
        (1, "long"): 0.4,
        (2, "short"): 0.8,
        (2, "long"): 0.2,
        (3, "short"): 0.6,
        (3, "long"): 0.4,
    }


def test_nothing_to_score_asks_nobody() -> None:
    scorer = Counting()
    assert scores_of(continuations([""]), [scorer]).is_empty()
    assert scorer.asked == []
