"""Random numbers: a stream for each purpose, place and seed, independent of every other draw [ours]."""

from enum import IntEnum, unique

import numpy as np


@unique
class Purpose(IntEnum):
    """What numbers are drawn for; a new purpose takes the next number, and none is taken twice."""

    EXAMPLE = 0
    """One example and layer, by layer + 1 and example; of 0, where the sentence is cut."""
    EXAMPLE_ORDER = 1
    """Which sentences examples are cut from."""
    SENTENCE_ORDER = 2
    """Which sentences shortcuts are fitted on and judged by."""
    SENTENCE_POSITION = 3
    """The position in a sentence, by 0 and sentence."""
    EXIT_SPLIT = 4
    """Which examples rules of early exit are tried on."""
    UPDATED_EXAMPLES = 5
    """The examples whose FFN updates are kept, by layer."""
    RANDOM_VECTORS = 6
    """Random vectors like value vectors, by layer."""
    CONTINUATION = 7
    """The next token of a continuation, by prompt and how many tokens of it there are."""
    SWITCH = 8
    """Random neurons of a layer beside one that is switched, by layer and neuron."""
    RANDOM_PLACES = 9
    """Positions of a text that are shown for every neuron, whether or not it fires."""
    HISTOGRAM_SEQUENCES = 10
    """Sequences of a text whose activations are counted by size."""
    RANDOM_KEYS = 11
    """Random vectors like keys, or gates, by layer."""
    RANDOM_UPS = 12
    """Random vectors like up projections, by layer."""
    SHUFFLED_POSITIONS = 13
    """Where in its sequence each counted position of a text goes."""
    SHUFFLED_LABELS = 14
    """Which prompts of two sets are taken for the first one's, by shuffle."""
    SHUFFLED_DOMAINS = 15
    """Which sequences of a text are taken for each domain's, by shuffle."""
    ROTATION = 16
    """A rotation of a layer's activations, by layer and 1 + group; of 0, which neurons are rotated together."""
    OUTPUT_SCORES = 17
    """Neurons of a layer that are turned up, and others beside them, by layer."""
    RANDOM_DIRECTIONS = 18
    """Directions that are clustered beside value vectors, by their number and their coordinates."""


def random_stream(seed: int, purpose: Purpose, *place: int) -> np.random.Generator:
    """The numbers of one place, the same in whatever order places are asked for.

    Args:
        seed: of the run.
        purpose: what they are for.
        place: at most two numbers that tell the place, such as a layer and an example.
    """
    # Philox counts in the first of four words: streams that differ in another one never meet.
    first, second = (*place, 0, 0)[:2]
    return np.random.Generator(np.random.Philox(key=seed, counter=[0, int(purpose), first, second]))
