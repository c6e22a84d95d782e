"""Pages over warehouses made by hand: one with everything, one with projections only, one empty."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.papers.material import Material
from neurothek.dashboards.session import set_backend
from neurothek.queries.sql import processes
from tests.support import warehouse as made
from tests.support.by_hand import full, full_path, whole_path
from tests.support.pages import open_page
from tests.support.paper_figures import material

__all__ = ["full", "full_path", "whole_path"]

WEIGHTS_ONLY = frozenset({"models", "tokenizers", "tokens", "projections", "postings"})
OF_TEXT = ("corpus_id", "top_token_log_frequency", "n_positions", "n_active", "n_active_bos", "activation_sum")
MORE_OF_TEXT = ("activation_min", "activation_max", "first_active")
OF_CLUSTERS = ("clustering_id", "cluster_id", "cluster_size")

Opener = Callable[..., AppTest]


@pytest.fixture(scope="session")
def weights_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Projections of every model, and the facts that a publish derives from them: nothing of any text."""
    path = tmp_path_factory.mktemp("weights") / "weights.duckdb"
    made.create(path, tables=WEIGHTS_ONLY)
    nothing = dict.fromkeys((*OF_TEXT, *MORE_OF_TEXT, *OF_CLUSTERS))
    with duckdb.connect(str(path)) as connection:
        made.insert(connection, "neuron_facts", [row | nothing for row in made.hand_made().rows["neuron_facts"]])
        made.insert(connection, "runs", [row for row in made.hand_made().rows["runs"] if row["job"] == "projections"])
    return path


@pytest.fixture(scope="session")
def whole(full_path: Path) -> Material:
    """What the papers' figures of the hand-made warehouse are drawn from."""
    with Warehouse(full_path).reader() as connection:
        return material(connection)


@pytest.fixture(autouse=True)
def _a_desk() -> None:
    """What is asked outside of a page, in no order, has some warehouse too."""
    set_backend(neurothek.open())


@pytest.fixture
def page() -> Iterator[Opener]:
    """Opens a page of the dashboard on a warehouse, as a browser would with an address and its parameters."""

    yield open_page
    # The page on SQL has one wait for the next question.
    processes.dismiss()
