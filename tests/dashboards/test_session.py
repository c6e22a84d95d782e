"""The backend that pages call is the one that was set last, and there is none before."""

from pathlib import Path

import pytest

import neurothek
from neurothek.dashboards import session
from neurothek.dashboards.session import backend, set_backend


def test_pages_call_the_backend_that_was_set_last(tmp_path: Path) -> None:
    for name in ("one.duckdb", "other.duckdb"):
        set_backend(neurothek.open(tmp_path / name))
        assert backend().path == tmp_path / name


def test_without_a_backend_the_error_says_how_to_open_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_BACKENDS", [])
    with pytest.raises(RuntimeError, match="open it with `neurothek dashboard`"):
        backend()
