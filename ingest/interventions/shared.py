"""What all interventions on one model share: how often neurons fire, and the tokens that may be said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.interventions.changed import Changes
from neurothek.ingest.interventions.chosen import ByLayer, by_layer, changes
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.request import Intervention
from neurothek.ingest.runs.finished import EarlierRuns

N_BINS = 10
"""Parts of a layer's neurons that fire, from the rarest to the most frequent; those that never fire are one more."""


def matched_sets(
    chosen: Mapping[int, Int[np.ndarray, " neurons"]],
    frequencies: Mapping[int, Float[np.ndarray, " d_ffn"]],
    *,
    n_sets: int,
    seed: int,
) -> list[dict[int, Int[np.ndarray, " neurons"]]]:
    """Draw sets that match the chosen neurons by layer and frequency ([ours]).

    A chosen neuron is stood for by another one of its layer and of its tenth of frequencies that was not chosen, none
    twice in a set; where a tenth has too few, the next ones stand in for it, and where the layer has no other neurons
    left, the chosen themselves.

    Args:
        chosen: layer -> neurons, each once.
        frequencies: layer -> how often each neuron fires.
        n_sets: how many sets to draw.
        seed: of the draw.

    Returns:
        The sets, each with as many neurons of each layer as were chosen there, in ascending order.
    """
    draw = np.random.default_rng(seed)
    return [
        {layer: _drawn(neurons, frequencies[layer], draw) for layer, neurons in sorted(chosen.items())}
        for _ in range(n_sets)
    ]


def bins(frequency: Float[np.ndarray, " d_ffn"]) -> Int[np.ndarray, " d_ffn"]:
    """[d_ffn] the tenth of the firing neurons that each is in, from 1; 0 for those that never fire."""
    bin_of = np.zeros(len(frequency), dtype=np.int64)
    fires = np.flatnonzero(frequency > 0)
    order = fires[np.argsort(frequency[fires], kind="stable")]
    bin_of[order] = 1 + np.arange(len(order)) * N_BINS // max(len(order), 1)
    return bin_of


def _drawn(
    chosen: Int[np.ndarray, " neurons"], frequency: Float[np.ndarray, " d_ffn"], draw: np.random.Generator
) -> Int[np.ndarray, " neurons"]:
    of_bin = bins(frequency)
    is_free: Bool[np.ndarray, " d_ffn"] = np.ones(len(frequency), dtype=bool)
    is_free[chosen] = False
    drawn: list[int] = []
    for number in sorted(set(of_bin[chosen].tolist())):
        drawn += _of_bin(int((of_bin[chosen] == number).sum()), number, of_bin, is_free, draw)
    left = len(chosen) - len(drawn)
    # More than half of the layer was chosen: nobody else is left.
    drawn += draw.choice(chosen, size=left, replace=False).tolist() if left else []
    return np.sort(np.array(drawn, dtype=np.int64))


def _of_bin(
    n: int,
    target: int,
    of_bin: Int[np.ndarray, " d_ffn"],
    is_free: Bool[np.ndarray, " d_ffn"],
    draw: np.random.Generator,
) -> Sequence[int]:
    """As many free neurons of a tenth, then of the nearest ones; they are free no longer."""
    taken: list[int] = []
    for other in sorted(range(N_BINS + 1), key=lambda number: (abs(number - target), number)):
        candidates = np.flatnonzero((of_bin == other) & is_free)
        drawn = draw.choice(candidates, size=min(n - len(taken), len(candidates)), replace=False)
        is_free[drawn] = False
        taken += drawn.tolist()
        if len(taken) == n:
            break
    return taken


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
    """What all interventions on one model share, read when it is asked for."""

    transformer: Transformer  # the model
    tokenizer: Tokenizer  # its tokenizer
    runs: EarlierRuns | None  # the run that says how often neurons fire
    n_sets: int  # random sets that are drawn for each intervention
    seed: int  # of these
    _drawn: dict[str, Sequence[ByLayer]] = field(default_factory=dict)

    @cached_property
    def _activity(self) -> pl.DataFrame:
        assert self.runs is not None
        return self.runs.rows(_ACTIVITY, "activity")

    def _column(self, name: str) -> dict[int, np.ndarray]:
        return {
            int(layer): rows[name].to_numpy()
            for (layer,), rows in self._activity.partition_by("layer", as_dict=True).items()
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
        signs = {layer: np.where(leanings < 0, -1.0, 1.0) for layer, leanings in self._column("leaning").items()}
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
