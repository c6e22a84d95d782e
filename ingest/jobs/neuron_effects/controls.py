"""Random neurons of a layer, to compare others with."""

import numpy as np
from jaxtyping import Int

N_CONTROLS = 20
"""Random neurons of a layer that others are compared with; fewer where fewer fire."""


def random_neurons(firing: Int[np.ndarray, " _"], layer: int, *, seed: int) -> Int[np.ndarray, " controls"]:
    """Random neurons among those of a layer that fire, in ascending order; the same for a seed whatever is asked for.

    Args:
        firing: the neurons of the layer that fire, in ascending order.
        layer: the layer.
        seed: of the draw.
    """
    draw = np.random.default_rng([seed, layer])
    drawn = draw.choice(firing, size=min(N_CONTROLS, len(firing)), replace=False)
    return np.sort(drawn.astype(np.int64))
