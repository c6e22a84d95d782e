"""Every chart of every page, found by registry: it has a caption, the SQL behind it, its picture and its data."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import altair as alt
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Caption, Element, Node

from dashboards.addresses import PAGES
from dashboards.widgets.figures import csv_of, height_of
from tests.dashboards.conftest import Opener
from tests.support.tiny import MODELS

SIZE = max(plan.size for plan in MODELS)
(MODEL,) = {plan.name for plan in MODELS if plan.size == SIZE and plan.variant is None}
ASKED: dict[str, dict[str, str]] = {
    "compare": {},
    "search": {"words": "school"},
    "neuron": {"neuron": "tiny-1m/L0N4"},
    "layer": {"model": MODEL},
    "model": {"model": MODEL},
    "position": {"model": MODEL},
    "clusters": {"model": MODEL},
    "events": {},
    "shortcuts": {"model": MODEL},
    "interventions": {"intervention": "mine"},
    "annotate": {"model": MODEL},
    "sql": {},
}
"""What is asked of each page, so that it draws all that it can."""

WITHOUT_CHARTS = {"search", "trace"}
"""Pages of tables. Trace needs weights, which a warehouse made by hand has not: `test_live` sees that it draws none."""

DOWNLOADS = ("PNG", "SVG", "CSV", "Parquet")
SOURCES = ("et al. 20", "this project", "ours", "of the query above")
"""Whose figure it is; what a person asks is theirs."""


@dataclass
class Shown:
    """A chart, and what stands under it up to the next chart."""

    place: str
    captions: list[str] = field(default_factory=list)
    has_sql: bool = False
    downloads: list[str] = field(default_factory=list)


def leaves(node: Node) -> Iterator[Node]:
    """Elements, and the popovers that hold some, in the order of the page."""
    if isinstance(node, Element):
        yield node
        return
    assert isinstance(node, Block)
    if node.type == "popover":
        yield node
    for child in node.children.values():
        yield from leaves(child)


def charts(page: AppTest) -> list[Shown]:
    """Every chart of a page with what belongs to it: it ends where the row of its downloads ends."""
    found: list[Shown] = []
    is_open = False
    for node in leaves(page.main):
        if node.type == "vega_lite_chart":
            found.append(Shown(f"chart {len(found) + 1}"))
            is_open = True
        elif is_open and isinstance(node, Caption):
            found[-1].captions.append(str(node.value).replace("\\", ""))
        elif is_open and node.type == "popover":
            found[-1].has_sql = True
        elif is_open and node.type == "download_button":
            found[-1].downloads.append(str(node.proto.label))
            is_open = node.proto.label != DOWNLOADS[-1]
    return found


def test_a_page_keeps_room_for_a_chart_before_it_is_drawn() -> None:
    rows = alt.Chart(pl.DataFrame({"a": [1]})).mark_point().encode(x="a:Q")
    assert height_of(rows.properties(height=120)) == 120
    assert height_of(alt.LayerChart(layer=[rows], height=300)) == 300
    assert height_of(rows) == "content"


def test_no_page_is_forgotten() -> None:
    assert set(ASKED) | WITHOUT_CHARTS == {"compare", *PAGES}


@pytest.mark.parametrize("name", ASKED)
def test_every_chart_has_caption_source_sql_and_downloads(page: Opener, whole_path: Path, name: str) -> None:
    opened = page(whole_path, name, **ASKED[name])
    if name == "annotate":
        opened.segmented_control(key="part").set_value("Results").run()
    assert not opened.exception
    assert not opened.error
    found = charts(opened)
    assert bool(found) == (name not in WITHOUT_CHARTS)
    for chart in found:
        assert chart.captions, chart
        assert any(source in caption for caption in chart.captions for source in SOURCES), chart
        assert chart.has_sql, chart
        assert chart.downloads == list(DOWNLOADS), chart


def test_lists_in_csv_are_json_as_the_commands_write_it() -> None:
    lists: list[list[str | None] | None] = [["school", 'a"b', None, "x, y"], [], None]
    rows = list(csv.DictReader(io.StringIO(csv_of(pl.DataFrame({"tokens": lists, "n": [1, 2, 3]})).decode())))
    assert [json.loads(row["tokens"]) if row["tokens"] else None for row in rows] == lists
    assert [row["n"] for row in rows] == ["1", "2", "3"]
