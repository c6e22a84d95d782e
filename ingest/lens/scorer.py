"""Scores of many vectors against the rows of an unembedding: what is kept of each vector's whole column of scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.ingest.lens.moments import Moments, PowerSums, bin_counts
from neurothek.ingest.lens.top_k import End, Extremes, bound_groups_, group_count, select
from neurothek.ingest.numerics.parallel import share

# The scale of the scores need not be exact: every 16th row of the unembedding gives it.
_SAMPLE_STRIDE = 16
_WORKSPACE_BYTES = 1 << 30


@dataclass(frozen=True)
class Scored:
    """What is kept of the scores of n vectors, in their order."""

    largest: Extremes | None  # the largest scores of each vector, if asked for
    smallest: Extremes | None  # the smallest, if asked for
    moments: Moments | None  # moments over all scores of each vector, float64, if asked for
    # how many scores of each vector lie in each bin around their mean, if asked for
    histogram: Int[Tensor, "vectors bins"] | None = None

    def part(self, start: int, stop: int) -> "Scored":
        """Of the vectors from `start` to before `stop`."""
        one = slice(start, stop)
        return Scored(
            None if self.largest is None else self.largest.part(one),
            None if self.smallest is None else self.smallest.part(one),
            None if self.moments is None else self.moments.part(one),
            None if self.histogram is None else self.histogram[one],
        )

    @property
    def all(self) -> tuple[Extremes, Extremes, Moments]:
        """Largest, smallest and moments, where all three were asked for."""
        assert self.largest is not None
        assert self.smallest is not None
        assert self.moments is not None
        return self.largest, self.smallest, self.moments


@dataclass(frozen=True)
class ScorerOptions:
    """What to keep of a column of scores: how many of the largest and smallest, its moments, its histogram.

    A histogram is taken in units of the moments, so that it needs them.
    """

    largest: int = 0
    smallest: int = 0
    moments: bool = False
    histogram: bool = False

    @property
    def sides(self) -> dict[End, int]:
        """How many entries to keep of each side that is asked for."""
        sizes: dict[End, int] = {"largest": self.largest, "smallest": self.smallest}
        return {side: k for side, k in sizes.items() if k}


@dataclass(frozen=True)
class _Tiling:
    """How the product is cut; that depends on the device and the numbers of rows and vectors alone."""

    columns: int  # vectors scored at once, at most
    # rows of one matrix product: large enough to run at full speed, and small enough for its result to be read again
    # from the processor's cache
    product_rows: int
    piece_rows: int  # rows of one step of the moments, whose operands stay in one core's cache
    histogram_rows: int  # rows of one step of the histogram: more, since each step counts from zero

    @classmethod
    def of(cls, device: torch.device, rows: int) -> "_Tiling":
        if device.type == "cpu":
            # Half a gigabyte of scores at once is the most one thread may hold, for whatever vocabulary.
            return cls(
                columns=max(32, min(512, (1 << 27) // rows)), product_rows=512, piece_rows=512, histogram_rows=1024
            )
        return cls(columns=2048, product_rows=rows, piece_rows=8192, histogram_rows=8192)

    def columns_of(self, n_vectors: int) -> int:
        """Vectors of one block: blocks are even in number, so that of two threads none waits for the other's last."""
        pairs = -(-n_vectors // (2 * self.columns))
        return max(1, min(self.columns, -(-n_vectors // (2 * pairs)))) if pairs else 1


def workspace_bytes(rows: int) -> int:
    """What the buffers of one scorer take in memory, all threads together, estimated from above."""
    tiling = _Tiling.of(torch.device("cpu"), rows)
    # Half as much again: bounds of groups, what is sorted of them, and the moments' operands.
    return _threads(rows, tiling) * 4 * rows * tiling.columns * 3 // 2


def _threads(rows: int, tiling: _Tiling) -> int:
    """How many threads may hold a block of scores at once."""
    return max(1, min(torch.get_num_threads(), _WORKSPACE_BYTES // (4 * rows * tiling.columns)))


class Scorer:
    """Scores vectors against one unembedding, and keeps its buffers for the next vectors."""

    def __init__(self, unembedding: Float[Tensor, "vocab d_model"], *, keep: ScorerOptions) -> None:
        """Prepare to score against E `[vocab d_model]`, float32, contiguous, and to keep at most `vocab` a side."""
        self._unembedding, self._keep = unembedding, keep
        self._tiling = _Tiling.of(unembedding.device, unembedding.shape[0])
        self._spread = unembedding[::_SAMPLE_STRIDE].square().mean().sqrt()
        # The mean of e_w . v over all tokens is the mean of all e_w, times v.
        self._centre = unembedding.mean(0, dtype=torch.float64)
        self._idle: list[_Bench] = []

    def score(self, vectors: Float[Tensor, "n_vectors d_model"]) -> Scored:
        """[n_vectors d_model], float32 -> what to keep of the raw scores e_w . v of each vector ([G] 3).

        Each vector is scaled by a power of two first and its results are scaled back, which changes no bit of them, so
        that fourth powers of very small scores do not vanish.
        """
        columns = self._tiling.columns_of(vectors.shape[0])
        starts = range(0, vectors.shape[0], columns)
        blocks: dict[int, Scored] = {}

        def work(mine: Iterator[int]) -> None:
            bench = self._idle.pop() if self._idle else _Bench(self._unembedding, self._tiling, self._keep)
            with torch.inference_mode():
                for start in mine:
                    block = vectors[start : start + columns]
                    blocks[start] = bench.score(block, centre=self._centre, scale=_scale(block, self._spread))
            self._idle.append(bench)

        share(starts, work, workers=self._workers(len(starts)))
        return _joined([blocks[start] for start in starts])

    def _workers(self, blocks: int) -> int:
        if self._unembedding.device.type != "cpu":
            return 1
        return min(_threads(self._unembedding.shape[0], self._tiling), max(1, blocks))


class _Bench:
    """One thread's buffers, used for one block of vectors after the other."""

    def __init__(self, unembedding: Float[Tensor, "vocab d_model"], tiling: _Tiling, keep: ScorerOptions) -> None:
        self._unembedding, self._tiling, self._keep = unembedding, tiling, keep
        rows, device = unembedding.shape[0], unembedding.device
        self._scores = _buffer(rows * tiling.columns, device)
        self._bounds = {side: _buffer(group_count(rows) * tiling.columns, device) for side in keep.sides}
        self._sums = PowerSums(piece_rows=tiling.piece_rows, columns=tiling.columns, device=device)

    def score(
        self,
        vectors: Float[Tensor, "columns d_model"],
        *,
        centre: Float[Tensor, " d_model"],
        scale: Float[Tensor, " columns"],
    ) -> Scored:
        """[columns d_model] -> what to keep of one block; `centre` is the mean of the unembedding's rows, float64."""
        rows, columns = self._unembedding.shape[0], vectors.shape[0]
        scaled = (vectors * scale[:, None]).T
        scores = self._scores[: rows * columns].view(rows, columns)
        n_bounds = group_count(rows) * columns
        bounds = {side: flat[:n_bounds].view(-1, columns) for side, flat in self._bounds.items()}
        self._sums.start(centre @ scaled.double())
        step = self._tiling.product_rows
        for start in range(0, rows, step):
            product = scores[start : start + step]
            torch.mm(self._unembedding[start : start + step], scaled, out=product)
            self._observe(product, bounds, first_row=start)
        return self._results(scores, bounds, scale)

    def _observe(self, product: Float[Tensor, "rows columns"], bounds: dict[End, Tensor], *, first_row: int) -> None:
        step = self._tiling.piece_rows
        for start in range(0, product.shape[0], step):
            piece = product[start : start + step]
            for side, groups in bounds.items():
                bound_groups_(groups, piece, first_row=first_row + start, side=side)
            if self._keep.moments:
                self._sums.add(piece)

    def _results(
        self, scores: Float[Tensor, "rows columns"], bounds: dict[End, Tensor], scale: Float[Tensor, " columns"]
    ) -> Scored:
        sides = {side: select(scores, bounds[side], k=k, side=side) for side, k in self._keep.sides.items()}
        for extremes in sides.values():
            extremes.values.div_(scale[:, None])
        moments = self._sums.result() if self._keep.moments else None
        histogram = None
        if moments is not None and self._keep.histogram:
            histogram = bin_counts(scores, mean=moments.mean, sd=moments.sd, piece_rows=self._tiling.histogram_rows)
        return Scored(
            sides.get("largest"),
            sides.get("smallest"),
            None if moments is None else moments.scaled(1 / scale.double()),
            histogram,
        )


def _buffer(size: int, device: torch.device) -> Float[Tensor, " size"]:
    # NumPy asks Linux for huge pages, PyTorch does not: touching 130 MB for the first time takes 7 ms instead of 47.
    return (
        torch.from_numpy(np.empty(size, dtype=np.float32)) if device.type == "cpu" else torch.empty(size, device=device)
    )


def _scale(vectors: Float[Tensor, "columns d_model"], spread: Float[Tensor, ""]) -> Float[Tensor, " columns"]:
    """[columns] powers of two that bring scores near 1; 1 for a zero vector."""
    typical = torch.linalg.vector_norm(vectors, dim=1, dtype=torch.float64) * spread.double()
    exponents = torch.where(typical > 0, -typical.log2().round(), 0.0).clamp(-126, 126)
    return torch.exp2(exponents).float()


def _joined(blocks: Sequence[Scored]) -> Scored:
    largest = [block.largest for block in blocks if block.largest is not None]
    smallest = [block.smallest for block in blocks if block.smallest is not None]
    moments = [block.moments for block in blocks if block.moments is not None]
    histograms = [block.histogram for block in blocks if block.histogram is not None]
    return Scored(
        largest=Extremes.joined(largest) if largest else None,
        smallest=Extremes.joined(smallest) if smallest else None,
        moments=Moments.joined(moments) if moments else None,
        histogram=torch.cat(histograms) if histograms else None,
    )
