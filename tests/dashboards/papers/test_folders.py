"""A reproduced paper as files: whole, in the order that never shows a page of missing files, refused in a sentence."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from neurothek.catalog.problems import Unreadable
from neurothek.dashboards.papers.folders import (
    MOST_MARKDOWN_ROWS,
    as_csv,
    as_markdown,
    require_place,
    write_paper,
)
from tests.dashboards.papers.conftest import Found

# The papers are collected once, by one worker.
pytestmark = pytest.mark.xdist_group("reproduce")


@pytest.mark.long
def test_the_folder_holds_every_picture_and_table(found: Found, tmp_path: Path) -> None:
    one = found["geva"]
    files = write_paper(one, tmp_path / "new" / "geva")
    assert files[-1].name == "index.html"
    names = {file.name for file in files}
    assert names == {file.name for file in (tmp_path / "new" / "geva").iterdir()}
    for shown in one.exhibits:
        for table in shown.tables:
            assert {f"{table.sheet.stem}.{kind}" for kind in ("csv", "md", "sql")} <= names
            rows = list(csv.reader(io.StringIO((tmp_path / "new" / "geva" / f"{table.sheet.stem}.csv").read_text())))
            assert rows[0] == table.rows.columns
            assert len(rows) == 1 + table.rows.height
        for slug in (figure.picture.slug for figure in shown.figures if figure.chart is not None):
            assert (tmp_path / "new" / "geva" / f"{slug}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (tmp_path / "new" / "geva" / f"{slug}.svg").read_text("utf-8")[:2000]
    assert {"claims.csv", "claims.md"} <= names


def test_it_is_written_over_an_earlier_one(found: Found, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("old")
    (tmp_path / "mine.txt").write_text("mine")
    one = found["din"]
    write_paper(replace(one, exhibits=one.exhibits[:1]), tmp_path)
    assert "Din et al. 2023" in (tmp_path / "index.html").read_text("utf-8")
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_place_that_takes_no_folder_is_refused(found: Found, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(Unreadable, match="taken"):
        write_paper(found["din"], tmp_path / "taken")


def test_a_place_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    for place in ("taken", "taken/below"):
        with pytest.raises(Unreadable, match="is not a folder"):
            require_place(tmp_path / place)
    require_place(tmp_path / "new" / "below")
    assert not (tmp_path / "new").exists()


def test_markdown_shows_cells_as_they_are() -> None:
    frame = pl.DataFrame({"token": ["<b>", "a\\|b", "&lt;"]})
    assert as_markdown(frame).splitlines()[2:] == ["| &lt;b> |", "| a\\\\\\|b |", "| &amp;lt; |"]


def test_markdown_keeps_cells_apart_and_says_what_it_leaves_out() -> None:
    frame = pl.DataFrame({"token": ["a|b", " c"], "n": [1, 20]})
    lines = as_markdown(frame).splitlines()
    assert lines[:2] == ["| token | n |", "| --- | ---: |"]
    assert "a\\|b" in lines[2]
    assert all(line.count(" | ") == 1 for line in lines)
    many = pl.DataFrame({"n": range(MOST_MARKDOWN_ROWS + 3)})
    assert as_markdown(many).splitlines()[-1] == "3 more rows are in the CSV file."


def test_csv_is_that_of_the_command() -> None:
    frame = pl.DataFrame({"tokens": [["a", None], ["b"]], "n": [1, None]})
    assert as_csv(frame).decode().splitlines() == ["tokens,n", '"[""a"", null]",1', '"[""b""]",']
