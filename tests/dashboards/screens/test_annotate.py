"""The page Annotate under streamlit's own test runner: blind, saved by another process, and nothing lost."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ButtonGroup

import neurothek
from neurothek.catalog.spelling import visible
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts import annotating
from neurothek.dashboards.parts.annotating import save_annotations
from neurothek.queries.annotate.lists import draw_lists
from neurothek.queries.annotate.sample import Sample, draw_sample
from tests.support import shortcut_rows, tiny
from tests.support import warehouse as made

Opener = Callable[..., AppTest]
MODEL = "tiny-2m"
SECRETS = re.compile(r"L\dN\d|\blayer \d|ffn_update|\bcontrol_id\b|\bdepth\b")


@pytest.fixture(scope="module")
def unjudged(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unjudged") / "w.duckdb"
    shutil.copy(full_path, path)
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.annotations")
    return path


@pytest.fixture(scope="module")
def sample(unjudged: Path) -> Sample:
    with Warehouse(unjudged).reader() as connection:
        return draw_sample(connection, MODEL)


@pytest.fixture
def path(unjudged: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(unjudged, tmp_path / "w.duckdb"))


class Hand:
    """A person at the page."""

    def __init__(self, page: AppTest) -> None:
        self.page = page

    def words(self) -> str:
        page = self.page
        parts = [*page.title, *page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.success]
        labels = [option for group in page.button_group for option in group.options]
        buttons = [button.label for button in page.button]
        htmls = [element.proto.body for element in page.get("html")]
        bars = [element.proto.text for element in page.get("progress")]
        return "\n".join(map(str, [*(part.value for part in parts), *labels, *buttons, *htmls, *bars])).replace(
            "\\", ""
        )

    def mark(self, *ranks: int) -> None:
        self.group("marks").set_value(list(ranks))

    def write(self, name: str, kind: str | None) -> None:
        next(field for field in self.page.text_input if str(field.key).startswith("name-")).set_value(name)
        self.group("class").set_value(kind)

    def group(self, field: str) -> ButtonGroup[Any]:
        return next(group for group in self.page.button_group if str(group.key).startswith(f"{field}-"))

    def press(self, label: str) -> None:
        next(button for button in self.page.button if button.label == label).click()
        self.page.run()
        assert [error.message for error in self.page.exception] == []

    @property
    def handle(self) -> str:
        return str(self.page.query_params["vector"])

    @property
    def name(self) -> str:
        return str(next(field.value for field in self.page.text_input if str(field.key).startswith("name-")))


@pytest.fixture
def hand(page: Opener, path: Path) -> Hand:
    return Hand(page(path, "annotate", model=MODEL, annotator="anna"))


def stored(path: Path) -> list[dict[str, Any]]:
    return neurothek.open(path).sql("from annotations order by created_at, concept").to_dicts()


def test_lists_are_judged_blind_one_after_the_other(page: Opener, path: Path) -> None:
    measured = ((1, 1),)
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "shortcut_sentences", shortcut_rows.sentences(measured))
        made.insert(connection, "shortcut_tops", shortcut_rows.tops(measured))
        made.insert(connection, "shortcut_predictions", shortcut_rows.predictions(measured))
        lists = draw_lists(connection, MODEL).lists
    hand = Hand(page(path, "annotate", model=MODEL, part="plausibility"))
    assert "Enter your name" in hand.words()
    hand.page.text_input(key="annotator").set_value("anna").run()
    for number, listed in enumerate(lists):
        assert f"{number} of {len(lists)} lists judged" in hand.words()
        assert listed.text in hand.words()
        shown = [f"{rank}. {visible(token)}".replace("\\", "") for rank, token in enumerate(listed.tokens, start=1)]
        assert "\n".join(shown) in hand.words()
        # The part is named, and what the model is called may be told.
        assert not re.search(r"\bmat\b|\bstate \d|\bid\b", hand.words())
        hand.press("Plausible" if number % 3 else "Not plausible")
        if number == 6:
            break
    rows = neurothek.open(path).sql("from store.plausibility_judgements").to_dicts()
    said = {(row["text"], tuple(row["shown_token_ids"])): row["is_plausible"] for row in rows}
    assert said == {(one.text, one.token_ids): number % 3 > 0 for number, one in enumerate(lists[:7])}
    results = Hand(page(path, "annotate", model=MODEL, part="results"))
    assert "Plausible lists" in "\n".join(str(one.value) for one in results.page.header)


def test_lists_that_were_not_measured_name_the_job(page: Opener, path: Path) -> None:
    assert "linear shortcuts" in Hand(page(path, "annotate", model=MODEL, part="plausibility")).words()


def test_without_a_name_nothing_is_judged(page: Opener, path: Path) -> None:
    hand = Hand(page(path, "annotate", model=MODEL))
    assert "Enter your name" in hand.words()
    assert [button.label for button in hand.page.button] == []
    hand.page.text_input(key="annotator").set_value("anna").run()
    assert hand.page.query_params["annotator"] == "anna"
    assert "vectors judged" in hand.words()


def test_the_page_tells_no_vector_from_another(hand: Hand, sample: Sample) -> None:
    for vector in sample.vectors:
        assert hand.handle == vector.handle
        # What the model is called may be told.
        assert not SECRETS.search(hand.words().replace(MODEL, ""))
        # As Markdown shows them.
        shown = [re.sub(r"\\(.)", r"\1", label.split("] ", 1)[1]) for label in hand.group("marks").options]
        assert shown == [visible(token) for token in vector.tokens]
        assert set(hand.page.query_params) == {"model", "annotator", "vector"}
        hand.press("Skip")
    assert hand.handle == sample.vectors[0].handle
    hand.press("Previous")
    assert hand.handle == sample.vectors[-1].handle


def test_concepts_are_saved_by_another_process(
    hand: Hand, path: Path, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[bool] = []
    connect = duckdb.connect

    def watched(file: str, read_only: bool = False, **settings: Any) -> duckdb.DuckDBPyConnection:
        opened.append(read_only)
        return connect(file, read_only=read_only, **settings)

    monkeypatch.setattr(duckdb, "connect", watched)
    hand.mark(1, 2, 3, 5)
    hand.write("schools <script>", "semantic")
    hand.press("Another concept")
    assert "schools &lt;script&gt;" in hand.words()
    hand.mark(2, 3, 4, 5)
    hand.write("others", "names")
    hand.press("Save")
    assert opened
    assert all(opened)
    first = sample.vectors[0]
    rows = stored(path)
    assert [(row["concept"], row["class"], row["annotator"]) for row in rows] == [
        ("others", "names", "anna"),
        ("schools <script>", "semantic", "anna"),
    ]
    assert rows[0]["token_ids"] == list(first.token_ids[1:5])
    assert rows[1]["token_ids"] == [first.token_ids[rank - 1] for rank in (1, 2, 3, 5)]
    # On to the next, whose fields are empty.
    assert f"1 of {len(sample.vectors)} vectors judged" in hand.words()
    assert hand.handle == sample.vectors[1].handle
    assert (hand.name, hand.group("marks").value) == ("", [])
    hand.press("No concept")
    assert [row["concept"] for row in stored(path)][2:] == [None]
    assert hand.handle == sample.vectors[2].handle


def test_what_is_judged_can_be_looked_at_and_changed(page: Opener, path: Path, sample: Sample) -> None:
    line = {"model": MODEL, "vector": sample.vectors[3].handle, "annotator": "anna", "class": "names"}
    neurothek.open(path).annotate([{**line, "concept": "old", "ranks": [1, 2, 3, 4]}])
    hand = Hand(page(path, "annotate", model=MODEL, annotator="anna", vector=sample.vectors[3].handle))
    assert "You have already judged it" in hand.words()
    assert "<b>old</b>" in hand.words()
    hand.press("Change")
    assert (hand.name, hand.group("class").value, hand.group("marks").value) == ("old", "names", [1, 2, 3, 4])
    hand.mark(2, 3, 4, 5)
    hand.write("new", "semantic")
    hand.press("Save")
    (row,) = stored(path)
    assert (row["concept"], row["token_ids"]) == ("new", list(sample.vectors[3].token_ids[1:5]))


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (((1, 2, 3), "schools", "semantic"), "3 tokens are marked"),
        (((1, 2, 3, 4), "", "semantic"), "has no name"),
        (((1, 2, 3, 4), "schools", None), "has no class"),
        (((), "", None), "no token is marked"),
    ],
)
def test_half_a_concept_is_held_back_and_stays(
    hand: Hand, path: Path, written: tuple[tuple[int, ...], str, str | None], problem: str
) -> None:
    handle, (marks, name, kind) = hand.handle, written
    for button in ("Save", "Another concept"):
        hand.mark(*marks)
        hand.write(name, kind)
        hand.press(button)
        assert problem in hand.words()
        assert (hand.handle, hand.name, hand.group("marks").value) == (handle, name, list(marks))
    if marks:
        hand.press("No concept")
        assert "save that, or clear the fields first" in hand.words()
    assert stored(path) == []


def test_what_is_written_stays_when_the_warehouse_is_busy(
    hand: Hand, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[dict[str, Any]]] = []

    def busy(warehouse: Path, annotations: list[dict[str, Any]]) -> str:
        calls.append(annotations)
        return f"{warehouse.name} was still in use"

    monkeypatch.setattr(annotating, "save_annotations", busy)
    handle = hand.handle
    hand.mark(1, 2, 3, 5)
    hand.write("schools", "semantic")
    hand.press("Save")
    assert "Nothing was saved; your input is still here: w.duckdb was still in use" in hand.words()
    assert (hand.handle, hand.name, hand.group("marks").value) == (handle, "schools", [1, 2, 3, 5])
    # Elsewhere and back again: it is still there, also where the page could not draw its fields in between.
    hand.press("Skip")
    hand.press("Previous")
    assert (hand.name, hand.group("marks").value) == ("schools", [1, 2, 3, 5])
    monkeypatch.undo()
    hand.press("Save")
    assert [row["concept"] for row in stored(path)] == ["schools"]
    assert calls[0][0]["ranks"] == [1, 2, 3, 5]


def test_the_process_that_saves_says_why_it_does_not(path: Path, sample: Sample) -> None:
    line = {"model": MODEL, "vector": sample.vectors[0].handle, "annotator": "anna", "concept": None}
    assert save_annotations(path, [line | {"vector": "0-000000000000"}]) == (
        f"line 1, vector: there is no 0-000000000000 in the sample of {MODEL}; its controls may have been measured"
        f" again since; draw the sample again with `neurothek annotate --sample {MODEL} --warehouse {path}`"
    )
    assert save_annotations(path, [line]) is None
    assert len(stored(path)) == 1


def test_when_all_is_judged_it_can_be_gone_through_again(page: Opener, path: Path, sample: Sample) -> None:
    lines = [
        {"model": MODEL, "vector": vector.handle, "annotator": "anna", "concept": None} for vector in sample.vectors
    ]
    neurothek.open(path).annotate(lines)
    hand = Hand(page(path, "annotate", model=MODEL, annotator="anna"))
    assert "All vectors of this sample are judged" in hand.words()
    hand.press("Go through them again")
    assert hand.handle == sample.vectors[0].handle
    # Another seed is another sample, of which the hand-made layers leave no choice but the order.
    other = Hand(page(path, "annotate", model=MODEL, annotator="anna", seed="7"))
    assert "vectors of this sample are judged" in other.words()


def test_results_are_those_of_the_views(page: Opener, full_path: Path) -> None:
    hand = Hand(page(full_path, "annotate", model=MODEL, part="results"))
    assert [error.message for error in hand.page.exception] == []
    assert hand.page.get("vega_lite_chart")
    tables = {tuple(table.value.columns): table.value for table in hand.page.dataframe}
    people = next(table for columns, table in tables.items() if "n_judgements" in columns)
    rows = made.hand_made().rows["annotations"]
    judged = {
        (r["annotator"], r["layer"], r["condition"], r["neuron"], r["control_id"], tuple(r["shown_token_ids"]))
        for r in rows
        if r["model_id"] == 1
    }
    expected = {annotator: sum(one[0] == annotator for one in judged) for annotator in {one[0] for one in judged}}
    assert dict(zip(people["annotator"], people["n_judgements"], strict=True)) == expected
    assert any("kappa" in columns for columns in tables)
    assert "Table 2 of Geva et al. 2022" in hand.words()


def test_without_annotations_the_results_say_so(page: Opener, path: Path) -> None:
    assert "Nobody has judged a vector" in Hand(page(path, "annotate", model=MODEL, part="results")).words()


def test_the_neurons_page_shows_what_people_see(page: Opener, full_path: Path) -> None:
    rows = made.hand_made().rows["annotations"]
    named = next(row for row in rows if row["condition"] == "value" and row["concept"] is not None)
    address = tiny.address((named["model_id"], named["layer"], named["neuron"]))
    opened = page(full_path, "neuron", neuron=address)
    assert "Concepts named by people" in [heading.value for heading in opened.header]
    (table,) = [one.value for one in opened.dataframe if "annotator" in one.value.columns]
    assert named["annotator"] in set(table["annotator"])
