"""Constants read from the text of views against those that DuckDB sees."""

import duckdb
import pytest
import sqlglot

from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.install import all_views, view


@pytest.mark.parametrize("name", sorted(all_views()))
def test_constants_are_those_of_the_view(name: str) -> None:
    ctes = {
        cte.alias: cte.this for cte in sqlglot.parse_one(view(name).text, dialect="duckdb").find_all(sqlglot.exp.CTE)
    }
    if "thresholds" not in ctes:
        assert thresholds(name) == {}
        return
    cursor = duckdb.execute(ctes["thresholds"].sql(dialect="duckdb"))
    names = [column[0] for column in cursor.description or []]
    (values,) = cursor.fetchall()
    assert thresholds(name) == {name: pytest.approx(float(value)) for name, value in zip(names, values, strict=True)}


def test_a_constant_has_one_value_in_every_view() -> None:
    """Views of other engines cannot share one: what is written twice is held equal here."""
    values: dict[str, set[float]] = {}
    for name in all_views():
        for constant, value in thresholds(name).items():
            values.setdefault(constant, set()).add(value)
    assert {constant: found for constant, found in values.items() if len(found) > 1} == {}
    assert len(values) > 20
