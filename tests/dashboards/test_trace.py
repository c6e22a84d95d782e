"""The page that traces a prompt: layers always, states where they are read through kept matrices."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import ingests
from tests.support.models import build
from tests.support.shortcuts import write_sentences

pytestmark = pytest.mark.xdist_group("trace_page")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trace")
    build(folder / "tiny", "opt", d_ffn=32)
    asked = ingests.request((write_sentences(folder, n=60),), jobs=("projections", "shortcuts"))
    ingests.measure(ingests.open_warehouse(folder / "w.duckdb"), folder / "tiny", asked)
    return folder / "w.duckdb"


def test_states_are_shown_where_they_are_asked_for(page: Callable[..., AppTest], path: Path) -> None:
    plain = page(path, "trace", model="tiny", prompt="one two three")
    assert [found.value for found in plain.subheader] == ["Layers", "Dominant neurons"]
    through = plain.toggle[0].set_value(True).run()
    assert [found.value for found in through.subheader] == ["Layers", "States", "Dominant neurons"]
    assert "mat" in through.query_params["lens"]
    next(path.parent.rglob("0001-*.safetensors")).unlink()
    (said,) = page(path, "trace", model="tiny", prompt="one two three", lens="mat").error
    assert "make it anew with" in said.value.replace("\\", "")
