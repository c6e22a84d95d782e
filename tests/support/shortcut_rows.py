"""Rows of the tables of linear shortcuts made by hand, each with numbers of its own."""

from collections.abc import Sequence

from tests.support.tiny import MODELS, Row

WHOLE = ("id", "mat")
PARTIAL = ("mat_attn", "mat_ffn", "mat_ln1_ln2")
PARTS = ("attention", "ffn", "norm_1", "norm_2")
NUMBERS = ("precision_1", "precision_5", "precision_10", "surprisal")
N_FIT, N_VALIDATION = 9, 3
N_STEPS = 64
"""Numbers are steps of one in so many, which doubles hold exactly."""


def fits(measured: Sequence[tuple[int, int]]) -> list[Row]:
    """One row a pair of states of some (model, corpus)."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "method": method}
        | {"source_state": source, "target_state": target, "n_fit": N_FIT, "n_validation": N_VALIDATION}
        | {"r2": 1 - (1 + model_id + 2 * corpus_id + 4 * source + 8 * target) / N_STEPS}
        | {"condition": None if method == "id" else 2.5, "rank": None if method == "id" else 4}
        for model_id, corpus_id in measured
        for method in WHOLE
        for source in range(MODELS[model_id].n_layers)
        for target in range(source + 1, MODELS[model_id].n_layers + 1)
    ]


def predictions(measured: Sequence[tuple[int, int]], methods: Sequence[str] = WHOLE) -> list[Row]:
    """One row a state and method."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "method": method}
        | {"state": state, "n": N_VALIDATION}
        | {
            f"{name}{end}": (1 + place + state + 3 * corpus_id + 5 * number) / N_STEPS
            for place, name in enumerate(NUMBERS)
            for number, end in enumerate(("", "_low", "_high"))
        }
        for model_id, corpus_id in measured
        for method in methods
        for state in range(MODELS[model_id].n_layers + 1)
    ]


def part_fits(measured: Sequence[tuple[int, int]]) -> list[Row]:
    """One row a part of a layer."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "layer": layer, "sub_module": part}
        | {"r2": 1 - (1 + model_id + 2 * corpus_id + 4 * layer + 8 * place) / N_STEPS, "condition": 2.5, "rank": 4}
        | {"n_fit": N_FIT, "n_validation": N_VALIDATION}
        for model_id, corpus_id in measured
        for layer in range(MODELS[model_id].n_layers)
        for place, part in enumerate(PARTS)
    ]
