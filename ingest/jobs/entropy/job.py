"""The job `entropy`: value vectors that move no logit against another, and those along token frequency."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float
from torch import Tensor

from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.traits import ENTROPY, N_RANDOM
from neurothek.ingest.corpora.corpus import Corpus
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.lens.random_vectors import percentiles, random_vectors
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.transformer import Norm, Transformer
from neurothek.ingest.numerics.unit_vectors import SHORTEST
from neurothek.ingest.request import IngestRequest

NULL_NORM = 0.01
"""Share of the centred unembedding's squared norm that its null directions hold (Stolfo et al. 2024, 3)."""

_LAYER = "layer-"
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Readout:
    """How a vector in the stream is read by the vocabulary, the final norm's gain taken in: three quadratic forms.

    A norm's gain is moved into the unembedding, as is its centring where it takes off the mean; the factor by which it
    divides a stream changes none of these numbers.
    """

    is_centred: bool  # whether the final norm takes off a vector's mean, which then has no length either
    # covariance over tokens of the unembedding's rows, and of these rows at length 1
    covariance: Float[Tensor, "d_model d_model"]
    unit_covariance: Float[Tensor, "d_model d_model"]
    null_directions: Float[Tensor, "d_model directions"]
    along_counts: Float[Tensor, " d_model"]  # covariance of the rows with ln(1 + count), over its standard deviation

    @classmethod
    def of(cls, transformer: Transformer, vocabulary: Vocabulary, corpus: Corpus) -> "Readout":
        """What a model's end makes of vectors, the counts being a corpus's."""
        norm = transformer.final_norm()
        n, width = vocabulary.rows.shape
        device = vocabulary.rows.device
        logs = torch.from_numpy(_log_counts(vocabulary, corpus)).to(device)
        gram, unit_gram = (torch.zeros(width, width, dtype=torch.float64, device=device) for _ in range(2))
        total, unit_total, with_counts = (torch.zeros(width, dtype=torch.float64, device=device) for _ in range(3))
        for start in range(0, n, _BLOCK):
            rows = _read_rows(vocabulary.rows[start : start + _BLOCK], norm)
            lengths = rows.norm(dim=1, keepdim=True)
            units = torch.where(lengths > 0, rows / lengths, 0.0)
            gram += rows.T @ rows
            unit_gram += units.T @ units
            total += rows.sum(0)
            unit_total += units.sum(0)
            with_counts += logs[start : start + _BLOCK] @ rows
        mean, unit_mean = total / n, unit_total / n
        covariance = gram / n - torch.outer(mean, mean)
        values, directions = torch.linalg.eigh(covariance)
        held = values.clamp_min(0).cumsum(0)
        n_null = int((held <= NULL_NORM * held[-1]).sum()) if held[-1] > 0 else 0
        spread = logs.std(correction=0)
        along = (with_counts / n - logs.mean() * mean) / spread if spread > 0 else torch.full_like(mean, torch.nan)
        return cls(
            norm is not None and norm.is_centred,
            covariance,
            unit_gram / n - torch.outer(unit_mean, unit_mean),
            directions[:, :n_null],
            along,
        )

    def of_vectors(self, vectors: Float[Tensor, "n d_model"]) -> Float[np.ndarray, "n 3"]:
        """[n 3] float64: logit variance, null share, correlation with counts; nan where one is not defined."""
        exact = vectors.double()
        short = exact.norm(dim=1) < SHORTEST
        if self.is_centred:
            exact = exact - exact.mean(1, keepdim=True)
        squares = exact.square().sum(1)
        short |= squares < SHORTEST**2
        variances = ((exact @ self.covariance) * exact).sum(1).clamp_min(0)
        unit_variances = ((exact @ self.unit_covariance) * exact).sum(1).clamp_min(0)
        shares = (exact @ self.null_directions).square().sum(1) / squares
        # Where all logits are alike but for rounding they follow nothing.
        is_flat = variances <= _FLAT * squares * self.covariance.diagonal().sum()
        correlations = torch.where(is_flat, torch.nan, (exact @ self.along_counts) / variances.sqrt())
        measured = torch.stack([unit_variances / squares, shares.clamp_max(1), correlations.clamp(-1, 1)], dim=1)
        numbers: np.ndarray = torch.where(short[:, None], torch.nan, measured).cpu().numpy()
        return numbers


_FLAT = 1e-12
"""Variances of logits below this part of the largest that a vector of its length could have are rounding."""


def _read_rows(rows: Float[Tensor, "n d_model"], norm: Norm | None) -> Float[Tensor, "n d_model"]:
    """[n d_model] float64: rows r' such that r' . x is what r . norm(x) is, but for the divisor and a constant."""
    return (rows if norm is None else norm.readers_(rows.clone())).double()


def _log_counts(vocabulary: Vocabulary, corpus: Corpus) -> Float[np.ndarray, " vocab"]:
    """[vocab] ln(1 + how often the corpus has each token)."""
    counted = corpus.token_counts_frame().group_by("token_id").agg(pl.col("n_occurrences").sum())
    counts = np.zeros(int(vocabulary.ids.max()) + 1)
    rows = counted.filter(pl.col("token_id") < len(counts))
    counts[rows["token_id"].to_numpy()] = rows["n_occurrences"].to_numpy()
    logs: np.ndarray = np.log1p(counts[vocabulary.ids])
    return logs


@dataclass(frozen=True)
class EntropyJob(PassJob):
    """Logit variance, null share and correlation with token counts of every value vector, beside random vectors."""

    n_random: int = N_RANDOM  # random vectors a layer
    seed: int = 0  # of their draws
    name = "entropy"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (ENTROPY,)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "EntropyJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many vectors are drawn, and what null directions hold."""
        return {"n_random": self.n_random, "null_norm": NULL_NORM, "seed": self.seed}

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One shard per layer."""
        return {f"{_LAYER}{layer:04d}": (ENTROPY.name,) for layer in self.context.units.layers}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures a layer."""
        layers = _Layers(self)
        yield lambda shard: layers.measure(int(shard.removeprefix(_LAYER)))

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        shape = self.context.shape
        # The unembedding and its unmasked rows; a block of them; four matrices and their eigenvectors.
        table = 2 * shape.vocab_size * shape.d_model * 4
        matrices = (8 * shape.d_model * shape.d_model + 6 * _BLOCK * shape.d_model) * 8
        vectors = (shape.d_ffn + self.n_random) * shape.d_model * 8 * 5
        return table + matrices + vectors

    def files(self) -> Files | None:
        """It keeps none."""
        return None


@dataclass(frozen=True, eq=False)
class _Layers:
    """Measures the layers of one model, which share what the vocabulary makes of a vector."""

    job: EntropyJob

    @cached_property
    def readout(self) -> Readout:
        context = self.job.context
        vocabulary = Vocabulary.of(context.transformer.unembedding(), context.tokenizer.ids)
        return Readout.of(context.transformer, vocabulary, context.corpus)

    def measure(self, layer: int) -> Frames:
        job, units = self.job, self.job.context.units
        values = units.write_vectors(layer)
        drawn = random_vectors(values, n=job.n_random, seed=job.seed, layer=layer, either_sign=units.is_signed)
        measured, null = self.readout.of_vectors(values), self.readout.of_vectors(drawn)
        measured_sizes, null_sizes = np.abs(measured[:, 2]), np.abs(null[:, 2])
        columns = {
            "logit_variance": measured[:, 0],
            "logit_variance_percentile": percentiles(measured[:, 0], null[:, 0]),
            "null_share": measured[:, 1],
            "null_share_percentile": percentiles(measured[:, 1], null[:, 1]),
            "count_correlation": measured[:, 2],
            "count_correlation_percentile": percentiles(measured_sizes, null_sizes),
        }
        n = len(values)
        place = pl.DataFrame({"layer": np.full(n, layer, dtype=np.int16), "neuron": np.arange(n, dtype=np.int32)})
        frame = place.with_columns(pl.Series(name, numbers).fill_nan(None) for name, numbers in columns.items())
        return {ENTROPY.name: ENTROPY.check(frame.select(*ENTROPY.schema))}
