"""The page of one neuron: what it opens with, and how little it asks."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.widgets.html import plain
from tests.dashboards.conftest import Opener
from tests.dashboards.screens.test_pages import in_order, text
from tests.support import ingests
from tests.support.models import build

MOST_STATEMENTS = 21


class Counted:
    """A connection that notes each statement that is run on it, or on its cursors."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, noted: list[str]) -> None:
        self._connection, self._noted = connection, noted

    def __getattr__(self, name: str) -> object:
        there = getattr(self._connection, name)
        if name == "cursor":
            return lambda: Counted(there(), self._noted)
        return self._counting(there) if name in ("execute", "sql") else there

    def _counting(self, run: Callable[..., object]) -> Callable[..., object]:
        def ask(query: str | duckdb.Statement, **more: object) -> object:
            self._noted.append(query if isinstance(query, str) else query.query)
            return run(query, **more)

        return lambda query, parameters=None, **more: (
            ask(query, **more) if parameters is None else ask(query, parameters=parameters, **more)
        )


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that pages run from now on."""
    statements: list[str] = []
    lease = Warehouse.reader

    @contextmanager
    def reader(self: Warehouse, **named: object) -> Iterator[Counted]:
        with lease(self, **named) as connection:
            yield Counted(connection, statements)

    monkeypatch.setattr(Warehouse, "reader", reader)
    return statements


@pytest.mark.parametrize(("first", "address"), [("tiny-1m/L0N3", "tiny-1m/L0N4"), ("tiny-2m/L2N0", "tiny-2m/L2N3")])
def test_a_page_reads_few_statements(
    page: Opener, whole_path: Path, noted: list[str], first: str, address: str
) -> None:
    opened = page(whole_path, "neuron", neuron=first)
    in_order(opened)
    # What pages ask of the whole warehouse, and of a model, they ask once.
    assert len(noted) <= MOST_STATEMENTS + 3
    noted.clear()
    opened.query_params["neuron"] = address
    opened.run()
    in_order(opened)
    assert opened.title[0].value == plain(address)
    assert 5 < len(noted) <= MOST_STATEMENTS, "\n".join(" ".join(one.split())[:110] for one in noted)


def test_the_word_of_the_search_is_marked_and_the_way_back_is_there(page: Opener, full_path: Path) -> None:
    found = urlencode({"words": "coffee", "side": "promoted"})
    opened = page(full_path, "neuron", neuron="tiny-2m/L2N3", word="coffee", found=found)
    in_order(opened)
    shown = "".join(part.proto.body for part in opened.get("html"))
    assert re.search(r"coffee: ·coffee promoted, rank \d+ of \d+, z-score ", shown)
    assert 'class="nt-mark"' in shown
    assert 'href="/search?words=coffee&amp;side=promoted"' in shown
    bare = page(full_path, "neuron", neuron="tiny-2m/L2N3")
    shown = "".join(part.proto.body for part in bare.get("html"))
    assert "back to the results" not in shown
    assert 'class="nt-mark"' not in shown


def test_a_way_back_that_nobody_wrote_is_text(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "neuron", neuron="tiny-2m/L2N3", word='<script>"', found="words=<script>&x=%22%3E")
    in_order(opened)
    shown = "".join(part.proto.body for part in opened.get("html"))
    assert "<script" not in shown.replace("<style>", "")
    assert "Fires at" in text(opened) or "Never fires" in text(opened)


def test_a_gated_neuron_is_shown_at_both_signs(page: Opener, tmp_path: Path) -> None:
    model, warehouse = build(tmp_path / "gated", "llama", d_ffn=16), ingests.open_warehouse(tmp_path / "w.duckdb")
    jobs = ("projections", "activity", "contexts", "poles", "ngrams")
    ingests.measure(warehouse, model, ingests.request(ingests.write_corpus(tmp_path), jobs=jobs))
    opened = page(warehouse.path, "neuron", neuron="gated/L1N3")
    words = text(opened)
    assert [tab.label for tab in opened.tabs] == ["Strongest", "Sampled", "Random", "Positive", "Negative"]
    assert "Gate open at" in words
    assert "Fires at" not in words
    with warehouse.reader() as connection:
        query = "select frequency, abs_share from neuron_poles where address = 'gated/L1N3' and pole = 'negative'"
        frequency, share = connection.execute(query).fetchall()[0]
        (token,) = connection.execute(
            "select token from pole_contexts where address = 'gated/L1N3' and pole = 'negative' and rank = 1"
        ).fetchall()[0]
    (table,) = (one.value for one in opened.dataframe if "pole" in one.value.columns)
    (row,) = table[table["pole"] == "negative"].to_dict("records")
    assert [row["frequency_percent"], row["abs_share_percent"]] == pytest.approx([100 * frequency, 100 * share])
    assert token.strip() in words
