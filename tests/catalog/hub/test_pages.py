"""Pages of the dashboard on a published catalog: each says what it says of the warehouse that was published."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek import Neurothek
from neurothek.dashboards.addresses import FRONT, PAGES
from neurothek.dashboards.session import set_backend
from neurothek.queries.sql import processes
from tests.support.pages import open_page, shown_text

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    yield
    # The page on SQL has a process wait for the next question.
    processes.dismiss()
    set_backend(neurothek.open())


def asked(local: Neurothek, name: str) -> dict[str, str]:
    """What the page is asked, so that it has something to show."""
    model = local.models()["model"][0]
    place = {"model": model}
    return {
        "search": {"words": "school"},
        "neuron": {"neuron": f"{model}/L0N0"},
        "layer": {**place, "layer": "0"},
        "model": place,
        "position": place,
        "events": {"word": "school"},
        "shortcuts": place,
        "clusters": place,
        "annotate": {**place, "annotator": "carl"},
        "sql": {"query": "select address, top_tokens from neurons order by address limit 5"},
    }.get(name, {})


@pytest.mark.parametrize("name", [FRONT, *PAGES])
def test_each_page_of_a_catalog_says_what_it_says_of_the_warehouse(
    name: str, local: Neurothek, whole: Path, in_memory: MemoryFileSystem
) -> None:
    in_memory.put(str(whole), "/there", recursive=True)
    parameters = asked(local, name)
    texts = []
    for place in (local.path, whole, "memory://there"):
        app = open_page(place, name, **parameters)
        assert not app.exception, (name, place, app.exception)
        texts.append(plain(shown_text(app), place))
    assert len(texts[0]) > 50, "the page shows something"
    if name != "trace":
        assert texts[1:] == texts[:1] * 2
    else:
        # The hand-made models have no weights anywhere: the page says where they were looked for.
        assert all(r"not usable at \'tiny\-2m\'" in text for text in texts), texts


def plain(text: str, place: Path | str) -> str:
    """What a page says, without where the warehouse lies and where models were measured from.

    What measures more is recommended for a copy of a catalog.
    """
    text = re.sub(r"rows in [\d.\\]+ s", "rows in S s", text)
    text = text.replace(f"neurothek copy {place} catalog.duckdb\n", "").replace("catalog.duckdb", str(place))
    return text.replace(str(place), "PLACE").replace(r"\/models\/", "").replace("/models/", "")
