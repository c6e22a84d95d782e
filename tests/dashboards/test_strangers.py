"""Pages over a stranger's warehouse: nothing of it is run or shown as more than text, and no page shows a stack."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.dashboards.addresses import FRONT, PAGES
from tests.support.strangers import (
    REFUSED,
    SECRET,
    TEXTS,
    Canary,
    at_once,
    no_warnings,
    of_text,
    strangers,
    two_of_one_name,
    watched,
)

Opener = Callable[..., AppTest]

ASKED = {
    "search": {"words": "school", "where": "value_norm > 0"},
    "neuron": {"neuron": "MODEL/L0N0"},
    "sql": {"query": "select ln(2.0), * from mine, neurons limit 3"},
    "trace": {"model": "MODEL", "prompt": "school"},
}
"""What an address asks of a page, beside opening it."""

SOME = (FRONT, "neuron", "search")


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    return Canary(tmp_path / "canary").make()


def harm_of_pages(page: Opener, path: Path, canary: Canary, names: Sequence[str], *, refused: bool | None) -> list[str]:
    """What pages did that they must not do to a copy of a file, each to a new one."""
    content, wrong = path.read_bytes(), []
    model = "tiny-1m"
    try:
        with no_warnings():
            model = neurothek.open(path).sql("select model from models order by all limit 1")["model"][0]
    except NeurothekError:
        assert refused is not False
    for name in names:
        # As it came: to ask for the name brought it up to date.
        path.write_bytes(content)
        canary.harm()
        asked = {key: value.replace("MODEL", model) for key, value in ASKED.get(name, {}).items()}
        with watched(path.parent) as seen, no_warnings():
            opened = page(path, name, **asked)
        wrong += [f"{name}: {one}" for one in (*seen, canary.harm()) if one]
        wrong += [f"{name}: a traceback: {error.message}" for error in opened.exception]
        if "<script>" in "".join(str(one.proto.body) for one in opened.get("html")):
            wrong.append(f"{name}: what the file says is in the page as HTML")
        if SECRET in str(opened):
            wrong.append(f"{name}: it tells the secret")
        if refused and not opened.error:
            wrong.append(f"{name}: shown")
    return wrong


def test_pages_run_nothing_of_a_strangers_file(page: Opener, full_path: Path, canary: Canary, tmp_path: Path) -> None:
    wrong = []
    kinds = at_once(canary)
    for kind in ("healed", "left alone", "macro called as an operator"):
        path = strangers(full_path, tmp_path / "x.duckdb", kinds[kind])
        names = SOME[:1] if kind in REFUSED else SOME
        wrong += [f"{kind}: {one}" for one in harm_of_pages(page, path, canary, names, refused=kind in REFUSED)]
    path = of_text(full_path, tmp_path / "x.duckdb", TEXTS[0])
    wrong += harm_of_pages(page, path, canary, SOME, refused=None)
    path = two_of_one_name(full_path, tmp_path / "x.duckdb")
    wrong += harm_of_pages(page, path, canary, SOME, refused=True)
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize(
    "in_full", [pytest.param(False, id="in turn"), pytest.param(True, id="in full", marks=pytest.mark.series)]
)
def test_every_page_on_objects_and_texts(
    page: Opener, full_path: Path, canary: Canary, tmp_path: Path, *, in_full: bool
) -> None:
    """In turn each page meets one kind of objects, the hostile text and one more; in full, all of them."""
    wrong = []
    kinds, names = at_once(canary), [FRONT, *PAGES]
    read = sorted(kinds.keys() - REFUSED)
    for kind, statements in kinds.items():
        path = strangers(full_path, tmp_path / "x.duckdb", statements)
        # Pages have one door: of a file that is refused at it, one page will do.
        asked = SOME[-1:] if kind in REFUSED else names if in_full else names[read.index(kind) :: len(read)]
        wrong += [f"{kind}: {one}" for one in harm_of_pages(page, path, canary, asked, refused=kind in REFUSED)]
    for number, text in enumerate(TEXTS):
        path = of_text(full_path, tmp_path / "x.duckdb", text.replace("CANARY", str(canary.folder)))
        asked = names if in_full or number == 0 else names[number - 1 :: len(TEXTS) - 1]
        wrong += [f"{text!r}: {one}" for one in harm_of_pages(page, path, canary, asked, refused=None)]
    assert wrong == []
