"""What the picked neurons of every layer do to the candidate and to the final token."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.jobs.events.readings import Layer, Readings, slices
from neurothek.ingest.jobs.events.sub_updates import Scores, neuron_scores
from neurothek.ingest.lens.logit_lens import Lens
from neurothek.ingest.models.transformer import Transformer

# Value vectors of so many examples are gathered at once: 30 of 768 numbers each are 12 MB.
EXAMPLES_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class LayerScores:
    """Scores of one layer's picked neurons."""

    candidate: Scores  # for the token at the top before the FFN
    final: Scores  # for the final token


def score(lens: Lens, layers: Sequence[Layer], readings: Readings, transformer: Transformer) -> list[LayerScores]:
    """The scores of every layer's picked neurons."""
    scores = []
    for number, layer in enumerate(layers):
        values = transformer.value_vectors(number)
        scores.append(
            LayerScores(
                candidate=picked_scores(lens, layer, values, readings.tops[:, number, 0]),
                final=picked_scores(lens, layer, values, readings.final),
            )
        )
    return scores


def picked_scores(
    lens: Lens, layer: Layer, values: Float[Tensor, "d_ffn d_model"], rows: Int[Tensor, " examples"]
) -> Scores:
    """The scores of one layer's picked neurons for one token an example, a row of the vocabulary."""
    divisors = lens.divisors(layer.pre)
    parts = [
        neuron_scores(layer.written[span], values[layer.neurons[span]], rows[span], lens=lens, divisors=divisors[span])
        for span in slices(len(rows), EXAMPLES_AT_ONCE)
    ]
    return Scores(torch.cat([part.raw for part in parts]), torch.cat([part.logit for part in parts]))
