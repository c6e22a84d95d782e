"""Answers on stdout: what tables leave out they say, and what programs read is whole."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click
import polars as pl
import pytest

from neurothek.cli.printing import ROWS_IN_A_TABLE, show_frame, show_rows, show_tables


@dataclass(frozen=True)
class Part:
    """A table of an answer."""

    title: str
    frame: pl.DataFrame
    remark: str = ""


def test_parquet_is_not_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(click.UsageError, match="send it to a file"):
        show_frame(pl.DataFrame({"a": [1]}), "parquet")


def test_no_rows_are_said_to_be_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_frame(pl.DataFrame({"a": []}), "table")
    assert capsys.readouterr().out == "(none)\n"


def test_no_rows_keep_their_title(capsys: pytest.CaptureFixture[str]) -> None:
    show_frame(pl.DataFrame({"a": []}), "table", title="what \x1b[2J is there")
    assert capsys.readouterr().out == "what \\x1b[2J is there\n(none)\n"


@pytest.mark.parametrize(("n_more", "said"), [(1, "1 more row; "), (1001, "1,001 more rows; ")])
def test_rows_that_a_table_leaves_out_are_counted(capsys: pytest.CaptureFixture[str], n_more: int, said: str) -> None:
    show_frame(pl.DataFrame({"a": range(ROWS_IN_A_TABLE + n_more)}), "table")
    header, *rows, last = capsys.readouterr().out.splitlines()
    assert header.split() == ["a"]
    assert [int(row) for row in rows] == list(range(ROWS_IN_A_TABLE))
    assert last == said + "use --format csv to print all"


def test_a_table_of_as_many_rows_as_are_shown_leaves_nothing_out(capsys: pytest.CaptureFixture[str]) -> None:
    show_frame(pl.DataFrame({"a": range(ROWS_IN_A_TABLE)}), "table")
    assert capsys.readouterr().out.splitlines()[-1] == str(ROWS_IN_A_TABLE - 1)


def test_rows_for_programs_are_never_cut_nor_are_columns(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    frame = pl.DataFrame({"a": range(ROWS_IN_A_TABLE + 1), "b": 0})
    show_frame(frame, "csv", columns=("a",))
    header, *rows = capsysbinary.readouterr().out.splitlines()
    assert header == b"a,b"
    assert len(rows) == frame.height


def test_columns_without_room_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    show_rows(pl.DataFrame({f"column_{number}": [10**6] for number in range(9)}))
    header, row, *remark = capsys.readouterr().out.splitlines()
    shown = header.split()
    left_out = [f"column_{number}" for number in range(9) if f"column_{number}" not in shown]
    assert shown
    assert len(row.split()) == len(shown)
    assert remark == [f"no room for {', '.join(left_out)}: widen the terminal, or use --format json to print all"]


ONE = Part("one", pl.DataFrame({"a": [1, 2]}), "of one\n\nand more")
NONE = Part("none", pl.DataFrame({"b": []}))


def shown(capsys: pytest.CaptureFixture[str], tables: Sequence[Part], head: str = "") -> str:
    show_tables(tables, "table", {}, head=head)
    return capsys.readouterr().out


def test_tables_stand_apart_with_their_remarks(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, [ONE, NONE]) == "one\na\n1\n2\nof one\nand more\n\nnone\n(none)\n"
    assert shown(capsys, [NONE], head="before") == "before\n\nnone\n(none)\n"
    assert shown(capsys, [NONE]) == "none\n(none)\n"


def test_json_holds_all_and_csv_the_first_frame(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    data: dict[str, Any] = {"n": 3, "first": pl.DataFrame({"é": [[1, None]]}), "second": pl.DataFrame({"b": [b"\xff"]})}
    show_tables([ONE], "json", data)
    assert json.loads(capsysbinary.readouterr().out) == {"n": 3, "first": [{"é": [1, None]}], "second": [{"b": "ff"}]}
    show_tables([ONE], "csv", data, head="never among rows")
    assert capsysbinary.readouterr().out == 'é\n"[1, null]"\n'.encode()


def test_markup_in_titles_and_cells_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows(pl.DataFrame({"token": ["[bold]x[/bold]"], "n": [":smile:"]}), "[red]title[/red]")
    title, _, row = capsys.readouterr().out.splitlines()
    assert title == "[red]title[/red]"
    assert row.split() == ["[bold]x[/bold]", ":smile:"]
