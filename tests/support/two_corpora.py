"""The warehouse made by hand with every job on two corpora for one model, and some on one of them for another.

Beside it the same warehouse as though the other corpus had never been read: what a person should be told of the first.
"""

import json
import random
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from neurothek.catalog.publishing.summaries import rebuild_facts
from tests.support import event_warehouse, shortcut_rows, tiny
from tests.support import warehouse as made
from tests.support.templates import copy_of
from tests.support.tiny import Row

MODEL_ID, MODEL = 1, "tiny-2m"
"""Every job read both texts."""

OTHER_ID, OTHER = 0, "tiny-1m"
"""Its events, shortcuts and exits were measured on its shown corpus only, its n-grams nowhere."""

ASKED_ID, ASKED = 0, "builtin"
SHOWN_ID, SHOWN = 1, "long"
"""Corpora of `MODEL`."""

BOTH = ((MODEL_ID, ASKED_ID), (MODEL_ID, SHOWN_ID))
METHODS = (*shortcut_rows.WHOLE, *shortcut_rows.PARTIAL)
_SCORES = ("score", "z_score", "score_centred", "rank_from_bottom", "control_scores")
PERCENTAGES = (50, 80, 90, 95, 99)
OF_TEXT = ("contexts", "ngrams", "triggers", "ngram_spectrum", "activity", "positions", "coherences", "examples")
MORE_OF_TEXT = ("streams", "sub_updates", "events", "event_samples", "exits", "shortcuts", "shortcut_predictions")


def create(path: Path) -> None:
    """A warehouse file with both corpora."""
    copy_of("two-corpora", _create, path)


def create_alone(path: Path, corpus_id: int) -> None:
    """The same, of whose models only one corpus was read."""
    copy_of(f"only-corpus-{corpus_id}", lambda fresh: _create_alone(fresh, corpus_id), path)


def _create(path: Path) -> None:
    event_warehouse.create(path)
    measured = (*event_warehouse.MEASURED, event_warehouse.UNSHOWN)
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "shortcuts", shortcut_rows.fits(measured))
        made.insert(connection, "shortcut_predictions", shortcut_rows.predictions(measured, METHODS))
        made.insert(connection, "sub_module_fits", shortcut_rows.part_fits(measured))
        for model_id, corpus_id in BOTH:
            for table, rows in _ngrams(model_id, corpus_id).items():
                made.insert(connection, table, rows)
        # Planted profiles hang on the neuron alone: here one of a team never fires.
        connection.execute(
            "delete from store.positions where (set_id, corpus_id, layer, neuron) = ($1, $2, 0, 0)",
            [MODEL_ID, ASKED_ID],
        )
        pairs = [(job, *pair) for job in ("events", "shortcuts", "exits") for pair in measured]
        pairs += [("ngrams", *pair) for pair in BOTH]
        pairs += [("positions", model_id, corpus_id) for model_id in (0, 1) for corpus_id in (0, 1)]
        made.insert(connection, "runs", [_run(number, *one) for number, one in enumerate(pairs, start=2000)])
        _rebuild(connection)


def _create_alone(path: Path, corpus_id: int) -> None:
    create(path)
    with duckdb.connect(str(path)) as connection:
        for table in (*OF_TEXT, *MORE_OF_TEXT, "sub_module_fits", "runs", "pins"):
            connection.execute(f"delete from store.{table} where corpus_id <> {corpus_id}")
        _rebuild(connection)


def _rebuild(connection: duckdb.DuckDBPyConnection) -> None:
    # What views keep is computed anew with them.
    for model_id in (MODEL_ID, OTHER_ID):
        rebuild_facts(connection, model_id)


def _run(run_id: int, job: str, model_id: int, corpus_id: int) -> Row:
    return {
        **{"run_id": run_id, "run_key": f"run-{run_id}", "job": job, "job_version": 1, "model_id": model_id},
        **{"corpus_id": corpus_id, "parameters": json.dumps({}), "dtype": "float32", "n_rows": 1, "versions": "{}"},
        **{"started_at": datetime(2026, 1, 2), "finished_at": datetime(2026, 1, 2)},
    }


def _ngrams(model_id: int, corpus_id: int) -> dict[str, list[Row]]:
    """What the job ngrams would find: neurons that answer one to seven n-grams, always or half of the time."""
    draw = random.Random(100 * model_id + corpus_id)
    ids = {"model_id": model_id, "corpus_id": corpus_id, "run_id": 2000}
    ngrams, triggers = [], []
    for layer in range(tiny.MODELS[model_id].n_layers):
        for neuron in range(tiny.MODELS[model_id].d_ffn):
            for n in (1, 2, 3):
                key = ids | {"layer": layer, "neuron": neuron, "n": n}
                found = sorted(_answered(draw, n), key=lambda one: -one[1])
                counts = [n_active for _, n_active, _ in found]
                covering = {f"n_covering_{percent}": _covering(counts, percent) for percent in PERCENTAGES}
                ngrams.append(key | {"n_active": sum(counts), "n_distinct": len(counts)} | covering)
                for rank, (token_ids, n_active, n_occurrences) in enumerate(found, start=1):
                    row = key | {"rank": rank, "token_ids": token_ids}
                    row |= {"n_active": n_active, "n_occurrences": n_occurrences, **dict.fromkeys(_SCORES)}
                    if n == 1:
                        score = draw.randrange(-16, 17) / 8
                        row |= {"score": score, "z_score": 2 * score, "score_centred": score - 0.25}
                        row |= {"rank_from_bottom": rank, "control_scores": [draw.randrange(-16, 17) / 8] * 100}
                    triggers.append(row)
    spectrum = [ids | {"n": n, "n_occurrences": 50 + corpus_id, "n_distinct": 20} for n in (1, 2, 3)]
    return {"ngrams": ngrams, "triggers": triggers, "ngram_spectrum": spectrum}


def _answered(draw: random.Random, n: int) -> list[tuple[list[int], int, int]]:
    """(ids, activations, occurrences) of each n-gram."""
    is_detector = draw.random() < 0.4
    first = draw.sample(range(1, 20), draw.randrange(1, 4) if is_detector else draw.randrange(1, 8))
    often = [2 * draw.randrange(30, 100) for _ in first]
    return [
        ([token] + [1] * (n - 1), count if is_detector else count // 2, count)
        for token, count in zip(first, often, strict=True)
    ]


def _covering(counts: Sequence[int], percent: int) -> int:
    held = 0
    for number, count in enumerate(counts, start=1):
        held += count
        if 100 * held >= percent * sum(counts):
            return number
    return 0
