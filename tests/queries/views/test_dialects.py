"""Views in other dialects: every one is a statement there, and what sqlglot would change in meaning is put right."""

import re

import pytest
import sqlglot
from sqlglot import exp

from neurothek.catalog.problems import NotFound
from neurothek.queries.views.dialects import exported_views, in_dialect, require_dialect, spark_tables
from neurothek.queries.views.install import View, all_views, parse_view

DIALECTS = ("spark", "trino", "bigquery")


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_view_is_a_statement_of_the_dialect(dialect: str) -> None:
    for view in all_views().values():
        text = in_dialect(view, dialect)
        statement = sqlglot.parse_one(text, read=dialect)
        assert isinstance(statement, exp.Create)
        assert statement.this.name == view.name
        assert parse_view(view.name, text).columns == view.columns


@pytest.mark.parametrize("dialect", sorted(one.value for one in sqlglot.Dialects if one.value))
def test_every_dialect_takes_the_view_that_sqlglot_trips_over(dialect: str) -> None:
    assert in_dialect(all_views()["token_detectors"], dialect)


def view(query: str) -> View:
    return View(name="mine", text=f"-- One row.\n{query}", purpose="", key=(), columns={})


def test_what_would_change_its_meaning_is_written_another_way() -> None:
    quantile = view("select percentile_cont(0.25) within group (order by x) as q from store.models")
    assert "PERCENTILE(x, 0.25)" in in_dialect(quantile, "spark")
    place = view("select list_extract(a, i + 1) as b from store.models")
    assert "TRY_ELEMENT_AT(a, i + 1)" in in_dialect(place, "spark")
    assert not re.search(r"LIST_EXTRACT|APPROX", "".join(exported_views().values()))


def test_views_are_numbered_in_an_order_in_which_they_can_be_created() -> None:
    paths = [path for path in exported_views(["trino"]) if path.startswith("views/trino/")]
    assert sorted(paths) == paths
    assert [path.partition("-")[2].removesuffix(".sql") for path in paths] == list(all_views())


def test_the_script_for_spark_names_every_table_that_views_read() -> None:
    named = set(re.findall(r"create table store\.(\w+)", spark_tables()))
    assert {"models", "neuron_facts", "postings", "sub_updates", "triggers"} <= named


def test_dialects_are_found_by_name() -> None:
    assert require_dialect("Trino") == "trino"
    with pytest.raises(NotFound, match="there is no dialect postgress; nearest: postgres"):
        require_dialect("postgress")


def test_only_statements_end_with_a_semicolon_at_the_end_of_a_line() -> None:
    """Programs that run a script statement by statement cut it there."""
    for name, one in all_views().items():
        comments = [line for line in one.text.splitlines() if line.lstrip().startswith("--")]
        assert not [line for line in comments if line.rstrip().endswith(";")], name
