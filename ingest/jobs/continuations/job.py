"""The job `continuations`: what a model writes when neurons are changed, and what scores it ([G] 6.1)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import torch

from neurothek.catalog.advice import command_line
from neurothek.catalog.files import written
from neurothek.catalog.problems import Conflict, Refused
from neurothek.catalog.tables.interventions import ATTRIBUTE_SCORES, CONTINUATIONS
from neurothek.catalog.tables.table import Table
from neurothek.ingest.interventions.chosen import as_parameters, from_parameters
from neurothek.ingest.interventions.continued import BATCH_PROMPTS, Adjust, Writing
from neurothek.ingest.interventions.prompt_ids import PromptIds, continue_prompts, self_debiasing, word_filter
from neurothek.ingest.interventions.scorers.text_scorer import TextScorer, named, open_scorer, reopen_scorer
from neurothek.ingest.interventions.shared import Shared
from neurothek.ingest.jobs.activity.job import ActivityJob
from neurothek.ingest.jobs.additive import AdditiveJob
from neurothek.ingest.jobs.job import Files, Frames, JobContext, MeasureShard, ReadBack
from neurothek.ingest.request import DEFAULT_RANDOM_SETS, IngestRequest, Intervention, Steering


@dataclass(frozen=True)
class Steered:
    """Prompts that a model continues while its neurons are changed."""

    intervention: Intervention  # what is changed
    steering: Steering  # how prompts are continued and scored; without prompts where they are read back
    n_prompts: int  # how many prompts there are
    prompts_sha256: str  # fingerprint of the prompts
    scorers: tuple[Mapping[str, Any], ...]  # the name of each scorer, and what its numbers depend on
    n_positions: int  # ids of the longest prompt, its warning and its continuation included

    @classmethod
    def of(
        cls,
        intervention: Intervention,
        steering: Steering,
        scorers: tuple[Mapping[str, Any], ...],
        *,
        n_positions: int,
    ) -> "Steered":
        """What is asked for, with prompts."""
        digest = sha256("\0".join(steering.prompts).encode()).hexdigest()
        return cls(intervention, steering, len(steering.prompts), digest, scorers, n_positions)

    @property
    def writing(self) -> Writing:
        """How tokens are chosen."""
        return Writing(self.steering.length, self.steering.temperature, self.steering.seed)

    def as_parameters(self, selection: str | None = None) -> dict[str, Any]:
        """What changes its numbers, as JSON values; `selection` stands for how its neurons were asked for."""
        steering = self.steering
        return {
            **as_parameters(self.intervention),
            **({} if selection is None else {"asked": selection}),
            "n_prompts": self.n_prompts,
            "n_positions": self.n_positions,
            "prompts_sha256": self.prompts_sha256,
            "length": steering.length,
            "temperature": steering.temperature,
            "seed": steering.seed,
            "unwanted": steering.unwanted,
            "banned": list(steering.banned),
            "described": steering.described,
            "scorers": [dict(one) for one in self.scorers],
        }

    @classmethod
    def from_parameters(cls, name: str, parameters: Mapping[str, Any]) -> "Steered":
        """What a run with such parameters was asked for; its prompts are among its rows."""
        scorers = tuple(parameters["scorers"])
        steering = Steering(
            prompts=(),
            length=int(parameters["length"]),
            temperature=float(parameters["temperature"]),
            seed=int(parameters["seed"]),
            scorers=tuple(str(one["name"]) for one in scorers),
            unwanted=str(parameters["unwanted"]),
            banned=tuple(parameters["banned"]),
            described=str(parameters["described"]),
        )
        intervention = from_parameters(name, parameters)
        return cls(
            intervention,
            steering,
            int(parameters["n_prompts"]),
            str(parameters["prompts_sha256"]),
            scorers,
            int(parameters["n_positions"]),
        )


_WRITTEN, _SCORED = "written", "scored"

_Method = tuple[str, int]
"""How continuations come about, and the number of the random set."""


@dataclass(frozen=True)
class ContinuationsJob(AdditiveJob):
    """Has a model continue prompts as it is, with neurons changed, with random ones changed, and with two baselines."""

    steered: tuple[Steered, ...] = ()  # what is asked for
    # what is changed; texts of the same name, asked for earlier, are written again where it changed
    interventions: tuple[Intervention, ...] = ()
    n_sets: int = DEFAULT_RANDOM_SETS  # random sets of neurons that each is compared with
    set_seed: int = 0  # of these
    replaces: bool = False  # whether continuations of a name that the warehouse has may be others
    name = "continuations"
    version = 1
    tables: ClassVar[tuple[Table, ...]] = (CONTINUATIONS, ATTRIBUTE_SCORES)

    @classmethod
    def from_options(cls, context: JobContext, request: IngestRequest) -> "ContinuationsJob":
        """Continuations of every intervention that is asked for."""
        steering = request.steering
        job = cls(context, interventions=request.interventions, n_sets=request.random_sets, replaces=request.force)
        if steering is None:
            return job
        scorers = tuple(named(open_scorer(spec)) for spec in steering.scorers)
        longest = _fitting(context, steering, steering.prompts).longest()
        steered = tuple(
            Steered.of(one, steering, scorers, n_positions=longest + steering.length) for one in request.interventions
        )
        return replace(job, steered=steered)

    @classmethod
    def from_parameters(cls, context: JobContext, parameters: Mapping[str, Any]) -> "ContinuationsJob":
        """The job that a run with such parameters was; its prompts are read from its rows."""
        return cls(
            context,
            steered=tuple(Steered.from_parameters(*item) for item in parameters[cls.name].items()),
            n_sets=int(parameters["n_sets"]),
            set_seed=int(parameters["set_seed"]),
            is_alone=True,
        )

    def parameters(self) -> dict[str, Any]:
        """What is changed, continued and scored, and the run that says how often neurons fire."""
        for one in self.all:
            if not self.is_alone and not one.steering.prompts and not self._is_measured(one):
                self._scorers(one)
        return {self.name: {one.intervention.name: one.as_parameters() for one in self.all}, **self._settings()}

    def _settings(self) -> dict[str, Any]:
        return {"n_sets": self.n_sets, "set_seed": self.set_seed, **self.runs_worked_on()}

    @property
    def needed(self) -> dict[str, int]:
        """Random sets are drawn by how often neurons fire."""
        return {ActivityJob.name: ActivityJob.version}

    @cached_property
    def all(self) -> tuple[Steered, ...]:
        """Those of the warehouse, which stay, and those that are asked for, each under its name."""
        before = self.before.get(self.name, {})
        by_name = {name: Steered.from_parameters(name, parameters) for name, parameters in before.items()}
        for intervention in self.interventions:
            stored = by_name.get(intervention.name)
            if stored is not None and replace(intervention, asked=stored.intervention.asked) != stored.intervention:
                by_name[intervention.name] = replace(stored, intervention=intervention)
        for one in self.steered:
            name = one.intervention.name
            if name not in by_name or one.as_parameters(by_name[name].intervention.asked) == before[name]:
                # However it was asked for this time, it is the same.
                selection = by_name[name].intervention.asked if name in by_name else one.intervention.asked
                by_name[name] = replace(one, intervention=replace(one.intervention, asked=selection))
            elif self.replaces:
                by_name[name] = one
            else:
                raise Conflict(
                    f"the warehouse has continuations of {name!r} from other prompts, or written or scored in another"
                    " way",
                    "give these another --name, or replace those with --force",
                    what="continuations",
                    name=name,
                )
        return tuple(by_name.values())

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """For each, one of what is written and one of its scores.

        Scores of somebody else's program or service are never asked for when a run is verified: a warehouse may come
        from anybody.
        """
        numbers = range(len(self.all))
        scored = [number for number in numbers if not (self.is_alone and self._has_lost_scorers(self.all[number]))]
        return {f"{_WRITTEN}-{number:04d}": (CONTINUATIONS.name,) for number in numbers} | {
            f"{_SCORED}-{number:04d}": (ATTRIBUTE_SCORES.name,) for number in scored
        }

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What writes one set of continuations, scores one, or copies what was there before."""
        context = self.context
        shared = Shared(context.transformer, context.tokenizer, context.runs, n_sets=self.n_sets, seed=self.set_seed)

        def measure(shard: str) -> Frames:
            kind, _, number = shard.partition("-")
            one = self.all[int(number)]
            table = CONTINUATIONS if kind == _WRITTEN else ATTRIBUTE_SCORES
            if self._is_measured(one):
                return {table.name: self.copied(intervention=one.intervention.name)[table.name]}
            if kind == _WRITTEN:
                return {table.name: self._written(one, shared, folder / number, read_back)}
            rows = read_back(CONTINUATIONS.name).filter(intervention=one.intervention.name).collect()
            return {table.name: scores_of(rows, self._scorers(one))}

        yield measure

    def memory_bytes(self, *, is_resident: bool) -> int:
        """What measuring adds to the process's memory, estimated from above."""
        transformer, shape = self.context.transformer, self.context.shape
        weights = transformer.blocks_bytes(is_resident=is_resident)
        # Keys and values of the prompts and of those with a warning.
        positions = max((one.n_positions for one in self.all if not self._is_measured(one)), default=0)
        cached = 2 * 2 * shape.n_layers * BATCH_PROMPTS * positions * shape.d_model * 4
        logits = 8 * BATCH_PROMPTS * shape.vocab_size * 4
        return weights + cached + logits + shape.vocab_size * shape.d_model * 4

    def files(self) -> Files | None:
        """What is written by one method is kept until all methods are done; it is small."""
        return None

    def extent(self) -> str | None:
        """How many prompts are continued."""
        counts = [one.n_prompts for one in self.steered]
        return f"{sum(counts):,} prompts, {self.n_sets + 4} times each" if counts else None

    def _is_measured(self, one: Steered) -> bool:
        """Whether the warehouse has the same, measured in the same way."""
        is_same = self.is_current and all(self.before.get(name) == value for name, value in self._settings().items())
        return is_same and self.before[self.name].get(one.intervention.name) == one.as_parameters()

    def _scorers(self, one: Steered) -> list[TextScorer]:
        """The scorers of one; of what a warehouse states only those that nobody else wrote are opened again."""
        if one.steering.prompts:
            return [open_scorer(spec) for spec in one.steering.scorers]
        scorers = [reopen_scorer(identity) for identity in one.scorers]
        reopened = [scorer for scorer in scorers if scorer is not None]
        if len(reopened) < len(scorers):
            lost = [name for name, scorer in zip(one.steering.scorers, scorers, strict=True) if scorer is None]
            assert self.earlier is not None
            removed = command_line("remove", self.earlier.model, "--job", "continuations")
            raise Refused(
                f"the continuations of {one.intervention.name!r} in the warehouse rest on a run that was replaced, and"
                f" were scored by {', '.join(lost)}, which is not started unasked",
                f"repeat that command with --force, or remove all with `{removed}`",
                what=lost,
            )
        return reopened

    def _has_lost_scorers(self, one: Steered) -> bool:
        return any(reopen_scorer(identity) is None for identity in one.scorers)

    def _written(self, one: Steered, shared: Shared, folder: Path, read_back: ReadBack) -> pl.DataFrame:
        """Rows of all methods; what one wrote is kept in `folder`, so that going on begins with the next."""
        texts = one.steering.prompts or self._prompts_of(one.intervention.name, read_back)
        prompts = _fitting(self.context, one.steering, texts)
        folder.mkdir(exist_ok=True)
        frames = []
        for method, kwargs in self._methods(one, shared, prompts).items():
            path = folder / f"{method[0]}-{method[1]:04d}.parquet"
            if not path.exists():
                continuations = continue_prompts(
                    self.context.transformer, self.context.tokenizer, prompts, one.writing, **kwargs
                )
                with written(path) as hidden:
                    _rows(one, method, texts, [(one.text, one.n_tokens) for one in continuations]).write_parquet(hidden)
            frames.append(pl.read_parquet(path))
        return pl.concat(frames)

    def _prompts_of(self, intervention: str, read_back: ReadBack) -> tuple[str, ...]:
        """The prompts of what was asked for earlier: rows of the warehouse."""
        rows = (
            read_back(CONTINUATIONS.name).collect()
            if self.is_alone
            else self.copied(intervention=intervention)[CONTINUATIONS.name]
        )
        untouched = rows.filter(pl.col("intervention") == intervention, method="untouched")
        return tuple(untouched.sort("prompt_number")["prompt"])

    def _methods(self, one: Steered, shared: Shared, prompts: PromptIds) -> dict[_Method, dict[str, Any]]:
        """Every method with what it does to the model, as arguments of `continue_prompts`."""
        chosen, *random_sets = ({"changes": changes} for changes in shared.changes(one.intervention))
        return {
            ("untouched", 0): {},
            ("changed", 0): chosen,
            **{("random", number): changes for number, changes in enumerate(random_sets, start=1)},
            ("word_filter", 0): {"adjust": partial(_filtered, one.steering.banned, self.context)},
            ("self_debiasing", 0): {"adjust": partial(_debiased, prompts, self.context)},
        }


def _fitting(context: JobContext, steering: Steering, texts: Sequence[str]) -> PromptIds:
    """Prompts in a model's ids."""
    return PromptIds.of(
        texts,
        context.tokenizer,
        described=steering.described,
        length=steering.length,
        context_length=context.shape.context_length,
    )


def _filtered(banned: Sequence[str], context: JobContext, numbers: Sequence[int]) -> Adjust:
    return word_filter(banned, context.tokenizer)


def _debiased(prompts: PromptIds, context: JobContext, numbers: Sequence[int]) -> Adjust:
    warned = torch.stack([torch.from_numpy(prompts.warned[number]).long() for number in numbers])
    return self_debiasing(context.transformer, warned, len(prompts.plain[numbers[0]]))


def _rows(
    one: Steered, method: _Method, prompts: Sequence[str], continuations: Sequence[tuple[str, int]]
) -> pl.DataFrame:
    rows = [
        (one.intervention.name, *method, number, prompt, *continuation)
        for number, (prompt, continuation) in enumerate(zip(prompts, continuations, strict=True), start=1)
    ]
    return pl.DataFrame(rows, schema=CONTINUATIONS.schema, orient="row")


def scores_of(rows: pl.DataFrame, scorers: Sequence[TextScorer]) -> pl.DataFrame:
    """One row per continuation, scorer and attribute; continuations without a text are not scored."""
    rows = rows.filter(pl.col("continuation").str.contains(r"[^ \t\n\r\x0B\x0C]"))
    # The same text may have been written by many methods: it is scored once.
    texts = rows["continuation"].unique(maintain_order=True)
    frames = [ATTRIBUTE_SCORES.empty()]
    for scorer in scorers:
        name = named(scorer)["name"]
        scores: Iterable[Iterable[float]] = scorer.scores(texts.to_list()) if len(texts) else ()
        by_text = pl.DataFrame(
            [
                (text, name, attribute, float(score))
                for text, of_text in zip(texts, scores, strict=True)
                for attribute, score in zip(scorer.attributes, of_text, strict=True)
            ],
            schema={"continuation": pl.String, "scorer": pl.String, "attribute": pl.String, "score": pl.Float64},
            orient="row",
        )
        frames.append(rows.join(by_text, on="continuation", maintain_order="left").select(*ATTRIBUTE_SCORES.schema))
    return pl.concat(frames)
