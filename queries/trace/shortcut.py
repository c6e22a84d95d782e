"""Which kept matrix leads from one state of a model to another ([D] 3)."""

from collections.abc import Mapping

import duckdb

from neurothek.catalog.store.matrices import KeptMap, kept_maps
from neurothek.queries.errors import MatrixNotKept, NoShortcuts, StateUnknown
from neurothek.queries.names.corpora import choose_corpora
from neurothek.queries.names.models import choose_model
from neurothek.queries.names.unmeasured import corpus_words


def kept_shortcut(
    connection: duckdb.DuckDBPyConnection,
    model: str,
    *,
    state: int,
    target: int | None = None,
    corpus: str | None = None,
) -> KeptMap:
    """The matrix from a state to another, the last one unless `target` says which, fitted on the shown corpus.

    Args:
        connection: a lease.
        model: name of the model.
        state: the state it is applied to: 0 the embeddings, s what leaves block s - 1.
        target: the state it leads to.
        corpus: name of another corpus that the model was measured on.

    Raises:
        NoModels, UnknownModel, UnknownCorpus: there is no such model or corpus.
        NoShortcuts: its shortcuts were not measured there.
        StateUnknown: there are no such states, or one is not above the other.
        MatrixNotKept: only matrices to the last state were kept.
    """
    last, mine = _kept(connection, model, corpus)
    wanted = last if target is None else target
    if not 0 <= state < wanted <= last:
        raise StateUnknown(model, state, wanted, last)
    if (state, wanted) not in mine:
        raise MatrixNotKept(model, state, wanted, mine[0, last].again())
    return mine[state, wanted]


def kept_lens(connection: duckdb.DuckDBPyConnection, model: str, *, corpus: str | None = None) -> list[KeptMap]:
    """The matrices from every state of a model to its last one, in order, fitted on the shown corpus or on another.

    Raises:
        NoModels, UnknownModel, UnknownCorpus: there is no such model or corpus.
        NoShortcuts: its shortcuts were not measured there.
    """
    last, mine = _kept(connection, model, corpus)
    return [mine[state, last] for state in range(last)]


def _kept(
    connection: duckdb.DuckDBPyConnection, model: str, corpus: str | None
) -> tuple[int, Mapping[tuple[int, int], KeptMap]]:
    """The model's last state, and what leads from one state to another."""
    known = choose_model(connection, model)
    chosen = choose_corpora(connection, [model], corpus).get(model)
    maps = [one for one in kept_maps(connection) if one.model == model]
    mine = {(one.source_state, one.target_state): one for one in maps if chosen and one.corpus_id == chosen.corpus_id}
    if not mine:
        on = corpus_words(connection, [model], corpus)
        raise NoShortcuts(model, chosen.corpus if chosen else None, sorted({one.corpus for one in maps}), on)
    return known.n_layers, mine
