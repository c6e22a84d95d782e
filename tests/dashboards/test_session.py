"""The desk that pages ask is the one that was handed over, and there is none before."""

from pathlib import Path

import pytest

import neurothek
from neurothek.dashboards import session
from neurothek.dashboards.session import desk, hand_over


def test_pages_ask_the_desk_that_was_handed_over_last(tmp_path: Path) -> None:
    for name in ("one.duckdb", "other.duckdb"):
        hand_over(neurothek.open(tmp_path / name))
        assert desk().path == tmp_path / name


def test_without_a_desk_the_error_says_how_to_open_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_DESKS", [])
    with pytest.raises(RuntimeError, match="open it with `neurothek dashboard`"):
        desk()
