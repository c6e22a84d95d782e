"""The page of a neuron shows what it is said to respond to, with each score beside its controls, as text."""

from pathlib import Path

import neurothek
from tests.support import planted_contexts
from tests.support.chat_server import chat_server
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
    page = open_page(door.path, "neuron", neuron=f"{planted_contexts.MODEL}/L0N3")
    assert "Explanations in words" not in [one.value for one in page.subheader]
