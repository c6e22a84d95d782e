"""Where each neuron fires: its strongest sequences, a random sample of those it fires in, and places at random."""

from itertools import chain

import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.forward.counted import CountedSequences, counted_sequences
from neurothek.ingest.jobs.contexts import histogram
from neurothek.ingest.jobs.contexts.amounts import KEPT, Amounts
from neurothek.ingest.jobs.contexts.draws import Draws
from neurothek.ingest.jobs.contexts.kept_places import KeptPlaces, by_strength
from neurothek.ingest.jobs.contexts.partial import PARTIAL, counts_frame, kept_frame, random_frame
from neurothek.ingest.jobs.contexts.peaks import Peaks, peaks_of
from neurothek.ingest.jobs.contexts.windows import read_around
from neurothek.ingest.numerics.parallel import mapped
from neurothek.ingest.numerics.priorities import priorities


class ContextsObserver:
    """Keeps, for one layer over one chunk, where each neuron is strongest, and a random sample of where it fires.

    Of several equally strong positions of a sequence the first counts; coefficients of exactly 0 are not contexts.
    """

    def __init__(self, d_ffn: int, draws: Draws, amounts: Amounts, *, is_non_negative: bool) -> None:
        """Watch `d_ffn` neurons; `is_non_negative` says that no coefficient can be below 0 (ReLU)."""
        self._d_ffn, self._draws, self._amounts, self._is_non_negative = d_ffn, draws, amounts, is_non_negative
        self._kept: tuple[KeptPlaces, KeptPlaces] | None = None
        self._random: list[pl.DataFrame] = []
        self._counts: Int[Tensor, "d_ffn bins"] | None = None

    def observe(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        gates: Float[Tensor, "batch time d_ffn"] | None = None,
    ) -> None:
        """Take in [batch time d_ffn] coefficients m; the gates play no part."""
        # A sequence that is only a BOS has no counted position.
        runs = [run for run in chain.from_iterable(counted_sequences(batch, coefficients)) if run.coefficients.shape[1]]
        if not runs:
            return
        self._keep(batch, coefficients, self._peaks(runs))
        self._count(runs)
        self._take_random(batch, coefficients)

    def result(self) -> pl.DataFrame:
        """What was kept, with the columns of `PARTIAL`."""
        parts = [pl.DataFrame(schema=PARTIAL), *self._random]
        if self._kept is not None:
            strongest, sampled = self._kept
            parts += [kept_frame(strongest, self._draws, "strongest"), kept_frame(sampled, self._draws, "quantile")]
        if self._counts is not None:
            parts.append(counts_frame(self._counts))
        return pl.concat(parts)

    def _peaks(self, runs: list[CountedSequences]) -> Peaks:
        found = mapped(
            lambda run: peaks_of(run, is_non_negative=self._is_non_negative), runs, device=runs[0].coefficients.device
        )
        return Peaks(
            *(torch.cat([getattr(one, part) for one in found]) for part in ("sequences", "activations", "positions"))
        )

    def _keep(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"], peaks: Peaks) -> None:
        device = coefficients.device
        if self._kept is None:
            n_strongest, n_sampled = self._amounts.strongest, self._amounts.sampled
            self._kept = (
                KeptPlaces.none(KEPT, n_strongest, d_ffn=self._d_ffn, device=device),
                KeptPlaces.none(n_sampled, n_sampled, d_ffn=self._d_ffn, device=device),
            )
        strongest, sampled = self._kept
        strongest.add(batch, coefficients, peaks, by_strength(peaks))
        drawn = priorities(self._draws.seed, peaks.sequences, torch.arange(self._d_ffn, device=device))
        sampled.add(batch, coefficients, peaks, drawn.masked_fill_(peaks.activations == 0, 0))

    def _count(self, runs: list[CountedSequences]) -> None:
        chosen = [
            sequence
            for run in runs
            for number, sequence in enumerate(run.coefficients, start=run.first)
            if self._draws.is_in_histogram[number]
        ]
        if chosen:
            counts = histogram.counts_by_size(chosen)
            self._counts = counts if self._counts is None else self._counts + counts

    def _take_random(self, batch: Batch, coefficients: Float[Tensor, "batch time d_ffn"]) -> None:
        neurons = torch.arange(self._d_ffn, device=coefficients.device)
        for number, (sequence, position) in enumerate(self._draws.places):
            row = sequence - batch.first_sequence
            if 0 <= row < len(batch.lengths):
                rows, positions = torch.full_like(neurons, row), torch.full_like(neurons, position)
                values = read_around(coefficients, rows=rows, positions=positions, neurons=neurons)
                self._random.append(random_frame(number, values, self._draws))
