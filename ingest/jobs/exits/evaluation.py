"""What leaving early costs and saves."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int


@dataclass(frozen=True)
class ExitOutcome:
    """How one way of leaving did on some examples.

    Attributes:
        n: examples.
        n_correct: those whose prediction at the exit is the model's own.
        n_exited: those that left before the last layer.
        accuracy: n_correct / n.
        layers_run: mean number of layers that ran.
        layers_run_sd: its standard deviation over the examples (sample); None for a single one.
        layers_saved: mean number of layers that did not run [code].
        layers_saved_correct: the same over the correct ones [G]; None where none is.
    """

    n: int
    n_correct: int
    n_exited: int
    accuracy: float
    layers_run: float
    layers_run_sd: float | None
    layers_saved: float
    layers_saved_correct: float | None


def outcome(
    layers_run: Int[np.ndarray, " examples"], is_correct: Bool[np.ndarray, " examples"], *, n_layers: int
) -> ExitOutcome:
    """Sum up; there is at least one example."""
    saved, n = n_layers - layers_run, len(layers_run)
    return ExitOutcome(
        n=n,
        n_correct=int(is_correct.sum()),
        n_exited=int((saved > 0).sum()),
        accuracy=float(is_correct.mean()),
        layers_run=float(layers_run.mean()),
        layers_run_sd=float(layers_run.std(ddof=1)) if n > 1 else None,
        layers_saved=float(saved.mean()),
        layers_saved_correct=float(saved[is_correct].mean()) if is_correct.any() else None,
    )
