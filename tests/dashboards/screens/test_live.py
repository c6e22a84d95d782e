"""Pages that read weights: Trace with its grids, cells and states, and Search by exact score."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.catalog.spelling import visible
from neurothek.dashboards.live.answers import MOST_POSITIONS
from neurothek.dashboards.live.try_neuron import EXAMPLES
from neurothek.dashboards.widgets.html import prose
from neurothek.queries.search.question import Question
from tests.dashboards.widgets.test_figures import charts
from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

pytestmark = pytest.mark.xdist_group("live_pages")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    build(folder / "tiny", "opt", d_ffn=32)
    asked = ingests.request((write_sentences(folder, n=60),), jobs=("projections", "shortcuts"))
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    ingests.measure(warehouse, folder / "tiny", asked)
    build(folder / "other", "opt", d_ffn=32, n_layers=3, seed=1)
    ingests.measure(warehouse, folder / "other", ingests.request((), jobs=("projections",)))
    return folder / "w.duckdb"


def said(text: object) -> str:
    """What stands on the page, with the marks of Markdown taken out."""
    return str(text).replace("\\", "")


def grids(page: AppTest) -> list[Any]:
    """What the browser is told to draw of each grid."""
    return [json.loads(one.proto.json) for one in page.get("bidi_component")]


def downloads(page: AppTest) -> list[str]:
    return [str(button.proto.label) for button in page.get("download_button")]


def test_the_page_opens_with_an_example_that_was_run(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace")
    assert not opened.exception
    assert not opened.error
    first, *others = EXAMPLES
    assert opened.text_input(key="prompt").value == opened.query_params["prompt"] == first
    (grid,) = grids(opened)
    assert len(grid["rows"]) == 2
    (button,) = [one for one in opened.button if said(one.label) == others[0]]
    button.click().run()
    assert opened.query_params["prompt"] == others[0]
    (other,) = grids(opened)
    assert [column["token"] for column in other["columns"]] != [column["token"] for column in grid["columns"]]
    emptied = opened.text_input(key="prompt-1").set_value("").run()
    assert not emptied.exception
    assert grids(emptied) == []
    assert len([one for one in emptied.button if said(one.label) in EXAMPLES]) == len(EXAMPLES)


def test_a_grid_is_what_the_model_says_and_a_cell_its_neurons(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt="one two three", layer="0", position="2")
    assert not opened.exception
    assert not opened.error
    door = neurothek.open(path)
    expected, (grid,) = door.trace_grid("tiny", "one two three"), grids(opened)
    assert grid["selected"] == [1, 2]
    for row in grid["rows"]:
        for position, cell in enumerate(row["cells"]):
            wanted = expected.cell(row["number"], position)
            assert (cell["shown"], cell["probability"]) == (visible(wanted["predicted"]), wanted["probability"])
    traced = door.trace("tiny", "one two three", position=2).neurons.filter(layer=0)
    cell = grid["cell"]
    assert [row["place"] for row in cell["rows"]] == [f"L0N{neuron}" for neuron in traced["neuron"]]
    assert [row["added"] for row in cell["rows"]] == pytest.approx(traced["direct_final"].to_list(), abs=1e-4)
    assert cell["title"].startswith("Layer 0, position 2, after ")
    assert cell["inspected"] is None
    # Of no statement: the model ran for it, so that there is no SQL behind it either.
    assert charts(opened) == []
    assert downloads(opened) == ["CSV", "Parquet"]


def test_a_neuron_of_a_cell_has_its_lists_and_a_switch(page: Callable[..., AppTest], path: Path) -> None:
    asked = {"model": "other", "prompt": "one two three", "layer": "1", "position": "2"}
    (grid,) = grids(page(path, "trace", **asked))
    place = next(row["place"] for row in grid["cell"]["rows"] if row["coefficient"])
    opened = page(path, "trace", **asked, inspect=place)
    assert not opened.exception
    inspected = grids(opened)[0]["cell"]["inspected"]
    assert (inspected["place"], inspected["href"]) == (place, f"/neuron?neuron=other/{place}")
    assert inspected["switches"] == [["Switch it off", 0]]
    assert inspected["switched"] is None
    expected = neurothek.open(path).neuron(f"other/{place}")
    sides = [expected.tokens.filter(side=side).sort("rank")["token"] for side in ("promoted", "suppressed")]
    assert [[one["token"] for one in tokens] for _, tokens in inspected["lists"]] == [
        [visible(token) for token in side.head(10)] for side in sides
    ]
    # The form below is about that neuron, too.
    assert opened.selectbox[-1].value == f"other/{place}"
    switched = page(path, "trace", **asked, inspect=place, switch=f"other/{place}", set="0")
    assert not switched.exception
    told = grids(switched)[0]["cell"]["inspected"]
    assert told["switches"] == [["Leave it as it is", None]]
    assert f"other/{place} set to 0 at every position" in told["switched"]["sentence"]
    assert [name for name, _ in told["switched"]["texts"]] == [
        "Untouched",
        "With it switched",
        "With a random neuron switched",
    ]
    # A neuron that is none of the cell's is looked into nowhere.
    assert grids(page(path, "trace", **asked, inspect="L0N0"))[0]["cell"]["inspected"] is None


def test_without_a_cell_it_is_where_the_last_prediction_settles(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt="one two three")
    expected = neurothek.open(path).trace_grid("tiny", "one two three")
    last = len(expected.tokens) - 1
    assert grids(opened)[0]["selected"] == [expected.n_layers - 1 - expected.settled(last), last]


def test_a_cell_that_there_is_not_is_warned_of(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt="one two three", layer="999", position="-5")
    assert not opened.exception
    assert [said(one.value) for one in opened.warning] == [
        "The address has an unknown position: -5.",
        "The address has an unknown layer: 999.",
    ]
    assert (
        grids(opened)[0]["selected"] == grids(page(path, "trace", model="tiny", prompt="one two three"))[0]["selected"]
    )


def test_another_model_forgets_the_cell(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="other", prompt="one two three", layer="2", position="1")
    opened.selectbox(key="model").set_value("tiny").run()
    assert not opened.exception
    assert not opened.warning
    assert dict(opened.query_params) == {"model": "tiny", "prompt": "one two three"}


def test_another_prompt_forgets_the_cell(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "trace", model="tiny", prompt="one two three", layer="0", position="1", switch="L0N1", set="0")
    opened.text_input(key="prompt").set_value("five six").run()
    assert not opened.exception
    assert dict(opened.query_params) == {"model": "tiny", "prompt": "five six"}


def test_two_models_stand_side_by_side_and_the_address_keeps_both(page: Callable[..., AppTest], path: Path) -> None:
    asked = {"model": "tiny", "model2": "other", "prompt": "one two three", "layer": "0", "position": "2"}
    opened = page(path, "trace", **asked, layer2="1")
    assert not opened.exception
    assert not opened.error
    first, second = grids(opened)
    assert (first["label"].split(":")[0], second["label"].split(":")[0]) == ("tiny", "other")
    assert len(second["rows"]) == 3
    # The tokens are the same: the position is that of the first.
    assert (first["selected"], second["selected"]) == ([1, 2], [1, 2])
    assert opened.query_params["model2"] == "other"
    opened.selectbox(key="model2").set_value("").run()
    assert len(grids(opened)) == 1
    assert "model2" not in opened.query_params


def test_a_long_prompt_is_shown_from_its_end(page: Callable[..., AppTest], path: Path) -> None:
    prompt = "one two three " * 20
    n = len(neurothek.open(path).trace_grid("tiny", prompt).tokens)
    assert n > MOST_POSITIONS
    opened = page(path, "trace", model="tiny", prompt=prompt)
    assert len(grids(opened)[0]["columns"]) == MOST_POSITIONS
    told = f"Positions {n - MOST_POSITIONS} to {n - 1} of 0 to {n - 1}: the page shows the last {MOST_POSITIONS}."
    assert told in [said(one.value) for one in opened.caption]


def test_states_are_read_through_shortcuts_where_there_are_some(page: Callable[..., AppTest], path: Path) -> None:
    plain = page(path, "trace", model="tiny", prompt="one two three", whole="yes")
    assert "States" not in "".join(said(one.value) for one in plain.markdown)
    through = plain.toggle[0].set_value(True).run()
    assert "States" in "".join(said(one.value) for one in through.markdown)
    assert "mat" in through.query_params["lens"]
    expected = neurothek.open(path).trace_grid("tiny", "one two three", lens="mat")
    cell = grids(through)[0]["rows"][1]["cells"][1]
    assert cell["probability"] == expected.cell(0, 1)["probability"]
    other = page(path, "trace", model="other", prompt="one two three")
    assert [one.key for one in other.toggle] == ["effects", "whole"]


def test_the_neurons_that_raise_a_token_are_listed_with_what_is_left_without_each(
    page: Callable[..., AppTest], path: Path
) -> None:
    door = neurothek.open(path)
    said_there = door.trace("tiny", "one two three", position=2, top=20).layers["after"].to_list()
    word = next(visible(token) for tokens in said_there for token in tokens if token.strip().isalpha())
    for asked in ({"whole": "yes"}, {"token": word, "effects": "off"}):
        opened = page(path, "trace", model="tiny", prompt="one two three", position="2", **asked)
        assert not opened.exception
        assert not opened.error
        token, effects = asked.get("token"), "effects" in asked
        expected = door.trace(
            "tiny", "one two three", position=2, raising=30, token=token, effects=effects, sort="direct"
        )
        (table,) = [one.value for one in opened.dataframe if "direct" in one.value.columns]
        assert table["address"].to_list() == expected.raising["address"].to_list()
        assert table["direct"].to_list() == expected.raising["direct"].to_list()
        assert ("probability_off_percent" in table.columns) == effects
        if effects:
            percent = [None if share is None else 100 * share for share in expected.raising["probability_off"]]
            assert table["probability_off_percent"].to_list()[:10] == percent[:10]
            assert (opened.query_params["token"], opened.query_params["effects"]) == (word, "off")
    unknown = page(path, "trace", model="tiny", prompt="one two three", token="nosuchtokenatall")
    assert not unknown.exception
    (error,) = unknown.error
    assert "nosuchtokenatall" in said(error.value)


def test_without_a_request_no_trace_runs(
    page: Callable[..., AppTest], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neurothek.dashboards.screens.predictions.trace.trace_of", None)
    opened = page(path, "trace", model="tiny", prompt="one two three", position="1")
    assert not opened.exception
    assert not [one.value for one in opened.dataframe if "direct" in one.value.columns]
    assert not any("Every layer" in one.label for one in opened.expander)


def test_one_token_instead_of_another_is_attributed(page: Callable[..., AppTest], path: Path) -> None:
    door = neurothek.open(path)
    said_there = door.trace("tiny", "one two three", position=2, top=20).layers["after"].to_list()
    words = dict.fromkeys(visible(token) for tokens in said_there for token in tokens if token.strip().isalpha())
    word, other, *_ = words
    for asked in ({"instead": other}, {"token": word, "instead": other, "effects": "off"}):
        opened = page(path, "trace", model="tiny", prompt="one two three", position="2", **asked)
        assert not opened.exception
        assert not opened.error
        toward, ablate = asked.get("token"), "effects" in asked
        expected = door.attribute(
            "tiny", "one two three", toward=toward, instead=other, position=2, top=30, ablate=ablate
        )
        (table,) = [one.value for one in opened.dataframe if "relevance" in one.value.columns]
        assert table["address"].to_list() == expected.neurons["address"].to_list()
        assert table["relevance"].to_list() == expected.neurons["relevance"].to_list()
        assert ("ablated" in table.columns) == ablate
        assert said(prose(expected.summary)) in [said(one.value) for one in opened.caption]
    same = page(path, "trace", model="tiny", prompt="one two three", token=word, instead=word)
    assert not same.exception
    assert len(same.error) == 1


def test_the_order_of_the_neurons_stands_in_the_address(page: Callable[..., AppTest], path: Path) -> None:
    asked = {"model": "other", "prompt": "one two three", "layer": "1", "position": "2"}
    assert grids(page(path, "trace", **asked))[0]["cell"]["order"] == "share"
    assert grids(page(path, "trace", **asked, by="adds"))[0]["cell"]["order"] == "adds"
    # Of a token that was typed the list tells what its neurons add to that.
    door = neurothek.open(path)
    said_there = door.trace("other", "one two three", position=2, top=20).layers["after"].to_list()
    word = next(visible(token) for tokens in said_there for token in tokens if token.strip().isalpha())
    cell = grids(page(path, "trace", **asked, token=word))[0]["cell"]
    expected = door.trace("other", "one two three", position=2, token=word).neurons.filter(layer=1)
    assert [row["added"] for row in cell["rows"]] == pytest.approx(expected["direct_token"].to_list(), abs=1e-4)
    assert f"adds to “{word}”" in [name for _, name, _ in cell["columns"]]


def test_a_lens_whose_matrices_are_gone_says_how_to_make_them(page: Callable[..., AppTest], path: Path) -> None:
    next(path.parent.rglob("0001-*.safetensors")).unlink()
    (error,) = page(path, "trace", model="tiny", prompt="one two three four", lens="mat").error
    assert "recreate it with" in said(error.value)


@pytest.mark.parametrize("side", ["promoted", "suppressed"])
def test_exact_scores_of_a_word_are_those_of_the_command(page: Callable[..., AppTest], path: Path, side: str) -> None:
    door = neurothek.open(path)
    token = door.sql("select token from promotions group by token order by count(*), token limit 1").item()
    opened = page(path, "search", words=f"'{token}'", exact="yes", score="yes", side=side, limit="7", table="yes")
    assert not opened.exception
    assert not opened.error
    expected = door.score(Question(words=(token,), exact=True, side=side, limit=7))  # type: ignore[arg-type]
    (found,) = [table.value for table in opened.dataframe]
    assert list(found["address"]) == expected.neurons.get_column("address").to_list()
    assert list(found["score"]) == pytest.approx(expected.neurons.get_column("score").to_list())
    assert list(found["rank"]) == expected.neurons.get_column("rank").to_list()
    assert f"Scored {token!r} in tiny" in "".join(said(note.value) for note in opened.caption)


def test_exact_scores_of_two_words_are_refused_in_a_sentence(page: Callable[..., AppTest], path: Path) -> None:
    opened = page(path, "search", words="one two", score="yes")
    assert not opened.exception
    (error,) = opened.error
    assert "one word" in error.value
