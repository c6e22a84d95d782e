"""The sequences that are kept for each neuron, and what it does around their strongest places."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.ingest.forward.batches import Batch
from neurothek.ingest.jobs.contexts.peaks import Peaks
from neurothek.ingest.jobs.contexts.windows import WIDTH, read_around

_BITS_OF_SEQUENCE = 31


def by_strength(peaks: Peaks) -> Int[Tensor, "sequences d_ffn"]:
    """[sequences d_ffn] ranks by |m|, of equal ones the earlier sequence first; 0 where the neuron does not fire.

    The bits of a number that is not negative are in the order of the number.
    """
    strength = peaks.activations.abs().view(torch.int32).long() << _BITS_OF_SEQUENCE
    earlier = (1 << _BITS_OF_SEQUENCE) - 1 - peaks.sequences
    return (strength + earlier[:, None]).masked_fill_(peaks.activations == 0, 0)


@dataclass(eq=False)
class KeptPlaces:
    """For each neuron the sequences of highest rank so far, the highest first.

    Attributes:
        n_windows: around how many of them, the first ones, windows are read.
        ranks: what they are ranked by, no two alike; 0 where there is none.
        sequences: numbers of the sequences in the corpus.
        activations: m at the strongest place.
        positions: the strongest place.
        numbers: which of the windows that were read is its own.
    """

    n_windows: int
    ranks: Int[Tensor, "kept d_ffn"]
    sequences: Int[Tensor, "kept d_ffn"]
    activations: Float[Tensor, "kept d_ffn"]
    positions: Int[Tensor, "kept d_ffn"]
    numbers: Int[Tensor, "kept d_ffn"]
    _read: list[Tensor] = field(default_factory=list)
    _n_read: int = 0

    @classmethod
    def none(cls, n_kept: int, n_windows: int, *, d_ffn: int, device: torch.device) -> "KeptPlaces":
        """Nothing kept yet."""
        zeros = torch.zeros(n_kept, d_ffn, dtype=torch.int64, device=device)
        return cls(n_windows, ranks=zeros, sequences=zeros, activations=zeros.float(), positions=zeros, numbers=zeros)

    def add(
        self,
        batch: Batch,
        coefficients: Float[Tensor, "batch time d_ffn"],
        peaks: Peaks,
        ranks: Int[Tensor, "sequences d_ffn"],
    ) -> None:
        """Take in the peaks of a batch, and read the windows around those that are kept."""
        n_kept = len(self.ranks)
        self.ranks, order = torch.cat([self.ranks, ranks]).topk(n_kept, dim=0)
        sequences = peaks.sequences[:, None].expand_as(peaks.positions)
        self.sequences = torch.cat([self.sequences, sequences]).gather(0, order)
        self.activations = torch.cat([self.activations, peaks.activations]).gather(0, order)
        self.positions = torch.cat([self.positions, peaks.positions]).gather(0, order)
        self.numbers = self.numbers.gather(0, order.clamp(max=n_kept - 1))
        is_new = (order >= n_kept) & self.has_window
        places, neurons = is_new.nonzero(as_tuple=True)
        if len(neurons):
            rows = self.sequences[places, neurons] - batch.first_sequence
            positions = self.positions[places, neurons]
            self._read.append(read_around(coefficients, rows=rows, positions=positions, neurons=neurons))
            self.numbers[places, neurons] = self._n_read + torch.arange(len(neurons), device=neurons.device)
            self._n_read += len(neurons)
            self._forget()

    @property
    def has_window(self) -> Bool[Tensor, "kept d_ffn"]:
        """[kept d_ffn] which of them have windows: what is pushed down never comes up again."""
        is_first = torch.arange(len(self.ranks), device=self.ranks.device) < self.n_windows
        return (self.ranks > 0) & is_first[:, None]

    def windows(self) -> Float[Tensor, "windows width"]:
        """[windows width] what `read_around` read, in the order of `has_window`."""
        if not self._read:
            return self.activations.new_zeros(0, WIDTH)
        return torch.cat(self._read)[self.numbers[self.has_window]]

    def _forget(self) -> None:
        """Let go of windows that are not kept any more, once they are as many as those that can be."""
        most = self.n_windows * self.ranks.shape[1]
        if self._n_read > 2 * most:
            self._read = [self.windows()]
            self._n_read = len(self._read[0])
            self.numbers[self.has_window] = torch.arange(self._n_read, device=self.numbers.device)
