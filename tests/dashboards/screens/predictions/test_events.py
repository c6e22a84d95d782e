"""The page of events: it begins with the model that its address names, and keeps the order of the others."""

import re
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

Opener = Callable[..., AppTest]


def cards(page: AppTest) -> list[str]:
    """Names of the models of the cards, in order."""
    assert not page.exception
    return [name for part in page.get("html") for name in re.findall(r"<header><b>([^<]+)</b>", part.proto.body)]


def test_the_model_at_hand_comes_first(page: Opener, whole_path: Path) -> None:
    usual = cards(page(whole_path, "events"))
    assert len(usual) > 1
    opened = page(whole_path, "events", model=usual[-1])
    assert cards(opened) == [usual[-1], *usual[:-1]]
    assert opened.query_params["model"] == usual[-1]


def test_a_model_without_events_changes_nothing(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "events", model="stranger")
    assert cards(opened) == cards(page(whole_path, "events"))
    assert "model" not in opened.query_params
