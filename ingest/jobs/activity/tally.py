"""Counts and sums over the counted positions of a stretch of text, by neuron; stretches append to one another."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from neurothek.ingest.forward.activation_rule import ActivationRule, exceeds
from neurothek.ingest.forward.counted import CountedSequences

ABOVE = (0.1, 0.5, 1.0, 2.0)
"""Thresholds of |m| in `n_above`."""

ACTIVE, BOS_ACTIVE, BOS, SUM, ABS, SQUARES, FIRST_ABOVE = range(7)
"""Rows of `Tally.totals`; those from `FIRST_ABOVE` on belong to the thresholds."""

# A block of rows is read a dozen times: with the copies made of it, it should stay in a core's second-level cache.
_BLOCK_BYTES = 1536 << 10

# So many rows are added up before they are added to the totals: they can be counted in bytes, and a sum of 255 float32
# numbers has a relative error of at most 255 * 2^-24 = 2e-5 of sum |m|, and typically a hundredth of that.
_ROWS_AT_ONCE = 255


@dataclass(eq=False)
class Tally:
    """What is counted over some stretch of one domain."""

    totals: Float[Tensor, "numbers d_ffn"]  # float64, exact for counts up to 2^53 positions
    minimum: Float[Tensor, " d_ffn"]  # smallest coefficient
    maximum: Float[Tensor, " d_ffn"]  # largest coefficient
    # how many counted positions of the stretch came before the first activation; -1: never active
    first_active: Int[Tensor, " d_ffn"]
    n_positions: int = 0  # counted positions
    n_sequences: int = 0  # sequences

    @classmethod
    def empty(cls, d_ffn: int, device: torch.device) -> "Tally":
        """Nothing counted yet."""
        return cls(
            totals=torch.zeros(FIRST_ABOVE + len(ABOVE), d_ffn, dtype=torch.float64, device=device),
            minimum=torch.full((d_ffn,), torch.inf, device=device),
            maximum=torch.full((d_ffn,), -torch.inf, device=device),
            first_active=torch.full((d_ffn,), -1, dtype=torch.int64, device=device),
        )

    def append(self, later: "Tally") -> None:
        """Add the stretch of text that follows this one."""
        began = (self.first_active < 0) & (later.first_active >= 0)
        self.first_active = torch.where(began, later.first_active + self.n_positions, self.first_active)
        self.totals += later.totals
        self.minimum = torch.minimum(self.minimum, later.minimum)
        self.maximum = torch.maximum(self.maximum, later.maximum)
        self.n_positions += later.n_positions
        self.n_sequences += later.n_sequences


@dataclass(frozen=True)
class Tallier:
    """Counts one run of sequences after the other; several threads may use it at once."""

    rule: ActivationRule  # when a coefficient counts as active
    is_non_negative: bool  # whether no coefficient can be below 0 (ReLU), so that |m| = m

    def sequences(self, counted: CountedSequences, *, ignored: Bool[Tensor, " d_ffn"]) -> Tally:
        """Count some sequences; `ignored` are neurons whose first activation nobody asks for any more."""
        n_sequences, _, d_ffn = counted.coefficients.shape
        tally = Tally.empty(d_ffn, counted.coefficients.device)
        tally.n_sequences = n_sequences
        if counted.bos is not None:
            values = counted.bos.float()
            decisive = values if counted.bos_gates is None else counted.bos_gates.float()
            tally.totals[BOS] += values.sum(0, dtype=torch.float64)
            tally.totals[BOS_ACTIVE] += self.rule.active(decisive).sum(0)
        # One sequence stays where it is; several, which are small, are copied to lie without gaps.
        coefficients = counted.coefficients.reshape(-1, d_ffn)
        gates = None if counted.gates is None else counted.gates.reshape(-1, d_ffn)
        if coefficients.device.type != "cpu":
            self._add_at_once(tally, coefficients.float(), coefficients if gates is None else gates)
            return tally
        rows = min(_ROWS_AT_ONCE, max(8, _BLOCK_BYTES // (4 * d_ffn)), len(coefficients))
        work = _Work.of(rows, d_ffn, silent=~ignored)
        for start in range(0, len(coefficients), rows):
            if work.n_rows + rows > _ROWS_AT_ONCE:
                work.add_to(tally)
            block = coefficients[start : start + rows].float()
            self._add(tally, block, block if gates is None else gates[start : start + rows].float(), work)
        work.add_to(tally)
        if self.is_non_negative:
            tally.totals[ABS] = tally.totals[SUM]
        return tally

    def _add_at_once(
        self, tally: Tally, values: Float[Tensor, "rows d_ffn"], decisive: Float[Tensor, "rows d_ffn"]
    ) -> None:
        """Fill an empty tally on a GPU: in few calls, none of which waits for a number."""
        active = self.rule.active(decisive.float())
        tally.totals[ACTIVE] = active.sum(0).double()
        if len(active):
            # Of equal values `max` takes the first.
            began, first = active.byte().max(0)
            tally.first_active = torch.where(began > 0, first, tally.first_active)
            tally.minimum, tally.maximum = values.amin(0), values.amax(0)
        magnitudes = values if self.is_non_negative else values.abs()
        for number, summands in ((SUM, values), (SQUARES, values * values), (ABS, magnitudes)):
            tally.totals[number] = summands.sum(0, dtype=torch.float64)
        for number, threshold in enumerate(ABOVE, FIRST_ABOVE):
            tally.totals[number] = exceeds(magnitudes, threshold).sum(0).double()
        tally.n_positions = len(values)

    def _add(
        self, tally: Tally, block: Float[Tensor, "rows d_ffn"], decisive: Float[Tensor, "rows d_ffn"], work: "_Work"
    ) -> None:
        marks = work.marks[: len(block)]
        work.count(ACTIVE, self.rule.active(decisive, out=marks))
        work.note_first(tally, marks)
        work.add_up(SUM, block)
        work.add_up(SQUARES, torch.mul(block, block, out=work.scratch[: len(block)]))
        highest, lowest = block.amax(0), block.amin(0)
        torch.maximum(tally.maximum, highest, out=tally.maximum)
        torch.minimum(tally.minimum, lowest, out=tally.minimum)
        magnitudes = block if self.is_non_negative else block.abs()
        if not self.is_non_negative:
            work.add_up(ABS, magnitudes)
        if work.largest <= ABOVE[-1]:
            work.largest = max(work.largest, float(highest.max()), -float(lowest.min()))
        for number, threshold in enumerate(ABOVE, FIRST_ABOVE):
            if threshold < work.largest:
                work.count(number, exceeds(magnitudes, threshold, out=marks))
        tally.n_positions += len(block)
        work.n_rows += len(block)


@dataclass(eq=False)
class _Work:
    """Memory that the blocks of one stretch use one after the other: a few large operations, not many small ones.

    Threads that count beside one another wait for the interpreter between any two operations.
    """

    scratch: Float[Tensor, "rows d_ffn"]  # takes a copy of a block
    marks: Bool[Tensor, "rows d_ffn"]  # takes what is said of each value of a block
    ones: Float[Tensor, " rows"]  # as many as a block has rows
    sums: Float[Tensor, "numbers d_ffn"]  # of the rows since `add_to`, as in `Tally.totals`
    counts: UInt8[Tensor, "numbers d_ffn"]  # the same, for what is counted
    silent: Bool[Tensor, " d_ffn"]  # neurons whose first activation is still looked for
    is_any_silent: bool  # whether there is one
    n_rows: int = 0  # how many rows were added up since `add_to`
    largest: float = 0.0  # the largest |m| so far; no longer followed once it is above every threshold

    @classmethod
    def of(cls, rows: int, d_ffn: int, *, silent: Bool[Tensor, " d_ffn"]) -> "_Work":
        """Memory for blocks of so many rows."""
        device, shape = silent.device, (FIRST_ABOVE + len(ABOVE), d_ffn)
        return cls(
            scratch=torch.empty(rows, d_ffn, device=device),
            marks=torch.empty(rows, d_ffn, dtype=torch.bool, device=device),
            ones=torch.ones(rows, device=device),
            sums=torch.zeros(shape, device=device),
            counts=torch.zeros(shape, dtype=torch.uint8, device=device),
            silent=silent,
            is_any_silent=bool(silent.any()),
        )

    def add_up(self, number: int, values: Float[Tensor, "rows d_ffn"]) -> None:
        """Add the sums of the columns: a product with ones is faster than a sum (torch 2.13, AVX-512)."""
        self.sums[number].addmv_(values.T, self.ones[: len(values)])

    def count(self, number: int, marks: Bool[Tensor, "rows d_ffn"]) -> None:
        """Add how many rows are marked, by column."""
        array = self.counts[number].numpy()
        np.add(array, np.add.reduce(marks.numpy().view(np.uint8), axis=0, dtype=np.uint8), out=array)

    def note_first(self, tally: Tally, active: Bool[Tensor, "rows d_ffn"]) -> None:
        """Note the first active row of neurons that were silent so far."""
        if not self.is_any_silent:
            return
        began = self.counts[ACTIVE].bool().logical_and_(self.silent)
        if bool(began.any()):
            # Rows are numbered backwards from n to 1, so that the largest number is the first active row.
            numbers = torch.arange(len(active), 0, -1, dtype=torch.uint8, device=active.device)
            first = len(active) - (active * numbers[:, None]).amax(0).long()
            tally.first_active = torch.where(began, first + tally.n_positions, tally.first_active)
            self.silent = self.silent & ~began
            self.is_any_silent = bool(self.silent.any())

    def add_to(self, tally: Tally) -> None:
        """Add to the totals what was added up, and begin anew."""
        tally.totals += self.sums
        tally.totals += self.counts
        self.sums.zero_()
        self.counts.zero_()
        self.n_rows = 0
