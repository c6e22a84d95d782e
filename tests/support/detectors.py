"""Planted detectors and the same text shuffled: rows of n-grams by loops, and the labels the definitions give them."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.texts import NGRAM_SPECTRUM, NGRAMS, SHUFFLED_NGRAMS, TRIGGERS
from neurothek.queries.views.install import all_views
from tests.support import ngrams as oracle
from tests.support import publications as made
from tests.support.ngrams import PERCENTAGES, Line, Ngram
from tests.support.templates import copy_of

NEURONS = [(layer, neuron) for layer in range(made.N_LAYERS) for neuron in range(made.D_FFN)]
MODELS = ("planted", "shuffled")
Fires = Callable[[Sequence[int], int, random.Random], bool]


def tokens(*ids: int, rate: float = 1) -> Fires:
    return lambda line, place, draw: line[place] in ids and draw.random() < rate


def bigram(first: int, second: int) -> Fires:
    return lambda line, place, draw: place > 0 and (line[place - 1], line[place]) == (first, second)


def at_random(rate: float) -> Fires:
    return lambda line, place, draw: draw.random() < rate


def first_of(token: int, number: int) -> Fires:
    """The first so many occurrences of a token."""
    seen = Counter[int]()

    def fires(line: Sequence[int], place: int, draw: random.Random) -> bool:
        seen[line[place]] += 1
        return line[place] == token and seen[token] <= number

    return fires


def any_of(*rules: Fires) -> Fires:
    # Every rule sees every place: one of them counts.
    return lambda line, place, draw: sum(rule(line, place, draw) for rule in rules) > 0


def rules() -> dict[tuple[int, int], Fires]:
    """What every neuron answers; the two of token 16 differ in one activation."""
    return {
        (0, 0): tokens(3, 5),
        (0, 1): bigram(4, 7),
        (0, 2): any_of(tokens(1, 2, 6), at_random(0.002)),
        # Detects 11-15, but token 16, of which it takes 45 of 200, is among the five that cover it.
        (0, 3): any_of(tokens(11, 12, 13, 14, 15), first_of(16, 45)),
        (0, 4): at_random(0.5),
        (0, 5): tokens(1, 2, 3, 4, 5, 6),
        (1, 0): tokens(3),
        (1, 1): first_of(17, 190),
        (1, 2): first_of(18, 189),
        (1, 3): lambda line, place, draw: False,
        (1, 4): tokens(19),
        (1, 5): at_random(0.03),
    }


@cache
def text(model: str) -> list[list[int]]:
    """Sequences over the ids 1-19: phrases of 1-7, and ids of known number; or the same ids in any order."""
    draw = random.Random(1)
    known = [token for token in (11, 12, 13, 14) for _ in range(230)]
    known += [15] * 35 + [token for token in (16, 17, 18) for _ in range(200)] + [19] * 99
    draw.shuffle(known)
    phrases = [[1, 2, 6], [4, 7, 3], [5, 4, 7], [2, 1, 1], [6, 3, 5, 2], [7, 2]]
    flat = [token for _ in range(700) for token in draw.choice(phrases)]
    ids = flat + known
    if model == "shuffled":
        draw.shuffle(ids)
    lines, start = [], 0
    while start < len(ids):
        length = draw.randrange(1, 40)
        lines.append(ids[start : start + length])
        start += length
    return lines


@cache
def lines(model: str, layer: int, neuron: int) -> tuple[Line, ...]:
    draw = random.Random(100 * layer + neuron)
    # On shuffled text every neuron fires at random, as often as its twin.
    twin = [place for line in lines("planted", layer, neuron) for place in line.active] if model == "shuffled" else []
    rate = sum(twin) / max(len(twin), 1)
    fires = at_random(rate) if model == "shuffled" else rules()[layer, neuron]
    return tuple(Line(line, [fires(line, place, draw) for place in range(len(line))]) for line in text(model))


@dataclass(frozen=True)
class Detector:
    """What the definitions say of one neuron and length."""

    detected: dict[Ngram, tuple[int, int]]
    coverage: int
    is_strict: bool


def can_be_labelled(model: str, n: int) -> bool:
    seen = oracle.occurrences(lines(model, 0, 0), n)
    return n == 1 or 2 * sum(count for count in seen.values() if count >= 10) >= sum(seen.values())


@cache
def detector(model: str, layer: int, neuron: int, n: int) -> Detector | None:
    counts = oracle.activations(lines(model, layer, neuron), n)
    seen = oracle.occurrences(lines(model, layer, neuron), n)
    total, coverage = sum(counts.values()), oracle.coverage(counts, 95)
    detected = {
        ngram: (count, seen[ngram])
        for ngram, count in counts.items()
        if seen[ngram] >= 10 and 20 * count >= 19 * seen[ngram]
    }
    if total < 100 or coverage > (5 if n == 1 else 50) or not can_be_labelled(model, n):
        return None
    if 100 * sum(count for count, _ in detected.values()) < 95 * total:
        return None
    covering = [ngram for ngram, _ in oracle.ranked(counts)[:coverage]]
    return Detector(detected, coverage, all(ngram in detected for ngram in covering))


def detectors(model: str, n: int) -> dict[tuple[int, int], Detector]:
    found = {key: detector(model, *key, n) for key in NEURONS}
    return {key: one for key, one in found.items() if one is not None}


def score(layer: int, neuron: int, token: int) -> float:
    """Multiples of 1/8; the detector of 3 and 5 suppresses both."""
    if (layer, neuron) == (0, 0):
        return -2.0 if token in (3, 5) else 1.0
    return random.Random(f"{layer} {neuron} {token}").randrange(-16, 17) / 8


def controls(layer: int, neuron: int, token: int) -> list[float]:
    draw = random.Random(f"{layer} {neuron} {token} controls")
    return [draw.randrange(-16, 17) / 8 for _ in range(100)]


Counts = list[tuple[int, int]]
"""Of one neuron, per n-gram: how often it was active there, and how often the n-gram occurs."""

SHUFFLED: dict[tuple[str, int], list[Counts]] = {
    ("planted", 0): [
        # 100 activations, of which the five and the detected ones hold exactly 95%.
        [(19, 19)] * 5 + [(1, 1)] * 5,
        # 99 activations.
        [(19, 19)] * 5 + [(1, 1)] * 4,
        # Six cover 95%: too many for tokens, not for longer n-grams.
        [(19, 19)] * 6 + [(1, 1)] * 6,
        # Fifty, and 51.
        [(19, 19)] * 50 + [(1, 1)] * 50,
        [(19, 19)] * 51 + [(1, 1)] * 51,
        # Detected ones hold 949 of 1,000.
        [(949, 949), (45, 100)] + [(1, 1)] * 6,
    ],
    ("shuffled", 0): [
        # One token occurs nine times, or ten.
        [(91, 91), (9, 9)],
        [(90, 90), (10, 10)],
        # Active at 19 of 20 occurrences, and at 18 of 19.
        [(76, 80), (24, 25)],
        [(76, 80), (18, 19), (6, 6)],
    ],
    # Measured, and none qualifies; of the second layer of the other model none was measured.
    ("shuffled", 1): [[(2, 2)] * 70, [(19, 19)] * 5],
}
"""What was counted of the first neurons of a layer when their activations were shuffled, the same for every length."""


def shuffled_row(counts: Counts) -> dict[str, int | None]:
    """What is stored of one neuron."""
    held = Counter[Ngram]({(number,): active for number, (active, _) in enumerate(counts)})
    coverage = oracle.coverage(held, 95)
    detected = sum(active for active, seen in counts if seen >= 10 and 20 * active >= 19 * seen)
    numbers = {"n_active": sum(held.values()), "n_distinct": len(held), "n_covering_95": coverage}
    return {**numbers, "detected_active": None if coverage > 64 else detected}


def shuffled_detects(counts: Counts, n: int) -> bool:
    """Whether the definition calls it a detector: looked at afresh, without what is stored."""
    total, limit = sum(active for active, _ in counts), 5 if n == 1 else 50
    largest = sorted((active for active, _ in counts), reverse=True)[:limit]
    detected = sum(active for active, seen in counts if seen >= 10 and active / seen >= 0.95)
    return total >= 100 and 100 * sum(largest) >= 95 * total and 100 * detected >= 95 * total


def frames(model: str) -> dict[str, pl.DataFrame]:
    """The rows that the job hands over, by loops."""
    ngrams, triggers = [], []
    for layer, neuron in NEURONS:
        for n in (1, 2, 3):
            counts = oracle.activations(lines(model, layer, neuron), n)
            seen = oracle.occurrences(lines(model, layer, neuron), n)
            key = {"layer": layer, "neuron": neuron, "n": n}
            covering = {f"n_covering_{percent}": oracle.coverage(counts, percent) for percent in PERCENTAGES}
            ngrams.append(key | {"n_active": sum(counts.values()), "n_distinct": len(counts)} | covering)
            for rank, (ngram, count) in enumerate(oracle.kept(counts, seen, n), start=1):
                row = key | {"rank": rank, "token_ids": list(ngram), "n_active": count, "n_occurrences": seen[ngram]}
                if n == 1:
                    own = score(layer, neuron, *ngram)
                    row |= {"score": own, "score_centred": own - 0.25, "z_score": 2 * own, "rank_from_bottom": rank}
                    row |= {"control_scores": controls(layer, neuron, *ngram)}
                triggers.append(dict.fromkeys(TRIGGERS.schema) | row)
    spectrum = [
        {"n": n, "n_occurrences": often, "n_distinct": distinct}
        for n in (1, 2, 3)
        for often, distinct in Counter(oracle.occurrences(lines(model, 0, 0), n).values()).items()
    ]
    shuffled: list[dict[str, int | None]] = [
        {"layer": layer, "neuron": neuron, "n": n, **shuffled_row(counts)}
        for (owner, layer), neurons in SHUFFLED.items()
        if owner == model
        for neuron, counts in enumerate(neurons)
        for n in (1, 2, 3)
    ]
    return {
        "ngrams": made.frame(NGRAMS, ngrams),
        "triggers": made.frame(TRIGGERS, triggers),
        "ngram_spectrum": made.frame(NGRAM_SPECTRUM, spectrum),
        "shuffled_ngrams": made.frame(SHUFFLED_NGRAMS, shuffled),
    }


def publish(path: Path) -> None:
    """Both models in a warehouse with all views."""
    copy_of("detectors", _publish, path)


def _publish(path: Path) -> None:
    for model in MODELS:
        record = made.model(model, weights=model)
        corpus = made.corpus(sha256=model)
        made.publish_job(Warehouse(path), "ngrams", frames(model), record=record, text=corpus)
    with Warehouse(path).transaction() as connection:
        for view in all_views().values():
            connection.execute(f"create or replace view main.{view.name} as\n{view.text}")
