"""Columns that are shown in percent hold parts of 1, and those of tokens hold texts, in every view that has them."""

import duckdb
import pytest

from neurothek.catalog.terminal.cells import NAMES_IN_NUMBERS, SHARES, TOKENS
from neurothek.queries.views.install import install
from tests.support import warehouse as made


@pytest.fixture(scope="module")
def types() -> list[tuple[str, str, str]]:
    with duckdb.connect() as connection:
        made.create_schema(connection)
        install(connection)
        return connection.execute(
            "select table_name, column_name, data_type from duckdb_columns()"
            " where schema_name = 'main' and not internal"
        ).fetchall()


def test_every_kind_is_of_the_type_that_it_says(types: list[tuple[str, str, str]]) -> None:
    wrong = {
        (view, column, kind)
        for view, column, kind in types
        if (column in SHARES and kind not in ("DOUBLE", "FLOAT"))
        or (column in TOKENS and kind not in ("VARCHAR", "VARCHAR[]"))
        or (column in NAMES_IN_NUMBERS and kind not in ("INTEGER", "SMALLINT", "BIGINT"))
    }
    assert wrong == set()
    of_no_view = {"share", "base_share", "push_gain", "probability_off", "change_off"}
    assert {column for _, column, _ in types} & SHARES >= SHARES - of_no_view


def test_a_column_is_of_one_kind() -> None:
    assert sum(map(len, (TOKENS, SHARES, NAMES_IN_NUMBERS))) == len(TOKENS | SHARES | NAMES_IN_NUMBERS)
