"""All pairs of states at the GPT-2 medium shape against one scikit-learn fit a pair, and against the bare products."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LinearRegression

from benchmarks.timing import best_seconds, machine, publish_block, table
from neurothek.ingest.jobs.shortcuts.fits import Shortcuts
from neurothek.ingest.numerics.array_files import keep, mapped_array

N_LAYERS, D_MODEL = 24, 1024
N_FIT, N_VALIDATION = 9_000, 3_000
N_PAIRS = N_LAYERS * (N_LAYERS + 1) // 2
SAMPLED = ((0, 1), (0, N_LAYERS), (N_LAYERS - 1, N_LAYERS))
"""Pairs that scikit-learn fits: one takes as long as another."""

PRODUCTS = 12
ROUNDS = 3


class RandomStates:
    """States of that shape in files, as the job keeps them; each hangs on the one below, and on chance."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        random = np.random.default_rng(0)
        state = random.standard_normal((N_FIT + N_VALIDATION, D_MODEL), dtype=np.float32)
        for number in range(N_LAYERS + 1):
            keep(folder / f"{number}.npy", state)
            state = 0.9 * state + 0.5 * random.standard_normal(state.shape, dtype=np.float32)

    def state(self, number: int) -> torch.Tensor:
        """[sentences d_model], mapped."""
        return mapped_array(self._folder / f"{number}.npy")


def main() -> None:
    """Take the figures and publish them."""
    with _states() as (states, folder):
        shortcuts = Shortcuts(states, N_LAYERS, N_FIT, device=torch.device("cpu"), folder=folder)
        started = time.perf_counter()
        with torch.inference_mode():
            for source in range(N_LAYERS):
                shortcuts.unfitted(source)
                shortcuts.fit(source)
        ours = time.perf_counter() - started
        bare = _bare(states) * N_PAIRS
        theirs = {kind: _scikit_learn(states, kind) * N_PAIRS for kind in ("float32", "float64")}
    rows: list[tuple[str, ...]] = [
        ("the bare products", f"{bare:.0f}", "1.00", ""),
        ("all pairs of id and mat", f"{ours:.0f}", f"{ours / bare:.2f}", "at most 2"),
        *(
            (f"one scikit-learn fit a pair, {kind}", f"{seconds:.0f}", f"{seconds / bare:.1f}", _times(seconds, ours))
            for kind, seconds in theirs.items()
        ),
    ]
    text = f"""## Linear shortcuts

All {N_PAIRS} pairs of the {N_LAYERS + 1} states of a model of {N_LAYERS} layers and d = {D_MODEL:,}: random states of
{N_FIT:,} sentences to fit on and {N_VALIDATION:,} to validate on. The unit is what no method of least squares can leave
out of r^2: for every pair U^T Y over the first sentences and its product with the others, in single precision
({PRODUCTS} pairs were timed). The job's time is that of one run over all pairs, with r^2 of both methods, the matrices
to the last state and the reading of states from files. scikit-learn's LinearRegression(fit_intercept=False) fits each
pair anew: {len(SAMPLED)} pairs were timed, without any prediction, and multiplied. The goal of 50 x cannot be met on
this machine: the bare products alone are {theirs["float64"] / bare:.0f} x faster than scikit-learn.

{table(("what", "seconds", "x the products", "goal"), rows)}

{machine()}
"""
    publish_block("shortcuts", text)


@contextmanager
def _states() -> Iterator[tuple[RandomStates, Path]]:
    with tempfile.TemporaryDirectory() as name:
        yield RandomStates(Path(name)), Path(name)


def _times(seconds: float, ours: float) -> str:
    return f"{seconds / ours:.0f} x ours (goal 50)"


def _bare(states: RandomStates) -> float:
    """Seconds of one pair's products."""
    columns, others = states.state(0)[:N_FIT].clone(), states.state(0)[N_FIT:].clone()
    targets = [states.state(number)[:N_FIT].clone() for number in range(1, 4)]

    def products() -> None:
        for number in range(PRODUCTS):
            torch.matmul(others, torch.matmul(columns.T, targets[number % len(targets)]))

    return best_seconds({"bare": products}, rounds=ROUNDS)["bare"] / PRODUCTS


def _scikit_learn(states: RandomStates, kind: str) -> float:
    """Seconds of one fit, the best of the sample."""
    best = float("inf")
    for source, target in SAMPLED:
        x, y = (states.state(number)[:N_FIT].numpy().astype(kind) for number in (source, target))
        started = time.perf_counter()
        LinearRegression(fit_intercept=False).fit(x, y)
        best = min(best, time.perf_counter() - started)
    return best


if __name__ == "__main__":
    main()
