"""Rows of the tables of interventions: sums over tokens, by range of positions."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from neurothek.catalog.tables.interventions import INTERVENTION_EFFECTS, INTERVENTION_NEURONS
from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.interventions.changed import Losses
from neurothek.ingest.interventions.chosen import ByLayer
from neurothek.ingest.request import Intervention

POSITIONS_FROM = (0, 1, 8, 64, 512)
"""Where ranges of positions begin."""

SUMMED = tuple(INTERVENTION_EFFECTS.columns)[5:]
OF_WATCHED = ("mass_watched", "mass_watched_untouched")


def neurons_frame(intervention: Intervention, sets: Sequence[ByLayer]) -> pl.DataFrame:
    """Rows of the table `intervention_neurons`: those asked for, then the random sets."""
    rows = [
        (intervention.name, number, layer, neuron)
        for number, neurons in enumerate(sets)
        for layer, some in sorted(neurons.items())
        for neuron in some.tolist()
    ]
    return pl.DataFrame(rows, schema=dict(INTERVENTION_NEURONS.columns), orient="row")


def ranges_of(batch: RightPadded) -> Int[np.ndarray, " positions"]:
    """[positions] the range of each predicted position, in the order of `changed_losses`."""
    positions = np.concatenate([np.arange(length - 1) for length in batch.lengths])
    return np.searchsorted(POSITIONS_FROM, positions, side="right") - 1


def window_weights(batch: RightPadded) -> Float[np.ndarray, " positions"]:
    """[positions] what the mean of a sequence weighs, where it is multiplied by all its ids and not by the predicted.

    The variant of perplexity that the code of [G] computes.
    """
    return np.concatenate([np.full(n - 1, n / max(n - 1, 1)) for n in batch.lengths])


def summed(
    changed: Losses,
    untouched: Losses,
    ranges: Int[np.ndarray, " positions"],
    window_weights: Float[np.ndarray, " positions"],
) -> Float[np.ndarray, "ranges summed"]:
    """[ranges summed] sums in the order of the table's columns."""
    promoted, suppressed, watched = (
        [one.mass[:, group].double().cpu().numpy() for one in (changed, untouched)] for group in range(3)
    )
    losses = [one.double().cpu().numpy() for one in (changed.nll, untouched.nll)]
    weighted = [window_weights, *(one * window_weights for one in losses)]
    columns = [*losses, changed.kl.double().cpu().numpy(), *promoted, *suppressed, *weighted, *watched]
    return np.stack([np.bincount(ranges, one, minlength=len(POSITIONS_FROM)) for one in columns], axis=1)
