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
from streamlit.testing.v1.element_tree import Block, Caption, Element, Markdown, Node

from neurothek.dashboards.addresses import PAGES
from neurothek.dashboards.widgets.figures import csv_of, height_of
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

WITHOUT_CHARTS = {"claims", "search", "trace"}
"""Pages of tables. Trace needs weights, which a warehouse made by hand has not: `test_live` sees that it draws none."""

DOWNLOADS = ("PNG", "SVG", "CSV", "Parquet")
SOURCES = ("et al. 20", "Treves and Rolls 1991", "this project", "ours", "of the query above")
"""Whose figure it is; what a person asks is theirs."""


@dataclass
class Shown:
    """A chart, what its title tells and its menu holds, and what stands under it up to the next title."""

    source: str = ""
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
    """Every chart of a page with what belongs to it: its title and its menu stand above it, its caption below."""
    found: list[Shown] = []
    shown = Shown()
    for node in leaves(page.main):
        if isinstance(node, Markdown) and not isinstance(node, Caption):
            shown = Shown(str(node.proto.help).replace("\\", ""))
        elif node.type == "popover":
            # A second menu is that of a table.
            shown = Shown() if shown.has_sql else shown
            shown.has_sql = True
        elif node.type == "download_button":
            shown.downloads.append(str(node.proto.label))
        elif node.type == "vega_lite_chart":
            found.append(shown)
        elif isinstance(node, Caption):
            shown.captions.append(str(node.value).replace("\\", ""))
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
        told = [caption for caption in chart.captions if caption != "Link to it"]
        assert any(source in text for text in (chart.source, *told) for source in SOURCES), chart
        assert chart.has_sql, chart
        assert chart.downloads == list(DOWNLOADS), chart


def test_lists_in_csv_are_json_as_the_commands_write_it() -> None:
    lists: list[list[str | None] | None] = [["school", 'a"b', None, "x, y"], [], None]
    rows = list(csv.DictReader(io.StringIO(csv_of(pl.DataFrame({"tokens": lists, "n": [1, 2, 3]})).decode())))
    assert [json.loads(row["tokens"]) if row["tokens"] else None for row in rows] == lists
    assert [row["n"] for row in rows] == ["1", "2", "3"]
