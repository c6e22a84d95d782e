"""The page of a neuron shows what it is said to respond to, with each score beside its controls, as text."""

from collections.abc import Collection, Mapping
from pathlib import Path

import neurothek
from neurothek.catalog.spelling import one_line
from neurothek.dashboards.widgets.html import plain, prose
from tests.support import planted_contexts
from tests.support.chat_server import chat_server
from tests.support.foreign import explanation, feature, write_neuronpedia
from tests.support.pages import open_page
from tests.support.templates import copy_of

HOSTILE = "the words <img src=x onerror=alert(1)> **zebra** \x1b[2J"


def test_explanations_stand_beside_their_controls(tmp_path: Path) -> None:
    copy_of("planted-contexts", planted_contexts.create, tmp_path / "w.duckdb")
    door = neurothek.open(tmp_path / "w.duckdb")
    with chat_server() as chat:
        chat.explanation = lambda prompt: HOSTILE if "<< zebra>>" in prompt else "the words violin"
        door.explain_neurons(
            door.plan_explanations(
                planted_contexts.MODEL, endpoint=chat.url, model_name="stub", where="layer = 0 and neuron < 2"
            )
        )
    app = open_page(door.path, "neuron", neuron=f"{planted_contexts.MODEL}/L0N0")
    assert not app.exception
    (title,) = [one.value for one in app.markdown if one.value.startswith("Explained at positive")]
    assert r"\<img" in title
    assert r"\*\*zebra" in title
    assert "\x1b" not in title
    (scores,) = [one.value for one in app.dataframe if "made-up" in one.value.columns]
    assert scores["method"].to_list() == ["detection", "fuzzing", "intruder"]
    assert scores["score"].to_list() == [1, 1, 1]
    assert (scores["shuffled"] < 0.8).all()
    # No score of words without those of its controls.
    for one in app.dataframe:
        if "score" in one.value.columns and "method" in one.value.columns:
            assert {"made-up", "shuffled"} <= set(one.value.columns)
    # The first line says the same, with the score and the best of its controls.
    (line,) = [one.value for one in app.markdown if one.value.startswith("“") and "detection" in one.value]
    assert r"\<img" in line
    assert plain("(detection 1.00, its best control 0.") in line
    page = open_page(door.path, "neuron", neuron=f"{planted_contexts.MODEL}/L0N3")
    assert "Explanations in words" not in [one.value for one in page.header]
    label = door.neuron(f"{planted_contexts.MODEL}/L0N3").label
    assert label is not None
    # The blanks before tokens are marked, as everywhere.
    written = one_line(label).replace("“ ", "“·")
    assert "“·" in written
    assert prose(f"Label: {written}.") in [one.value for one in page.markdown]


def test_other_peoples_catalogs_are_named_with_what_they_say(tmp_path: Path) -> None:
    copy_of("planted-contexts", planted_contexts.create, tmp_path / "w.duckdb")
    door, model = neurothek.open(tmp_path / "w.duckdb"), planted_contexts.MODEL
    lines = [feature(model, 0, 0, frac_nonzero=0.25, pos_str=[" zebra"])]
    write_neuronpedia(tmp_path / "v1", model, lines, [explanation(model, 0, 0, HOSTILE)])
    imported = door.import_foreign(tmp_path / "v1", "neuronpedia", model=model)
    app = open_page(door.path, "neuron", neuron=f"{model}/L0N0")
    assert not app.exception
    assert "In other people's catalogs" in [one.value for one in app.header]
    (title,) = [one.value for one in app.markdown if imported.catalog in one.value.replace("\\", "")]
    assert r"\<img" in title
    assert "\x1b" not in title
    (numbers,) = [one.value for one in app.dataframe if "by_chance" in one.value.columns]
    assert numbers["their_frequency"].to_list() == [0.25]
    other = open_page(door.path, "neuron", neuron=f"{model}/L0N3")
    assert "In other people's catalogs" not in [one.value for one in other.header]


def test_explanations_are_searched_by_their_words(tmp_path: Path) -> None:
    copy_of("planted-contexts", planted_contexts.create, tmp_path / "w.duckdb")
    door = neurothek.open(tmp_path / "w.duckdb")
    model = planted_contexts.MODEL
    empty = open_page(door.path, "search", words="zebra", explained="yes")
    assert not empty.exception
    assert ["No explanation holds these words" in one.value for one in empty.info] == [True]
    with chat_server() as chat:
        chat.explanation = lambda prompt: HOSTILE if "<< zebra>>" in prompt else "the words violin"
        door.explain_neurons(
            door.plan_explanations(model, endpoint=chat.url, model_name="stub", where="layer = 0 and neuron < 2")
        )
    holds: Mapping[str, Collection[int]] = {"ZEBRA": {0}, "zebra violin": (), "violin": {1}, "the words": {0, 1}}
    for words, neurons in holds.items():
        page = open_page(door.path, "search", words=words, explained="yes")
        assert not page.exception
        assert not page.error
        found = door.explained(*words.split()).explanations.get_column("address").to_list()
        assert sorted(found) == [f"{model}/L0N{neuron}" for neuron in neurons]
        rows = [one.value for one in page.dataframe]
        assert [list(one["address"]) for one in rows] == ([found] if found else [])
        for one in rows:
            for method in ("detection", "fuzzing", "intruder"):
                assert (one[method] == 1).all()
                assert (one[f"{method}_control"] < 1).all()
            assert not any("\x1b" in text for text in one["explanation"])
    # Without words all explanations; and what is about tokens is not silently left out.
    assert len(open_page(door.path, "search", explained="yes").dataframe[0].value) == 2
    assert len(open_page(door.path, "search", explained="yes", limit="1").dataframe[0].value) == 1
    refused = open_page(door.path, "search", words="zebra", explained="yes", min_count="2")
    assert ["cannot be combined with min count" in one.value for one in refused.error] == [True]
