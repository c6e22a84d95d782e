"""The hand-made warehouse with a text in which three neurons fire on one word each, a fourth at random."""

import random
from pathlib import Path

import duckdb

from tests.support import warehouse as made

MODEL = "tiny-1m"
WORDS = ("zebra", "violin", "tunnel")
"""Word of neuron 0, 1 and 2 of layer 0; neuron 2 is negative there. Neuron 3 fires at random, neuron 4 never."""

N_FILLERS, LENGTH, PLACE, BEFORE, AFTER = 500, 80, 45, 40, 22
_FIRST_TOKEN, _FIRST_SEQUENCE = 100, 1000
_IDS = {"model_id": 0, "corpus_id": 0, "layer": 0, "run_id": 2}
_N_STRONGEST, _N_SAMPLED, _N_RANDOM = 6, 9, 3


def create(path: Path) -> None:
    """Write the warehouse."""
    made.create(path)
    draw = random.Random(8)
    fillers = range(_FIRST_TOKEN + len(WORDS), _FIRST_TOKEN + len(WORDS) + N_FILLERS)
    with duckdb.connect(str(path)) as connection:
        texts = [f" {word}" for word in WORDS] + [f" {_filler(number)}" for number in range(N_FILLERS)]
        made.insert(
            connection,
            "tokens",
            [
                {"tokenizer_id": 0, "token_id": _FIRST_TOKEN + number, "piece": text, "text": text}
                | {"word": text.strip(), "is_special": False}
                for number, text in enumerate(texts)
            ],
        )
        for table in ("context_windows", "contexts", "pole_contexts", "activation_histograms"):
            connection.execute(f"delete from store.{table} where set_id = 0")
        sequences = iter(range(_FIRST_SEQUENCE, _FIRST_SEQUENCE + 1_000))
        for neuron in range(4):
            for band, n in (("strongest", _N_STRONGEST), ("quantile", _N_SAMPLED), ("random", _N_RANDOM)):
                for rank, sequence in zip(range(1, n + 1), sequences, strict=False):
                    tokens = [draw.choice(fillers) for _ in range(LENGTH)]
                    is_active = band != "random"
                    if is_active and neuron < 3:
                        tokens[PLACE] = _FIRST_TOKEN + neuron
                    # Hundredths keep the order of ranks.
                    largest = 4.0 - 0.01 * rank - (0.0 if band == "strongest" else 0.32 * rank)
                    sign = -1 if neuron == 2 else 1
                    text = {"corpus_id": 0, "sequence_id": sequence, "domain": "prose", "tokens": tokens}
                    made.insert(connection, "sequences", [text | {"starts_document": True}])
                    made.insert(
                        connection,
                        "context_windows",
                        [
                            {**_IDS, "neuron": neuron, "band": band, "rank": rank, "sequence_id": sequence}
                            | {"position": PLACE, "n_before": BEFORE, "n_after": AFTER, "largest": largest}
                            | {"nonzero": (1 << BEFORE) * is_active, "activations": [127 * sign] * is_active}
                        ],
                    )
                    if band == "strongest":
                        place = {"activation": sign * largest, "sequence_id": sequence, "position": PLACE}
                        made.insert(connection, "contexts", [{**_IDS, "neuron": neuron, "rank": rank} | place])
            least, most = (-4.0, 0.5) if neuron == 2 else (0.0, 4.0)
            connection.execute(
                "update store.neuron_facts set activation_min = ?, activation_max = ?"
                " where set_id = 0 and layer = 0 and neuron = ?",
                [least, most, neuron],
            )
        connection.execute(
            "update store.neuron_facts set activation_min = 0, activation_max = 0"
            " where set_id = 0 and layer = 0 and neuron = 4"
        )


def _filler(number: int) -> str:
    """A word of letters: bab, bac, ..."""
    consonants = "bcdfghjklm"
    return f"{consonants[number // 50]}{'aeiou'[number // 10 % 5]}{consonants[number % 10]}"
