"""Losses of a model without one neuron, a few neurons side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Int

from neurothek.catalog.tables.interventions import NEURON_EFFECTS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.interventions.changed import changed_losses
from neurothek.ingest.interventions.first_batches import first_batches
from neurothek.ingest.models.transformer import Change, Transformer

AT_ONCE = 16
"""Neurons that are turned off side by side."""


@dataclass(frozen=True)
class SingleLoss:
    """Sums over the tokens that a model without one neuron predicts."""

    neuron: int  # the neuron
    n_tokens: int  # how many tokens these are
    nll: float  # negative log-likelihood without the neuron, nats
    nll_untouched: float  # the same in the model as it is
    kl: float  # divergence KL(untouched || without the neuron), nats


def without_each(
    transformer: Transformer, corpus: Corpus, layer: int, neurons: Sequence[int], *, n_tokens: int
) -> list[SingleLoss]:
    """Turn each of some neurons of a layer off alone, on the beginning of every domain.

    Args:
        transformer: a model that predicts the next token.
        corpus: the text.
        layer: the layer.
        neurons: its neurons.
        n_tokens: ids of each domain that are read, at a sequence boundary.
    """
    losses = []
    off = torch.zeros(1, device=transformer.device)
    for start in range(0, len(neurons), AT_ONCE):
        group = neurons[start : start + AT_ONCE]
        ways = [{layer: Change(torch.tensor([neuron], device=transformer.device), off)} for neuron in group]
        sums = np.zeros((len(group) + 1, 2))
        n_predicted = 0
        for domain in range(len(corpus.domains)):
            for batch in first_batches(corpus, domain, n_tokens=n_tokens):
                results = changed_losses(transformer, batch, ways)
                sums += [[float(one.nll.double().sum()), float(one.kl.double().sum())] for one in results]
                n_predicted += len(results[0].nll)
        losses += [
            SingleLoss(neuron, n_predicted, nll, float(sums[0, 0]), kl)
            for neuron, (nll, kl) in zip(group, sums[1:].tolist(), strict=True)
        ]
    return losses


def effects_frame(layer: int, losses: Sequence[SingleLoss], controls: Int[np.ndarray, " _"]) -> pl.DataFrame:
    """Rows of the table `neuron_effects` about one layer."""
    rows = [
        (layer, one.neuron, one.neuron in controls, one.n_tokens, one.nll, one.nll_untouched, one.kl) for one in losses
    ]
    return pl.DataFrame(rows, schema=NEURON_EFFECTS.schema, orient="row")


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
