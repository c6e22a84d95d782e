"""What was not measured on the corpus that a person asks for, and the command that measures it there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from neurothek.catalog.advice import command_line, text_words
from neurothek.catalog.spelling import named
from neurothek.queries.ask.statements import records
from neurothek.queries.names.models import choose_corpora, shown_corpora

_JOBS_ON_CORPORA = """\
-- Which jobs some models were measured by on which corpora, and whether n-grams count strong activations alone.
select distinct
    models.name as model,
    runs.job,
    runs.corpus_id,
    coalesce(runs.job = 'ngrams' and runs.parameters like '%"activation_rule": "|m|%', false) as counts_strong,
from store.models as models
left join store.runs as runs on runs.model_id = models.model_id and runs.corpus_id is not null
where list_contains($models::varchar[], models.name)
"""

_CORPUS_RECIPES = """\
-- How some corpora were made.
select corpus_id, name, sequence_length, recipe,
from store.corpora
where list_contains($corpus_ids::integer[], corpus_id)
"""

OF_COMPARISON = ("activity", "ngrams", "positions", "events", "shortcuts", "exits")
"""Jobs that read text and fill sections of a comparison, in their order."""

OF_NEURON = ("activity", "contexts", "ngrams", "positions", "events")
"""Jobs that read text and fill sections of a neuron's page."""

_ACTIVITY = "activity"


@dataclass(frozen=True)
class Unmeasured:
    """Jobs that some models lack on a corpus."""

    corpus: str  # the corpus, as it was asked for
    jobs: tuple[str, ...]  # names of the jobs
    models: tuple[str, ...]  # names of the models
    command: str  # what to type to measure them

    def __str__(self) -> str:
        """What is lacking, and what to do."""
        return (
            f"not measured on {named(self.corpus)}: {', '.join(self.jobs)} of {', '.join(map(named, self.models))};"
            f" measure with `{self.command}`"
        )


def unmeasured(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], corpus: str, jobs: Sequence[str] = OF_COMPARISON
) -> list[Unmeasured]:
    """Which of the jobs the models lack on the corpus; models that lack the same are told together.

    A model that never ran a job that watches its neurons may be one that predicts no next token: of it only jobs are
    told that it ran on another corpus.

    Args:
        connection: a lease on which views tell of the corpus, see `on_corpus`.
        models: names, in order.
        corpus: the corpus, as it was asked for.
        jobs: names of jobs that read text.
    """
    corpora = shown_corpora(connection, models)
    ran: dict[str, set[tuple[str, int]]] = {model: set() for model in models}
    for row in jobs_on_corpora(connection, models):
        if row["job"] is not None:
            ran[row["model"]].add((row["job"], row["corpus_id"]))
    lacking: dict[tuple[str, ...], list[str]] = {}
    for model in models:
        anywhere = {job for job, _ in ran[model]}
        here = {job for job, corpus_id in ran[model] if model in corpora and corpus_id == corpora[model].corpus_id}
        possible = jobs if _ACTIVITY in anywhere else [job for job in jobs if job in anywhere]
        absent = tuple(job for job in possible if job not in here)
        if absent:
            lacking.setdefault(absent, []).append(model)
    ids = sorted({one.corpus_id for one in corpora.values()})
    recipes = {row["corpus_id"]: row for row in corpus_recipes(connection, ids)}
    lacks = []
    for absent, names in lacking.items():
        shown_id = next((corpora[name].corpus_id for name in names if name in corpora), ids[-1])
        command = ingest_words(names, absent, recipes[shown_id])
        lacks.append(Unmeasured(corpus, absent, tuple(names), command))
    return lacks


def corpus_words(connection: duckdb.DuckDBPyConnection, models: Sequence[str], corpus: str | None) -> list[str]:
    """The options of `ingest` that ask for a corpus of the warehouse; none where no corpus is named.

    Args:
        connection: a reader.
        models: models of which one was measured on it at least.
        corpus: its name.
    """
    if corpus is None:
        return []
    chosen = choose_corpora(connection, models, corpus)
    ids = sorted({one.corpus_id for one in chosen.values()})
    newest = corpus_recipes(connection, ids[-1:])
    return _of_text(newest[0])


def ingest_commands(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], jobs: Sequence[str], corpus: str | None = None
) -> list[str]:
    """What to type to run jobs on models and the corpus that is asked for, or else on the shown one of each model.

    A command for each text, in the order of the models. Where some of the models were measured on no such corpus and
    others were, theirs is the newest of the others'.

    Args:
        connection: a reader.
        models: their names.
        jobs: names of the jobs; where none reads a text, none is asked for.
        corpus: the corpus that is asked for; None: the shown ones, or what `ingest` reads by itself where none is.
    """
    # Frames come with the declarations, and few questions end here.
    from neurothek.catalog.tables.registry import OF_WEIGHTS  # noqa: PLC0415

    chosen = {} if OF_WEIGHTS.issuperset(jobs) else choose_corpora(connection, models, corpus)
    ids = {one.corpus_id for one in chosen.values()}
    rows = corpus_recipes(connection, sorted(ids)) if ids else []
    words = {row["corpus_id"]: tuple(_of_text(row)) for row in rows}
    others = words[max(ids)] if ids else ()
    alike: dict[tuple[str, ...], list[str]] = {}
    for model in models:
        alike.setdefault(words[chosen[model].corpus_id] if model in chosen else others, []).append(model)
    return [_command(names, jobs, on) for on, names in alike.items()]


def jobs_on_corpora(connection: duckdb.DuckDBPyConnection, models: Iterable[str]) -> list[dict[str, Any]]:
    """Which jobs some models were measured by on which corpora, a row without a job for a model by none."""
    return records(connection, _JOBS_ON_CORPORA, {"models": list(models)})


def corpus_recipes(connection: duckdb.DuckDBPyConnection, corpus_ids: Iterable[int]) -> list[dict[str, Any]]:
    """The corpus_id, name, sequence_length and recipe of some corpora."""
    return records(connection, _CORPUS_RECIPES, {"corpus_ids": list(corpus_ids)})


def ingest_words(models: Sequence[str], jobs: Sequence[str], corpus: Mapping[str, Any]) -> str:
    """What to type to run jobs on models and a corpus of the warehouse.

    Args:
        models: their names.
        jobs: names of the jobs.
        corpus: name, sequence_length and recipe of the corpus.
    """
    return _command(models, jobs, _of_text(corpus))


def _command(models: Sequence[str], jobs: Sequence[str], on: Sequence[str]) -> str:
    chosen = (word for job in jobs for word in ("--job", job))
    return command_line("ingest", *models, *chosen, *on)


def _of_text(corpus: Mapping[str, Any]) -> list[str]:
    return text_words(corpus["name"], corpus["sequence_length"], corpus["recipe"])
