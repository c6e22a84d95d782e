"""What a warehouse holds: models, corpora, runs, views and tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from neurothek.catalog.arguments import expanded, validated

if TYPE_CHECKING:
    import polars as pl

    from neurothek.api.warehouse import Neurothek


@validated
def models(base: "Neurothek") -> "pl.DataFrame":
    """The models of the warehouse, smallest first: the rows of the view `models`.

    Raises:
        Unavailable: there is no warehouse.

    Example:
        >>> warehouse.models()["model"].to_list()
        ['mini-opt-0.7m', 'mini-opt-2m']
    """
    from neurothek.queries.views.contents import models_frame

    with base.reader() as connection:
        return models_frame(connection)


@validated
def corpora(base: "Neurothek") -> "pl.DataFrame":
    """The corpora that models were measured on: the rows of the view `corpora`.

    Raises:
        Unavailable: there is no warehouse.

    Example:
        >>> warehouse.corpora()["corpus"].to_list()
        ['builtin']
    """
    from neurothek.queries.views.contents import corpora_frame

    with base.reader() as connection:
        return corpora_frame(connection)


@validated
def runs(base: "Neurothek", *, staging: str | Path | None = None) -> "pl.DataFrame":
    """All runs, newest first: published ones, after those that are running, failed or interrupted.

    Args:
        staging: the folder that `ingest` was given as its own; None: the one beside the warehouse.

    Raises:
        Unavailable: there is no warehouse, and nothing is staged.

    Example:
        >>> warehouse.runs()["job"].unique().sort().to_list()[:2]
        ['activity', 'contexts']
    """
    from neurothek.catalog.publishing.staging import staged_manifests
    from neurothek.queries.views import contents

    beside = base.warehouse.staging
    staged = staged_manifests(beside if staging is None else expanded(staging) / beside.name)
    if staged and not base.warehouse.exists():
        return contents.runs(None, staged)
    with base.reader() as connection:
        return contents.runs(connection, staged)


@validated
def schema(base: "Neurothek", name: str | None = None) -> "pl.DataFrame":
    """The views and tables of the warehouse with what they are, or the columns of one.

    Args:
        name: a view, or a table as `store.NAME` or `NAME`; None: all of them.

    Raises:
        NotFound: there is no view or table of that name.
        Unavailable: there is no warehouse.

    Example:
        >>> warehouse.schema("models").columns
        ['column', 'type', 'description']
    """
    from neurothek.queries.views import contents

    with base.reader() as connection:
        return contents.relations(connection) if name is None else contents.columns(connection, name)
