"""A person's condition on neurons: checked to be one expression over columns that exist, before it joins a query."""

from collections.abc import Sequence

from queries.errors import BadPredicate, UnknownColumn

PLACE = "/* the condition of --where */ true"
"""Where a statement takes the condition."""


def insert_predicate(text: str, predicate: str | None, columns: Sequence[str]) -> str:
    """The statement with the condition in its place; without one it keeps every neuron.

    Raises:
        BadPredicate: it is not one expression.
        UnknownColumn: it names a column that `neurons` does not have.
    """
    if predicate is None:
        return text
    check_predicate(predicate, columns)
    # The line break ends a comment that the condition may close with.
    return text.replace(PLACE, f"{predicate}\n")


def check_predicate(predicate: str, columns: Sequence[str]) -> None:
    """Raise unless `predicate` is one expression without a query inside, over `columns`."""
    # sqlglot takes a tenth of a second to import, and most searches have no condition.
    import sqlglot  # noqa: PLC0415  (see above)
    from sqlglot import exp  # noqa: PLC0415  (see above)

    try:
        trees = [tree for tree in sqlglot.parse(predicate, read="duckdb") if tree is not None]
    except sqlglot.errors.SqlglotError as error:
        raise BadPredicate(predicate, "cannot be read") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Condition):
        raise BadPredicate(predicate, "is not one expression")
    if trees[0].find(exp.Query, exp.Command, exp.Placeholder, exp.Parameter):
        raise BadPredicate(predicate, "holds more than an expression")
    known = {column.casefold() for column in columns}
    for column in trees[0].find_all(exp.Column):
        if column.table.casefold() not in ("", "neurons") or column.name.casefold() not in known:
            raise UnknownColumn(column.sql(dialect="duckdb"), columns, relation="neurons")
