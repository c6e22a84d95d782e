"""Which kept matrix leads from one state of a model to another ([D] 3)."""

from collections.abc import Mapping

import duckdb

from neurothek.catalog.problems import NotFound, NotMeasured
from neurothek.catalog.store.matrices import StoredMatrix, stored_matrices
from neurothek.queries.errors.unknown_subjects import no_shortcuts
from neurothek.queries.names.models import choose_corpora, choose_model
from neurothek.queries.names.unmeasured import corpus_words


def stored_shortcut(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    *,
    state: int,
    target: int | None = None,
    corpus: str | None = None,
) -> StoredMatrix:
    """The matrix from a state to another, the last one unless `target` says which, fitted on the shown corpus.

    Args:
        connection: a lease.
        model: name of the model.
        state: the state it is applied to: 0 the embeddings, s what leaves block s - 1.
        target: the state it leads to.
        corpus: name of another corpus that the model was measured on.
    """
    last, mine = _maps(connection, model, corpus)
    end = last if target is None else target
    if not 0 <= state < end <= last:
        raise NotFound(
            f"there is no shortcut of {model} from state {state} to state {end}",
            f"states are 0 to {last}, and a shortcut leads to a higher one",
            what="shortcut",
            name=f"{state} to {end}",
        )
    if (state, end) not in mine:
        raise NotMeasured(
            f"the matrix of {model} from state {state} to state {end} was not kept, only those to the last state",
            f"keep all with `{mine[0, last].again()} --keep all --force`",
            jobs=["shortcuts"],
            models=[model],
            corpus=corpus,
        )
    return mine[state, end]


def stored_lens(connection: duckdb.DuckDBPyConnection, model: str, *, corpus: str | None = None) -> list[StoredMatrix]:
    """The matrices from every state of a model to its last one, in order, fitted on the shown corpus or on another."""
    last, mine = _maps(connection, model, corpus)
    return [mine[state, last] for state in range(last)]


def _maps(
    connection: duckdb.DuckDBPyConnection, model: str, corpus: str | None
) -> tuple[int, Mapping[tuple[int, int], StoredMatrix]]:
    """The model's last state, and what leads from one state to another."""
    model_row = choose_model(connection, model)
    chosen = choose_corpora(connection, [model], corpus).get(model)
    maps = [one for one in stored_matrices(connection) if one.model == model]
    mine = {(one.source_state, one.target_state): one for one in maps if chosen and one.corpus_id == chosen.corpus_id}
    if not mine:
        on = corpus_words(connection, [model], corpus)
        raise no_shortcuts(model, chosen.corpus if chosen else None, sorted({one.corpus for one in maps}), on)
    return model_row.n_layers, mine
