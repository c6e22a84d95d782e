"""What the definitions say of linear shortcuts, in plain loops over transformers' own forward pass."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from tests.support.anatomy import Floats, float64
from tests.support.events import PlainStreams, probability, rank

TEXT = "the school is near river and old has a new roof one two three six total sum value of it was"
WORDS = TEXT.split()


def write_sentences(folder: Path, *, n: int = 240, domain: str = "prose", seed: int = 4) -> str:
    """`n` made-up sentences, a few in a file; returns what to give to --corpus."""
    chosen = random.Random(seed)
    place = folder / domain
    place.mkdir(parents=True)
    for number in range(0, n, 8):
        sentences = [
            " ".join(chosen.choice(WORDS) for _ in range(chosen.randint(2, 12))).capitalize() + "."
            for _ in range(min(8, n - number))
        ]
        (place / f"{number:04d}.txt").write_text(" ".join(sentences))
    return f"{domain}={place}"


class PlainShortcuts:
    """A checkpoint as transformers loads it, asked for its states at one position of each of some sentences."""

    def __init__(self, folder: Path) -> None:
        self.streams = PlainStreams(folder)

    def states(self, ids: Sequence[int], position: int) -> Floats:
        """[states d_model] of one sentence: what enters the first block and what leaves every one."""
        watched = self.streams.body.watch(torch.tensor([list(ids)]))
        seen = [watched[0]["block in"], *(layer["block out"] for layer in watched)]
        return np.stack([float64(state)[0, position] for state in seen])

    def reading(self, last: Floats, substitute: Floats) -> dict[str, float]:
        """What the model says of a substitute for its last state."""
        own, other = self.streams.logits(last), self.streams.logits(substitute)
        top = int(np.argmax(other))
        ordered = np.sort(other)[::-1]
        return {
            "top_token": top,
            "top_probability": probability(other, top),
            "second_probability": float(np.exp(ordered[1] - other.max()) / np.exp(other - other.max()).sum()),
            "rank_in_model": rank(own, top),
            "surprisal": -math.log(probability(own, top)),
            "margin": float(ordered[0] - ordered[1]),
        }


def least_squares(x: Floats, y: Floats) -> Floats:
    """A of least norm: y is about A x for every row."""
    return np.asarray(np.linalg.lstsq(x, y, rcond=None)[0].T)


def r2(targets: Floats, predicted: Floats) -> float:
    """1 - SS_res / SS_tot of each coordinate with its own mean, averaged."""
    found = []
    for column in range(targets.shape[1]):
        y, guess = targets[:, column], predicted[:, column]
        residual, total = sum((y - guess) ** 2), sum((y - y.mean()) ** 2)
        found.append(1 - residual / total if y.max() > y.min() else float(residual == 0))
    return float(np.mean(found))


def wilson(count: int, n: int) -> tuple[float, float]:
    """The shares p at which the observed one is just 1.96 standard errors of p away, found by halving."""

    def edge(low: float, high: float, *, rising: bool) -> float:
        for _ in range(200):
            middle = (low + high) / 2
            is_far = abs(count / n - middle) > 1.959963984540054 * math.sqrt(middle * (1 - middle) / n)
            low, high = (middle, high) if is_far == rising else (low, middle)
        return (low + high) / 2

    share = count / n
    return edge(0, share, rising=True), edge(share, 1, rising=False)
