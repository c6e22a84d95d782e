"""The job `shortcuts`: how linear a model is between its states, and what it predicts from each of them ([D])."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import torch

from neurothek.catalog.tables.shortcuts import (
    SHORTCUT_MAPS,
    SHORTCUT_PREDICTIONS,
    SHORTCUT_READINGS,
    SHORTCUT_SENTENCES,
    SHORTCUT_TOPS,
    SHORTCUTS,
    SUB_MODULE_FITS,
)
from neurothek.catalog.tables.table import Table
from neurothek.ingest.amounts import in_words
from neurothek.ingest.corpora.prompts import N_SENTENCES, SentenceSample, sample_prompts
from neurothek.ingest.corpora.sentences import splitter
from neurothek.ingest.corpora.split import N_FIT, N_VALIDATION, USUAL, SentenceSplit
from neurothek.ingest.errors import unknown_method
from neurothek.ingest.forward.footprint import numbers_at_work
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.jobs.shortcuts import fitting, frames
from neurothek.ingest.jobs.shortcuts.fitting import FROM, LAYER, MAPS, READ, Fitting
from neurothek.ingest.jobs.shortcuts.methods import ID, MAT, METHODS
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.families.sub_modules import PARTS
from neurothek.ingest.numerics.least_squares import LEAST_SINGULAR
from neurothek.ingest.request import IngestRequest, Keep

_SAMPLE, _CONCLUSION = "sample", "conclusion"


@dataclass(frozen=True)
class ShortcutsJob(PassJob):
    """Fits linear maps between all states of a model, and reads what they put in the place of the last state."""

    methods: tuple[str, ...] = METHODS  # which shortcuts are tried
    keep: Keep = "last"  # which matrices are kept: those to the last state, or all
    domains: tuple[str, ...] = ()  # domains of the corpus whose sentences are taken; none: the usual one
    n_sentences: int = N_SENTENCES  # sentences taken, if the corpus has so many and the split does not say
    split: SentenceSplit = USUAL  # how many are to fit on and to validate on
    seed: int = 0  # of their order and positions
    name = "shortcuts"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (
        SHORTCUT_SENTENCES,
        SHORTCUTS,
        SHORTCUT_MAPS,
        SUB_MODULE_FITS,
        SHORTCUT_READINGS,
        SHORTCUT_TOPS,
        SHORTCUT_PREDICTIONS,
    )

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ShortcutsJob":
        """The job for a model, with all methods unless some are asked for."""
        possible = METHODS if context.transformer.has_parts else (ID, MAT)
        unknown = [method for method in request.methods if method not in possible]
        if unknown:
            raise unknown_method(unknown[0], context.shape.architecture, possible)
        return cls(
            context,
            methods=tuple(method for method in possible if method in (request.methods or possible)),
            keep=request.keep,
            domains=tuple(dict.fromkeys(request.domains)),
            split=SentenceSplit.of(request.fit, request.validate),
        )

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Which methods, matrices and domains, and how many sentences."""
        return {
            "methods": tuple(parameters["methods"]),
            "keep": parameters["keep"],
            "domains": tuple(parameters["domains"]),
            "fit": parameters.get("n_fit"),
            "validate": parameters.get("n_validation"),
        }

    def parameters(self) -> dict[str, Any]:
        """How sentences are drawn, and what is fitted and kept."""
        return {
            "methods": list(self.methods),
            "keep": self.keep,
            "domains": list(self.domains),
            "n_sentences": self.n_sentences,
            "seed": self.seed,
            "sentences": splitter(),
            "least_singular": LEAST_SINGULAR,
            **self.split.parameters(),
        }

    def shards(self) -> dict[str, tuple[str, ...]]:
        """Names of the shards -> names of the tables that each fills."""
        sample, n_layers = self.sample, self.context.shape.n_layers
        starts = range(0, sample.n_validation, fitting.SENTENCES_AT_ONCE)
        return {
            _SAMPLE: (SHORTCUT_SENTENCES.name,),
            **{f"{LAYER}{layer:04d}": (SUB_MODULE_FITS.name,) for layer in range(n_layers)},
            **{f"{FROM}{state:04d}": (SHORTCUTS.name, SHORTCUT_MAPS.name) for state in range(n_layers)},
            **{f"{READ}{start:06d}": (SHORTCUT_READINGS.name, SHORTCUT_TOPS.name) for start in starts},
            _CONCLUSION: (SHORTCUT_PREDICTIONS.name,),
        }

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures the sample, a layer, a state or some sentences, and at last sums up what was measured."""
        shards = Fitting(self.context, self.sample, self.methods, self.keep, folder)

        def measure(shard: str) -> Frames:
            if shard == _SAMPLE:
                return {SHORTCUT_SENTENCES.name: frames.sentences_frame(self.sample, self.context.tokenizer)}
            if shard == _CONCLUSION:
                return {SHORTCUT_PREDICTIONS.name: frames.predictions_frame(read_back(SHORTCUT_READINGS.name))}
            with torch.inference_mode():
                return shards.measure(shard)

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        n_fit, n_validation = self.split.sizes(self._most, self._most)
        transformer = self.context.transformer
        return memory_bytes(
            self.context.shape,
            weights_bytes=transformer.blocks_bytes(is_resident=is_resident),
            itemsize=transformer.dtype.itemsize,
            n_fit=n_fit,
            n_validation=n_validation,
            sentences_at_once=fitting.SENTENCES_AT_ONCE,
            batch_tokens=self.context.batch_tokens,
            longest=self.context.longest_of(lambda: self.sample.rows),
        )

    def files(self) -> Files | None:
        """What states and matrices take, and the matrices that stay."""
        stay, sample = self._kept_bytes, self.sample
        at_once = disk_bytes(
            self.context.shape,
            itemsize=self.context.transformer.dtype.itemsize,
            n_sentences=len(sample.rows),
            n_validation=sample.n_validation,
            n_ids=sum(len(sentence.tokens) for sentence in sample.rows),
        )
        return Files(at_once + stay, stay)

    def matrices(self, folder: Path) -> Path | None:
        """Folder of the matrices that stay."""
        return folder / MAPS if MAT in self.methods else None

    def announcement(self) -> str | None:
        """How large the matrices will be, where all are kept."""
        if self.keep == "last" or MAT not in self.methods:
            return None
        size = in_words(self._kept_bytes)
        return f"keeping all {self._n_kept:,} matrices takes {size} beside the warehouse"

    def remarks(self, read_back: ReadBack) -> list[str]:
        """Where there were few sentences, and where these did not determine the maps."""
        sample, width = self.sample, self.context.shape.d_model
        lines = []
        if len(sample.rows) < self._most:
            lines.append(
                f"shortcuts were fitted on {sample.n_fit:,} sentences of {', '.join(sample.domains)} and validated on"
                f" {sample.n_validation:,}, all that {self.context.corpus.name} has; the usual number is {self._most:,}"
            )
        fits = read_back(SHORTCUTS.name).filter(pl.col("rank") < width).select("source_state", "rank", "condition")
        short = fits.unique().sort("rank", "source_state").collect().to_dicts()
        if short:
            worst = short[0]
            condition = "none" if worst["condition"] is None else f"{worst['condition']:.3g}"
            lines.append(
                f"{len(short)} of {self.context.shape.n_layers} states span fewer directions in these sentences"
                f" than the {width:,} of the model, so maps of least norm were used; state {worst['source_state']}"
                f" spans the fewest, {worst['rank']:,}, with condition {condition}"
            )
        return lines

    def extent(self) -> str:
        """How many sentences it would take, in words."""
        sample = self.sample
        return (
            f"{sample.n_fit:,} sentences to fit on and {sample.n_validation:,} to validate on, of"
            f" {sample.n_sentences:,} in {', '.join(sample.domains)}"
        )

    @property
    def _most(self) -> int:
        """Sentences that it takes where the text has enough."""
        if self.split.is_usual:
            return self.n_sentences
        return (self.split.n_fit or N_FIT) + (self.split.n_validation or N_VALIDATION)

    @property
    def _kept_bytes(self) -> int:
        """What the matrices take that stay."""
        return kept_bytes(self._n_kept, self.context.shape.d_model)

    @property
    def _n_kept(self) -> int:
        n_layers = self.context.shape.n_layers
        if MAT not in self.methods:
            return 0
        return n_layers * (n_layers + 1) // 2 if self.keep == "all" else n_layers

    @cached_property
    def sample(self) -> SentenceSample:
        """The sentences that it takes."""
        context = self.context
        return sample_prompts(
            context.corpus,
            context.tokenizer,
            context_length=context.shape.context_length,
            seed=self.seed,
            domains=self.domains,
            n_sentences=self.n_sentences,
            split=self.split,
            is_masked=context.shape.is_masked,
        )


_HEADER_BYTES = 200
"""Of a safetensors file, at most."""

_LONG = 64
"""Ids of a sentence, padding included, beyond which the estimate of memory does not look."""


def memory_bytes(
    shape: Shape,
    *,
    weights_bytes: int,
    itemsize: int,
    n_fit: int,
    n_validation: int,
    sentences_at_once: int,
    batch_tokens: int,
    longest: int,
) -> int:
    """What measuring adds to the process's memory.

    Args:
        shape: the model's.
        weights_bytes: of the blocks that stay in memory: all, or one.
        itemsize: bytes of a number of its streams.
        n_fit: sentences to fit on.
        n_validation: sentences to validate on.
        sentences_at_once: those that are read through the head together.
        batch_tokens: padded ids a batch holds at most.
        longest: ids of the longest sentence.
    """
    n_sentences, width = n_fit + n_validation, shape.d_model
    # A block over one batch, and the states it takes and leaves of all sentences.
    working = max(batch_tokens, longest) * numbers_at_work(shape) * 4
    # And what its parts read and return, where they are to be replaced.
    running = working + (4 + 2 * len(PARTS)) * n_sentences * width * 4
    # The states in double precision, their decomposition and its workspace, and targets in single precision.
    fitting = (6 * n_fit * width + 8 * width * width) * 8 + 8 * n_validation * width * 8
    # The unembedding, its logits of a shard and what is made of them.
    reading = shape.vocab_size * (width + 6 * sentences_at_once) * 4
    # The streams of a shard's sentences from every state on, at all positions.
    replacing = working + (shape.n_layers + 2) * sentences_at_once * _LONG * width * itemsize
    return weights_bytes + max(running, fitting, reading, replacing)


def disk_bytes(shape: Shape, *, itemsize: int, n_sentences: int, n_validation: int, n_ids: int) -> int:
    """What states, streams, substitutes and maps of sub-modules take at once.

    Args:
        shape: the model's.
        itemsize: bytes of a number of its streams.
        n_sentences: sentences to fit and to validate on.
        n_validation: those to validate on.
        n_ids: ids of all sentences.
    """
    states = (shape.n_layers + 1) * n_sentences + shape.n_layers * n_validation
    streams = 2 * n_ids * itemsize
    parts = shape.n_layers * len(PARTS) * shape.d_model
    return ((states + parts) * 4 + streams) * shape.d_model


def kept_bytes(n_matrices: int, d_model: int) -> int:
    """What matrices take that stay."""
    return n_matrices * (4 * d_model**2 + _HEADER_BYTES)
