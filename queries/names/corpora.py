"""Which corpus of a model a question is about: the one asked for by name, else the shown one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from neurothek.catalog.advice import command_line
from neurothek.catalog.spelling import visible
from neurothek.queries.ask.statements import ask_records
from neurothek.queries.errors.unknown_subjects import unknown_corpus


@dataclass(frozen=True)
class MeasuredCorpus:
    """A corpus that a model was measured on: its row of the view `measured_corpora`."""

    model: str
    corpus: str
    corpus_id: int
    is_shown: bool
    n_tokens: int
    sequence_length: int
    activation_rule: str | None


def folder_name(corpus: str) -> str:
    """A corpus's name as that of a folder: a file from elsewhere may hold one that leads out of it."""
    plain = re.sub(r"[^A-Za-z0-9._@+-]", "_", corpus)
    return re.sub(r"^[.-]", "_", plain) or "_"


def measured_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[MeasuredCorpus]:
    """All corpora that the models were measured on, each model's shown one first, then those that would be shown."""
    rows = [MeasuredCorpus(**row) for row in ask_records(connection, "measured_corpora", {"models": list(models)})]
    return sorted(rows, key=_order)


def _order(one: MeasuredCorpus) -> tuple[str, bool, bool, int, int]:
    """As a model's shown corpus is chosen: those with activity first, which alone have a rule for it."""
    return (one.model, not one.is_shown, one.activation_rule is None, -one.n_tokens, -one.corpus_id)


def shown_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> dict[str, MeasuredCorpus]:
    """For each model the corpus that views show; those that show none are left out."""
    return {row.model: row for row in measured_corpora(connection, models) if row.is_shown}


def choose_corpora(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], name: str | None = None
) -> dict[str, MeasuredCorpus]:
    """For each model its shown corpus, or of those called `name` the one that would be shown: see `chosen_corpora`."""
    return chosen_corpora(measured_corpora(connection, models), name)


def chosen_corpora(rows: Sequence[MeasuredCorpus], name: str | None = None) -> dict[str, MeasuredCorpus]:
    """For each model the first of its corpora, or of those called `name`.

    Where several have one name, `NAME@TOKENS` is the one with so many tokens.

    Models that were not measured on text, or not on that corpus, are left out.

    Args:
        rows: as `measured_corpora` says.
        name: None for the shown ones.
    """
    chosen: dict[str, MeasuredCorpus] = {}
    for row in rows:
        if name is None or name in (row.corpus, f"{row.corpus}@{row.n_tokens}"):
            chosen.setdefault(row.model, row)
    if name is not None and not chosen:
        raise unknown_corpus(name, sorted({row.corpus for row in rows}))
    return chosen


def which_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[str]:
    """On which corpora an answer rests, where it depends on text and there is a choice: a sentence, or none."""
    rows = measured_corpora(connection, models)
    if len({row.corpus_id for row in rows}) < 2:
        return []
    readers: dict[str, list[str]] = {}
    for row in rows:
        if row.is_shown:
            readers.setdefault(_unmistakable(row, rows), []).append(row.model)
    if len(readers) == 1:
        clause = f"on the shown corpus {visible(next(iter(readers)))}"
    else:
        on = ", ".join(f"{visible(corpus)} ({', '.join(names)})" for corpus, names in readers.items())
        clause = f"on the shown corpora {on}"
    return [f"{clause}{_how_another(rows)}"]


def _how_another(rows: Sequence[MeasuredCorpus]) -> str:
    """The command that shows another corpus of the first model that has one."""
    other = next((row for row in rows if not row.is_shown), None)
    if other is None:
        return ""
    return f"; `{command_line('pin', other.model, '--corpus', _unmistakable(other, rows))}` shows another"


def _unmistakable(one: MeasuredCorpus, rows: Sequence[MeasuredCorpus]) -> str:
    """A corpus's name, with its tokens where the model was measured on another of that name."""
    is_alone = sum((row.model, row.corpus) == (one.model, one.corpus) for row in rows) == 1
    return one.corpus if is_alone else f"{one.corpus}@{one.n_tokens}"
