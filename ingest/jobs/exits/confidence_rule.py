"""Early exit by confidence: leave where the most likely token is far enough ahead of the second ([D] 5)."""

import numpy as np
from jaxtyping import Float, Int

NEVER = 1.112
"""0.9 times that is above 1, which no difference of two probabilities is; minus that is below 0, which none is."""

LAMBDAS = (-NEVER, *(step / 10 for step in range(11)), NEVER)

FINE_LAMBDAS = (*LAMBDAS[:-1], *(round(1 + 0.0112 * step, 4) for step in range(1, 10)), NEVER)
"""For states as they are, whose probabilities crowd at 1."""


def exit_states(
    margins: Float[np.ndarray, "sentences states"], own_positions: Int[np.ndarray, " sentences"], *, strictness: float
) -> Int[np.ndarray, " sentences"]:
    """[sentences] the state s >= 1 at which each sentence is left, the last one where no other is sure enough.

    It is the first whose largest probability is more than 0.9 lambda + 0.1 exp(-4 i / N) above the second, i the
    position among the sentence's own tokens and N the mean of i + 1 over the sentences.

    Args:
        margins: the difference of the two largest probabilities, from each state 0 .. n_layers.
        own_positions: i.
        strictness: lambda.
    """
    mean_length = float((own_positions + 1).mean())
    thresholds = 0.9 * strictness + 0.1 * np.exp(-4 * own_positions / mean_length)
    is_sure = margins > thresholds[:, None]
    is_sure[:, 0], is_sure[:, -1] = False, True
    states: Int[np.ndarray, " sentences"] = is_sure.argmax(axis=1)
    return states
