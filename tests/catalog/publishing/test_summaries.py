"""Kept views: at every moment their rows are those that the views compute from the store."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.exchange.exports import export
from neurothek.catalog.exchange.imports import import_folder
from neurothek.catalog.exchange.merging import merge
from neurothek.catalog.publishing import summaries
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.changes import pin, remove, rename
from neurothek.catalog.upkeep.checks import check
from neurothek.queries.views import install
from tests.support import detectors, event_warehouse
from tests.support import publications as made
from tests.support import warehouse as hand_made
from tests.support.templates import copy_of

KEPT = sorted(name for name, view in install.all_views().items() if view.stored)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    copy_of("everything-and-another", _published, tmp_path / "w.duckdb")
    made_here = Warehouse(tmp_path / "w.duckdb", views=install)
    with made_here.lingering():
        yield made_here


def _published(path: Path) -> None:
    warehouse = Warehouse(path, views=install)
    made.publish_everything(warehouse)
    other = made.model("other", weights="w1")
    made.publish_job(warehouse, "activity", made.activity_frames(3), record=other, text=made.corpus())


Rows = dict[str, list[tuple[object, ...]]]
"""Rows of views, in order."""


def shown(warehouse: Warehouse, names: Iterable[str] = KEPT) -> Rows:
    """As people get them."""
    return _answers(warehouse, {name: f"from {name}" for name in names})


def computed(warehouse: Warehouse, names: Iterable[str] = KEPT) -> Rows:
    """By the views' own texts."""
    return _answers(warehouse, {name: install.view(name).text for name in names})


def _answers(warehouse: Warehouse, queries: Mapping[str, str]) -> Rows:
    with warehouse.reader() as connection:
        return {name: sorted(connection.execute(query).fetchall(), key=repr) for name, query in queries.items()}


def n_rows(warehouse: Warehouse, model: str) -> int:
    counts = " union all ".join(f"select model from {name}" for name in KEPT)
    with warehouse.reader() as connection:
        return len(connection.execute(f"select 1 from ({counts}) where model = ?", [model]).fetchall())


CHANGES: dict[str, Callable[[Warehouse], object]] = {
    "another corpus": lambda w: made.publish_job(
        w, "activity", made.activity_frames(5), text=made.corpus("short", sha256="c1", n_sequences=2)
    ),
    "the same job again": lambda w: made.publish_job(w, "activity", made.activity_frames(7), text=made.corpus()),
    "a new name": lambda w: rename(w, "tiny", "renamed"),
    "no n-grams": lambda w: remove(w, "tiny", job="ngrams"),
    "no model": lambda w: remove(w, "tiny"),
}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_rows_follow_every_change(warehouse: Warehouse, change: str) -> None:
    before = n_rows(warehouse, "tiny")
    assert before > 0
    assert n_rows(warehouse, "other") > 0
    CHANGES[change](warehouse)
    assert shown(warehouse) == computed(warehouse)
    assert [finding.name for finding in check(warehouse) if finding.name.startswith("kept ")] == []
    assert (n_rows(warehouse, "tiny") == 0) == (change in ("a new name", "no model"))
    assert (n_rows(warehouse, "renamed") == before) == (change == "a new name")


def test_a_pin_is_followed(warehouse: Warehouse) -> None:
    CHANGES["another corpus"](warehouse)
    for corpus in ("short", "text"):
        pin(warehouse, "tiny", corpus)
        found = shown(warehouse, ["layer_activity"])
        assert found == computed(warehouse, ["layer_activity"])
        assert {row[-1] for row in found["layer_activity"] if row[0] == "tiny"} == {corpus}


def test_an_import_and_a_merge_bring_what_they_bring(warehouse: Warehouse, tmp_path: Path) -> None:
    export(warehouse, tmp_path / "out")
    assert not list((tmp_path / "out" / "tables").glob("kept_*"))
    back, merged = (Warehouse(tmp_path / f"{name}.duckdb", views=install) for name in ("back", "merged"))
    import_folder(back, tmp_path / "out")
    merge(merged, warehouse.path)
    expected = computed(warehouse)
    for one in (back, merged):
        assert shown(one) == expected


@pytest.mark.long
def test_a_publish_without_views_leaves_them_to_the_next_who_brings_them(tmp_path: Path) -> None:
    bare = Warehouse(tmp_path / "w.duckdb")
    made.publish_everything(bare)
    with Warehouse(bare.path, views=install).current_reader() as connection:
        assert connection.execute("select count(*) from layer_activity").fetchall() == [(made.N_LAYERS,)]
    # Once there, they are followed by whoever publishes.
    remove(bare, "tiny", job="activity")
    with bare.reader() as connection:
        assert connection.execute("select count(*) from layer_activity").fetchall() == [(0,)]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Warehouses that have rows in every kept view between them."""
    folder = tmp_path_factory.mktemp("kept")
    hand_made.create(folder / "full.duckdb")
    detectors.publish(folder / "ngrams.duckdb")
    event_warehouse.create(folder / "events.duckdb")
    return sorted(folder.glob("*.duckdb"))


@pytest.mark.long
@pytest.mark.xdist_group("kept")
@pytest.mark.parametrize("name", KEPT)
def test_one_models_query_yields_its_rows_of_the_view(filled: list[Path], name: str) -> None:
    total = 0
    for path in filled:
        with Warehouse(path, views=install).current_reader() as connection:
            query = next(stale for view, stale in summaries.stale(connection) if view == name)
            assert connection.execute(query).fetchall() == []
            ((n,),) = connection.execute(f"select count(*) from store.{summaries.PREFIX}{name}").fetchall()
            total += n
    assert total > 0


def test_a_lost_row_and_a_moved_number_are_noticed(tmp_path: Path) -> None:
    hand_made.create(tmp_path / "w.duckdb")
    damages = {
        "delete from store.kept_detectors_by_layer": 0,
        "delete from store.kept_layer_activity where layer = 0 and model = 'tiny-1m'": 1,
        "update store.kept_layer_activity set n_neurons = n_neurons + 1 where layer = 0 and model = 'tiny-1m'": 1,
        "update store.kept_layer_activity set mean_frequency = mean_frequency + 1e-8 where layer = 0"
        " and model = 'tiny-1m'": 1,
        "update store.kept_layer_activity set mean_frequency = null where layer = 0 and model = 'tiny-1m'": 1,
        "insert into store.kept_layer_activity select * replace ('gone' as model) from store.kept_layer_activity"
        " where layer = 0 and model = 'tiny-1m'": 1,
    }
    with duckdb.connect(str(tmp_path / "w.duckdb")) as connection:
        for damage, expected in damages.items():
            connection.execute("begin")
            connection.execute(damage)
            found = [len(connection.execute(query).fetchall()) for _, query in summaries.stale(connection)]
            connection.execute("rollback")
            assert sum(found) == expected, damage
