"""The job `counterparts`: which neurons of another model do each one's job, by the tokens of their lists [ours]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from catalog.tables import COUNTERPARTS, Table
from ingest.jobs.counterparts.overlaps import Best, best_of_each_other
from ingest.jobs.counterparts.sides import Compared, Side
from ingest.lens.random_vectors import random_vectors
from ingest.lens.scorer import Keep, Scorer
from ingest.lens.vocabulary import Vocabulary
from ingest.models.tokenizer import Tokenizer
from ingest.models.transformer import Transformer


@dataclass(frozen=True)
class CounterpartsJob:
    """For each neuron of either model the best of the other, and how near random vectors come.

    Attributes:
        n_best: how many are kept.
        n_random: random vectors a layer; they are those of the job `controls`.
        seed: of the draws.
    """

    n_best: int = 5
    n_random: int = 500
    seed: int = 0
    name: str = "counterparts"
    version: int = 2
    tables: tuple[Table, ...] = (COUNTERPARTS,)

    def parameters(self) -> dict[str, Any]:
        """How many are kept and drawn."""
        return {"n_best": self.n_best, "n_random": self.n_random, "seed": self.seed}

    def random_lists(
        self, transformer: Transformer, tokenizer: Tokenizer, layers: Sequence[int], *, k: int
    ) -> Int[np.ndarray, "layers n_random 2 k"]:
        """[layers n_random 2 k] what random vectors like each layer's value vectors promote and suppress."""
        vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
        scorer = Scorer(vocabulary.rows, keep=Keep(largest=k, smallest=k))
        found = np.empty((len(layers), self.n_random, 2, k), dtype=np.int32)
        for number, layer in enumerate(layers):
            values = transformer.value_vectors(layer)
            scored = scorer.score(random_vectors(values, n=self.n_random, seed=self.seed, layer=layer))
            for side, extremes in enumerate((scored.largest, scored.smallest)):
                assert extremes is not None
                found[number, :, side] = vocabulary.ids[extremes.rows.cpu().numpy()]
        return found

    def compare(self, one: Side, other: Side, *, layer: int) -> Compared:
        """Compare one layer of the first model with all of the second, from either side."""
        (forth, back), (_, random_back) = best_of_each_other(
            one.neurons[layer], other.all_neurons, other.all_random, n_best=self.n_best
        )
        ((random_forth, _),) = best_of_each_other(one.random[layer], other.all_neurons, n_best=1)
        return Compared(forth, back, random_forth, random_back.first())

    def layer_rows(
        self,
        lists: Int[np.ndarray, "n_layers d_ffn 2 k"],
        others: Int[np.ndarray, "other_layers other_d_ffn 2 other_k"],
        random: Int[np.ndarray, "n_random 2 k"],
        *,
        layer: int,
    ) -> pl.DataFrame:
        """Rows of `counterparts` for one layer alone, whose random vectors are `random`."""
        side, other = Side(lists, lists[:, :0]), Side(others, others[:, :0])
        ((best, _),) = best_of_each_other(lists[layer], other.all_neurons, n_best=self.n_best)
        ((compared, _),) = best_of_each_other(random, other.all_neurons, n_best=1)
        firsts = np.unique(best.places[:, 0][best.places[:, 0] >= 0])
        ((back, _),) = best_of_each_other(other.all_neurons[firsts], side.all_neurons, n_best=1)
        first_back = np.full(len(other.all_neurons), -1)
        first_back[firsts] = back.places[:, 0]
        return self.rows(side, other, layer=layer, best=best, random=compared, first_back=first_back)

    def rows(
        self, side: Side, other: Side, *, layer: int, best: Best, random: Best, first_back: Int[np.ndarray, " n"]
    ) -> pl.DataFrame:
        """Rows of `counterparts` for one layer.

        Args:
            side: the model whose layer it is.
            other: the other model.
            layer: the layer.
            best: of the other model's neurons, for each of the layer's.
            random: the same for the layer's random vectors.
            first_back: [n] for each neuron of the other model the place of its best among all of this one's.
        """
        n, k = best.places.shape
        own = layer * side.d_ffn + np.arange(n)
        is_mutual = np.zeros((n, k), dtype=bool)
        is_mutual[:, 0] = (best.places[:, 0] >= 0) & (first_back[best.places[:, 0]] == own)
        columns = {
            "layer": np.full(n * k, layer),
            "neuron": np.repeat(np.arange(n), k),
            "rank": np.tile(np.arange(1, k + 1), n),
            "other_layer": best.places.ravel() // other.d_ffn,
            "other_neuron": best.places.ravel() % other.d_ffn,
            "overlap": best.overlaps(side.k, other.k).ravel(),
            "null_99": np.full(n * k, null_99(random.overlaps(side.k, other.k)[:, 0])),
            "is_mutual": is_mutual.ravel(),
        }
        # Those that share no token are no counterparts.
        frame = pl.DataFrame(columns).filter(pl.Series(best.places.ravel() >= 0))
        return frame.cast(pl.Schema(COUNTERPARTS.columns))


def null_99(overlaps: Float[np.ndarray, " n"]) -> float:
    """The smallest of them that at most one in a hundred exceeds [ours]."""
    return float(np.sort(overlaps)[len(overlaps) - 1 - len(overlaps) // 100])
