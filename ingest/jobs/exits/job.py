"""The job `exits`: how early a model could be left, by three kinds of rules, and at what cost ([G] 6.2, [D] 5)."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Int

from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.tables.exits import EXITS
from neurothek.catalog.tables.table import Table
from neurothek.ingest.corpora.prompts import N_EXAMPLES
from neurothek.ingest.jobs.clusters.job import ClustersJob
from neurothek.ingest.jobs.events.job import EventsJob
from neurothek.ingest.jobs.exits import rules
from neurothek.ingest.jobs.exits.inputs import EXAMPLES_AT_ONCE, ExampleVectors, ExitInputs, Kind, WatchedExamples
from neurothek.ingest.jobs.exits.rules import (
    FINE_LAMBDAS,
    LAMBDAS,
    LEAST_EXAMPLES,
    SEEDS,
    SIMILARITIES,
    ExitOutcome,
    Similarity,
    Split,
    exit_states,
    outcome,
)
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from neurothek.ingest.jobs.shortcuts.job import ShortcutsJob
from neurothek.ingest.request import IngestRequest
from neurothek.ingest.runs.identity import OTHER_RUN

CLUSTER_RULE = ("clusters", "events")
CLASSIFIERS = ("events",)
CONFIDENCE = ("shortcuts",)
"""The jobs that each kind of rule works on."""

RULES: Mapping[str, Similarity] = {f"cluster_{similarity}": similarity for similarity in SIMILARITIES}

VECTORS: Mapping[str, tuple[Kind, ...]] = {
    "logistic_stream": ("stream",),
    "logistic_ffn": ("ffn",),
    "logistic_sum": ("stream", "ffn"),
}
"""What classifiers read: the stream before the FFN, what the FFN puts out, and the sum of both [G]."""

SHORTCUTS: Mapping[str, Sequence[float]] = {"mat": LAMBDAS, "id": FINE_LAMBDAS}
"""Shortcuts whose confidence is tried, and the bounds that are."""

_SHORT_KEY = 12

Place = dict[str, str | float | int]
Rows = Iterator[tuple[Place, ExitOutcome]]


@dataclass(frozen=True)
class ExitsJob(PassJob):
    """Tries rules that leave a model early, on what other jobs measured of it."""

    baselines: bool = True  # whether classifiers are fitted too, which takes longest
    n_examples: int = N_EXAMPLES  # examples that the run of events has at most
    seeds: tuple[int, ...] = SEEDS  # of the splits into examples to learn from and to try
    name = "exits"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (EXITS,)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ExitsJob":
        """With or without baselines, on as many examples as were asked for."""
        return cls(context, baselines=request.baselines, n_examples=request.examples)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Whether baselines were asked for."""
        return {"baselines": bool(parameters["baselines"])}

    def parameters(self) -> dict[str, Any]:
        """What is tried, and on which runs of the other jobs."""
        runs = self.context.runs
        keys = {} if runs is None else runs.keys
        others = {f"{job}{OTHER_RUN}": key[:_SHORT_KEY] for job, key in sorted(keys.items()) if job in self.needed}
        return {"baselines": self.baselines, "seeds": list(self.seeds), **others}

    @property
    def needed(self) -> dict[str, int]:
        """The other jobs, and the version of each; a masked model has no sub-updates at the ends of examples."""
        of_events = {ClustersJob.name: ClustersJob.version, EventsJob.name: EventsJob.version}
        of_states = {ShortcutsJob.name: ShortcutsJob.version}
        return of_states if self.context.shape.is_masked else of_events | of_states

    def shards(self) -> dict[str, tuple[str, ...]]:
        """Names of the shards, one a rule -> names of the tables that each fills."""
        names: list[str] = []
        if self._has(*CLUSTER_RULE):
            names += RULES
        if self._has(*CONFIDENCE):
            names += SHORTCUTS
        if self._fits_classifiers:
            names += VECTORS
        return dict.fromkeys(names, (EXITS.name,))

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What tries a rule; raises NotMeasured where the run of events has too few to try a rule on some."""

        def measure(shard: str) -> Frames:
            if shard in RULES:
                rows = self._by_clusters(shard)
            elif shard in VECTORS:
                rows = self._by_classifiers(shard, folder)
            else:
                rows = self._by_confidence(shard)
            frame = pl.DataFrame([place | asdict(result) for place, result in rows], schema=EXITS.schema)
            return {EXITS.name: frame}

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape, n = self.context.transformer, self.context.shape, self.n_examples
        # Ten clusters an example and layer, as they are read and as they are compared.
        rows = n * shape.n_layers * 10 * 24
        if not self._fits_classifiers:
            return rows
        weights = transformer.blocks_bytes(is_resident=is_resident)
        waiting = EXAMPLES_AT_ONCE * min(shape.context_length, 64) * shape.d_model * transformer.dtype.itemsize
        working = max(self.context.batch_tokens, shape.context_length) * (10 * shape.d_model + 3 * shape.d_ffn) * 4
        values = 2 * shape.d_ffn * shape.d_model * 4
        return rows + max(weights + waiting + working + values, rules.bytes_needed(n, shape.d_model))

    def files(self) -> Files | None:
        """What the streams of all examples take while it fits classifiers; none stays."""
        if not self._fits_classifiers:
            return Files(0)
        return Files(ExampleVectors.bytes_needed(self.context.shape, self.n_examples))

    def remarks(self, read_back: ReadBack) -> list[str]:
        """Which kinds of rules could not be tried, since what they work on was not measured."""
        tried = set(read_back(EXITS.name).select("method").unique().collect()["method"])
        if tried & SHORTCUTS.keys():
            return []
        return [
            f"exits by confidence were not measured, because the shortcuts {' and '.join(SHORTCUTS)} were not measured"
        ]

    @property
    def _inputs(self) -> ExitInputs:
        assert self.context.runs is not None
        return ExitInputs(self.context.runs)

    def _has(self, *jobs: str) -> bool:
        return self.context.runs is not None and self.context.runs.has(*jobs)

    @property
    def _fits_classifiers(self) -> bool:
        return self.baselines and self._has(*CLASSIFIERS)

    def _by_clusters(self, method: str) -> Rows:
        examples = self._examples()
        lists = self._inputs.lists(n_layers=self.context.shape.n_layers, n_examples=len(examples.rows))
        for seed in self.seeds:
            split = Split.of(len(examples.rows), seed=seed)
            layers = rules.cluster_exit_layers(lists.ids, examples.saturation, split, similarity=RULES[method])
            place: Place = {"method": method, "parameter": float(lists.n_clusters_asked), "seed": seed}
            yield place, _after_layers(layers, examples, split)

    def _by_classifiers(self, method: str, folder: Path) -> Rows:
        context, examples = self.context, self._examples()
        n_lower = context.shape.n_layers - 1
        vectors = ExampleVectors(folder, context.transformer, examples.rows, batch_tokens=context.batch_tokens)
        splits = [Split.of(len(examples.rows), seed=seed) for seed in self.seeds]
        decisions = np.zeros((len(splits), n_lower, len(splits[0].test)), dtype=bool)
        for layer in range(n_lower):
            features = torch.stack([vectors.of(layer, kind) for kind in VECTORS[method]]).sum(0)
            for number, split in enumerate(splits):
                decisions[number, layer] = rules.leaves(features, examples.saturation == layer, split)
        for seed, split, by_layer in zip(self.seeds, splits, decisions, strict=True):
            place: Place = {"method": method, "parameter": 0.0, "seed": seed}
            yield place, _after_layers(rules.classifier_exit_layers(by_layer), examples, split)

    def _by_confidence(self, method: str) -> Rows:
        """Rows of a shortcut that is taken where it is sure, and of the same taken at one state."""
        n_layers = self.context.shape.n_layers
        readings = self._inputs.readings(method, n_layers=n_layers)
        if readings is None:
            return
        positions, seed = self._inputs.own_positions(), self._inputs.sentence_seed()
        sentences = np.arange(len(positions))
        for strictness in SHORTCUTS[method]:
            states = exit_states(readings.margins, positions, strictness=strictness)
            place: Place = {"method": method, "parameter": strictness, "seed": seed}
            yield place, outcome(states, readings.is_correct[sentences, states], n_layers=n_layers)
        for state in range(n_layers + 1):
            place = {"method": f"fixed_{method}", "parameter": float(state), "seed": seed}
            yield place, outcome(np.full(len(positions), state), readings.is_correct[:, state], n_layers=n_layers)

    def _examples(self) -> WatchedExamples:
        examples = self._inputs.examples(n_layers=self.context.shape.n_layers)
        if len(examples.rows) < LEAST_EXAMPLES:
            corpus = self.context.corpus.name
            raise NotMeasured(
                f"the job exits tests on one in ten examples and needs at least {LEAST_EXAMPLES}, but the events on the"
                f" corpus {corpus} have {len(examples.rows)}",
                "choose another --corpus, or measure events with more --examples and --force",
                jobs=["events"],
                corpus=corpus,
            )
        return examples


def _after_layers(layers: Int[np.ndarray, " test"], examples: WatchedExamples, split: Split) -> ExitOutcome:
    """What leaving the tried examples after these layers costs and saves."""
    n_layers = len(examples.is_correct)
    return outcome(layers + 1, examples.is_correct[layers, split.test], n_layers=n_layers)
