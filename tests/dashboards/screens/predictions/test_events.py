"""The page of events: models stand by size, and sentences are about the one that its address names."""

import re
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

Opener = Callable[..., AppTest]


def cards(page: AppTest) -> list[str]:
    """Names of the models of the cards, in order."""
    assert not page.exception
    return [name for part in page.get("html") for name in re.findall(r"<header><b>([^<]+)</b>", part.proto.body)]


def test_models_stand_by_size_whichever_is_at_hand(page: Opener, whole_path: Path) -> None:
    usual = cards(page(whole_path, "events"))
    assert len(usual) > 1
    opened = page(whole_path, "events", model=usual[0])
    assert cards(opened) == usual
    assert opened.query_params["model"] == usual[0]


def test_a_model_without_events_changes_nothing(page: Opener, whole_path: Path) -> None:
    opened = page(whole_path, "events", model="stranger")
    assert cards(opened) == cards(page(whole_path, "events"))
    assert "model" not in opened.query_params
