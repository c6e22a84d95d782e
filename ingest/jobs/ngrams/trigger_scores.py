"""Scores that neurons give to the tokens that trigger them, and to equally frequent tokens ([V] 4.4)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.ingest.jobs.ngrams.counts import COVERAGE, LANES, Coverage, NgramCounts, places_of
from neurothek.ingest.jobs.ngrams.index import NgramIndex
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.parallel import mapped

DRAWS = 100
"""Tokens drawn beside a trigger."""

DECILES = 10

# Neurons that a thread looks through before it asks for more, and how many triggers are counted one by one: sorting all
# scores takes as long (NumPy 2, AVX-512).
_TOGETHER, _MOST_COUNTED = 64, 16

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
    """Tokens of a corpus by how often they occur: tenths of equal size."""

    tokens: np.ndarray  # int64, the ids that occur, most frequent first, ties by id
    decile_of: np.ndarray  # int64 [largest id + 1], the tenth of each id, -1 where it does not occur

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
    """Raw scores e_w . v over the unmasked vocabulary of one model."""

    unembedding: Float[Tensor, "vocab d_model"]  # [vocab d_model] rows of the ids the tokenizer has
    row_of: np.ndarray  # int64 [largest id + 1], the row of each id
    peers: Peers  # the corpus's tokens by frequency
    seed: int  # of the draws

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
        scored = _Scored(layer, neurons, tokens, np.flatnonzero(is_drawn), n_neurons=len(values))
        # Memory that is already there: a new page costs more than the product that fills it.
        scores = torch.empty(min(BLOCK, len(values)), len(self.unembedding), dtype=values.dtype, device=values.device)
        for start in range(0, len(values), BLOCK):
            part = values[start : start + BLOCK]
            block = torch.matmul(part, self.unembedding.T, out=scores[: len(part)]).cpu().numpy()
            stop = start + len(part)
            stretches = [range(first, min(first + _TOGETHER, stop)) for first in range(start, stop, _TOGETHER)]
            mapped(partial(self._look_through, scored, block, start), stretches, device=torch.device("cpu"))
        return scored.frame()

    def _look_through(self, scored: "_Scored", block: np.ndarray, start: int, neurons: range) -> None:
        """Note what some neurons of a block, [neurons vocab] scores of those from `start` on, say of their triggers."""
        moments = ScoreMoments.of(block.shape[1])
        for neuron in neurons:
            triggers, scores = scored.triggers_of(neuron), block[neuron - start]
            if triggers.start < triggers.stop:
                self._look_up(scored, triggers, scores, moments)
                self._draw(scored, triggers, neuron, scores)

    def _look_up(self, scored: "_Scored", triggers: slice, scores: np.ndarray, moments: "ScoreMoments") -> None:
        """Note what one neuron, [vocab] `scores`, says of its triggers."""
        score = scores[self.row_of[scored.tokens[triggers]]]
        mean, sd = moments.mean_and_sd(scores)
        scored.score[triggers] = score
        scored.score_centred[triggers] = score - mean
        scored.z_score[triggers] = (score - mean) / sd if sd > 0 else 0.0
        if len(score) > _MOST_COUNTED:
            n_below = np.searchsorted(np.sort(scores), score)
        else:
            n_below = np.array([np.count_nonzero(scores < one) for one in score])
        scored.rank_from_bottom[triggers] = 1 + n_below

    def _draw(self, scored: "_Scored", triggers: slice, neuron: int, scores: np.ndarray) -> None:
        """Note what one neuron, [vocab] `scores`, says of tokens as frequent as some of its triggers."""
        first, last = np.searchsorted(scored.drawn, (triggers.start, triggers.stop)).tolist()
        for place in range(first, last):
            # A seed of its own: the draws of one trigger do not depend on which others are kept.
            token = int(scored.tokens[scored.drawn[place]])
            drawn = self.peers.draw(token, np.random.default_rng((self.seed, scored.layer, neuron, token)))
            scored.control_scores[place] = scores[self.row_of[drawn]]


@dataclass(frozen=True, eq=False)
class ScoreMoments:
    """Memory for the moments of one neuron's scores after the other."""

    ones: np.ndarray  # float32, as many as there are scores: a product with them is the fastest sum
    deviations: np.ndarray  # float32, takes the scores less their mean

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


class _Scored:
    """Columns of a frame, filled neuron by neuron."""

    def __init__(
        self, layer: int, neurons: np.ndarray, tokens: np.ndarray, drawn: np.ndarray, *, n_neurons: int
    ) -> None:
        n_triggers = len(tokens)
        self.layer = layer
        self.tokens = tokens  # int64 [triggers]
        self.drawn = drawn  # int64, rising: the triggers that get control scores
        self._starts = np.searchsorted(neurons, np.arange(n_neurons + 1)).tolist()
        self.score = np.zeros(n_triggers)
        self.z_score = np.zeros(n_triggers)
        self.score_centred = np.zeros(n_triggers)
        self.rank_from_bottom = np.zeros(n_triggers, dtype=np.int64)
        self.control_scores = np.zeros((len(drawn), DRAWS), dtype=np.float32)

    def triggers_of(self, neuron: int) -> slice:
        """The rows of one neuron."""
        return slice(self._starts[neuron], self._starts[neuron + 1])

    def frame(self) -> pl.DataFrame:
        """The rows, with COLUMNS."""
        numbers = {name: pl.Series(vars(self)[name], dtype=COLUMNS[name], strict=False) for name in list(COLUMNS)[:-1]}
        drawn = pl.Series("control_scores", self.control_scores, pl.Array(pl.Float32, DRAWS)).arr.to_list()
        controls = pl.DataFrame([pl.Series("trigger", self.drawn, pl.Int64), drawn])
        rows = pl.DataFrame({"trigger": np.arange(len(self.score)), **numbers})
        return rows.join(controls, on="trigger", how="left", maintain_order="left").select(*COLUMNS)


NARROW = 64
"""A neuron whose coverage at 95% is at most this keeps so many triggers, and all others that could make a detector."""

BRIEF = {1: 10}
"""Triggers that other neurons keep, by the length of the n-gram; 5 where it is not named."""

LEAST_RECALL_PERCENT, LEAST_OCCURRENCES = 50, 10
"""What an n-gram needs to make a detector, at the least: half of the recall that [V] asks for, so that a reader of the
warehouse can move that threshold; rarer ones are kept only among the first."""

_95 = COVERAGE.index(95)

# The brief list of a neuron is looked for among the n-grams that occur at least as often as the last of the list fires;
# so many of the most frequent n-grams give a first guess of that.
_HEAD = 256


@dataclass(frozen=True, eq=False)
class Triggers:
    """N-grams that trigger neurons, by neuron and rank."""

    lanes: np.ndarray  # int64, which of the neurons
    ranks: np.ndarray  # int64, 1-based place in the kept list
    rows: np.ndarray  # int64, row of the n-gram in its index
    counts: np.ndarray  # int64, how often the neuron was active on it
    # bool, whether it belongs to a narrow neuron and has the recall and the occurrences to detect
    could_detect: np.ndarray

    @classmethod
    def of(cls, counts: NgramCounts, coverage: Coverage) -> "Triggers":
        """The kept triggers of the neurons of some columns."""
        is_narrow = coverage.n_covering[_95] <= NARROW
        brief = _brief(counts, np.flatnonzero(~is_narrow), n_kept=BRIEF.get(counts.index.n, 5))
        by_lane = brief | _chosen(counts, np.flatnonzero(is_narrow))
        lists = [by_lane[lane] for lane in range(len(is_narrow))]
        lanes = np.repeat(np.arange(len(lists)), [len(rows) for rows, _ in lists])
        rows, values = (np.concatenate([pair[part] for pair in lists]) for part in (0, 1))
        return cls(
            lanes,
            np.concatenate([np.arange(1, len(rows) + 1) for rows, _ in lists]),
            rows,
            values,
            is_narrow[lanes] & _could_detect(counts, rows, values),
        )


Lists = dict[int, tuple[np.ndarray, np.ndarray]]
"""Lane -> (rows, counts) of n-grams, most frequent first, ties by ids."""


def _brief(counts: NgramCounts, lanes: np.ndarray, *, n_kept: int) -> Lists:
    """The `n_kept` most frequent n-grams of each of some lanes, rising."""
    index = counts.index
    guess = counts.row_counts(min(_HEAD, index.n_repeated))[:, lanes]
    if len(guess) < n_kept or not len(lanes):
        return _rarely(counts, lanes, n_kept=n_kept)
    # No n-gram of the list is below the kept-th of the guess; where that is 1 or 0, n-grams that occur once compete.
    least = np.partition(guess, len(guess) - n_kept, axis=0)[len(guess) - n_kept]
    often = lanes[least >= 2]
    lists = _by_lane(index, often, counts.at_least(_floors(counts, often, least[least >= 2])))
    return {lane: _cut(ranked, n_kept) for lane, ranked in lists.items()} | _rarely(
        counts, lanes[least < 2], n_kept=n_kept
    )


def _floors(counts: NgramCounts, lanes: np.ndarray, least: np.ndarray | int) -> np.ndarray:
    """int64 [lanes of the counts], the `least` count of some lanes, and of the others more than any n-gram occurs."""
    floors = np.full(len(counts.n_active), counts.index.n_positions + 1)
    floors[lanes] = least
    return floors


def _by_lane(index: NgramIndex, lanes: np.ndarray, counted: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Lists:
    """The n-grams of each of some lanes, rising, from (rows, lanes, counts) of theirs in any order."""
    rows, which, values = counted
    order = np.lexsort((index.lexical[rows], -values, which))
    rows, values, which = rows[order], values[order], which[order]
    starts, stops = (np.searchsorted(which, lanes, side=side).tolist() for side in ("left", "right"))
    bounds = zip(lanes.tolist(), starts, stops, strict=True)
    return {lane: (rows[start:stop], values[start:stop]) for lane, start, stop in bounds}


def _chosen(counts: NgramCounts, lanes: np.ndarray) -> Lists:
    """The most frequent n-grams of each of some lanes, and all that could make it a detector."""
    lists = {}
    for lane, (rows, values) in _ranked(counts, lanes).items():
        is_kept = _could_detect(counts, rows, values) | (np.arange(len(rows)) < NARROW)
        lists[lane] = rows[is_kept], values[is_kept]
    return lists


def _could_detect(counts: NgramCounts, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Bool [rows], whether n-grams have the recall and the occurrences that a detector needs at the least."""
    occurrences = counts.index.occurrences[rows]
    could_detect: np.ndarray = 100 * values >= LEAST_RECALL_PERCENT * occurrences
    could_detect &= occurrences >= LEAST_OCCURRENCES
    return could_detect


def _rarely(counts: NgramCounts, lanes: np.ndarray, *, n_kept: int) -> Lists:
    """The `n_kept` most frequent n-grams of each of some lanes, where a neuron fires on many of them only once."""
    if not len(lanes):
        return {}
    index = counts.index
    near = index.first_by_ids
    fired = counts.fired_once()
    lists, short = {}, []
    for lane, ranked in _by_lane(index, lanes, counts.at_least(_floors(counts, lanes, 2))).items():
        often, values = _cut(ranked, n_kept)
        column, bit = divmod(lane, LANES)
        # The others are all as frequent: those of the smallest ids come first.
        once = near[np.flatnonzero(fired[column] & (1 << bit))[: n_kept - len(often)]]
        if len(often) + len(once) < n_kept and len(near) < len(index.occurrences):
            short.append(lane)
        ones = np.ones(len(once), dtype=np.int64)
        lists[lane] = np.concatenate([often, once]), np.concatenate([values, ones])
    every = _ranked(counts, np.array(short, dtype=np.int64))
    return lists | {lane: _cut(ranked, n_kept) for lane, ranked in every.items()}


def _ranked(counts: NgramCounts, lanes: np.ndarray) -> Lists:
    """Every n-gram on which each of some lanes, rising, was active."""
    index = counts.index
    rows, which, values = counts.at_least(_floors(counts, lanes, 1))
    columns, places = np.divmod(lanes, LANES)
    lane, once = places_of((counts.on_single[columns] & (1 << places).astype(np.uint8)[:, None]) != 0)
    of_single = (once + index.n_repeated, lanes[lane], np.ones(len(once), dtype=np.int64))
    both = [np.concatenate(pair) for pair in zip((rows, which, values), of_single, strict=True)]
    return _by_lane(index, lanes, (both[0], both[1], both[2]))


def _cut(ranked: tuple[np.ndarray, np.ndarray], n_kept: int) -> tuple[np.ndarray, np.ndarray]:
    return ranked[0][:n_kept], ranked[1][:n_kept]
