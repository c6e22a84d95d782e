"""The job `neuron_effects`: the loss of a model without one neuron, for many neurons ([ours])."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from neurothek.catalog.tables.interventions import NEURON_EFFECTS, NEURON_EFFECTS_BY_DOMAIN
from neurothek.catalog.tables.table import Table
from neurothek.ingest.interventions.changed import SLICE_LOGITS
from neurothek.ingest.interventions.chosen import packed, unpacked
from neurothek.ingest.interventions.first_batches import BATCH_TOKENS, cuts
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.additive import AdditiveJob, other_settings
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, ReadBack
from neurothek.ingest.jobs.neuron_effects.single_losses import (
    AT_ONCE,
    N_CONTROLS,
    effects_frames,
    random_neurons,
    without_each,
)
from neurothek.ingest.request import DEFAULT_INTERVENTION_TOKENS, IngestRequest

_FIRING = """
    select layer, neuron
    from store.activity
    where run_id = $run_id
    group by layer, neuron
    having sum(n_active) > 0
    order by layer, neuron
"""


@dataclass(frozen=True)
class NeuronEffectsJob(AdditiveJob):
    """Turns neurons off one by one, and random ones of their layers that fire."""

    neurons: tuple[tuple[int, int], ...] = ()  # layer and neuron of each, sorted, none twice
    tokens_per_domain: int = DEFAULT_INTERVENTION_TOKENS  # ids of each domain that are read
    seed: int = 0  # of the random neurons
    # the neurons as the parameters of a run state them, where it is one that is measured again
    stated: tuple[str, ...] = ()
    name = "neuron_effects"
    version = 2  # by domain as well
    tables: ClassVar[tuple[Table, ...]] = (NEURON_EFFECTS, NEURON_EFFECTS_BY_DOMAIN)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "NeuronEffectsJob":
        """The neurons that were asked for."""
        return cls(context, neurons=request.single_neurons, tokens_per_domain=request.intervention_tokens)

    @classmethod
    def from_parameters(cls, context: JobContext, parameters: Mapping[str, Any]) -> "NeuronEffectsJob":
        """The job that a run with such parameters was, which copies nothing from that run."""
        return replace(super().from_parameters(context, parameters), stated=tuple(parameters["neurons"]))

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """The neurons of all requests, and on how much text they were measured."""
        neurons = {pair for text in parameters["neurons"] for pair in unpacked(text)}
        return {
            "single_neurons": tuple(sorted(neurons)),
            "intervention_tokens": int(parameters["tokens_per_domain"]),
        }

    def parameters(self) -> dict[str, Any]:
        """Which neurons were asked for, request by request, and what holds for all."""
        before = self.before.get("neurons", {})
        if before and self.before["tokens_per_domain"] != self.tokens_per_domain:
            assert self.earlier is not None
            raise other_settings(self.name, self.earlier.model, {"tokens": self.before["tokens_per_domain"]})
        new = self.missing()
        requests = self.stated or ((packed(new),) if new else ())
        return {"neurons": {**before, **{text: len(unpacked(text)) for text in requests}}, **self._settings()}

    def missing(self) -> list[tuple[int, int]]:
        """The neurons that the warehouse was never asked for."""
        return [pair for pair in self.neurons if pair not in self._asked_before]

    def _settings(self) -> dict[str, Any]:
        return {
            "tokens_per_domain": self.tokens_per_domain,
            "n_controls": N_CONTROLS,
            "seed": self.seed,
            # Stated only where it is so: all other runs stay the same runs.
            **({"cut": True} if cuts(self.context.corpus, self.tokens_per_domain) else {}),
            **self.runs_worked_on(),
        }

    @property
    def needed(self) -> dict[str, int]:
        """Random neurons are drawn from those that fire."""
        return {ActivityJob.name: ActivityJob.version}

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One a layer that has neurons."""
        layers = sorted({layer for layer, _ in {*self.neurons, *self._asked_before}})
        tables = tuple(table.name for table in self.tables)
        return {f"layer-{layer:04d}": tables for layer in layers}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures the neurons of one layer that were not measured before."""
        assert self.context.runs is not None
        firing = self.context.runs.rows(_FIRING, ActivityJob.name)

        def measure(shard: str) -> Frames:
            layer = int(shard.rpartition("-")[2])
            controls = random_neurons(firing.filter(layer=layer)["neuron"].to_numpy(), layer, seed=self.seed)
            neurons = {neuron for of_layer, neuron in {*self.neurons, *self._asked_before} if of_layer == layer}
            stored = self._stored(layer)
            missing = sorted(({*neurons, *controls.tolist()}) - set(stored[NEURON_EFFECTS.name]["neuron"].to_list()))
            losses = without_each(
                self.context.transformer, self.context.corpus, layer, missing, n_tokens=self.tokens_per_domain
            )
            added = effects_frames(layer, losses, controls)
            return {
                name: pl.concat([rows, added[name]]).sort("neuron", maintain_order=True)
                for name, rows in stored.items()
            }

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        weights = transformer.blocks_bytes(is_resident=is_resident)
        tokens = max(BATCH_TOKENS, self.context.longest)
        streams = (AT_ONCE + 2) * tokens * shape.d_model * 4
        working = tokens * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        return weights + streams + working + 4 * SLICE_LOGITS * 4 + 2 * shape.vocab_size * shape.d_model * 4

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    @cached_property
    def _asked_before(self) -> frozenset[tuple[int, int]]:
        """The neurons that the warehouse's run was asked for."""
        return frozenset(pair for text in self.before.get("neurons", {}) for pair in unpacked(text))

    def _stored(self, layer: int) -> Frames:
        """Rows of a layer that were measured before, in the same way, domains and all."""
        settings = self._settings()
        if not self.is_current or any(self.before.get(name) != value for name, value in settings.items()):
            return {table.name: table.empty() for table in self.tables}
        return self.copied(layer=layer)
