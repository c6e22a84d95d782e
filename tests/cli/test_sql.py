"""The command `sql` from the outside: limits, what is cut, what a query is made of, a pipe, and a conversation."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek.catalog.problems import Invalid, Refused
from neurothek.queries.sql import prompt
from neurothek.queries.sql.processes import Limits


@pytest.fixture(autouse=True)
def warehouse(full_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEUROTHEK_WAREHOUSE", str(full_path))


def run(*arguments: str, typed: str | bytes | None = None) -> Result:
    return CliRunner().invoke(neurothek.main, ["sql", *arguments], input=typed, catch_exceptions=False)


def test_what_is_cut_is_said() -> None:
    result = run("from range(9) as t(x) order by x", "--rows", "3", "--format", "csv")
    assert (result.exit_code, result.stdout) == (3, "x\n0\n1\n2\n")
    assert result.stderr == "showing the first 3 of 9 rows; omit --rows to print all\n"
    shown = run("from range(9) as t(x) order by x", "--rows", "3", "-q")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == "x\n0\n1\n2\n6 more rows; use --format csv to print all, or --rows N to print the first N\n"
    whole = run("from range(3) as t(x) order by x", "--rows", "3", "--format", "csv")
    assert (whole.exit_code, whole.stderr) == (0, "")


def test_what_is_piped_is_text() -> None:
    result = run("-", typed=b"select '\xff'")
    assert result.exit_code == 2
    assert "its text is not UTF-8" in result.stderr


@pytest.mark.parametrize("limits", [None, Limits()])
def test_what_is_asked_in_python_is_text(limits: Limits | None) -> None:
    with pytest.raises(Invalid, match="give UTF-8 text"):
        neurothek.open().sql("select '\udcff'", limits=limits)


def test_limits_are_options() -> None:
    endless = "with recursive t as (select 1 as x union all select x + 1 from t) select max(x) from t"
    result = run(endless, "--seconds", "0.3")
    assert result.exit_code == 2
    assert "the query took more than 0.3 s and was stopped; narrow it, or allow more with --seconds" in result.stderr
    result = run("select len(range(1000000000))", "--memory", "300MB")
    assert result.exit_code == 2
    assert "needed more than 0.3 GB of memory" in result.stderr


def test_without_a_query_a_pipe_is_read() -> None:
    for arguments in ((), ("-",)):
        result = run(*arguments, "--format", "json", typed="select 1 as one -- and no semicolon")
        assert json.loads(result.stdout) == [{"one": 1}]


def test_what_a_query_is_made_of() -> None:
    text = run("--explain", "select address, frequency from neurons").stdout
    assert "store.neuron_facts" in text
    assert "runs that wrote the tables" in text
    found = json.loads(run("--explain", "select address from neurons", "--format", "json").stdout)
    assert found["columns"] == [{"column": "address", "made_of": ["store.neuron_facts.address"]}]
    assert run("--explain", "drop view neurons").exit_code == 2


def test_python_asks_with_limits_on_request(full_path: Path) -> None:
    door = neurothek.open(full_path)
    query = "from range($n) as t(x)"
    assert door.sql(query, {"n": 20}).height == 20
    assert door.sql(query, {"n": 20_000}, limits=Limits()).height == 20_000
    with pytest.warns(UserWarning, match="showing the first 5 of 20 rows; raise the limits for more"):
        assert door.sql(query, {"n": 20}, limits=Limits(rows=5)).height == 5
    answer = door.ask("select interval 3 day as waited")
    assert answer.frame.equals(pl.DataFrame({"waited": ["3 days"]}))
    with pytest.raises(Refused):
        door.ask("drop view neurons")


def test_a_conversation_goes_on_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal: each query is answered or refused, and the next one is asked."""

    def typed(relations: list[str], answer: Callable[[str], None], **_: object) -> None:
        assert "neurons" in relations
        for query in ("select 1 as one;", "selec 2;", "select 3 as three;"):
            answer(query)

    monkeypatch.setattr(prompt, "converse", typed)
    monkeypatch.setattr("neurothek.cli.sql._is_at_a_terminal", lambda: True)
    result = run()
    assert "one" in result.stdout
    assert "three" in result.stdout
    assert "Error: the query failed" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-- a comment\nselect 1 as one", "--format", "csv"),
        ("--format", "csv", "--a comment of --words\nselect 1 as one"),
        ("--x\nselect 1 as one", "--format", "csv"),
        ("--format", "csv", "--", "--x\nselect 1 as one"),
    ],
)
def test_a_query_may_begin_with_a_comment(arguments: tuple[str, ...]) -> None:
    assert run(*arguments).stdout == "one\n1\n"


@pytest.mark.parametrize(
    ("arguments", "typed", "found"),
    [
        ([""], None, "the query is empty; write one"),
        (["-"], b"", "the query is empty; write one"),
        ([], b"\xef\xbb\xbf \n", "the query is empty; write one"),
        (["-- nothing but a comment"], None, "the query contains only comments and semicolons; write one"),
        (["-", "--explain"], b"/* nothing */;;", "the query contains only comments and semicolons; write one"),
        (["-"], "select 1".encode("utf-16"), "its text is UTF-16; save it as UTF-8"),
        (["pragma table_info('neurons')"], None, "PRAGMA is refused because it concerns DuckDB itself"),
    ],
)
def test_what_asks_nothing_is_told(arguments: list[str], typed: bytes | None, found: str) -> None:
    result = run(*arguments, typed=typed)
    assert (result.exit_code, result.stdout) == (2, "")
    assert found in result.stderr
    assert "chang" not in result.stderr


def test_the_mark_that_editors_begin_a_file_with_is_passed_over() -> None:
    written = "\ufeffselect model from models order by model limit 1".encode()
    assert run("-", "--format", "csv", typed=written).stdout.startswith("model\n")
    assert "store.models.name" in run("-", "--explain", typed=written).stdout
    assert neurothek.open().sql(written.decode()).height == 1
