"""Every page that takes a corpus tells of that one alone: as it would of a warehouse in which no other was read."""

import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Element, Node

from tests.dashboards.conftest import Opener
from tests.support import two_corpora as two

PAGES: dict[str, dict[str, str]] = {
    "compare": {"models": two.MODEL},
    "neuron": {"neuron": f"{two.MODEL}/L0N1"},
    "layer": {"model": two.MODEL, "layer": "1"},
    "model": {"model": two.MODEL},
    "position": {"model": two.MODEL},
    "events": {"models": two.MODEL, "word": "school"},
    "shortcuts": {"model": two.MODEL},
    "interventions": {"models": two.MODEL, "model": two.MODEL, "intervention": "mine"},
    "sql": {"query": f"select layer, n_dead, corpus from layer_activity where model = '{two.MODEL}' order by layer"},
}
QUICK = ("model", "events")
"""Pages that are looked at by default; the others take seconds each."""

LEAST_CHARTS = {
    "compare": 14,
    "neuron": 3,
    "layer": 2,
    "model": 1,
    "position": 3,
    "events": 3,
    "shortcuts": 6,
    "interventions": 5,
    "sql": 1,
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("both") / "both.duckdb"
    two.create(path)
    return path


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("alone") / "alone.duckdb"
    two.create_alone(path, two.ASKED_ID)
    return path


def leaves(node: Node) -> Iterator[Element]:
    if isinstance(node, Element):
        yield node
    elif isinstance(node, Block):
        for child in node.children.values():
            yield from leaves(child)


def words(page: AppTest) -> list[str]:
    """What a page says; the SQL is compared elsewhere, how long a query took is another time each time.

    Links lead to the same corpus, and so name it where it was asked for.
    """
    kinds = ("markdown", "caption", "info", "html", "header")
    found = [str(getattr(one, "value", "")) for one in leaves(page.main) if one.type in kinds]
    return [_CORPUS.sub("", text) for text in found if "rows in" not in text]


_CORPUS = re.compile(rf"&amp;corpus={two.ASKED}\b")


def frames(page: AppTest) -> list[pd.DataFrame]:
    """The tables of a page, then what its charts draw."""
    tables = [one.value for one in page.dataframe]
    drawn = [
        pd.DataFrame(_rows(data.data.data))
        for one in leaves(page.main)
        if one.type == "vega_lite_chart"
        for data in one.proto.datasets
    ]
    return [*tables, *drawn]


def _rows(arrow: bytes) -> dict[str, list[object]]:
    import pyarrow as pa  # noqa: PLC0415 (only here are Arrow's bytes read)

    found: dict[str, list[object]] = pa.ipc.open_stream(arrow).read_all().to_pydict()
    return found


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in PAGES]
)
def test_pages_tell_of_the_asked_corpus(page: Opener, both: Path, alone: Path, name: str) -> None:
    expected = page(alone, name, **PAGES[name])
    asked = page(both, name, corpus=two.ASKED, **PAGES[name])
    shown = page(both, name, **PAGES[name])
    for opened in (expected, asked, shown):
        assert not opened.exception
        assert not opened.error
    assert words(asked) == words(expected)
    assert words(asked) != words(shown) or name == "sql"
    found, told, other = frames(asked), frames(expected), frames(shown)
    assert len(found) == len(told)
    assert len(found) >= LEAST_CHARTS[name]
    for one, two_ in zip(found, told, strict=True):
        pd.testing.assert_frame_equal(one, two_, rtol=1e-9)
    differ = [not one.equals(two_) for one, two_ in zip(found, other, strict=False)]
    assert sum(differ) >= max(1, LEAST_CHARTS[name] - 2)
    assert asked.query_params["corpus"] == two.ASKED
