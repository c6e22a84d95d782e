"""What has to be measured before a paper can be reproduced on some models, in the words of a call to `ingest`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.queries.ask.statements import ask_records, records
from neurothek.queries.names.models import choose_corpora, choose_models, sizes_of
from neurothek.queries.names.unmeasured import corpus_recipes
from neurothek.queries.papers.exhibit import Paper

_JOBS_OF_TEXT = """\
-- The jobs that were run on each model, each with the corpus that it read; how many examples its events were told from.
select
    models.name as model,
    list(runs.job order by runs.run_id) filter (runs.job is not null) as jobs,
    list(runs.corpus_id order by runs.run_id) filter (runs.job is not null) as corpus_ids,
    max(case when runs.job = 'events' then json_extract(runs.parameters, '$.n_examples')::bigint end) as n_examples,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id
where list_contains($models::varchar[], models.name)
group by models.name
order by models.name
"""

_MODELS_UNJUDGED = """\
-- The models with random vectors that the annotator by rules has not judged.
select distinct models.name as model
from store.models as models
inner join store.controls as controls on controls.model_id = models.model_id and controls.kind = 'random'
where
    list_contains($models::varchar[], models.name)
    and not exists (
        select 1 from store.annotations as annotations
        where
            annotations.model_id = models.model_id
            and annotations.annotator = 'rules'
            and annotations.condition = 'random'
            and annotations.layer = controls.layer
            and annotations.control_id = controls.control_id
    )
order by model
"""


@dataclass(frozen=True)
class MissingJobs:
    """Jobs of one model that were not run.

    Attributes:
        model: its name, or the hub id or folder that was given, where the warehouse does not know it.
        jobs: names of the jobs.
        options: keywords of `ingest` that measure them, on the text that the model's other jobs read.
    """

    model: str
    jobs: tuple[str, ...]
    options: Mapping[str, Any]


def missing_jobs(
    connection: duckdb.DuckDBPyConnection, paper: Paper, models: Sequence[str], *, corpus: str | None = None
) -> list[MissingJobs]:
    """The jobs that the paper needs of models of the warehouse and that were not run on their text.

    Args:
        connection: a reader.
        paper: which.
        models: names of models.
        corpus: the corpus that it is about; None: each model's shown one.
    """
    names = [model.name for model in choose_models(connection, models)]
    chosen = choose_corpora(connection, names, corpus)
    ran = {row["model"]: row for row in records(connection, _JOBS_OF_TEXT, {"models": names})}
    recipes = {row["corpus_id"]: row for row in corpus_recipes(connection, [one.corpus_id for one in chosen.values()])}
    lacks = []
    for model in names:
        text = chosen[model].corpus_id if model in chosen else None
        runs = zip(ran[model]["jobs"] or (), ran[model]["corpus_ids"] or (), strict=True)
        done = {job for job, of in runs if of in (None, text)}
        jobs = tuple(job for job in paper.jobs if job not in done)
        if jobs:
            words = {} if text is None else text_options(recipes[text])
            examples = {} if ran[model]["n_examples"] is None else {"examples": ran[model]["n_examples"]}
            lacks.append(MissingJobs(model, jobs, {"jobs": jobs, "named": (), **words, **examples}))
    return lacks


def known_as(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> dict[str, str | None]:
    """Names in the warehouse of models that are given as `ingest` takes them; None where it has no such model.

    A model is called `NAME` of `NAME=SOURCE`, else by the last part of its hub id or folder.
    """
    stored = {str(row["name"]) for row in ask_records(connection, "models")} if models else set()
    names = {one: one if one in stored else _name(one) for one in models}
    return {one: name if name in stored else None for one, name in names.items()}


def _name(model: str) -> str:
    name, equals, source = model.partition("=")
    return name if equals else (source or name).rstrip("/").rpartition("/")[2]


def of_new(
    connection: duckdb.DuckDBPyConnection, paper: Paper, model: str, beside: Sequence[str], corpus: str | None
) -> MissingJobs:
    """All that a paper needs of a model that the warehouse does not know, on the text of the models beside it.

    Args:
        connection: a reader.
        paper: which.
        model: the model, as `ingest` takes it.
        beside: models of the warehouse that it will be compared with.
        corpus: the corpus that the paper is about; None: the shown one of the models beside it.
    """
    chosen = choose_corpora(connection, beside, corpus) if beside else {}
    words: dict[str, Any] = {} if corpus is None else {"corpus": corpus}
    if chosen:
        words = text_options(corpus_recipes(connection, [next(iter(chosen.values())).corpus_id])[0])
    return MissingJobs(model, paper.jobs, {"jobs": paper.jobs, "named": (), **words})


def text_options(corpus: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `ingest` that ask for a corpus of the warehouse, beside the options of `queries.names.unmeasured`."""
    limit = json.loads(corpus["recipe"]).get("tokens_per_domain")
    tokens = {"tokens": limit} if corpus["name"] == "builtin" and limit is not None else {}
    return {"corpus": corpus["name"], "sequence_length": corpus["sequence_length"], **tokens}


def without_rules(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[str]:
    """Which of the models have controls that no rules have judged yet, so that Geva et al.'s tables lack their rows."""
    return [row["model"] for row in records(connection, _MODELS_UNJUDGED, {"models": list(models)})]


STEERING_WORDS = ("the", "of", "is")
STEERING: Mapping[str, Any] = {"set": 1, "unwanted": "code", "name": "ten neurons of prose set to 1"}
"""What stands for Table 5 of Geva et al. 2022 where no intervention does: code that is steered towards prose [ours]."""

N_PROMPTS, PROMPT_TOKENS = 50, 12
"""Beginnings of code that a model continues, as many as section 6.1 is judged by, and their length in tokens, a
prepended BOS included."""


@dataclass(frozen=True)
class Unsteered:
    """A model that continued nothing yet."""

    model: str  # its name
    prompts: tuple[str, ...]  # beginnings of code of its own text

    def __str__(self) -> str:
        """What is to be done, as a line of a plan."""
        neurons = f"ten neurons that promote {', '.join(STEERING_WORDS)}"
        return f"{self.model}: Table 5, {neurons}, set to 1 on {len(self.prompts)} beginnings of code"


def unsteered(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[Unsteered]:
    """Sizes among these that continued no prompts with changed neurons, if their text has code and prose."""
    if not models:
        return []
    sizes = [model.name for model in sizes_of(choose_models(connection, models))]
    parameters = {"models": sizes, "most": N_PROMPTS, "length": PROMPT_TOKENS}
    rows = ask_records(connection, "models_unsteered", parameters)
    return [Unsteered(row["model"], tuple(dict.fromkeys(filter(str.strip, row["prompts"])))) for row in rows]
