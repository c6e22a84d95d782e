"""Rows of the table `exits` made by hand: every one random, and curves that cross 95% never, once or twice."""

import random
from collections.abc import Sequence

from tests.support.tiny import MODELS, Row

RULES = ("cluster_ranks", "cluster_sets", "logistic_stream", "logistic_ffn", "logistic_sum")
SHORTCUTS = ("mat", "id", "fixed_mat", "fixed_id")
SEEDS = (38, 39, 40, 41, 42)
N_TRIED, N_SENTENCES = 40, 200
N_CLUSTERS = 20

CURVES = {
    "mat": (0.90, 0.96, 0.94, 0.97, 1.0),
    "id": (0.97, 0.98, 1.0),
    "fixed_mat": (0.5, 0.95, 1.0),
    "fixed_id": (0.1, 0.3, 0.2, 0.6),
}
"""Precision along each curve: rises through 95% twice; lies above it; reaches it exactly; lies below it."""


def rows(measured: Sequence[tuple[int, int]]) -> list[Row]:
    """Rows of some (model, corpus); a model's last rule was not measured of the first of them."""
    draw = random.Random(38)
    found: list[Row] = []
    for number, (model_id, corpus_id) in enumerate(measured):
        ids = {"model_id": model_id, "corpus_id": corpus_id, "run_id": 950 + number}
        n_layers = MODELS[model_id].n_layers
        for method in RULES[: 4 if number == 0 else 5]:
            for seed in SEEDS[: 1 if method == "cluster_sets" else 5]:
                parameter = float(N_CLUSTERS) if method.startswith("cluster") else 0.0
                found.append(ids | {"method": method, "parameter": parameter, "seed": seed} | _rule(n_layers, draw))
        for method in SHORTCUTS:
            found += [ids | {"method": method, "seed": 0} | row for row in _curve(method, n_layers, draw)]
    # Rows lie in no order that a view could lean on.
    draw.shuffle(found)
    return found


def _rule(n_layers: int, draw: random.Random) -> Row:
    exited = [draw.randrange(n_layers) for _ in range(draw.choice([0, 5, 12]))]
    n_wrong = draw.randint(0, len(exited) // 2)
    saved = [n_layers - 1 - layer for layer in exited] + [0] * (N_TRIED - len(exited))
    return _row(saved, N_TRIED - n_wrong, sum(one > 0 for one in saved), n_layers, saved[n_wrong:])


def _curve(method: str, n_layers: int, draw: random.Random) -> list[Row]:
    points = []
    for step, precision in enumerate(CURVES[method]):
        # More and more layers, all of them at the end.
        share = (step + 1) / len(CURVES[method])
        run = [min(n_layers, draw.uniform(0.9, 1.0) * share * n_layers) for _ in range(N_SENTENCES)]
        saved = [n_layers - one for one in run]
        n_correct = round(precision * N_SENTENCES)
        points.append({"parameter": step / 10} | _row(saved, n_correct, N_SENTENCES, n_layers, saved[:n_correct]))
    return points


def _row(saved: Sequence[float], n_correct: int, n_exited: int, n_layers: int, correct: Sequence[float]) -> Row:
    mean = sum(saved) / len(saved)
    variance = sum((one - mean) ** 2 for one in saved) / (len(saved) - 1)
    return {
        "n": len(saved),
        "n_correct": n_correct,
        "n_exited": n_exited,
        "accuracy": n_correct / len(saved),
        "layers_run": n_layers - mean,
        "layers_run_sd": variance**0.5,
        "layers_saved": mean,
        "layers_saved_correct": sum(correct) / len(correct) if correct else None,
    }
