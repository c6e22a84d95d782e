"""Losses of a model without one neuron, a few neurons side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int

from neurothek.catalog.tables.interventions import NEURON_EFFECTS, NEURON_EFFECTS_BY_DOMAIN
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.interventions.changed import changed_losses
from neurothek.ingest.interventions.first_batches import first_batches
from neurothek.ingest.jobs.job import Frames
from neurothek.ingest.models.transformer import Change, Transformer

AT_ONCE = 16
"""Neurons that are turned off side by side."""


@dataclass(frozen=True)
class SingleLoss:
    """Sums over the tokens of a text, or of one domain of it, that a model without one neuron predicts."""

    neuron: int  # the neuron
    n_tokens: int  # how many tokens these are
    nll: float  # negative log-likelihood without the neuron, nats
    nll_untouched: float  # the same in the model as it is
    kl: float  # divergence KL(untouched || without the neuron), nats
    domain: str | None = None  # the domain; None for all of the text


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

    Returns:
        Of each neuron the sums over all, then those of each domain with a token that is predicted.
    """
    losses = []
    off = torch.zeros(1, device=transformer.device)
    for start in range(0, len(neurons), AT_ONCE):
        group = neurons[start : start + AT_ONCE]
        ways = [{layer: Change(torch.tensor([neuron], device=transformer.device), off)} for neuron in group]
        total, n_total = np.zeros((len(group) + 1, 2)), 0
        parts: dict[str, tuple[Float[np.ndarray, "ways 2"], int]] = {}
        for domain, name in enumerate(corpus.domains):
            sums, n_predicted = np.zeros_like(total), 0
            for batch in first_batches(corpus, domain, n_tokens=n_tokens):
                results = changed_losses(transformer, batch, ways)
                of_batch = [[float(one.nll.double().sum()), float(one.kl.double().sum())] for one in results]
                total, sums = total + of_batch, sums + of_batch
                n_predicted += len(results[0].nll)
            n_total += n_predicted
            if n_predicted:
                parts[name] = (sums, n_predicted)
        for place, neuron in enumerate(group, start=1):
            losses += [
                SingleLoss(neuron, n, float(sums[place, 0]), float(sums[0, 0]), float(sums[place, 1]), name)
                for name, (sums, n) in ({None: (total, n_total)} | parts).items()
            ]
    return losses


def effects_frames(layer: int, losses: Sequence[SingleLoss], controls: Int[np.ndarray, " _"]) -> Frames:
    """Rows about one layer of the tables `neuron_effects` and `neuron_effects_by_domain`."""
    summed = pl.DataFrame(
        [(layer, one.neuron, one.domain, one.n_tokens, one.nll, one.nll_untouched, one.kl) for one in losses],
        schema=NEURON_EFFECTS_BY_DOMAIN.schema,
        orient="row",
    )
    of_text = summed.filter(pl.col("domain").is_null())
    is_control = pl.col("neuron").is_in(controls.tolist()).alias("is_control")
    return {
        NEURON_EFFECTS.name: of_text.with_columns(is_control).select(NEURON_EFFECTS.schema.keys()),
        NEURON_EFFECTS_BY_DOMAIN.name: summed.drop_nulls("domain"),
    }


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
