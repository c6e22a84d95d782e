"""Errors of queries that people wrote: refused, failed, stopped."""

from collections.abc import Collection

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Failed, Invalid, LimitExceeded, NeurothekError, NotFound, Refused, Unsupported
from neurothek.catalog.spelling import visible
from neurothek.catalog.suggestions import enumerated, nearest


def several_statements(n_statements: int) -> Invalid:
    """SQL of several statements."""
    return Invalid(f"the query has {n_statements} statements", "run one at a time", option="query", value=n_statements)


def empty_query(text: str) -> Invalid:
    """A text without a statement."""
    problem = "contains only comments and semicolons" if text.strip() else "is empty"
    return Invalid(
        f"the query {problem}",
        f'write one, for example "from models" (`{command_line("views")}` lists the views)',
        option="query",
        value=text,
    )


def not_a_question(kind: str) -> Refused:
    """A statement that does more than ask."""
    reason = _REASONS.get(kind.partition(" ")[0], "it does more than read")
    return Refused(
        f"{kind} is refused because {reason}",
        "use SELECT (or WITH, FROM, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN)",
        what=kind,
        why=reason,
    )


_REASONS = {
    **dict.fromkeys(("COPY", "EXPORT", "CHECKPOINT", "FORCE", "VACUUM"), "it writes files"),
    **dict.fromkeys(("IMPORT", "ATTACH", "DETACH", "USE"), "it leaves this warehouse for another database"),
    **dict.fromkeys(("INSTALL", "LOAD", "UPDATE_EXTENSIONS"), "it runs other code"),
    **dict.fromkeys(("SET", "RESET"), "it changes settings"),
    "PRAGMA": "it concerns DuckDB itself, not the rows of this warehouse",
    **dict.fromkeys(("CALL", "EXECUTE", "PREPARE", "DEALLOCATE"), "it runs something that the query does not show"),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "TRUNCATETABLE"), "it changes rows"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "COMMENT", "INTO"), "it changes tables or views"),
    **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "START", "ABORT", "TRANSACTION"), "there is nothing to commit"),
    "EXPLAIN": "only a plain EXPLAIN of a query is safe to run",
}


def refused_function(name: str, reason: str) -> Refused:
    """A function that reaches beyond the warehouse or does more than compute, or that nobody has looked at."""
    return Refused(
        f"the function {name} is refused because {reason}",
        f"query the views and tables (see `{command_line('schema')}`)",
        what=name,
        why=reason,
    )


def unknown_function(name: str, functions: Collection[str]) -> NotFound:
    """A function that DuckDB does not have."""
    near = nearest(name, functions)
    instead = f"nearest: {enumerated(near)}" if near else "`from duckdb_functions()` lists those of DuckDB"
    return NotFound(f"there is no function {visible(name)}", instead, what="function", name=name, known=near)


def outside_the_warehouse(name: str) -> Refused:
    """A table that would be a file, an address, or in another database."""
    return Refused(
        f"{name!r} is not in this warehouse, and queries cannot reach files, addresses or other databases",
        f"query its views and tables (see `{command_line('schema')}`)",
        what=name,
        why="outside the warehouse",
    )


def stopped_query(problem: str, limit: str) -> LimitExceeded:
    """A query that was stopped.

    Args:
        problem: what it did, such as "took more than 30 s".
        limit: the option that allows more.
    """
    return LimitExceeded(
        f"the query {problem} and was stopped", f"narrow it, or allow more with {limit}", what=limit.lstrip("-")
    )


def stopped_halfway(error: NeurothekError, n_rows: int) -> Failed:
    """A query that failed when many of its rows had been printed."""
    return Failed(
        str(error), f"the {n_rows:,} rows printed so far are not the whole answer", what="query", why=error.message
    )


def facts_of_shown_corpora(corpus: str) -> Unsupported:
    """A query on a corpus that reads a table without rows of it."""
    return Unsupported(
        f"store.neuron_facts cannot be queried on the corpus {corpus}, because it holds only each model's shown corpus",
        "query the view neurons, or omit --corpus",
        what="table",
        name="store.neuron_facts",
    )


def failed_query(problem: str) -> Failed:
    """DuckDB's own complaint, as one sentence; it alone is `why`."""
    return Failed(
        f"the query failed: {problem}",
        f"fix it and run it again (`{command_line('schema', 'NAME')}` lists columns)",
        what="query",
        why=problem,
    )
