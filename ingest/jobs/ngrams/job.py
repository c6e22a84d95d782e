"""The job `ngrams`: which tokens, bigrams and trigrams trigger each neuron, and how few of them cover it ([V] 4)."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor
from torch.nn import functional

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import NGRAM_SPECTRUM, NGRAMS, TRIGGERS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob
from neurothek.ingest.jobs.ngrams import trigger_scores
from neurothek.ingest.jobs.ngrams.counts import COVERAGE, LANES, Coverage, NgramCounts, active_totals
from neurothek.ingest.jobs.ngrams.index import NgramIndex, number_ngrams
from neurothek.ingest.jobs.ngrams.trigger_scores import BLOCK, Peers, Triggers, TriggerScores
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.transformer import Transformer

READ_BYTES = 32 << 20
"""Bits that the fold of n-grams reads at a time."""


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    chunk_bits = shape.d_ffn * extent.chunk_tokens // 8
    n_distinct = min(shape.vocab_size, extent.n_tokens) + 2 * extent.n_tokens
    index = extent.n_tokens * 28 + n_distinct * 24
    numbering = extent.n_tokens * 64
    unembedding = shape.vocab_size * shape.d_model * 4
    bits = shape.d_ffn * extent.n_tokens // 8
    scores = shape.vocab_size * min(BLOCK, shape.d_ffn) * 4 + shape.d_ffn * shape.d_model * 4 * 2
    counting = extent.n_tokens * 80 * torch.get_num_threads() + 3 * min(bits, READ_BYTES)
    triggers = shape.d_ffn * 8_000
    return Footprint(
        observing=4 * chunk_bits,
        folding=max(numbering, counting + scores + triggers),
        stored=index + unembedding,
        parts=bits + extent.n_chunks * (FILE_BYTES + shape.d_ffn * 4),
        rows=shape.d_ffn * 900,
        shared_rows=100_000,
    )


LONGEST = 3
"""Length of the longest n-grams."""

_COVERING = [f"n_covering_{percent}" for percent in COVERAGE]


@dataclass(frozen=True)
class NgramsJob(RuleJob):
    """Counts every n-gram of the corpus for every neuron, and keeps the coverage and the most frequent triggers."""

    seed: int = 0  # of the tokens drawn beside each trigger
    name = "ngrams"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (NGRAMS, TRIGGERS, NGRAM_SPECTRUM)
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

    def observer(self) -> Observer:
        """What watches one layer of one chunk."""
        return NgramsObserver(self.context.shape.d_ffn, self.rule)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """A layer's rows; what the layers share is made for the first of them."""
        opened, transformer = self._opened, self.context.transformer
        columns = list(opened.count(partials, self.context.corpus))
        spectrum = opened.spectrum() if layer == 0 else NGRAM_SPECTRUM.empty()
        return {
            NGRAMS.name: opened.ngrams_frame(layer, columns, d_ffn=transformer.shape.d_ffn),
            TRIGGERS.name: opened.triggers_frame(layer, columns, transformer),
            NGRAM_SPECTRUM.name: NGRAM_SPECTRUM.check(spectrum),
        }

    @cached_property
    def _opened(self) -> "_Opened":
        context = self.context
        indexes = tuple(number_ngrams(context.corpus, longest=LONGEST))
        peers = Peers.of(indexes[0])
        return _Opened(indexes, TriggerScores.of(context.transformer, context.tokenizer, peers, seed=self.seed))


Counted = list[tuple[Coverage, Triggers]]
"""Of eight neurons, for n = 1, 2, 3."""


@dataclass(frozen=True, eq=False)
class _Opened:
    """What the layers of one model share on one corpus."""

    indexes: tuple[NgramIndex, ...]
    scores: TriggerScores

    def count(self, partials: Partials, corpus: Corpus) -> Iterator[Counted]:
        """Counts of neurons 0-7, 8-15, ..., in order."""
        at_once = max(1, READ_BYTES // max(corpus.n_counted, 1))
        # NumPy lets go of the interpreter's lock: columns are independent, and their order is kept.
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            start = 0
            while rows := [part.slice(start, at_once).collect()["bits"].to_list() for part in partials.scans]:
                if not rows[0]:
                    break
                yield from pool.map(self._count_column, zip(*rows, strict=True))
                start += at_once

    def _count_column(self, parts: Sequence[bytes]) -> Counted:
        bits = np.frombuffer(b"".join(parts), dtype=np.uint8)
        counted, totals = [], active_totals(bits)
        for index in self.indexes:
            counts = NgramCounts.of(index, bits, totals)
            coverage = Coverage.of(*counts.spectrum())
            counted.append((coverage, Triggers.of(counts, coverage)))
        return counted

    def ngrams_frame(self, layer: int, columns: Sequence[Counted], *, d_ffn: int) -> pl.DataFrame:
        """One row per neuron and n."""
        frames = []
        for number, index in enumerate(self.indexes):
            totals = [column[number][0] for column in columns]
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

    def triggers_frame(self, layer: int, columns: Sequence[Counted], transformer: Transformer) -> pl.DataFrame:
        """One row a kept trigger."""
        frames = []
        for number, index in enumerate(self.indexes):
            parts = [column[number][1] for column in columns]
            neurons = np.concatenate([part.lanes + LANES * column for column, part in enumerate(parts)])
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
                frame = self._with_scores(layer, frame, transformer, is_drawn)
            frames.append(frame)
        # Lengths apart: pages of null scores take no room.
        return TRIGGERS.check(pl.concat(frames, how="diagonal").sort("n", "neuron", "rank"))

    def _with_scores(
        self, layer: int, triggers: pl.DataFrame, transformer: Transformer, is_drawn: np.ndarray
    ) -> pl.DataFrame:
        """The triggers with what the neurons say of them."""
        scores = self.scores.frame(
            layer,
            transformer.value_vectors(layer),
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


class NgramsObserver:
    """Keeps the activations of one layer over one chunk as bits.

    What an n-gram triggers is exact only over the whole corpus, so nothing is counted here.
    """

    def __init__(self, d_ffn: int, rule: ActivationRule) -> None:
        """Watch `d_ffn` neurons."""
        self._n_columns, self._rule = -(-d_ffn // LANES), rule
        self._packed: list[Tensor] = []

    def observe(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        gates: Float[Tensor, "batch time d_ffn"] | None = None,
    ) -> None:
        """Take in [batch time d_ffn] coefficients m, and the gates' pre-activations."""
        decisive = self._rule.decisive(coefficients, gates)
        for row, length in enumerate(batch.lengths):
            self._packed.append(_packed(self._rule.active(decisive[row, batch.first_counted : length])))

    def result(self) -> pl.DataFrame:
        """One row for eight neurons, with the columns of PARTIAL."""
        # torch transposes bytes ten times faster than NumPy.
        empty = torch.zeros(self._n_columns, 0, dtype=torch.uint8)
        bits = torch.cat(self._packed).T.contiguous().cpu() if self._packed else empty
        rows = {"column": np.arange(len(bits), dtype=np.int32), "bits": [column.tobytes() for column in bits.numpy()]}
        return pl.DataFrame(rows, schema=PARTIAL)


def _packed(active: Bool[Tensor, "time d_ffn"]) -> UInt8[Tensor, "time columns"]:
    """[time d_ffn] -> eight neurons a byte, packed where they are: an eighth leaves a GPU, and once for a chunk."""
    if active.device.type == "cpu":
        return torch.from_numpy(np.packbits(active.numpy(), axis=1, bitorder="little"))
    lanes = functional.pad(active.byte(), (0, -active.shape[1] % LANES)).view(len(active), -1, LANES)
    places = torch.arange(LANES, dtype=torch.uint8, device=active.device)
    return torch.bitwise_left_shift(lanes, places).sum(2, dtype=torch.uint8)
