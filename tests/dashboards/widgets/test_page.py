"""What pages say: sentences as text, and commands about the warehouse that the pages show."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.catalog.advice import DEFAULT_WAREHOUSE
from neurothek.catalog.hub.addresses import Address
from neurothek.dashboards.session import set_backend
from neurothek.dashboards.widgets import page
from neurothek.dashboards.widgets.page import as_sentence, elsewhere


def test_a_warehouse_elsewhere_is_named_in_commands(tmp_path: Path) -> None:
    path = tmp_path / "my own.duckdb"
    set_backend(neurothek.open(path))
    assert elsewhere() == path
    # As Markdown every mark has a backslash before it.
    said = as_sentence("not there; run `neurothek ingest m`").replace("\\", "")
    assert said == f"not there; run `neurothek ingest m --warehouse '{path}'`"


def test_the_one_that_commands_find_by_themselves_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (Path(DEFAULT_WAREHOUSE), tmp_path / DEFAULT_WAREHOUSE):
        set_backend(neurothek.open(path))
        assert elsewhere() is None
        assert "warehouse" not in as_sentence("run `neurothek ingest m`")


def test_a_command_to_copy_names_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr("neurothek.dashboards.widgets.page.st.code", lambda command, **_: copied.append(command))
    set_backend(neurothek.open(tmp_path / "w.duckdb"))
    page.show_command("neurothek ingest m")
    page.show_command(copied[0])
    assert copied[0] == copied[1] == f"neurothek ingest m --warehouse {tmp_path / 'w.duckdb'}"


def test_what_measures_is_recommended_for_a_copy_of_a_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr("neurothek.dashboards.widgets.page.st.code", lambda command, **_: shown.append(command))
    address = "hf://datasets/someone/neurons"
    monkeypatch.setattr(page, "backend", lambda: SimpleNamespace(address=Address("hf", address, address), path=None))
    page.show_command("neurothek ingest m --job events")
    page.show_command("neurothek intervene m --where true")
    page.show_command("neurothek search school")
    changed = f"neurothek copy {address} catalog.duckdb\nneurothek intervene m --where true --warehouse catalog.duckdb"
    measured = f"neurothek copy {address} catalog.duckdb\nneurothek ingest m --job events --warehouse catalog.duckdb"
    assert shown == [measured, changed, f"neurothek search school --warehouse {address}"]


def test_a_time_is_told_by_the_runs_of_other_models(full_path: Path) -> None:
    with neurothek.open(full_path).reader() as connection:
        # 30 seconds of a model of 1.1 million parameters, for one of 0.6 million.
        assert page.time_needed(connection, ["weights-only"], ["activity"]) == (
            " in about 15 seconds, judging by tiny-1m"
        )
        # Of no model there is a time to tell.
        assert page.time_needed(connection, ["weights-only"], ["shortcuts"]) == ""


@pytest.mark.parametrize("text", ["a *b* _c_ [d](e)", "<script>", "# head", "$x$", ":smile:"])
def test_markdown_in_a_sentence_is_text(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    set_backend(neurothek.open(Path(DEFAULT_WAREHOUSE)))
    assert as_sentence(text) != text


def test_a_page_that_found_the_warehouse_in_use_is_tried_again_by_a_button(tmp_path: Path) -> None:
    def script() -> None:
        # It runs as a page of its own.
        import streamlit as st  # noqa: PLC0415

        from neurothek.catalog.problems import Busy  # noqa: PLC0415
        from neurothek.dashboards.widgets.page import show_errors  # noqa: PLC0415

        st.session_state["runs"] = st.session_state.get("runs", 0) + 1
        for part in ("list", "chart"):
            with show_errors():
                if st.session_state["runs"] == 1:
                    raise Busy(
                        "w.duckdb was still in use after 60 s", "close it there and repeat the command", path="w"
                    )
                st.text(part)

    set_backend(neurothek.open(tmp_path / "w.duckdb"))
    hand = AppTest.from_function(script).run()
    assert [one.value.replace("\\", "") for one in hand.error] == ["w.duckdb was still in use after 60 s"] * 2
    assert [one.label for one in hand.button] == ["Try again"] * 2
    hand.button[1].click().run()
    assert [one.value for one in hand.text] == ["list", "chart"]
    assert not hand.error
    assert not hand.button
