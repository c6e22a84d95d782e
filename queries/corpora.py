"""Which corpus of a model a question is about: the one asked for by name, else the shown one."""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from queries.errors import UnknownCorpus
from queries.statement import ask_records


@dataclass(frozen=True)
class MeasuredCorpus:
    """A corpus that a model was measured on."""

    model: str
    corpus: str
    corpus_id: int
    n_tokens: int
    activation_rule: str | None


def measured_corpora(connection: duckdb.DuckDBPyConnection, models: Sequence[str]) -> list[MeasuredCorpus]:
    """All corpora that the models were measured on, each model's shown one first."""
    return [MeasuredCorpus(**row) for row in ask_records(connection, "measured_corpora", {"models": list(models)})]


def choose_corpora(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], name: str | None = None
) -> dict[str, MeasuredCorpus]:
    """For each model its shown corpus, or of those called `name` the one that would be shown.

    Where several have one name, `NAME@TOKENS` is the one with so many tokens.

    Models that were not measured on text, or not on that corpus, are left out.

    Raises:
        UnknownCorpus: none of the models was measured on a corpus called `name`.
    """
    rows = measured_corpora(connection, models)
    chosen: dict[str, MeasuredCorpus] = {}
    for row in rows:
        if name is None or name in (row.corpus, f"{row.corpus}@{row.n_tokens}"):
            chosen.setdefault(row.model, row)
    if name is not None and not chosen:
        raise UnknownCorpus(name, sorted({row.corpus for row in rows}))
    return chosen
