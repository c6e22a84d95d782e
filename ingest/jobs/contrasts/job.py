"""The job `contrasts`: which neurons tell two sets of prompts apart (CNA; its control [ours])."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from neurothek.catalog.problems import Conflict
from neurothek.catalog.progress import Progress
from neurothek.catalog.tables.contrasts import CONTRAST_NEURONS, CONTRAST_PROMPTS, CONTRASTS, Contrasted
from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.prompts import whole_prompts
from neurothek.ingest.jobs.additive import AdditiveJob
from neurothek.ingest.jobs.contrasts.differences import BATCH_TOKENS, N_CONTROLS, N_SHUFFLES, contrasted
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, ReadBack
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.request import Contrast, IngestRequest, PromptSet

_SIDES = ("a", "b")


def measured_contrast(
    transformer: Transformer,
    tokenizer: Tokenizer,
    contrast: Contrast,
    *,
    progress: Progress | None = None,
) -> Contrasted:
    """Run two sets of prompts through a model, and see which neurons tell them apart.

    Args:
        transformer: the model.
        tokenizer: its tokenizer.
        contrast: the prompts, where activations are taken, and the seed of the shuffles.
        progress: receives progress reports, a step a layer; None: nothing does.

    Raises:
        NeurothekError: a prompt has no token, or more than the model reads.
    """
    shape = transformer.shape
    a, b = (
        whole_prompts(
            prompts.prompts,
            tokenizer,
            context_length=shape.context_length,
            is_masked=shape.is_masked,
            option=side,
        )
        for side, prompts in zip(_SIDES, (contrast.a, contrast.b), strict=True)
    )
    return contrasted(transformer, a, b, positions=contrast.positions, seed=contrast.seed, progress=progress)


@dataclass(frozen=True)
class ContrastsJob(AdditiveJob):
    """Has a model read two sets of prompts, and compares every neuron's activations on them with shuffled labels."""

    contrasts: tuple[Contrast, ...] = ()  # what is asked for
    replaces: bool = False  # whether one of a name that the warehouse has may be another one
    # the contrasts as the parameters of a run state them, where it is one that is measured again
    stated: Mapping[str, Any] = field(default_factory=dict)
    name = "contrasts"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (CONTRASTS, CONTRAST_PROMPTS, CONTRAST_NEURONS)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ContrastsJob":
        """All that were asked for."""
        return cls(context, contrasts=request.contrasts, replaces=request.force)

    @classmethod
    def from_parameters(cls, context: JobContext, parameters: Mapping[str, Any]) -> "ContrastsJob":
        """The job that a run with such parameters was, which copies nothing from that run."""
        return replace(super().from_parameters(context, parameters), stated=parameters[cls.name])

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was compared; the prompts are among the run's rows."""
        return {"contrasts": tuple(_from_parameters(*item) for item in parameters["contrasts"].items())}

    def parameters(self) -> dict[str, Any]:
        """The prompts by their fingerprints, and how often labels are shuffled."""
        return {"contrasts": {one.name: self._stated(one) for one in self.all}, **self._settings()}

    def _settings(self) -> dict[str, Any]:
        return {"n_shuffles": N_SHUFFLES, "n_controls": N_CONTROLS, "seed": _USUAL_SEED}

    def _stated(self, contrast: Contrast) -> dict[str, Any]:
        """What changes its numbers, and what its prompts are called; of an earlier run's as that run states it."""
        if contrast.a.prompts:
            return _as_parameters(contrast)
        return dict((self.stated or self.before[self.name])[contrast.name])

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One a contrast, which fills all tables."""
        tables = tuple(table.name for table in self.tables)
        return {f"contrast-{number:04d}": tables for number in range(len(self.all))}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures one contrast, or copies what was measured of it before."""
        context = self.context

        def measure(shard: str) -> Frames:
            contrast = self.all[int(shard.rpartition("-")[2])]
            if self._is_measured(contrast):
                return self.copied(contrast=contrast.name)
            if not contrast.a.prompts:
                contrast = self._with_prompts(contrast, read_back)
            measured = measured_contrast(context.transformer, context.tokenizer, contrast)
            return _frames(contrast, measured)

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        # A token has at least a byte of its text, but for a BOS and what stands behind.
        texts = [[*one.a.prompts, *one.b.prompts] for one in self.contrasts]
        n_prompts = max(map(len, texts), default=0)
        tokens = max((sum(len(text.encode()) + 2 for text in of_one) for of_one in texts), default=0)
        longest = min(shape.context_length, max((len(text.encode()) + 2 for one in texts for text in one), default=0))
        batch = max(BATCH_TOKENS, longest) * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        layer = shape.d_ffn * (3 * n_prompts + 6 * (1 + N_SHUFFLES + N_CONTROLS)) * 8
        shuffles = 2 * n_prompts * (1 + N_SHUFFLES + N_CONTROLS) * 8
        rows = shape.n_layers * shape.d_ffn * (20 + N_CONTROLS) * 8
        streams = 2 * tokens * shape.d_model * 4
        return transformer.blocks_bytes(is_resident=is_resident) + batch + layer + shuffles + rows + streams

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    def extent(self) -> str | None:
        """How many prompts are read."""
        n = sum(len(one.a.prompts) + len(one.b.prompts) for one in self.contrasts)
        return f"{n:,} prompts" if n else None

    @cached_property
    def all(self) -> tuple[Contrast, ...]:
        """Those of the warehouse, which stay, and those that are asked for, each under its name."""
        before = self.before.get(self.name, {})
        by_name = {name: _from_parameters(name, parameters) for name, parameters in before.items()}
        for one in self.contrasts:
            is_same = one.name in before and _identity(before[one.name]) == _identity(_as_parameters(one))
            if one.name in before and not is_same and not self.replaces:
                raise Conflict(
                    f"the warehouse has a contrast {one.name!r} of other prompts, positions or seed",
                    "give this one another --keep, or replace that one with --force",
                    what="contrast",
                    name=one.name,
                )
            # However the same prompts are called this time, they were measured under their first labels.
            by_name[one.name] = by_name[one.name] if is_same else one
        return tuple(by_name.values())

    def _is_measured(self, contrast: Contrast) -> bool:
        """Whether that run has measured the same, in the same way."""
        is_same = self.is_current and all(self.before.get(name) == value for name, value in self._settings().items())
        return is_same and self.before[self.name].get(contrast.name) == self._stated(contrast)

    def _with_prompts(self, contrast: Contrast, read_back: ReadBack) -> Contrast:
        """One that was asked for earlier, with its prompts: rows of the warehouse."""
        rows = (
            read_back(CONTRAST_PROMPTS.name).collect()
            if self.is_alone
            else self.copied(contrast=contrast.name)[CONTRAST_PROMPTS.name]
        )
        a, b = (
            tuple(rows.filter(contrast=contrast.name, side=side).sort("prompt_number")["prompt"]) for side in _SIDES
        )
        return replace(contrast, a=replace(contrast.a, prompts=a), b=replace(contrast.b, prompts=b))


_USUAL_SEED = 0
"""Of contrasts that state none of their own."""


def _as_parameters(contrast: Contrast) -> dict[str, Any]:
    stated: dict[str, Any] = {"positions": contrast.positions}
    if contrast.seed != _USUAL_SEED:
        stated["seed"] = contrast.seed
    for side, one in zip(_SIDES, (contrast.a, contrast.b), strict=True):
        digest = sha256("\0".join(one.prompts).encode()).hexdigest()
        stated |= {f"prompts_{side}": one.label, f"n_{side}": len(one.prompts), f"sha256_{side}": digest}
    return stated


def _identity(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What changes numbers."""
    return {name: value for name, value in parameters.items() if not name.startswith("prompts_")}


def _from_parameters(name: str, parameters: Mapping[str, Any]) -> Contrast:
    """What a run with such parameters compared, without its prompts."""
    a, b = (PromptSet(str(parameters[f"prompts_{side}"]), ()) for side in _SIDES)
    return Contrast(name, a, b, parameters["positions"], parameters.get("seed", _USUAL_SEED))


def _frames(contrast: Contrast, measured: Contrasted) -> Frames:
    """Rows of the three tables."""
    counts = measured.n_significant_shuffled
    sides = {"a": (contrast.a, measured.n_tokens_a), "b": (contrast.b, measured.n_tokens_b)}
    described = {
        "contrast": contrast.name,
        "prompts_a": contrast.a.label,
        "prompts_b": contrast.b.label,
        "positions": contrast.positions,
        "n_a": len(contrast.a.prompts),
        "n_b": len(contrast.b.prompts),
        "n_shuffles": N_SHUFFLES,
        "seed": contrast.seed,
        "n_tested": measured.n_tested,
        "n_significant": measured.n_significant,
        "n_controls": len(counts),
        "n_significant_shuffled": sum(counts) / len(counts),
        "n_significant_shuffled_most": max(counts),
    }
    prompts = [
        (contrast.name, side, number, prompt, n_tokens)
        for side, (of_side, counted) in sides.items()
        for number, (prompt, n_tokens) in enumerate(zip(of_side.prompts, counted, strict=True), start=1)
    ]
    neurons = measured.neurons.select(pl.lit(contrast.name).alias("contrast"), *measured.neurons.columns)
    return {
        CONTRASTS.name: pl.DataFrame([described], schema=CONTRASTS.schema),
        CONTRAST_PROMPTS.name: pl.DataFrame(prompts, schema=CONTRAST_PROMPTS.schema, orient="row"),
        CONTRAST_NEURONS.name: neurons.select(CONTRAST_NEURONS.schema.keys()),
    }
