"""What all interventions on one model share: how often neurons fire, and the tokens that may be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
import torch
from jaxtyping import Int
from torch import Tensor

from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.chosen import ByLayer, by_layer, changes
from neurothek.ingest.interventions.random_sets import matched_sets
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.request import Intervention
from neurothek.ingest.runs.finished import EarlierRuns

N_TOKENS = 50
"""Tokens that the neurons promote, and suppress, most together: those whose probability is watched."""

_ACTIVITY = """
    select layer, neuron, sum(n_active) / sum(n_positions) as frequency, sum(activation_sum) / sum(n_positions) as mean,
        max(activation_max) + min(activation_min) as leaning
    from store.activity
    where run_id = $run_id
    group by layer, neuron
    order by layer, neuron
"""


@dataclass(eq=False)
class Shared:
    """What all interventions on one model share, read when it is asked for.

    Attributes:
        transformer: the model.
        tokenizer: its tokenizer.
        runs: the run that says how often neurons fire.
        n_sets: random sets that are drawn for each intervention.
        seed: of these.
    """

    transformer: Transformer
    tokenizer: Tokenizer
    runs: EarlierRuns | None
    n_sets: int
    seed: int
    _drawn: dict[str, Sequence[ByLayer]] = field(default_factory=dict)

    @cached_property
    def _activity(self) -> pl.DataFrame:
        assert self.runs is not None
        return self.runs.rows(_ACTIVITY, "activity")

    def _column(self, name: str) -> dict[int, np.ndarray]:
        return {
            int(layer): some[name].to_numpy()
            for (layer,), some in self._activity.partition_by("layer", as_dict=True).items()
        }

    @cached_property
    def frequencies(self) -> Mapping[int, np.ndarray]:
        """[d_ffn] a layer: how often each neuron fires."""
        return self._column("frequency")

    @cached_property
    def means(self) -> Mapping[int, np.ndarray]:
        """[d_ffn] a layer: each neuron's mean coefficient over the corpus."""
        return self._column("mean")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokens that the model may say."""
        return Vocabulary.of(self.transformer.unembedding(), self.tokenizer.ids)

    def sets(self, intervention: Intervention) -> Sequence[ByLayer]:
        """The neurons that were asked for, then the random sets."""
        if intervention.name not in self._drawn:
            chosen = by_layer(intervention)
            drawn = matched_sets(chosen, self.frequencies, n_sets=self.n_sets, seed=self.seed)
            self._drawn = {intervention.name: [chosen, *drawn]}
        return self._drawn[intervention.name]

    def signs(self, intervention: Intervention) -> Mapping[int, np.ndarray] | None:
        """[d_ffn] a layer: 1 or -1, the sign of the coefficient at which a neuron is turned on; None where all are 1.

        Those that were asked for are turned on at the pole at which they do what was asked, all others at the one at
        which they are strongest on the corpus.
        """
        if intervention.negative is None:
            return None
        signs = {layer: np.where(some < 0, -1.0, 1.0) for layer, some in self._column("leaning").items()}
        for neurons, sign in ((intervention.neurons, 1.0), (intervention.negative, -1.0)):
            for layer, neuron in neurons:
                signs[layer][neuron] = sign
        return signs

    def changes(self, intervention: Intervention) -> list[Changes]:
        """What becomes of the neurons that were asked for, then of each random set."""
        device, signs = self.transformer.device, self.signs(intervention)
        return [changes(intervention, neurons, self.means, device, signs=signs) for neurons in self.sets(intervention)]

    def tokens_of(self, intervention: Intervention) -> list[Int[Tensor, " _"]]:
        """Ids of the tokens that the neurons promote most together, then of those that they suppress most.

        Together: by the scores of the sum of their value vectors, in a gated model each at the pole at which it was
        asked for, or at the sign of its largest coefficient on the corpus.
        """
        transformer = self.transformer
        summed = torch.zeros(transformer.shape.d_model, device=transformer.device)
        for layer, neurons in by_layer(intervention).items():
            values = transformer.value_vectors(layer)[torch.from_numpy(neurons).to(transformer.device)]
            if transformer.shape.is_gated:
                poles = self.signs(intervention) or self._column("leaning")
                signs = np.sign(poles[layer][neurons]).astype(np.float32)
                values = values * torch.from_numpy(signs).to(values)[:, None]
            summed += values.sum(0)
        scores = self.vocabulary.rows @ summed
        ids = torch.from_numpy(self.vocabulary.ids.astype(np.int64)).to(transformer.device)
        n = min(N_TOKENS, len(ids) // 2)
        return [ids[scores.topk(n).indices], ids[(-scores).topk(n).indices]]
