"""Rows of the tables of linear shortcuts made by hand, each with numbers of its own."""

from collections.abc import Sequence

from tests.support.tiny import MODELS, TEXTS, Row

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


def sentences(measured: Sequence[tuple[int, int]]) -> list[Row]:
    """Sentences of some (model, corpus): those to fit on first."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "sentence_id": number}
        | {"domain": "prose" if number % 2 else "code", "is_validation": number >= N_FIT}
        | {"tokens": [1, 2], "position": 1, "own_position": 0, "text": f"sentence {number} of {corpus_id}"}
        for model_id, corpus_id in measured
        for number in range(N_FIT + N_VALIDATION)
    ]


def tops(measured: Sequence[tuple[int, int]]) -> list[Row]:
    """The first five tokens of each validation sentence, method and state; higher states say other ones."""
    return [
        {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "sentence_id": number, "method": method}
        | {"state": state, "rank": rank, "probability": (6 - rank) / N_STEPS}
        | {"token_id": (rank + number - _said(state, method, MODELS[model_id].n_layers)) % len(TEXTS[0])}
        for model_id, corpus_id in measured
        for number in range(N_FIT, N_FIT + N_VALIDATION)
        for method in WHOLE
        for state in range(MODELS[model_id].n_layers + 1)
        for rank in range(1, 6)
    ]


def _said(state: int, method: str, last: int) -> int:
    """How far the list at a state is from the model's own, which both methods end in; mat is nearer than id."""
    return (last - state) * (3 if method == "id" else 1)


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
