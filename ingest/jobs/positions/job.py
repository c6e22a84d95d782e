"""The job `positions`: how each neuron's frequency depends on the position in a full-length sequence ([V] 5)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.catalog.tables.table import BIG, COUNTS, Table
from neurothek.catalog.tables.texts import POSITIONS
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.corpora.sources.source import POOLED
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.coefficient_range import CoefficientRange, strongest_below_zero
from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob
from neurothek.ingest.jobs.positions.profiles import OFF, ON, binned, measure_profiles
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.parallel import mapped


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    # Where there are poles, both are counted.
    cells = shape.d_ffn * extent.sequence_length * (1 + shape.has_poles)
    # Domains follow one another: a chunk holds counts of another one only where the next begins.
    parts = cells * 2 * min(extent.n_chunks + extent.n_domains - 1, extent.n_sequences)
    parts += extent.n_chunks * (FILE_BYTES + extent.sequence_length * extent.n_domains * 24)
    # A thread measures the profiles of 256 neurons at once, with a dozen arrays of 64 bits.
    block = min(256, shape.d_ffn) * extent.sequence_length * 8 * 12 * torch.get_num_threads()
    # Every count of every neuron is a row's only where the position tells much: here it is taken to be so.
    counts = (extent.n_domains + 1) * (cells + shape.d_ffn * 64) * 8
    return Footprint(
        observing=cells * extent.n_domains * 8 + (1 << 20),
        folding=cells * (4 * extent.n_domains + 6 * min(2, extent.n_domains)) + 2 * counts + block,
        parts=parts,
        rows=shape.d_ffn * 400 + counts // 8,
    )


KEPT_INFORMATION = 0.01
"""Nats of corrected mutual information from which domains and every position are kept: all would be 23 GB for OPT."""

# Profiles of a block of neurons stay in the processor's last cache: 256 of 2,048 positions are 4 MB.
_BLOCK = 256


@dataclass(frozen=True)
class PositionsJob(RuleJob):
    """Profiles over the counted positions, pooled, and by domain where the position tells something."""

    name = "positions"
    version = 1
    counts_strong = True
    tables: ClassVar[tuple[Table, ...]] = (POSITIONS,)
    footprint = staticmethod(_footprint)

    def parameters(self) -> dict[str, Any]:
        """The activation rule, what a run is, and from where on counts are kept."""
        return {
            "activation_rule": str(self.rule),
            "on": float(ON),
            "off": float(OFF),
            "kept_information": KEPT_INFORMATION,
        }

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        length = self.context.corpus.sequence_length
        return PositionsObserver(self.context.shape.d_ffn, *self.rules(layer), sequence_length=length)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """One pooled row per neuron; one per domain with a full-length sequence where the pooled profile is kept."""
        corpus = self.context.corpus
        folded = _Folded.of(partials, corpus, d_ffn=self.context.shape.d_ffn)
        blocks = [range(start, min(start + _BLOCK, folded.d_ffn)) for start in range(0, folded.d_ffn, _BLOCK)]
        # NumPy lets go of the interpreter's lock.
        frames = [frame for block in mapped(folded.frames, blocks, device=torch.device("cpu")) for frame in block]
        named = pl.concat(frames).with_columns(
            pl.lit(layer, pl.Int16).alias("layer"),
            pl.lit(int(corpus.has_bos), pl.Int32).alias("first_position"),
            pl.selectors.float().fill_nan(None),
        )
        # The quiet beside the quiet: DuckDB gives all counts of a page the bits of its largest.
        ordered = named.sort("domain", pl.col("counts_64").list.sum(), "neuron")
        return {"positions": POSITIONS.check(ordered.select(*POSITIONS.schema))}


@dataclass(frozen=True, eq=False)
class _Folded:
    """The counts of all chunks: by domain those of full-length sequences."""

    sequence_length: int
    d_ffn: int
    n_positions: int
    counts: dict[str, Int[np.ndarray, "positions d_ffn"]]
    n_sequences: dict[str, int]

    @classmethod
    def of(cls, partials: Iterable[pl.DataFrame], corpus: Corpus, *, d_ffn: int) -> "_Folded":
        """Add up the chunks, each read once; whole numbers, so their order does not matter."""
        counts: dict[str, Int[np.ndarray, "positions d_ffn"]] = {}
        opposite: dict[str, Int[np.ndarray, "positions d_ffn"]] = {}
        n_sequences: dict[str, int] = {}
        n_positions = corpus.sequence_length - int(corpus.has_bos)
        extremes: list[Float[np.ndarray, "2 d_ffn"]] = []
        for partial in partials:
            for (domain,), rows in partial.group_by("domain", maintain_order=True):
                if domain == _NO_DOMAIN:
                    both = rows.item(0, "counts") + rows.item(0, "opposite")
                    extremes.append(np.frombuffer(both, dtype=np.float32).reshape(2, d_ffn))
                    continue
                name = corpus.domains[int(str(domain))]
                for column, totals in (("counts", counts), ("opposite", opposite)):
                    if column in rows.columns:
                        total = totals.setdefault(name, np.zeros((n_positions, d_ffn), dtype=np.int32))
                        total += np.frombuffer(b"".join(rows[column]), dtype=np.uint16).reshape(total.shape)
                n_sequences[name] = n_sequences.get(name, 0) + rows.item(0, "n_sequences")
        if extremes:
            below = strongest_below_zero(extremes)
            for name, total in counts.items():
                total[:, below] = opposite[name][:, below]
        return cls(corpus.sequence_length, d_ffn, n_positions, counts, n_sequences)

    def frames(self, neurons: range) -> list[pl.DataFrame]:
        """The rows of some neurons, pooled and by domain; what is undefined is not a number."""
        profiles = {name: self._profiles(counts, neurons) for name, counts in sorted(self.counts.items())}
        pooled = sum(profiles.values(), start=np.zeros((len(neurons), self.n_positions), dtype=np.int64))
        everyone = np.arange(neurons.start, neurons.stop, dtype=np.int32)
        frames = [self._frame(POOLED, everyone, pooled, sum(self.n_sequences.values()))]
        keeps = np.nan_to_num(frames[0]["mutual_information_corrected"].to_numpy()) >= KEPT_INFORMATION
        for name, profile in profiles.items():
            frames.append(self._frame(name, everyone[keeps], profile[keeps], self.n_sequences[name]))
        return frames

    @staticmethod
    def _profiles(counts: Int[np.ndarray, "positions d_ffn"], neurons: range) -> Int[np.ndarray, "neurons positions"]:
        return np.ascontiguousarray(counts[:, neurons.start : neurons.stop].T, dtype=np.int64)

    def _frame(
        self,
        domain: str,
        neurons: Int[np.ndarray, " neurons"],
        counts: Int[np.ndarray, "neurons positions"],
        n_sequences: int,
    ) -> pl.DataFrame:
        measured = vars(measure_profiles(counts, n_sequences, sequence_length=self.sequence_length))
        is_kept = np.nan_to_num(measured["mutual_information_corrected"]) >= KEPT_INFORMATION
        bins = binned(counts)
        return pl.DataFrame(
            [
                pl.Series("neuron", neurons),
                *[pl.Series(name, values, POSITIONS.schema[name]) for name, values in measured.items()],
                pl.repeat(domain, len(neurons), dtype=pl.String, eager=True).alias("domain"),
                pl.repeat(n_sequences, len(neurons), dtype=BIG, eager=True).alias("n_sequences"),
                _lists("counts_64", bins, np.ones(len(bins), dtype=np.bool_)),
                _lists("counts", counts[is_kept], is_kept),
            ]
        )


def _lists(name: str, counts: Int[np.ndarray, "kept n"], is_kept: Bool[np.ndarray, " neurons"]) -> pl.Series:
    """A list of counts for each neuron that is kept, null for the others."""
    offsets = np.concatenate([[0], np.cumsum(is_kept * counts.shape[1])])
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(counts.ravel()), mask=pa.array(~is_kept))
    return pl.Series(name, lists, COUNTS)


# A block of flags is written and read once per sequence: it must stay in a core's second-level cache (about 1 MB).
_BLOCK_BYTES = 512 << 10

PARTIAL = {"domain": pl.Int16(), "n_sequences": pl.Int64(), "counts": pl.Binary()}
"""Columns of a partial: `counts` holds a uint16 a neuron, which Parquet would keep as 32 bits a number."""

PARTIAL_OF_POLES = {**PARTIAL, "opposite": pl.Binary()}
"""The same where coefficients have either sign: `counts` are of those above 0, `opposite` of those below. One more row,
of no domain, holds the smallest coefficients of the neurons as `counts` and the largest as `opposite`, float32."""

_NO_DOMAIN = -1


class PositionsObserver:
    """Counts one layer's activations at every counted position over one chunk's full-length sequences, by domain.

    Counts are kept in float32, which is exact: a chunk has at most 32,768 sequences.
    """

    def __init__(self, d_ffn: int, *rules: ActivationRule, sequence_length: int) -> None:
        """Watch `d_ffn` neurons by a rule, or by one a pole, over sequences of exactly `sequence_length` ids."""
        self._d_ffn, self._rules, self._sequence_length = d_ffn, rules, sequence_length
        self._rows = max(8, _BLOCK_BYTES // (4 * d_ffn))
        self._counts: tuple[dict[int, Tensor], ...] = tuple({} for _ in rules)
        self._extremes = CoefficientRange(d_ffn) if len(rules) > 1 else None
        self._n_sequences: dict[int, int] = {}

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in the coefficients m of a batch, and the gates' pre-activations."""
        coefficients = output.coefficients
        if self._extremes is not None:
            self._extremes.observe(batch, coefficients)
        full = [
            (row, domain)
            for row, (length, domain) in enumerate(zip(batch.lengths, batch.domains, strict=True))
            if length == self._sequence_length
        ]
        for _, domain in full:
            self._n_sequences[domain] = self._n_sequences.get(domain, 0) + 1
        first = batch.first_counted
        for counts in self._counts:
            for _, domain in full:
                if domain not in counts:
                    shape = (self._sequence_length - first, self._d_ffn)
                    counts[domain] = torch.zeros(shape, device=coefficients.device)
        # On an accelerator a whole sequence at once: there a call costs more than the memory it walks through.
        rows = self._rows if coefficients.device.type == "cpu" else self._sequence_length

        def count(start: int) -> None:
            stop = min(start + rows, self._sequence_length)
            active = torch.empty(stop - start, self._d_ffn, device=coefficients.device)
            for rule, counts in zip(self._rules, self._counts, strict=True):
                for row, domain in full:
                    gates = None if output.gates is None else output.gates[row, start:stop]
                    rule.mark_(active, rule.decisive(coefficients[row, start:stop], gates).float())
                    counts[domain][start - first : stop - first] += active

        # Blocks of positions are counted beside one another: each has counts of its own.
        if full:
            mapped(count, range(first, self._sequence_length, rows), device=coefficients.device)

    def result(self) -> pl.DataFrame:
        """One row a domain of the chunk and counted position, with the columns of PARTIAL, or of PARTIAL_OF_POLES."""
        frames = [self._frame(domain) for domain in sorted(self._counts[0])]
        if self._extremes is None:
            return pl.concat([pl.DataFrame(schema=PARTIAL), *frames])
        lowest, highest = (one.tobytes() for one in self._extremes.result())
        extremes = pl.DataFrame([(_NO_DOMAIN, 0, lowest, highest)], schema=PARTIAL_OF_POLES, orient="row")
        return pl.concat([extremes, *frames])

    def _frame(self, domain: int) -> pl.DataFrame:
        # A chunk's sequences cannot exceed 16 bits.
        of_rules = [counts[domain].cpu().numpy().astype(np.uint16) for counts in self._counts]
        columns = {
            "domain": np.full(len(of_rules[0]), domain, dtype=np.int16),
            "n_sequences": np.full(len(of_rules[0]), self._n_sequences[domain], dtype=np.int64),
        }
        lists = {
            name: [position.tobytes() for position in counts]
            for name, counts in zip(("counts", "opposite"), of_rules, strict=False)
        }
        return pl.DataFrame({**columns, **lists}, schema=PARTIAL if len(lists) == 1 else PARTIAL_OF_POLES)
