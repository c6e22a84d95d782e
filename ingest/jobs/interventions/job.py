"""The job `interventions`: what a model says when neurons that a query found are changed ([G] 6.1; controls [ours])."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from jaxtyping import Float, Int
from torch import Tensor

from catalog.tables.interventions import INTERVENTION_EFFECTS, INTERVENTION_NEURONS, INTERVENTIONS
from catalog.tables.table import Table
from ingest.forward.batches import RightPadded, padded
from ingest.interventions.changed import SLICE_LOGITS, Changes, Losses, changed_losses
from ingest.jobs.activity.job import ActivityJob
from ingest.jobs.interventions.chosen import ByLayer, as_parameters, by_layer, changes, from_parameters
from ingest.jobs.interventions.errors import GatesInTheWay, InterventionTaken, OtherSettings
from ingest.jobs.interventions.shared import Shared
from ingest.jobs.job import Files, Frames, JobContext, MeasureShard, PassJob, ReadBack
from ingest.request import DEFAULT_INTERVENTION_TOKENS, DEFAULT_RANDOM_SETS, IngestRequest, Intervention
from ingest.runs.finished import EarlierRuns
from ingest.runs.identity import OTHER_RUN

POSITIONS_FROM = (0, 1, 8, 64, 512)
"""Where ranges of positions begin."""

BATCH_TOKENS = 2_048
"""Ids of a batch at most: the streams of all sets are held at a time."""

_EARLIER = """
    select * exclude (model_id, corpus_id, run_id)
    from store.{table}
    where run_id = $run_id and intervention = $intervention
"""


@dataclass(frozen=True)
class InterventionsJob(PassJob):
    """Runs a text through a model as it is, with some neurons changed, and with random ones in their place.

    Attributes:
        interventions: what is changed.
        tokens_per_domain: ids of each domain that are read.
        n_sets: random sets of neurons that each is compared with.
        seed: of these.
        replaces: whether one of a name that the warehouse has may be another one.
        is_alone: whether it measures what is asked for and nothing else, whatever the warehouse holds.
    """

    interventions: tuple[Intervention, ...] = ()
    tokens_per_domain: int = DEFAULT_INTERVENTION_TOKENS
    n_sets: int = DEFAULT_RANDOM_SETS
    seed: int = 0
    replaces: bool = False
    is_alone: bool = False
    name = "interventions"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (INTERVENTIONS, INTERVENTION_NEURONS, INTERVENTION_EFFECTS)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "InterventionsJob":
        """All that were asked for.

        Raises:
            GatesInTheWay: neurons are to be changed before the non-linearity in a model whose FFNs have gates.
        """
        if context.shape.is_gated and any(one.moment == "before" for one in request.interventions):
            raise GatesInTheWay(context.shape.architecture)
        return cls(
            context,
            request.interventions,
            tokens_per_domain=request.intervention_tokens,
            n_sets=request.random_sets,
            replaces=request.force,
        )

    @classmethod
    def from_parameters(cls, context: JobContext, parameters: Mapping[str, Any]) -> "InterventionsJob":
        """The job that a run with such parameters was, which copies nothing from that run."""
        job = super().from_parameters(context, parameters)
        assert isinstance(job, InterventionsJob)
        return replace(job, is_alone=True)

    @staticmethod
    def options(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What was changed, and on how much text it was measured."""
        made = [from_parameters(name, one) for name, one in parameters["interventions"].items()]
        return {
            "interventions": tuple(made),
            "intervention_tokens": int(parameters["tokens_per_domain"]),
            "random_sets": int(parameters["n_sets"]),
        }

    def parameters(self) -> dict[str, Any]:
        """What is changed, on how much text, and the run that says how often neurons fire."""
        return {
            "interventions": {one.name: as_parameters(one) for one in self.all},
            **self._settings(),
        }

    def _settings(self) -> dict[str, Any]:
        """What holds for all interventions."""
        runs = self.context.runs
        keys = {} if runs is None else runs.keys
        return {
            "tokens_per_domain": self.tokens_per_domain,
            "n_sets": self.n_sets,
            "seed": self.seed,
            **{f"{job}{OTHER_RUN}": key for job, key in keys.items() if job in self.needed},
        }

    @property
    def needed(self) -> dict[str, int]:
        """Random sets are drawn by how often neurons fire."""
        return {ActivityJob.name: ActivityJob.version}

    def shards(self) -> dict[str, tuple[str, ...]]:
        """One an intervention, which fills all tables."""
        tables = tuple(table.name for table in self.tables)
        return {f"intervention-{number:04d}": tables for number in range(len(self.all))}

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What measures one intervention, or copies what was measured of it before."""
        shared = Shared(self.context, n_sets=self.n_sets, seed=self.seed)

        def measure(shard: str) -> Frames:
            intervention = self.all[int(shard.rpartition("-")[2])]
            if self._is_measured(intervention):
                return self._copied(intervention)
            sets = shared.sets(intervention)
            return {
                INTERVENTIONS.name: self._described(intervention),
                INTERVENTION_NEURONS.name: _neurons_frame(intervention, sets),
                INTERVENTION_EFFECTS.name: self._effects(shared, intervention, sets),
            }

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        weights = sum(transformer.block_bytes(layer) for layer in range(shape.n_layers if is_resident else 1))
        tokens = max(BATCH_TOKENS, shape.context_length)
        streams = (self.n_sets + 2) * tokens * shape.d_model * 4
        working = tokens * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        logits = 4 * SLICE_LOGITS * 4
        return weights + streams + working + logits + 3 * shape.vocab_size * shape.d_model * 4

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    @cached_property
    def all(self) -> tuple[Intervention, ...]:
        """Those of the warehouse, which stay, and those that are asked for, each under its name.

        Raises:
            InterventionTaken: the warehouse has another one of the name, and nobody said to replace it.
            OtherSettings: those of the warehouse were measured on another number of ids or sets.
        """
        settings = {"tokens": "tokens_per_domain", "sets": "n_sets"}
        there = {option: self._before.get(name) for option, name in settings.items()}
        if self._before and there != {option: self._settings()[name] for option, name in settings.items()}:
            assert self._earlier is not None
            raise OtherSettings(self._earlier.model, there)
        before = self._before.get("interventions", {})
        for one in self.interventions:
            if before.get(one.name, as_parameters(one)) != as_parameters(one) and not self.replaces:
                raise InterventionTaken(one.name)
        known = {name: from_parameters(name, said) for name, said in before.items()}
        return tuple({**known, **{one.name: one for one in self.interventions}}.values())

    @cached_property
    def _earlier(self) -> EarlierRuns | None:
        """The run that the warehouse holds of this job on the same model and text."""
        runs = self.context.runs
        if self.is_alone or runs is None or self.context.text is None:
            return None
        found = EarlierRuns.finished(runs.warehouse, runs.model, self.context.corpus, jobs={self.name: self.version})
        return found if found.has(self.name) else None

    @cached_property
    def _before(self) -> dict[str, Any]:
        """The parameters of that run."""
        return {} if self._earlier is None else self._earlier.parameters(self.name)

    def _is_measured(self, intervention: Intervention) -> bool:
        """Whether that run has measured the same, in the same way."""
        settings = self._settings()
        is_same = all(self._before.get(name) == value for name, value in settings.items())
        return is_same and self._before["interventions"].get(intervention.name) == as_parameters(intervention)

    def _copied(self, intervention: Intervention) -> Frames:
        """The rows of that run."""
        assert self._earlier is not None
        frames = {}
        for table in self.tables:
            query = _EARLIER.format(table=table.name)
            rows = self._earlier.rows(query, self.name, intervention=intervention.name)
            frames[table.name] = rows.select(pl.col(name).cast(dtype) for name, dtype in table.columns.items())
        return frames

    def _described(self, intervention: Intervention) -> pl.DataFrame:
        row = {
            "intervention": intervention.name,
            "asked": intervention.asked,
            "kind": intervention.kind,
            "how": intervention.how,
            "value": intervention.value,
            "moment": intervention.moment,
            "n_neurons": len(intervention.neurons),
            "n_sets": self.n_sets,
            "seed": self.seed,
        }
        return pl.DataFrame([row], schema=dict(INTERVENTIONS.columns))

    def _effects(self, shared: Shared, intervention: Intervention, sets: Sequence[ByLayer]) -> pl.DataFrame:
        """Sums over tokens, for each set, domain and range of positions."""
        device = self.context.transformer.device
        ways = [changes(intervention, neurons, shared.means, device) for neurons in sets]
        groups = shared.tokens_of(by_layer(intervention))
        rows: list[dict[str, Any]] = []
        for domain, name in enumerate(self.context.corpus.domains):
            sums, counts = self._sums(domain, ways, groups)
            rows += [
                {
                    "intervention": intervention.name,
                    "set_number": number,
                    "domain": name,
                    "position_from": POSITIONS_FROM[place],
                    "n_tokens": int(counts[place]),
                    **dict(zip(_SUMMED, sums[number, place].tolist(), strict=True)),
                }
                for number in range(len(sets))
                for place in np.flatnonzero(counts).tolist()
            ]
        return pl.DataFrame(rows, schema=dict(INTERVENTION_EFFECTS.columns))

    def _sums(
        self, domain: int, ways: Sequence[Changes], groups: Sequence[Int[Tensor, " _"]]
    ) -> tuple[Float[np.ndarray, "sets ranges summed"], Int[np.ndarray, " ranges"]]:
        """[sets ranges summed] over the tokens of a domain, and [ranges] how many these are."""
        sums = np.zeros((len(ways), len(POSITIONS_FROM), len(_SUMMED)))
        counts = np.zeros(len(POSITIONS_FROM), dtype=np.int64)
        for batch in self._batches(domain):
            untouched, *changed = changed_losses(self.context.transformer, batch, ways, groups=groups)
            ranges = _ranges(batch)
            counts += np.bincount(ranges, minlength=len(POSITIONS_FROM))
            for number, one in enumerate(changed):
                sums[number] += _summed(one, untouched, ranges)
        return sums, counts

    def _batches(self, domain: int) -> Iterator[RightPadded]:
        """The first sequences of a domain, whole ones, until enough ids are read."""
        corpus, read = self.context.corpus, 0
        held: list[np.ndarray] = []
        for number in np.flatnonzero(corpus.domain_of == domain).tolist():
            ids = corpus.sequence(number)
            if held and (len(held) + 1) * max(len(ids), *map(len, held)) > BATCH_TOKENS:
                yield RightPadded(0, padded(held), tuple(map(len, held)))
                held = []
            held.append(ids)
            read += len(ids)
            if read >= self.tokens_per_domain:
                break
        if held:
            yield RightPadded(0, padded(held), tuple(map(len, held)))


_SUMMED = tuple(INTERVENTION_EFFECTS.columns)[5:]


def _neurons_frame(intervention: Intervention, sets: Sequence[ByLayer]) -> pl.DataFrame:
    rows = [
        (intervention.name, number, layer, neuron)
        for number, neurons in enumerate(sets)
        for layer, some in sorted(neurons.items())
        for neuron in some.tolist()
    ]
    return pl.DataFrame(rows, schema=dict(INTERVENTION_NEURONS.columns), orient="row")


def _ranges(batch: RightPadded) -> Int[np.ndarray, " positions"]:
    """[positions] the range of each predicted position, in the order of `changed_losses`."""
    positions = np.concatenate([np.arange(length - 1) for length in batch.lengths])
    return np.searchsorted(POSITIONS_FROM, positions, side="right") - 1


def _summed(changed: Losses, untouched: Losses, ranges: Int[np.ndarray, " positions"]) -> np.ndarray:
    """[ranges summed] sums in the order of the table's columns."""
    columns = [changed.nll, untouched.nll, changed.kl]
    columns += [one.mass[:, group] for group in range(2) for one in (changed, untouched)]
    n = len(POSITIONS_FROM)
    return np.stack([np.bincount(ranges, one.double().cpu().numpy(), minlength=n) for one in columns], axis=1)
