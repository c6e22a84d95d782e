"""Rows of a view about some models: one statement for all views that tell of models."""

from collections.abc import Collection, Sequence

import duckdb
import polars as pl

from neurothek.queries.ask.statements import frame_of
from neurothek.queries.views.install import view

SMALLEST_FIRST = (
    "size",
    # Plain sizes before their variants, steps in the order of training.
    r"regexp_extract(variant, '^\D+') nulls first",
    r"try_cast(regexp_extract(variant, '\d+$') as bigint) nulls first",
    "model",
)
"""How models stand side by side, as `neurothek.queries.names.models` orders them."""


def of_models(
    name: str, order: Sequence[str], *, without: Collection[str] = (), where: str = "", first: Sequence[str] = ()
) -> str:
    """The statement that yields a view's rows of the models `$models`.

    Args:
        name: of the view, which has a column `model`.
        order: expressions over its columns.
        without: columns to leave out.
        where: a condition beside that of the models.
        first: columns that stand before the others.
    """
    columns = [*first, *(column for column in view(name).columns if column not in {*without, *first})]
    return (
        f"select {', '.join(columns) if without or first else '*'},\n"
        f"from {name}\n"
        f"where list_contains($models::varchar[], model){f' and {where}' if where else ''}\n"
        f"order by {', '.join(order)}"
    )


def rows_of_models(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    models: Sequence[str],
    *then: str,
    order: Sequence[str] = SMALLEST_FIRST,
    without: Collection[str] = (),
) -> pl.DataFrame:
    """A view's rows of the models, in the order of these and `then` by further expressions; see `of_models`."""
    return frame_of(connection, of_models(name, (*order, *then), without=without), {"models": list(models)})
