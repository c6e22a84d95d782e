"""The page of a reproduced paper: what it links to exists, what it says is escaped, verdicts stand above figures."""

from html.parser import HTMLParser

import pytest

from neurothek.dashboards.papers.index_page import MOST_ROWS, index_html
from tests.dashboards.papers.conftest import CASES, Found

# The papers are collected once, by one worker.
pytestmark = pytest.mark.xdist_group("reproduce")


class Read(HTMLParser):
    """What a page holds: open elements, addresses, and its text."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.rows = 0
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = dict(attrs)
        self.addresses += [value for name in ("href", "src") if (value := of.get(name))]
        self.ids += [value] if (value := of.get("id")) else []
        self.rows += tag == "tr"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "p" and self.open[-1] == "p":
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("case", CASES)
def test_the_page_is_whole_and_links_to_its_files(case: str, found: Found) -> None:
    one = found[case]
    read = Read(index_html(one))
    assert read.open == []
    files = {f"{table.sheet.stem}.{kind}" for shown in one.exhibits for table in shown.tables for kind in ("csv", "md")}
    drawn = [of.picture.slug for shown in one.exhibits for of in shown.figures if of.chart is not None]
    files |= {f"{slug}.{kind}" for slug in drawn for kind in ("png", "svg")}
    linked = {address for address in read.addresses if not address.startswith("#")}
    assert linked == files | {"claims.csv"}
    assert [address[1:] for address in read.addresses if address.startswith("#")] == read.ids
    for shown in one.exhibits:
        for judged in shown.claims:
            assert judged.claim.text in read.text
            assert judged.finding.numbers in read.text
        assert all(figure.why_not in read.text for figure in shown.figures)


def test_long_tables_are_cut_and_say_so(found: Found) -> None:
    one = found["din"]
    read = Read(index_html(one))
    tables = [table for shown in one.exhibits for table in shown.tables if table.rows.height]
    assert read.rows == sum(1 + min(table.rows.height, MOST_ROWS) for table in tables)
    longest = max(tables, key=lambda table: table.rows.height)
    assert f"{longest.sheet.stem}: the first {MOST_ROWS} of {longest.rows.height:,} rows" in read.text


def test_tokens_cannot_write_the_page(found: Found) -> None:
    text = index_html(found["voita"])
    assert "<script" not in text
