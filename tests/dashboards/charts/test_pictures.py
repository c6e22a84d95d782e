"""Charts as files: whole pictures of the kind the name asks for, or one sentence and nothing written."""

import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import altair as alt
import polars as pl
import pytest

from neurothek.catalog.problems import Invalid, Unreadable
from neurothek.dashboards.charts import pictures
from tests.support.sentences import sentence

CHART = alt.Chart(pl.DataFrame({"x": [1, 2], "y": [1, 3]})).mark_line().encode(x="x:Q", y="y:Q")


def size_of(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return int(width), int(height)


def test_png_is_twice_as_dense_as_svg_is_large(tmp_path: Path) -> None:
    png, svg = (pictures.save(CHART, tmp_path / name) for name in ("a.png", "a.SVG"))
    root = ET.fromstring(svg.read_text("utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    width, height = size_of(png.read_bytes())
    assert (width, height) == (2 * float(root.attrib["width"]), 2 * float(root.attrib["height"]))
    # Nothing lies beside them, and anybody may read them as any other file.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.SVG", "a.png"]
    (tmp_path / "plain").touch()
    assert png.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("name", ["a.pdf", "a", "png"])
def test_other_kinds_are_refused_before_anything_is_drawn(tmp_path: Path, name: str) -> None:
    with pytest.raises(Invalid, match=r"use \.png or \.svg"):
        pictures.save(CHART, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "ending"), [("a.gif", ".gif"), ("a.tar.gz", ".gz"), ("a b.PNG2", ".PNG2"), (".hidden", "")]
)
def test_the_ending_that_is_none_is_named(name: str, ending: str) -> None:
    with pytest.raises(Invalid) as refused:
        pictures.kind_of(Path(name))
    said = sentence(refused.value)
    assert name in said
    assert f"ends in {ending}" in said if ending else "has no ending" in said
    assert said.endswith("; use .png or .svg")


def test_a_place_that_takes_no_files_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="No such file or directory") as refused:
        pictures.save(CHART, tmp_path / "absent" / "a.png")
    assert str(tmp_path / "absent" / "a.png") in sentence(refused.value)
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(Unreadable, match="Is a directory"):
        pictures.save(CHART, tmp_path / "folder.png")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_a_picture_replaces_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    path.write_text("old")
    pictures.save(CHART, path)
    assert "<svg" in path.read_text("utf-8")


def test_characters_that_no_picture_can_hold_are_replaced() -> None:
    """The library that draws it would end the process."""
    rows = pl.DataFrame({"x": ["a\x1b[2J\x00<b>", "c\\u001bd\uffff"], "y": [1, 2]})
    chart = alt.Chart(rows, title="x\x00y").mark_bar().encode(x="x:N", y="y:Q")
    for whole in (chart, alt.layer(chart, chart), alt.hconcat(chart, chart)):
        text = pictures.drawn(whole, "svg").decode()
        assert "a\ufffd[2J\ufffd" in text
        assert "c\\u001bd\ufffd" in text
        assert not {"\x1b", "\x00", "\uffff"} & set(text)
    assert pictures.drawn(chart, "png").startswith(b"\x89PNG")
