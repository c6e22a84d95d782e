"""The job `ngrams`: which tokens, bigrams and trigrams trigger each neuron, and how few of them cover it ([V] 4)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, UInt8
from torch import Tensor
from torch.nn import functional

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import NGRAM_SPECTRUM, NGRAMS, SHUFFLED_NGRAMS, TRIGGERS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.coefficient_range import CoefficientRange, strongest_below_zero
from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob
from neurothek.ingest.jobs.ngrams import trigger_scores
from neurothek.ingest.jobs.ngrams.counts import COVERAGE, LANES, Coverage, NgramCounts, active_totals
from neurothek.ingest.jobs.ngrams.index import NgramIndex, number_ngrams
from neurothek.ingest.jobs.ngrams.trigger_scores import BLOCK, Peers, Triggers, TriggerScores
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.units import Units
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

READ_BYTES = 32 << 20
"""Bits that the fold of n-grams reads at a time."""


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    chunk_bits = shape.d_ffn * extent.chunk_tokens // 8 * (1 + shape.has_poles)
    n_distinct = min(shape.vocab_size, extent.n_tokens) + 2 * extent.n_tokens
    index = extent.n_tokens * 28 + n_distinct * 24
    numbering = extent.n_tokens * 64
    unembedding = shape.vocab_size * shape.d_model * 4
    # Where there are poles, the bits of both.
    bits = shape.d_ffn * extent.n_tokens // 8 * (1 + shape.has_poles)
    scores = shape.vocab_size * min(BLOCK, shape.d_ffn) * 4 + shape.d_ffn * shape.d_model * 4 * 2
    counting = max(extent.n_tokens, _BLOCK_BYTES) * 80 * _n_threads(extent.n_tokens) + 3 * min(bits, READ_BYTES)
    triggers = shape.d_ffn * 8_000
    return Footprint(
        observing=4 * chunk_bits,
        folding=max(numbering, counting + scores + triggers),
        stored=index + unembedding,
        parts=bits + extent.n_chunks * (FILE_BYTES + shape.d_ffn * 4),
        rows=shape.d_ffn * 900,
        shared_rows=100_000,
    )


# Bits that are counted at once, where the text is not longer: words of eight times as many stay in a core's cache.
_BLOCK_BYTES = 128 << 10

# Counted positions from which on threads count faster than one: on short texts what is done between two of NumPy's
# calls, in which it lets go of the interpreter's lock, takes longer than the calls.
_LONG = 200_000


def _n_threads(n_counted: int) -> int:
    return torch.get_num_threads() if n_counted > _LONG else 1


LONGEST = 3
"""Length of the longest n-grams."""

_COVERING = [f"n_covering_{percent}" for percent in COVERAGE]


@dataclass(frozen=True)
class NgramsJob(RuleJob):
    """Counts every n-gram of the corpus for every neuron, and keeps the coverage and the most frequent triggers."""

    seed: int = 0  # of the tokens drawn beside each trigger
    name = "ngrams"
    version = 1
    counts_strong = True
    tables: ClassVar[tuple[Table, ...]] = (NGRAMS, TRIGGERS, NGRAM_SPECTRUM, SHUFFLED_NGRAMS)
    footprint = staticmethod(_footprint)

    def parameters(self) -> dict[str, Any]:
        """What is counted, what is kept, and how controls are drawn."""
        return {
            "activation_rule": str(self.rule),
            "longest": LONGEST,
            "kept": trigger_scores.NARROW,
            "kept_recall_percent": trigger_scores.LEAST_RECALL_PERCENT,
            "kept_occurrences": trigger_scores.LEAST_OCCURRENCES,
            "draws": trigger_scores.DRAWS,
            "seed": self.seed,
        }

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        return NgramsObserver(self.context.shape.d_ffn, *self.rules(layer))

    def fold(self, layer: int, partials: Partials) -> Frames:
        """A layer's rows; what the layers share is made for the first of them."""
        opened, d_ffn = self._opened, self.context.units.width(layer)
        blocks = list(opened.count(partials, self.context.corpus, shuffled=shuffled_columns(d_ffn)))
        spectrum = opened.spectrum() if layer == 0 else NGRAM_SPECTRUM.empty()
        return {
            NGRAMS.name: opened.ngrams_frame(layer, blocks, d_ffn=d_ffn),
            TRIGGERS.name: opened.triggers_frame(layer, blocks, self.context.units),
            NGRAM_SPECTRUM.name: NGRAM_SPECTRUM.check(spectrum),
            SHUFFLED_NGRAMS.name: opened.shuffled_frame(layer, blocks, d_ffn=d_ffn),
        }

    @cached_property
    def _opened(self) -> "_Opened":
        context = self.context
        indexes = tuple(number_ngrams(context.corpus, longest=LONGEST))
        peers = Peers.of(indexes[0])
        return _Opened(indexes, TriggerScores.of(context.transformer, context.tokenizer, peers, seed=self.seed))


N_SHUFFLED = 16
"""Columns of eight neurons a layer whose activations are shuffled, too: what chance would label."""

DETECTED_PERCENT = 95
"""How often an n-gram activates the neuron that detects it ([V] 4.1)."""


def shuffled_columns(d_ffn: int) -> frozenset[int]:
    """Numbers of the columns of eight neurons whose activations are shuffled: evenly spread, or all there are."""
    n_columns = -(-d_ffn // LANES)
    n_chosen = min(n_columns, N_SHUFFLED)
    return frozenset(number * n_columns // n_chosen for number in range(n_chosen))


def shuffled_positions(corpus: Corpus) -> np.ndarray:
    """int64 [n_counted]: the counted positions of every sequence in another order, the same for all neurons."""
    lengths = np.diff(corpus.offsets) - int(corpus.has_bos)
    sequence_of = np.repeat(np.arange(len(lengths)), lengths)
    drawn = random_stream(0, Purpose.SHUFFLED_POSITIONS).random(len(sequence_of))
    return np.lexsort((drawn, sequence_of))


Counted = list[tuple[Coverage, Triggers]]
"""Of the neurons of some columns, for n = 1, 2, 3."""


@dataclass(frozen=True, eq=False)
class _Block:
    """Counts of columns that stand beside each other."""

    first: int  # number of the first of them
    counted: Counted
    shuffled: tuple[int, ...]  # numbers of those whose activations are shuffled, too
    counted_shuffled: Counted | None  # of these; None where there are none


@dataclass(frozen=True, eq=False)
class _Opened:
    """What the layers of one model share on one corpus."""

    indexes: tuple[NgramIndex, ...]
    scores: TriggerScores

    def count(self, partials: Partials, corpus: Corpus, *, shuffled: Collection[int] = ()) -> Iterator[_Block]:
        """Counts of all columns of eight neurons, in order; of shuffled activations for the columns asked for."""
        order = shuffled_positions(corpus) if shuffled else np.arange(0)
        n_counted = max(corpus.n_counted, 1)
        width, at_once = max(1, _BLOCK_BYTES // n_counted), max(1, READ_BYTES // n_counted)

        def count(first: int, columns: Sequence[Sequence[Mapping[str, Any]]]) -> _Block:
            bits = np.stack([at_strongest_pole(parts) for parts in columns], axis=1)
            chosen = tuple(number for number in range(first, first + len(columns)) if number in shuffled)
            of_shuffled = self._counted(bits[order][:, [number - first for number in chosen]]) if chosen else None
            return _Block(first, self._counted(bits), chosen, of_shuffled)

        # Blocks are independent, and their order is kept.
        with ThreadPoolExecutor(_n_threads(n_counted)) as pool:
            start = 0
            while rows := [part.slice(start, at_once).collect().rows(named=True) for part in partials.scans]:
                columns = list(zip(*rows, strict=True))
                if not columns:
                    break
                places = range(0, len(columns), width)
                yield from pool.map(
                    count, [start + place for place in places], [columns[place : place + width] for place in places]
                )
                start += at_once

    def _counted(self, bits: UInt8[np.ndarray, "n_counted columns"]) -> Counted:
        counted, totals = [], active_totals(bits)
        for index in self.indexes:
            counts = NgramCounts.of(index, bits, totals)
            coverage = Coverage.of(*counts.spectrum())
            counted.append((coverage, Triggers.of(counts, coverage)))
        return counted

    def ngrams_frame(self, layer: int, blocks: Sequence[_Block], *, d_ffn: int) -> pl.DataFrame:
        """One row per neuron and n."""
        frames = []
        for number, index in enumerate(self.indexes):
            totals = [block.counted[number][0] for block in blocks]
            frame = {
                "layer": np.full(d_ffn, layer, dtype=np.int16),
                "neuron": np.arange(d_ffn, dtype=np.int32),
                "n": np.full(d_ffn, index.n, dtype=np.int16),
                "n_active": np.concatenate([part.n_active for part in totals])[:d_ffn],
                "n_distinct": np.concatenate([part.n_distinct for part in totals])[:d_ffn],
            }
            covering = np.concatenate([part.n_covering for part in totals], axis=1)[:, :d_ffn]
            frames.append(pl.DataFrame(frame | dict(zip(_COVERING, covering, strict=True)), schema=NGRAMS.schema))
        return NGRAMS.check(pl.concat(frames).sort("n", "neuron"))

    def shuffled_frame(self, layer: int, blocks: Sequence[_Block], *, d_ffn: int) -> pl.DataFrame:
        """One row per neuron of a sample and n, of its shuffled activations."""
        rows = []
        for block in blocks:
            neurons = [LANES * column + lane for column in block.shuffled for lane in range(LANES)]
            for index, (coverage, triggers) in zip(self.indexes, block.counted_shuffled or (), strict=False):
                occurrences = index.occurrences[triggers.rows]
                is_detected = triggers.could_detect & (100 * triggers.counts >= DETECTED_PERCENT * occurrences)
                active = np.bincount(triggers.lanes[is_detected], triggers.counts[is_detected], len(neurons))
                covering = coverage.n_covering[COVERAGE.index(95)]
                for lane, neuron in enumerate(neurons):
                    held = int(active[lane]) if covering[lane] <= trigger_scores.NARROW else None
                    numbers = (coverage.n_active[lane], coverage.n_distinct[lane], covering[lane])
                    if neuron < d_ffn:
                        rows.append((layer, neuron, index.n, *map(int, numbers), held))
        frame = pl.DataFrame(rows, schema=SHUFFLED_NGRAMS.schema, orient="row")
        return SHUFFLED_NGRAMS.check(frame.sort("n", "neuron"))

    def triggers_frame(self, layer: int, blocks: Sequence[_Block], units: Units) -> pl.DataFrame:
        """One row a kept trigger."""
        frames = []
        for number, index in enumerate(self.indexes):
            parts = [block.counted[number][1] for block in blocks]
            neurons = np.concatenate(
                [part.lanes + LANES * block.first for block, part in zip(blocks, parts, strict=True)]
            )
            rows = np.concatenate([part.rows for part in parts])
            frame = pl.DataFrame(
                {
                    "layer": np.full(len(rows), layer, dtype=np.int16),
                    "neuron": neurons.astype(np.int32),
                    "n": np.full(len(rows), index.n, dtype=np.int16),
                    "rank": np.concatenate([part.ranks for part in parts]).astype(np.int16),
                    "token_ids": pl.Series(index.ids(rows), dtype=pl.Array(pl.Int32, index.n)).arr.to_list(),
                    "n_active": np.concatenate([part.counts for part in parts]),
                    "n_occurrences": index.occurrences[rows],
                }
            )
            if index.n == 1:
                is_drawn = np.concatenate([part.could_detect for part in parts])
                frame = self._with_scores(layer, frame, units, is_drawn)
            frames.append(frame)
        # Lengths apart: pages of null scores take no room.
        return TRIGGERS.check(pl.concat(frames, how="diagonal").sort("n", "neuron", "rank"))

    def _with_scores(self, layer: int, triggers: pl.DataFrame, units: Units, is_drawn: np.ndarray) -> pl.DataFrame:
        """The triggers with what the neurons say of them."""
        scores = self.scores.frame(
            layer,
            units.write_vectors(layer),
            neurons=triggers["neuron"].to_numpy(),
            tokens=triggers["token_ids"].list.first().to_numpy(),
            is_drawn=is_drawn,
        )
        return pl.concat([triggers, scores], how="horizontal")

    def spectrum(self) -> pl.DataFrame:
        """How many n-grams of the corpus occur how often."""
        frames = []
        for index in self.indexes:
            occurrences, numbers = np.unique(index.occurrences, return_counts=True)
            columns = {
                "n": np.full(len(occurrences), index.n, dtype=np.int16),
                "n_occurrences": occurrences.astype(np.int64),
                "n_distinct": numbers.astype(np.int64),
            }
            frames.append(pl.DataFrame(columns, schema=NGRAM_SPECTRUM.schema))
        return pl.concat(frames)


PARTIAL = {"column": pl.Int32(), "bits": pl.Binary()}
"""Columns of a partial: row i holds neurons 8i .. 8i + 7, a byte a counted position, neuron 8i in the lowest bit."""

PARTIAL_OF_POLES = {**PARTIAL, "opposite": pl.Binary(), "extremes": pl.Binary()}
"""The same where coefficients have either sign: `bits` are those above 0, `opposite` those below; `extremes` are
float32 [2 8], the smallest and the largest coefficients."""


class NgramsObserver:
    """Keeps the activations of one layer over one chunk as bits.

    What an n-gram triggers is exact only over the whole corpus, so nothing is counted here.
    """

    def __init__(self, d_ffn: int, *rules: ActivationRule) -> None:
        """Watch `d_ffn` neurons by a rule, or by one a pole."""
        self._d_ffn, self._n_columns, self._rules = d_ffn, -(-d_ffn // LANES), rules
        self._packed: tuple[list[Tensor], ...] = tuple([] for _ in rules)
        self._extremes = CoefficientRange(d_ffn) if len(rules) > 1 else None

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in the coefficients m of a batch, and the gates' pre-activations."""
        for rule, packed in zip(self._rules, self._packed, strict=True):
            decisive = rule.decisive(output.coefficients, output.gates)
            for row, length in enumerate(batch.lengths):
                packed.append(_packed(rule.active(decisive[row, batch.first_counted : length])))
        if self._extremes is not None:
            self._extremes.observe(batch, output.coefficients)

    def result(self) -> pl.DataFrame:
        """One row for eight neurons, with the columns of PARTIAL, or of PARTIAL_OF_POLES."""
        rows: dict[str, Any] = {"column": np.arange(self._n_columns, dtype=np.int32), "bits": self._bits(0)}
        if self._extremes is None:
            return pl.DataFrame(rows, schema=PARTIAL)
        extremes = np.zeros((2, self._n_columns * LANES), dtype=np.float32)
        extremes[:, : self._d_ffn] = self._extremes.result()
        by_column = extremes.reshape(2, -1, LANES).swapaxes(0, 1)
        rows |= {"opposite": self._bits(1), "extremes": [column.tobytes() for column in by_column]}
        return pl.DataFrame(rows, schema=PARTIAL_OF_POLES)

    def _bits(self, number: int) -> list[bytes]:
        """The bits of each column by one of the rules."""
        packed = self._packed[number]
        # torch transposes bytes ten times faster than NumPy.
        empty = torch.zeros(self._n_columns, 0, dtype=torch.uint8)
        bits = torch.cat(packed).T.contiguous().cpu() if packed else empty
        return [column.tobytes() for column in bits.numpy()]


def at_strongest_pole(parts: Sequence[Mapping[str, Any]]) -> UInt8[np.ndarray, " n_counted"]:
    """uint8 [n_counted] the bits of eight neurons over a text, each at the pole at which it is strongest.

    Args:
        parts: the rows of one column in the partials of all chunks.
    """
    bits = np.frombuffer(b"".join(part["bits"] for part in parts), dtype=np.uint8)
    if "opposite" not in parts[0]:
        return bits
    extremes = [np.frombuffer(part["extremes"], dtype=np.float32).reshape(2, LANES) for part in parts]
    below = np.packbits(strongest_below_zero(extremes), bitorder="little")[0]
    opposite = np.frombuffer(b"".join(part["opposite"] for part in parts), dtype=np.uint8)
    chosen: UInt8[np.ndarray, " n_counted"] = (bits & ~below) | (opposite & below)
    return chosen


def _packed(active: Bool[Tensor, "time d_ffn"]) -> UInt8[Tensor, "time columns"]:
    """[time d_ffn] -> eight neurons a byte, packed where they are: an eighth leaves a GPU, and once for a chunk."""
    if active.device.type == "cpu":
        return torch.from_numpy(np.packbits(active.numpy(), axis=1, bitorder="little"))
    lanes = functional.pad(active.byte(), (0, -active.shape[1] % LANES)).view(len(active), -1, LANES)
    places = torch.arange(LANES, dtype=torch.uint8, device=active.device)
    return torch.bitwise_left_shift(lanes, places).sum(2, dtype=torch.uint8)
