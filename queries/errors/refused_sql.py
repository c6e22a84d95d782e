"""Queries that people wrote: what is refused, what failed, what was stopped."""

from collections.abc import Collection

from neurothek.catalog.advice import command_line
from neurothek.catalog.errors import NeurothekError
from neurothek.catalog.spelling import visible
from neurothek.catalog.suggestions import enumerated, nearest


class NotOneQuery(NeurothekError):
    """SQL of several statements."""

    def __init__(self, n_statements: int) -> None:
        super().__init__(f"the query has {n_statements} statements; run one at a time")


class EmptyQuery(NeurothekError):
    """A text without a statement."""

    def __init__(self, text: str) -> None:
        problem = "contains only comments and semicolons" if text.strip() else "is empty"
        super().__init__(
            f'the query {problem}; write one, for example "from models" (`{command_line("views")}` lists what there is)'
        )


class NotAQuery(NeurothekError):
    """A statement that does more than ask."""

    def __init__(self, kind: str) -> None:
        reason = _REASONS.get(kind.partition(" ")[0], "it does more than read")
        super().__init__(
            f"{kind} is refused because {reason}; use SELECT (or WITH, FROM, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN)"
        )


_REASONS = {
    **dict.fromkeys(("COPY", "EXPORT", "CHECKPOINT", "FORCE", "VACUUM"), "it writes files"),
    **dict.fromkeys(("IMPORT", "ATTACH", "DETACH", "USE"), "it leaves this warehouse for another database"),
    **dict.fromkeys(("INSTALL", "LOAD", "UPDATE_EXTENSIONS"), "it runs other code"),
    **dict.fromkeys(("SET", "RESET"), "it changes settings"),
    "PRAGMA": "it addresses DuckDB itself, not the rows of this warehouse",
    **dict.fromkeys(("CALL", "EXECUTE", "PREPARE", "DEALLOCATE"), "it runs something that the query does not show"),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "TRUNCATETABLE"), "it changes rows"),
    **dict.fromkeys(("CREATE", "DROP", "ALTER", "COMMENT", "INTO"), "it changes tables or views"),
    **dict.fromkeys(("BEGIN", "COMMIT", "ROLLBACK", "START", "ABORT", "TRANSACTION"), "there is nothing to commit"),
    "EXPLAIN": "only a plain EXPLAIN of a query is safe to run",
}


class FunctionRefused(NeurothekError):
    """A function that reaches beyond the warehouse or does more than compute, or that nobody has looked at."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"the function {name} is refused because {reason}; query the views and tables"
            f" (see `{command_line('schema')}`)"
        )


class UnknownFunction(NeurothekError):
    """A function that DuckDB does not have."""

    def __init__(self, name: str, functions: Collection[str]) -> None:
        near = nearest(name, functions)
        instead = f"nearest: {enumerated(near)}" if near else "`from duckdb_functions()` lists those of DuckDB"
        super().__init__(f"there is no function {visible(name)}; {instead}")


class OutsideTheWarehouse(NeurothekError):
    """A table that would be a file, an address, or in another database."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not in this warehouse, and queries cannot reach files, addresses or other databases; query"
            f" its views and tables (see `{command_line('schema')}`)"
        )


class ConditionTooSlow(NeurothekError):
    """A condition on neurons that was stopped."""

    def __init__(self, text: str, seconds: float) -> None:
        super().__init__(
            f"the search with the condition {text!r} took more than {seconds:g} s and was stopped; write a simpler"
            " condition, or search fewer models with --model"
        )


class OverLimit(NeurothekError):
    """A query that was stopped."""

    def __init__(self, problem: str, limit: str) -> None:
        super().__init__(f"the query {problem} and was stopped; narrow it, or allow more with {limit}")


class StoppedHalfway(NeurothekError):
    """A query that failed when many of its rows had been printed."""

    def __init__(self, error: NeurothekError, n_rows: int) -> None:
        super().__init__(f"{error}; the {n_rows:,} rows printed so far are not the whole answer")


class FactsOfShownCorpora(NeurothekError):
    """A query of a corpus that reads a table which holds no rows of it."""

    def __init__(self, corpus: str) -> None:
        super().__init__(
            f"store.neuron_facts cannot be queried on the corpus {corpus}, because it holds only each model's shown"
            " corpus; query the view neurons, or omit --corpus"
        )


class QueryFailed(NeurothekError):
    """DuckDB's own complaint, as one sentence.

    Attributes:
        problem: the complaint alone.
    """

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(
            f"the query failed: {problem}; fix it and run it again (`{command_line('schema', 'NAME')}` lists columns)"
        )
