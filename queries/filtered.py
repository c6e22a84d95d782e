"""Our own questions with a person's condition on neurons in them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import duckdb

from catalog.store.interrupts import time_limit
from queries.errors import BadPredicate, ConditionTooSlow, QueryFailed
from queries.predicates import insert_predicate
from queries.repeats import repeated, with_parts
from queries.statement import parsed, records, statement
from queries.translation import translated
from queries.views import view

SECONDS = 30.0
"""How long a question with a person's condition in it may hold its lease."""


def filtered_records(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    where: str | None,
    parameters: Mapping[str, object],
    *,
    each: Mapping[str, Sequence[object]] | None = None,
    is_filtered: bool = False,
    holding: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Rows of `statements/NAME.sql`, for the neurons that the condition `where` keeps.

    Args:
        connection: a reader.
        name: the statement.
        where: a person's condition, or None.
        parameters: its values, of which it takes those that it names.
        each: values for its repeated parts, see `repeated`.
        is_filtered: whether to keep the part that chooses neurons, of a statement that has one.
        holding: what else holds, see `with_parts`.

    Raises:
        BadPredicate, UnknownColumn: the condition is not one expression over the columns of `neurons`.
        ConditionTooSlow: with the condition it takes more than `SECONDS`.
    """
    holding = {*holding, *(["neurons are chosen"] if is_filtered else [])}
    text, more = repeated(with_parts(statement(name), holding), each or {})
    text = insert_predicate(text, where, list(view("neurons").columns))
    try:
        one = parsed(connection, text)
        values = {key: value for key, value in {**parameters, **more}.items() if key in one.named_parameters}
        if where is None:
            return records(connection, text, values)
        with time_limit(connection, SECONDS) as expired:
            return records(connection, text, values)
    except duckdb.InterruptException as error:
        if where is None or not expired.is_set():
            raise
        raise ConditionTooSlow(where, SECONDS) from error
    except duckdb.Error as error:
        if where is None:
            raise
        complaint = translated(connection, error)
        said = complaint.problem if isinstance(complaint, QueryFailed) else complaint
        raise BadPredicate(where, f"cannot be evaluated ({said})") from error
