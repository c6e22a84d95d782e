"""The job `interventions`: what a model says when neurons that a query found are changed ([G] 6.1; controls [ours])."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int
from torch import Tensor

from neurothek.catalog.problems import Conflict
from neurothek.catalog.tables.interventions import INTERVENTION_EFFECTS, INTERVENTION_NEURONS, INTERVENTIONS
from neurothek.catalog.tables.table import Table
from neurothek.ingest.errors import no_value_before_gates
from neurothek.ingest.forward.batches import RightPadded
from neurothek.ingest.interventions.changed import SLICE_LOGITS, Changes, Losses, changed_losses
from neurothek.ingest.interventions.chosen import ByLayer, as_parameters, from_parameters
from neurothek.ingest.interventions.first_batches import BATCH_TOKENS, cuts, first_batches
from neurothek.ingest.interventions.shared import Shared
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.additive import AdditiveJob, other_settings
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, ReadBack
from neurothek.ingest.request import DEFAULT_INTERVENTION_TOKENS, DEFAULT_RANDOM_SETS, IngestRequest, Intervention


@dataclass(frozen=True)
class InterventionsJob(AdditiveJob):
    """Runs a text through a model as it is, with some neurons changed, and with random ones in their place."""

    interventions: tuple[Intervention, ...] = ()  # what is changed
    tokens_per_domain: int = DEFAULT_INTERVENTION_TOKENS  # ids of each domain that are read
    n_sets: int = DEFAULT_RANDOM_SETS  # random sets of neurons that each is compared with
    seed: int = 0  # of these
    replaces: bool = False  # whether one of a name that the warehouse has may be another one
    name = "interventions"
    version = 3
    tables: ClassVar[tuple[Table, ...]] = (INTERVENTIONS, INTERVENTION_NEURONS, INTERVENTION_EFFECTS)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "InterventionsJob":
        """All that were asked for."""
        if context.shape.is_gated and any(one.moment == "before" for one in request.interventions):
            raise no_value_before_gates(context.shape.architecture)
        return cls(
            context,
            request.interventions,
            tokens_per_domain=request.intervention_tokens,
            n_sets=request.random_sets,
            replaces=request.force,
        )

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
        return {
            "tokens_per_domain": self.tokens_per_domain,
            "n_sets": self.n_sets,
            "seed": self.seed,
            # Stated only where it is so: all other runs stay the same runs.
            **({"cut": True} if cuts(self.context.corpus, self.tokens_per_domain) else {}),
            **({"signs": "strongest"} if self.context.shape.is_gated else {}),
            **self.runs_worked_on(),
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
        context = self.context
        shared = Shared(context.transformer, context.tokenizer, context.runs, n_sets=self.n_sets, seed=self.seed)

        def measure(shard: str) -> Frames:
            intervention = self.all[int(shard.rpartition("-")[2])]
            if self._is_measured(intervention):
                return self.copied(intervention=intervention.name)
            sets = shared.sets(intervention)
            return {
                INTERVENTIONS.name: self._described(intervention),
                INTERVENTION_NEURONS.name: neurons_frame(intervention, sets),
                INTERVENTION_EFFECTS.name: self._effects(shared, intervention),
            }

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        weights = transformer.blocks_bytes(is_resident=is_resident)
        tokens = max(BATCH_TOKENS, self.context.longest)
        streams = (self.n_sets + 2) * tokens * shape.d_model * 4
        working = tokens * (10 * shape.d_model + 4 * shape.d_ffn) * 4
        logits = 4 * SLICE_LOGITS * 4
        return weights + streams + working + logits + 3 * shape.vocab_size * shape.d_model * 4

    def files(self) -> Files | None:
        """It keeps none."""
        return None

    @cached_property
    def all(self) -> tuple[Intervention, ...]:
        """Those of the warehouse, which stay, and those that are asked for, each under its name."""
        settings = {"tokens": "tokens_per_domain", "sets": "n_sets"}
        recorded = {option: self.before.get(name) for option, name in settings.items()}
        if self.before and recorded != {option: self._settings()[name] for option, name in settings.items()}:
            assert self.earlier is not None
            texts = () if self.runs_of("continuations") is None else ("continuations",)
            raise other_settings(self.name, self.earlier.model, recorded, jobs_after=texts)
        by_name = {
            name: from_parameters(name, parameters) for name, parameters in self.before.get("interventions", {}).items()
        }
        for one in self.interventions:
            stored = by_name.get(one.name, one)
            # However it was asked for this time, it may be the same.
            if replace(one, asked=stored.asked) == stored:
                by_name[one.name] = stored
            elif self.replaces:
                by_name[one.name] = one
            else:
                raise Conflict(
                    f"the warehouse has an intervention {one.name!r} on other neurons or in another way",
                    "give this one another --name, or replace that one with --force",
                    what="intervention",
                    name=one.name,
                )
        return tuple(by_name.values())

    def _is_measured(self, intervention: Intervention) -> bool:
        """Whether that run has measured the same, in the same way."""
        settings = self._settings()
        is_same = self.is_current and all(self.before.get(name) == value for name, value in settings.items())
        return is_same and self.before["interventions"].get(intervention.name) == as_parameters(intervention)

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
            "watched": self._texts(intervention.watched),
            "positions": intervention.positions,
        }
        return pl.DataFrame([row], schema=INTERVENTIONS.schema)

    def _texts(self, ids: Sequence[int]) -> str | None:
        """The exact texts of some tokens as a JSON list; None for none."""
        return json.dumps(self.context.tokenizer.texts(np.array(ids)), ensure_ascii=False) if ids else None

    def _effects(self, shared: Shared, intervention: Intervention) -> pl.DataFrame:
        """Sums over tokens, for each set, domain and range of positions."""
        device = self.context.transformer.device
        ways = shared.changes(intervention)
        groups = [
            *shared.tokens_of(intervention),
            torch.tensor(intervention.watched, dtype=torch.int64, device=device),
        ]
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
                    **dict(zip(SUMMED, sums[number, place].tolist(), strict=True)),
                    **({} if intervention.watched else dict.fromkeys(OF_WATCHED)),
                }
                for number in range(len(ways))
                for place in np.flatnonzero(counts).tolist()
            ]
        return pl.DataFrame(rows, schema=INTERVENTION_EFFECTS.schema)

    def _sums(
        self, domain: int, ways: Sequence[Changes], groups: Sequence[Int[Tensor, " _"]]
    ) -> tuple[Float[np.ndarray, "sets ranges summed"], Int[np.ndarray, " ranges"]]:
        """[sets ranges summed] over the tokens of a domain, and [ranges] how many these are."""
        sums = np.zeros((len(ways), len(POSITIONS_FROM), len(SUMMED)))
        counts = np.zeros(len(POSITIONS_FROM), dtype=np.int64)
        for batch in first_batches(self.context.corpus, domain, n_tokens=self.tokens_per_domain):
            untouched, *changed = changed_losses(self.context.transformer, batch, ways, groups=groups)
            ranges = ranges_of(batch)
            counts += np.bincount(ranges, minlength=len(POSITIONS_FROM))
            for number, one in enumerate(changed):
                sums[number] += summed(one, untouched, ranges, window_weights(batch))
        return sums, counts


POSITIONS_FROM = (0, 1, 8, 64, 512)
"""Where ranges of positions begin."""

SUMMED = tuple(INTERVENTION_EFFECTS.schema)[5:]
OF_WATCHED = ("mass_watched", "mass_watched_untouched")


def neurons_frame(intervention: Intervention, sets: Sequence[ByLayer]) -> pl.DataFrame:
    """Rows of the table `intervention_neurons`: those asked for, then the random sets."""
    rows = [
        (intervention.name, number, layer, neuron)
        for number, neurons in enumerate(sets)
        for layer, numbers in sorted(neurons.items())
        for neuron in numbers.tolist()
    ]
    return pl.DataFrame(rows, schema=INTERVENTION_NEURONS.schema, orient="row")


def ranges_of(batch: RightPadded) -> Int[np.ndarray, " positions"]:
    """[positions] the range of each predicted position, in the order of `changed_losses`."""
    positions = np.concatenate([np.arange(length - 1) for length in batch.lengths])
    return np.searchsorted(POSITIONS_FROM, positions, side="right") - 1


def window_weights(batch: RightPadded) -> Float[np.ndarray, " positions"]:
    """[positions] what the mean of a sequence weighs, where it is multiplied by all its ids and not by the predicted.

    The variant of perplexity that the code of [G] computes.
    """
    return np.concatenate([np.full(n - 1, n / max(n - 1, 1)) for n in batch.lengths])


def summed(
    changed: Losses,
    untouched: Losses,
    ranges: Int[np.ndarray, " positions"],
    window_weights: Float[np.ndarray, " positions"],
) -> Float[np.ndarray, "ranges summed"]:
    """[ranges summed] sums in the order of the table's columns."""
    promoted, suppressed, watched = (
        [one.mass[:, group].double().cpu().numpy() for one in (changed, untouched)] for group in range(3)
    )
    losses = [one.double().cpu().numpy() for one in (changed.nll, untouched.nll)]
    weighted = [window_weights, *(one * window_weights for one in losses)]
    columns = [*losses, changed.kl.double().cpu().numpy(), *promoted, *suppressed, *weighted, *watched]
    return np.stack([np.bincount(ranges, one, minlength=len(POSITIONS_FROM)) for one in columns], axis=1)
