"""What three people say of vectors of the hand-made warehouse: drawn by lot, some of it said twice over the days."""

import random
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

Row = dict[str, Any]

CLASSES = ("semantic", "syntactic", "names", "stopwords-punctuation")
DILIGENCE = {"anna": 1.0, "ben": 0.6, "Chlo\u00e9 <script>": 0.3}
"""Annotator -> the share of the vectors that they judge."""

OTHER_TEXT = [1, 2, 3, 4, 5]
"""What an FFN update promoted on a text that was measured before."""


def annotation_rows(projections: Sequence[Row], controls: Sequence[Row]) -> Iterator[Row]:
    """Rows of `annotations` on these vectors; the same at every call."""
    draw = random.Random(30)
    numbers = iter(range(10**6))
    for place, shown in (*_neurons(projections), *_controls(controls)):
        for annotator, share in DILIGENCE.items():
            if draw.random() >= share:
                continue
            # Some judged a vector on two days: the later day counts.
            days = (1, 2) if draw.random() < 0.2 else (1,)
            for day in days:
                said = {"annotator": annotator, "created_at": datetime(2026, 2, day, 9, draw.randrange(60))}
                for concept in _concepts(shown, draw):
                    number = {"annotation_id": str(uuid.UUID(int=next(numbers)))}
                    yield number | place | {"shown_token_ids": shown} | concept | said


def _neurons(projections: Sequence[Row]) -> Iterator[tuple[Row, list[int]]]:
    for row in projections:
        place = {"model_id": row["model_id"], "layer": row["layer"], "condition": "value"}
        yield place | {"neuron": row["neuron"], "control_id": None}, row["top_token_ids"][:30]


def _controls(controls: Sequence[Row]) -> Iterator[tuple[Row, list[int]]]:
    for row in controls:
        place = {"model_id": row["model_id"], "layer": row["layer"], "condition": row["kind"]}
        place |= {"neuron": None, "control_id": row["control_id"]}
        yield place, row["top_token_ids"][:30]
        if row["kind"] == "ffn_update":
            yield place, OTHER_TEXT


def _concepts(shown: list[int], draw: random.Random) -> Iterator[Row]:
    """One to three concepts, or that there is none."""
    if draw.random() < 0.35:
        yield {"concept": None, "class": None, "token_ids": []}
        return
    for number in range(draw.choice((1, 1, 1, 2, 3))):
        marked = set(draw.sample(shown, draw.randint(4, len(shown))))
        in_order = [token for token in shown if token in marked]
        yield {"concept": f"concept {number}", "class": draw.choice(CLASSES), "token_ids": in_order}
