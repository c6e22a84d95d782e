"""Our own questions with a person's condition on neurons in them."""

from collections.abc import Mapping
from typing import Any

import duckdb

from queries.errors import BadPredicate
from queries.predicates import insert_predicate
from queries.sandbox import translated
from queries.statement import records, statement
from queries.views import view


def filtered_records(
    connection: duckdb.DuckDBPyConnection, name: str, where: str | None, parameters: Mapping[str, object]
) -> list[dict[str, Any]]:
    """Rows of `statements/NAME.sql`, for the neurons that the condition `where` keeps.

    Raises:
        BadPredicate, UnknownColumn: the condition is not one expression over the columns of `neurons`.
    """
    text = insert_predicate(statement(name), where, list(view("neurons").columns))
    try:
        return records(connection, text, parameters)
    except duckdb.Error as error:
        if where is None:
            raise
        raise BadPredicate(where, f"cannot be evaluated ({translated(connection, error)})") from error
