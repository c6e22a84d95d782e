"""Ray is told what it asks for while it is loaded, and nothing of it stays."""

import os
import sys

import pytest

from neurothek.ingest.pipeline.engines import choice as said
from neurothek.ingest.pipeline.engines.choice import environment


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    said._ours.cache_clear()


def test_a_cluster_of_our_own_has_a_token_that_is_the_same_all_along() -> None:
    tokens = []
    for _ in range(2):
        with environment(is_own=True):
            assert os.environ["RAY_AUTH_MODE"] == "token"
            assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
            tokens.append(os.environ["RAY_AUTH_TOKEN"])
        assert not [name for name in os.environ if name.startswith("RAY_")]
    assert len(tokens[0]) == 64
    assert tokens[0] == tokens[1]


def test_what_a_person_set_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/secret")
    with environment(is_own=True):
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert os.environ["RAY_AUTH_MODE"] == "disabled"


def test_no_token_is_made_up_for_the_cluster_of_others() -> None:
    with environment(is_own=False):
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert "RAY_AUTH_TOKEN" not in os.environ


def test_where_ray_is_loaded_its_settings_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", sys)
    with environment(is_own=True):
        assert "RAY_AUTH_MODE" not in os.environ
