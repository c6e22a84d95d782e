"""The job `selectivity`: how unevenly each neuron is active over the domains of a text, against shuffled domains."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.traits import N_CONTROLS, N_SHUFFLES, SELECTIVE, SELECTIVITY
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.forward.activation_rule import ActivationRule
from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.chunk_pass import Observer
from neurothek.ingest.forward.counted import counted_sequences
from neurothek.ingest.forward.footprint import FILE_BYTES, Extent, Footprint
from neurothek.ingest.jobs.job import Frames, Partials, RuleJob
from neurothek.ingest.models.families.blocks import BlockOutput
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.numerics.random_stream import Purpose, random_stream

N_LABELINGS = 1 + N_CONTROLS + N_SHUFFLES
"""The true domains, shuffles that are taken for them as controls, and the shuffles that all are held against."""


def _footprint(shape: Shape, extent: Extent) -> Footprint:
    """The arrays that exist at once in the code of the job, and the rows that it leaves."""
    counts = shape.d_ffn * N_LABELINGS * extent.n_domains * 8
    return Footprint(
        observing=3 * counts + extent.n_sequences * N_LABELINGS * extent.n_domains * 4 + shape.d_ffn * 40_000,
        folding=5 * counts,
        parts=extent.n_chunks * (counts // 2 + FILE_BYTES),
        rows=shape.d_ffn * 60,
    )


def labelings(corpus: Corpus, *, seed: int) -> Int[np.ndarray, "labelings sequences"]:
    """[labelings sequences] the domain of every sequence: the true one, then shuffled over the sequences [ours]."""
    shuffled = [
        random_stream(seed, Purpose.SHUFFLED_DOMAINS, number).permutation(corpus.domain_of)
        for number in range(N_LABELINGS - 1)
    ]
    return np.stack([corpus.domain_of, *shuffled])


@dataclass(frozen=True)
class SelectivityJob(RuleJob):
    """Entropy over domains of how often a neuron is active, and how often shuffled domains make it as small."""

    seed: int = 0  # of the shuffles
    name = "selectivity"
    version = 1
    counts_strong = True
    tables: ClassVar[tuple[Table, ...]] = (SELECTIVITY,)
    footprint = staticmethod(_footprint)

    def parameters(self) -> dict[str, Any]:
        """The activation rule, at either sign where it is of strong ones, and the shuffles."""
        settings = {"n_shuffles": N_SHUFFLES, "n_controls": N_CONTROLS, "seed": self.seed}
        return {"activation_rule": str(self.rule), **settings}

    def observer(self, layer: int) -> Observer:
        """What watches the layer over one chunk."""
        return SelectivityObserver(self.context.shape.d_ffn, self.rules(layer), self._is_of)

    def fold(self, layer: int, partials: Partials) -> Frames:
        """One row per neuron."""
        corpus, d_ffn = self.context.corpus, self.context.shape.d_ffn
        n_domains = len(corpus.domains)
        counts = np.zeros((d_ffn, N_LABELINGS, n_domains), dtype=np.int64)
        for partial in partials:
            counts += np.frombuffer(b"".join(partial["counts"]), dtype=np.int32).reshape(counts.shape)
        lengths = np.diff(corpus.offsets) - int(corpus.has_bos)
        sizes = np.stack([np.bincount(row, lengths, n_domains) for row in self._labelings])
        frame = selectivities(counts, sizes, corpus.domains)
        ordered = frame.with_columns(pl.lit(layer, pl.Int16).alias("layer")).select(*SELECTIVITY.schema)
        return {SELECTIVITY.name: SELECTIVITY.check(ordered)}

    @cached_property
    def _labelings(self) -> Int[np.ndarray, "labelings sequences"]:
        return labelings(self.context.corpus, seed=self.seed)

    @cached_property
    def _is_of(self) -> Bool[Tensor, "sequences labels"]:
        """[sequences, labelings * domains] whether a sequence is taken to be of a domain."""
        domains = np.arange(len(self.context.corpus.domains))
        is_of = self._labelings.T[:, :, None] == domains
        return torch.from_numpy(is_of.reshape(len(is_of), -1))


def selectivities(
    counts: Int[np.ndarray, "neurons labelings domains"],
    sizes: Float[np.ndarray, "labelings domains"],
    domains: Sequence[str],
) -> pl.DataFrame:
    """Rows of the table `selectivity`, without the layer.

    Args:
        counts: how often each neuron is active in each domain, by labeling: the true one, the controls, the shuffles.
        sizes: counted positions of each domain, by labeling.
        domains: names of the domains.
    """
    frequencies = np.divide(counts, sizes, out=np.zeros(counts.shape), where=sizes > 0)
    totals = frequencies.sum(2, keepdims=True)
    shares = np.divide(frequencies, totals, out=np.zeros(counts.shape), where=totals > 0)
    logs = np.log(shares, out=np.zeros(counts.shape), where=shares > 0)
    entropies = -(shares * logs).sum(2) / np.log(max(2, len(domains)))
    n_active = counts[:, 0].sum(1)
    is_active = n_active > 0
    has_entropy = is_active & (len(domains) > 1)
    first = shares[:, 0].argmax(1)
    null = np.sort(entropies[:, 1 + N_CONTROLS :], axis=1)
    p = np.stack([_at_most(entropies[:, number], null) for number in range(1 + N_CONTROLS)])
    columns = {
        "domain_share": (shares[np.arange(len(first)), 0, first], is_active),
        # Of one domain alone the sum is -0.
        "entropy": (np.clip(entropies[:, 0], 0, 1) + 0.0, has_entropy),
        "p": (p[0], has_entropy),
        "n_shuffled_selective": ((p[1:] <= SELECTIVE).sum(0), has_entropy),
    }
    names = np.array(domains)[first]
    return (
        pl.DataFrame(
            {
                "neuron": np.arange(len(n_active), dtype=np.int32),
                "n_active": n_active,
                "domain": [
                    str(name) if has_domain else None for name, has_domain in zip(names, is_active, strict=True)
                ],
                **{name: np.where(has_value, values, np.nan) for name, (values, has_value) in columns.items()},
            }
        )
        .with_columns(pl.col(*columns).fill_nan(None))
        .cast({"n_shuffled_selective": pl.Int16})
    )


_SAME = 1e-12


def _at_most(entropies: Float[np.ndarray, " neurons"], null: Float[np.ndarray, "neurons shuffles"]) -> np.ndarray:
    """[neurons] share of the shuffles, and the labeling itself, whose entropy is at most as large."""
    # Entropies of the same counts in another order of domains differ by rounding.
    smaller = (null <= entropies[:, None] + _SAME).sum(1)
    return np.asarray((1 + smaller) / (1 + null.shape[1]))


PARTIAL = {"counts": pl.Binary()}
"""A row a neuron: how often it is active, an int32 a labeling and domain."""


class SelectivityObserver:
    """Counts one layer's active positions over one chunk by domain, for the true domains and shuffled ones."""

    def __init__(self, d_ffn: int, rules: Sequence[ActivationRule], is_of: Bool[Tensor, "sequences labels"]) -> None:
        """Watch `d_ffn` neurons by one rule or several, in sequences of which `is_of` says the domains."""
        self._rules, self._is_of = rules, is_of
        self._counts = torch.zeros(d_ffn, is_of.shape[1], dtype=torch.float64)

    def observe(self, batch: Batch, output: BlockOutput) -> None:
        """Take in what a block did with a batch."""
        device = output.coefficients.device
        self._counts = self._counts.to(device)
        for group in counted_sequences(batch, output.coefficients, output.gates):
            for run in group:
                n, time, _ = run.coefficients.shape
                if not time:
                    continue
                active = torch.empty_like(run.coefficients)
                total = torch.zeros(n, len(self._counts), device=device)
                for rule in self._rules:
                    total += rule.mark_(active, rule.decisive(run.coefficients, run.gates)).sum(1)
                is_of = self._is_of[run.first : run.first + n].to(device)
                # Whole numbers below 2^24 in float32, which is exact; the sums of a chunk may be larger.
                self._counts += total.T @ is_of.float()

    def result(self) -> pl.DataFrame:
        """What was counted, with the columns of `PARTIAL`."""
        counts = self._counts.round().to(torch.int32).cpu().numpy()
        return pl.DataFrame({"counts": [row.tobytes() for row in counts]}, schema=PARTIAL)
