"""The job `universality`: which neuron of another model is active where each one is, beside a rotated basis."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.catalog.store.warehouse import first_row
from neurothek.catalog.tables.table import BIG, DOUBLE, Table
from neurothek.catalog.tables.universality import UNIVERSALITY
from neurothek.ingest.forward.calibration import calibration_text
from neurothek.ingest.jobs.job import Frames, MeasureShard, ReadBack
from neurothek.ingest.jobs.pair_job import ONE, OTHER, PairContext, PairJob, StoredText, shared_texts
from neurothek.ingest.jobs.universality.correlations import (
    GROUP,
    POSITIONS,
    Closest,
    Layers,
    compare_layer,
    write_activations,
)
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.request import (
    DEFAULT_BATCH_TOKENS,
    DEFAULT_POSITIONS,
    LONGEST_SEQUENCE,
    IngestRequest,
    TextRequest,
)

_READ = "read"
_SPREADS: Mapping[str, pl.DataType] = {"spread": DOUBLE}
_BEST: Mapping[str, pl.DataType] = {"place": BIG, "correlation": DOUBLE, "null_correlation": DOUBLE}
"""A `Closest` as a frame."""

_CORRELATED = 0.5
"""What a report counts above, as the views do [Gurnee et al. 2024]."""

_TRIED = 1_024
"""Neurons of either model whose products are tried, and positions."""


@dataclass(frozen=True)
class UniversalityJob(PairJob):
    """For each neuron of either model the most correlated one of the other, and as near as rotated directions come."""

    n_positions: int = DEFAULT_POSITIONS  # counted positions that are read, as many of each domain
    seed: int = 0  # of the rotations
    batch_tokens: int = DEFAULT_BATCH_TOKENS  # padded ids that a batch holds at most
    name = "universality"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (UNIVERSALITY,)
    opens_both: ClassVar[bool] = True

    @classmethod
    def from_options(cls, context: PairContext, request: IngestRequest) -> "UniversalityJob":
        """On the corpus that was asked for, else on the largest that both models were measured on."""
        if context.stored is None:
            context = replace(context, stored=_chosen(context, request.text))
        return cls(context, n_positions=request.positions, batch_tokens=request.batch_tokens)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """How many positions were read."""
        return {"positions": int(parameters["positions"])}

    def parameters(self) -> dict[str, Any]:
        """How many positions, which rotations, and which models."""
        signs = {"signs": "either"} if self.context.either_sign else {}
        return {
            "positions": self.n_positions,
            "seed": self.seed,
            "group": GROUP,
            "model": _fingerprint(self.context.one),
            "other_model": _fingerprint(self.context.other),
            **signs,
        }

    def extent(self) -> str | None:
        """The positions that are read."""
        assert self.context.stored is not None
        return f"{self.n_read:,} positions of {self.context.stored.name}"

    @property
    def n_read(self) -> int:
        """How many positions are read, at most."""
        assert self.context.stored is not None
        quota = -(-self.n_positions // max(1, self.context.stored.n_domains))
        return min(self.context.stored.n_counted, quota * self.context.stored.n_domains)

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """Activations of either model, the first one's layers with the best for the other, and the other's rows."""
        one, other = self.context.one, self.context.other
        return {
            **{f"{_READ}-{side}": (f"{_READ}_{side}",) for side in self.context.sides},
            **{f"{ONE}-{layer:04d}": (UNIVERSALITY.name, "back") for layer in range(one.n_layers)},
            **{f"{OTHER}-{layer:04d}": (UNIVERSALITY.name,) for layer in range(other.n_layers)},
        }

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What reads the text, compares a layer, or makes its rows."""
        yield _Comparison(self, folder, read_back).measure

    def read(self, side: str, folder: Path, *, n_layers: int | None = None) -> Layers:
        """Have a model read the text, and draw the rotations of its layers."""
        opened, text = self.context.opened[self.context.sides[side].name], self.context.text
        assert text is not None
        part = calibration_text(text, self.n_positions)
        spreads = write_activations(
            opened.transformer, part, folder / side, batch_tokens=self.batch_tokens, n_layers=n_layers
        )
        layers = self.layers(side, folder, spreads)
        layers.write_rotations()
        return layers

    def layers(self, side: str, folder: Path, spreads: np.ndarray) -> Layers:
        """What `read` left in a folder."""
        device = next(iter(self.context.opened.values())).transformer.device
        return Layers(folder / side, spreads, self.seed, device)

    def rows(self, model: ListedModel, other: ListedModel, layer: int, best: Closest) -> pl.DataFrame:
        """Rows of `universality` for one layer of a model."""
        places = pl.Series(best.places, dtype=BIG)
        is_none = places < 0
        columns = {
            "layer": pl.Series([layer] * model.d_ffn),
            "neuron": pl.Series(range(model.d_ffn)),
            "other_layer": (places // other.d_ffn).set(is_none, None),
            "other_neuron": (places % other.d_ffn).set(is_none, None),
            "correlation": pl.Series(best.correlations, nan_to_null=True),
            "null_correlation": pl.Series(best.nulls, nan_to_null=True),
        }
        return pl.DataFrame(columns).cast(pl.Schema(UNIVERSALITY.schema))

    def again(self, layers: Sequence[int], folder: Path) -> Iterator[tuple[int, pl.DataFrame]]:
        """Both models read the text again."""
        one, other = self.read(ONE, folder, n_layers=max(layers) + 1), self.read(OTHER, folder)
        for layer in layers:
            forth, _ = compare_layer(one, layer, other, either_sign=self.context.either_sign)
            yield layer, self.rows(self.context.one, self.context.other, layer, forth)

    def memory_bytes(self, *, batch_tokens: int) -> int:
        """What reading takes, or comparing two groups of neurons."""
        return max(self._comparing_bytes(), *(self._reading_bytes(model, batch_tokens) for model in self._models))

    def disk_bytes(self) -> int:
        """The activations and the rotated directions of both models, and the rows."""
        per_neuron = [4 * (self.n_read + min(GROUP, model.d_ffn)) * model.n_neurons for model in self._models]
        back = self.context.one.n_layers * self.context.other.n_neurons * 24
        return sum(per_neuron) + back + 2 * self.growth_bytes()

    def growth_bytes(self) -> int:
        """About 20 bytes a row."""
        return sum(model.n_neurons for model in self._models) * 20

    def trial(self) -> tuple[float, float]:
        """By the products of random numbers, as many neurons and positions as are tried."""
        numbers = torch.rand(_TRIED, _TRIED)
        _ = numbers @ numbers
        started = time.perf_counter()
        for _ in range(8):
            _ = numbers @ numbers
        seconds = time.perf_counter() - started
        one, other = self._models
        # Correlations, then those with the rotated directions of either.
        depth = self.n_read + sum(min(GROUP, model.d_ffn) for model in self._models)
        within = sum(model.n_neurons * min(GROUP, model.d_ffn) * self.n_read for model in self._models)
        return seconds, seconds / (8 * _TRIED**3) * (one.n_neurons * other.n_neurons * depth + within)

    def findings(self) -> tuple[str, ...]:
        """How many correlate above one half, beside rotated directions."""
        query = f"""
            select
                coalesce(count_if({self._sized} > {_CORRELATED}), 0),
                coalesce(count_if(null_correlation > {_CORRELATED}), 0),
                count(correlation)
            from store.universality
            where set_id = ? and other_set_id = ? and corpus_id = ?
        """  # noqa: S608 - expressions of this module
        assert self.context.stored is not None
        one, other = self._models
        sentences = []
        with self.context.warehouse.current_reader() as connection:
            for mine, theirs in ((one, other), (other, one)):
                ids = [mine.model_id, theirs.model_id, self.context.stored.corpus_id]
                row = first_row(connection, query, ids)
                assert row is not None
                sentences.append(
                    f"{row[0]:,} of {row[2]:,} neurons of {mine.name} correlate above {_CORRELATED} with one of"
                    f" {theirs.name} on {self.extent()}; with a rotated basis {row[1]:,}"
                )
        return tuple(sentences)

    @property
    def _sized(self) -> str:
        return "abs(correlation)" if self.context.either_sign else "correlation"

    @property
    def _models(self) -> tuple[ListedModel, ListedModel]:
        return self.context.one, self.context.other

    def _comparing_bytes(self) -> int:
        """Some positions of two groups, their correlations in both precisions, their rotations as they are drawn."""
        one, other = (min(GROUP, model.d_ffn) for model in self._models)
        parts = (one + other) * min(POSITIONS, self.n_read) * 4 * 2
        best = self.context.other.n_neurons * self.context.one.n_layers * 24 * 2
        return parts + one * other * 40 + max(one, other) ** 2 * 8 * 6 + best

    def _reading_bytes(self, model: ListedModel, batch_tokens: int) -> int:
        """A block and the embedding, the streams, a batch, and what is standardized at once."""
        weights = 4 * (4 * model.d_model**2 + 3 * model.d_model * model.d_ffn + model.vocab_size * model.d_model)
        n_ids = self.n_read + self.n_read // 2
        batch = min(batch_tokens, n_ids) * (10 * model.d_model + 4 * model.d_ffn) * 4
        return weights + n_ids * model.d_model * 4 + batch + (1 << 22) * 8 * 4


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Measures the shards of one pair."""

    job: UniversalityJob
    folder: Path
    read_back: ReadBack

    def measure(self, shard: str) -> Frames:
        kind, _, number = shard.partition("-")
        one, other = self.job.context.one, self.job.context.other
        if kind == _READ:
            layers = self.job.read(number, self.folder)
            return {f"{_READ}_{number}": pl.DataFrame({"spread": layers.spreads.ravel()}, schema=dict(_SPREADS))}
        layer = int(number)
        if kind == ONE:
            either_sign = self.job.context.either_sign
            forth, back = compare_layer(self._layers(ONE), layer, self._layers(OTHER), either_sign=either_sign)
            return {UNIVERSALITY.name: self.job.rows(one, other, layer, forth), "back": self._frame(back, layer)}
        rows = slice(layer * other.d_ffn, (layer + 1) * other.d_ffn)
        return {UNIVERSALITY.name: self.job.rows(other, one, layer, self._back[rows])}

    @cached_property
    def _back(self) -> Closest:
        """For each neuron of the other model the best of all layers of the first."""
        n, best = self.job.context.other.n_neurons, Closest.none(self.job.context.other.n_neurons)
        scan = self.read_back("back")
        for layer in range(self.job.context.one.n_layers):
            part = scan.slice(layer * n, n).collect()
            of_layer = Closest(*(part[name].to_numpy() for name in _BEST))
            best.take_(np.arange(n), of_layer, either_sign=self.job.context.either_sign)
        return best

    def _frame(self, back: Closest, layer: int) -> pl.DataFrame:
        columns = (back.places, back.correlations, back.nulls)
        return pl.DataFrame(dict(zip(_BEST, columns, strict=True)), schema=dict(_BEST))

    def _layers(self, side: str) -> Layers:
        spreads = self.read_back(f"{_READ}_{side}").collect()["spread"].to_numpy()
        model = self.job.context.sides[side]
        return self.job.layers(side, self.folder, spreads.reshape(model.n_layers, model.d_ffn))


def _fingerprint(model: ListedModel) -> str:
    """What changes a model's activations."""
    content = f"{model.measured.weights_sha256}\n{model.measured.configured}"
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _chosen(context: PairContext, request: TextRequest) -> StoredText:
    """The corpus that was asked for by its name; the largest that both read, where none was."""
    one, other = context.one, context.other
    shared = shared_texts(context.warehouse, one, other)
    (only,) = request.corpora if len(request.corpora) == 1 else ("",)
    named = [text for text in shared if text.name == only]
    if named:
        return named[0]
    if request.corpora:
        raise NotFound(
            f"{one.name} and {other.name} were not both measured on {', '.join(request.corpora)}",
            f"name a corpus that both read: {', '.join(dict.fromkeys(text.name for text in shared))}"
            if shared
            else f"measure them on one first, for example with `{_measuring(one, other)}`",
            what="corpus",
            name=", ".join(request.corpora),
            known=[text.name for text in shared],
        )
    if not shared:
        raise NotMeasured(
            f"{one.name} and {other.name} were not measured on one corpus, so their activations cannot be compared",
            f"measure both on the same text and sequence length, for example with `{_measuring(one, other)}`",
            jobs=["activity"],
            models=[one.name, other.name],
        )
    return shared[0]


def _measuring(one: ListedModel, other: ListedModel) -> str:
    length = str(min(one.context_length, other.context_length, LONGEST_SEQUENCE))
    return command_line("ingest", one.name, other.name, "--job", "activity", "--sequence-length", length)
