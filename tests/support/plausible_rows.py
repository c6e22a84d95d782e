"""What two people say of lists that shortcuts made by hand put first, some of it said twice over the days."""

import random
import uuid
from collections.abc import Sequence
from datetime import datetime

from tests.support.tiny import Row

DILIGENCE = {"anna": 0.9, "ben": 0.5}


def judgements(sentences: Sequence[Row], tops: Sequence[Row]) -> list[Row]:
    """Rows of `plausibility_judgements`: each list of a sentence once, whatever gave it; the same at every call."""
    draw = random.Random(8)
    rows: list[Row] = []
    for (model_id, text, shown), _ in lists_of(sentences, tops).items():
        for annotator, share in DILIGENCE.items():
            if draw.random() >= share:
                continue
            for day in (1, 2) if draw.random() < 0.3 else (1,):
                about = {"model_id": model_id, "text": text, "shown_token_ids": list(shown), "annotator": annotator}
                said = {"is_plausible": draw.random() < 0.6, "created_at": datetime(2026, 4, day, 9)}
                rows.append({"judgement_id": str(uuid.UUID(int=len(rows)))} | about | said)
    # One of a text that was measured before, and one of a list that no shortcut gives.
    (first, *_) = rows
    rows.append(first | {"judgement_id": str(uuid.UUID(int=len(rows))), "text": "another text"})
    other = {"shown_token_ids": first["shown_token_ids"][::-1]}
    rows.append(first | other | {"judgement_id": str(uuid.UUID(int=len(rows)))})
    return rows


def lists_of(
    sentences: Sequence[Row], tops: Sequence[Row]
) -> dict[tuple[int, str, tuple[int, ...]], list[tuple[int, int, str, int]]]:
    """Model, text and list -> corpus, sentence, method and state of each shortcut that gives it."""
    texts = {(row["model_id"], row["corpus_id"], row["sentence_id"]): row["text"] for row in sentences}
    listed: dict[tuple[int, int, int, str, int], dict[int, int]] = {}
    for row in tops:
        key = (row["model_id"], row["corpus_id"], row["sentence_id"], row["method"], row["state"])
        listed.setdefault(key, {})[row["rank"]] = row["token_id"]
    found: dict[tuple[int, str, tuple[int, ...]], list[tuple[int, int, str, int]]] = {}
    for (model_id, *place, method, state), ranks in listed.items():
        corpus_id, sentence_id = place
        shown = tuple(ranks[rank] for rank in sorted(ranks))
        key2 = (model_id, texts[model_id, corpus_id, sentence_id], shown)
        found.setdefault(key2, []).append((corpus_id, sentence_id, method, state))
    return found
