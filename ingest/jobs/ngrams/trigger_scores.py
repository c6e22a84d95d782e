"""Scores that neurons give to the tokens that trigger them, and to equally frequent tokens ([V] 4.4)."""

from dataclasses import dataclass

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.jobs.ngrams.index import NgramIndex
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer

DRAWS = 100
"""Tokens drawn beside a trigger."""

DECILES = 10

BLOCK = 768
"""Scores of so many neurons by tokens of the vocabulary are held at once: 154 MB for the 50,265 tokens of OPT."""

COLUMNS = {
    "score": pl.Float32(),
    "z_score": pl.Float32(),
    "score_centred": pl.Float32(),
    "rank_from_bottom": pl.Int32(),
    "control_scores": pl.List(pl.Float32()),
}
"""What is known of a trigger that is one token."""


@dataclass(frozen=True, eq=False)
class Peers:
    """Tokens of a corpus by how often they occur: tenths of equal size.

    Attributes:
        tokens: int64, the ids that occur, most frequent first, ties by id.
        decile_of: int64 [largest id + 1], the tenth of each id, -1 where it does not occur.
    """

    tokens: np.ndarray
    decile_of: np.ndarray

    @classmethod
    def of(cls, unigrams: NgramIndex) -> "Peers":
        """Tenths of the tokens at the counted positions of a corpus."""
        tokens = unigrams.ids(np.arange(len(unigrams.occurrences)))[:, 0].astype(np.int64)
        decile_of = np.full(int(tokens.max(initial=-1)) + 1, -1, dtype=np.int64)
        decile_of[tokens] = np.arange(len(tokens)) * DECILES // max(len(tokens), 1)
        return cls(tokens, decile_of)

    def draw(self, token: int, random: np.random.Generator) -> np.ndarray:
        """int64 [DRAWS], tokens of the same tenth, with replacement; the token itself is one of them."""
        n, decile = len(self.tokens), int(self.decile_of[token])
        low, high = (-(-n * tenth // DECILES) for tenth in (decile, decile + 1))
        return self.tokens[random.integers(low, high, size=DRAWS)]


@dataclass(frozen=True, eq=False)
class TriggerScores:
    """Raw scores e_w . v over the unmasked vocabulary of one model.

    Attributes:
        unembedding: [vocab d_model] rows of the ids the tokenizer has.
        row_of: int64 [largest id + 1], the row of each id.
        peers: the corpus's tokens by frequency.
        seed: of the draws.
    """

    unembedding: Float[Tensor, "vocab d_model"]
    row_of: np.ndarray
    peers: Peers
    seed: int

    @classmethod
    def of(cls, transformer: Transformer, tokenizer: Tokenizer, peers: Peers, *, seed: int) -> "TriggerScores":
        """Open a model's unembedding."""
        vocabulary = Vocabulary.of(transformer.unembedding(), tokenizer.ids)
        row_of = np.full(int(tokenizer.ids.max()) + 1, -1, dtype=np.int64)
        row_of[tokenizer.ids] = np.arange(len(tokenizer.ids))
        return cls(vocabulary.rows, row_of, peers, seed)

    def frame(
        self,
        layer: int,
        values: Float[Tensor, "n_neurons d_model"],
        *,
        neurons: np.ndarray,
        tokens: np.ndarray,
        is_drawn: np.ndarray,
    ) -> pl.DataFrame:
        """[triggers] rows with COLUMNS.

        Args:
            layer: the layer, for the seed.
            values: value vectors of the whole layer.
            neurons: int64 [triggers], rising.
            tokens: int64 [triggers], one id each.
            is_drawn: bool [triggers], whether a trigger gets control scores.
        """
        found = _Found(len(tokens))
        of_neuron = np.searchsorted(neurons, np.arange(len(values) + 1)).tolist()

        # Memory that is already there: a new page costs more than the product that fills it.
        scores = torch.empty(min(BLOCK, len(values)), len(self.unembedding), dtype=values.dtype, device=values.device)
        moments = ScoreMoments.of(len(self.unembedding))
        for start in range(0, len(values), BLOCK):
            part = values[start : start + BLOCK]
            block = torch.matmul(part, self.unembedding.T, out=scores[: len(part)]).cpu().numpy()
            # One neuron's scores lie in a core's cache, and what is done to them takes microseconds: threads would
            # spend longer on waiting for the interpreter.
            for neuron, own_scores in enumerate(block, start):
                own = slice(of_neuron[neuron], of_neuron[neuron + 1])
                if own.start < own.stop:
                    self._look_up(found, own, own_scores, tokens, moments)
                    drawn = own.start + np.flatnonzero(is_drawn[own])
                    self._draw(found, drawn, (layer, neuron), own_scores, tokens)
        columns = {name: pl.Series(values, dtype=COLUMNS[name], strict=False) for name, values in vars(found).items()}
        return pl.DataFrame(columns)

    def _look_up(
        self, found: "_Found", own: slice, scores: np.ndarray, tokens: np.ndarray, moments: "ScoreMoments"
    ) -> None:
        """Note what one neuron, [vocab] `scores`, says of its triggers."""
        score = scores[self.row_of[tokens[own]]]
        mean, sd = moments.mean_and_sd(scores)
        found.score[own] = score
        found.score_centred[own] = score - mean
        found.z_score[own] = (score - mean) / sd if sd > 0 else 0.0
        found.rank_from_bottom[own] = [1 + np.count_nonzero(scores < one) for one in score]

    def _draw(
        self, found: "_Found", triggers: np.ndarray, neuron: tuple[int, int], scores: np.ndarray, tokens: np.ndarray
    ) -> None:
        """Note what the neuron at (layer, number) says of tokens as frequent as some of its triggers."""
        for trigger in triggers.tolist():
            # A seed of its own: the draws of one trigger do not depend on which others are kept.
            seed = (self.seed, *neuron, int(tokens[trigger]))
            drawn = self.peers.draw(int(tokens[trigger]), np.random.default_rng(seed))
            found.control_scores[trigger] = pl.Series(scores[self.row_of[drawn]])


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Memory for the moments of one neuron's scores after the other.

    Attributes:
        ones: float32, as many as there are scores: a product with them is the fastest sum.
        deviations: float32, takes the scores less their mean.
    """

    ones: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(cls, n_scores: int) -> "ScoreMoments":
        """For neurons with so many scores."""
        return cls(np.ones(n_scores, dtype=np.float32), np.empty(n_scores, dtype=np.float32))

    def mean_and_sd(self, scores: np.ndarray) -> tuple[np.float64, np.float64]:
        """Of float32 scores.

        A sum of float32 numbers in so many lanes is off by some millionths of their sizes. What the first mean is off
        by is left in the deviations, whose own mean mends it: of that only some millionths are lost.
        """
        n = np.float64(len(scores))
        first = np.float32(np.dot(scores, self.ones) / n)
        deviations = np.subtract(scores, first, out=self.deviations)
        rest = np.dot(deviations, self.ones) / n
        return first + rest, np.sqrt(np.maximum(np.dot(deviations, deviations) / n - rest**2, 0.0))


class _Found:
    """Columns of a frame, filled neuron by neuron."""

    def __init__(self, n_triggers: int) -> None:
        self.score = np.zeros(n_triggers)
        self.z_score = np.zeros(n_triggers)
        self.score_centred = np.zeros(n_triggers)
        self.rank_from_bottom = np.zeros(n_triggers, dtype=np.int64)
        # Series: lists of Python's numbers take eight times the memory.
        self.control_scores: list[pl.Series | None] = [None] * n_triggers
