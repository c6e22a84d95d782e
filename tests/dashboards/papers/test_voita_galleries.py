"""Detectors in words, kinds of positions by example: which neurons are shown, and what is said where there are none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.charts.models import Look
from neurothek.dashboards.charts.positions import KIND_COLOURS
from neurothek.dashboards.papers.figure import Figure, Setting, draw_all
from neurothek.dashboards.papers.voita_galleries import DRAWINGS, MOST_DETECTORS, STRENGTHS, GalleryRows
from tests.support import detectors
from tests.support import ngrams as oracle
from tests.support.profiles import labels
from tests.support.tiny import MODELS, address
from tests.support.warehouse import hand_made

NAMES = [model.name for model in MODELS]
SETTING = Setting(Look({}, {}))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> GalleryRows:
    """Of a model with planted detectors, and of one that has none."""
    path = tmp_path_factory.mktemp("detectors") / "detectors.duckdb"
    detectors.publish(path)
    with Warehouse(path).reader() as connection:
        return GalleryRows.of(connection, ["shuffled", "planted"], SETTING)


@pytest.fixture(scope="module")
def profiles(full_path: Path) -> GalleryRows:
    with Warehouse(full_path).reader() as connection:
        return GalleryRows.of(connection, NAMES, SETTING)


def drawing(figure: Figure) -> dict[str, Any]:
    assert figure.chart is not None
    return dict(figure.chart.to_dict())


def caption(figure: Figure) -> str:
    return " ".join(drawing(figure)["title"]["subtitle"])


def test_the_strongest_detectors_of_each_model_are_shown(planted: GalleryRows) -> None:
    found = detectors.detectors("planted", 1)

    def strength(key: tuple[int, int]) -> tuple[float, int]:
        total = sum(oracle.activations(detectors.lines("planted", *key), 1).values())
        return sum(count for count, _ in found[key].detected.values()) / total, total

    expected = sorted(found, key=lambda key: (*(-number for number in strength(key)), *key))[:MOST_DETECTORS]
    assert len(found) > MOST_DETECTORS
    addresses = [f"planted/L{layer}N{neuron}" for layer, neuron in expected]
    assert planted.detectors["address"].to_list() == addresses
    figure, _ = draw_all(DRAWINGS, planted)
    texts = [row["text"] for data in drawing(figure)["datasets"].values() for row in data if "text" in row]
    assert [text for text in texts if text in addresses] == addresses
    assert f"{len(found)} in planted" in caption(figure)
    assert "There are none in shuffled." in caption(figure)


def test_without_detectors_it_says_which_of_the_two_is_missing(planted: GalleryRows, profiles: GalleryRows) -> None:
    setting = Setting(SETTING.look, "tale", ("--corpus", "tale"))
    none = replace(planted, detectors=planted.detectors[:0], setting=setting)
    assert draw_all(DRAWINGS, none)[0].why_not.startswith("no model has a token detector on ")
    not_counted = replace(none, counted=none.counted[:0])
    assert draw_all(DRAWINGS, not_counted)[0].why_not == (
        "n-grams were not counted on tale; measure them with `neurothek ingest MODEL --corpus tale --job ngrams`"
    )
    assert draw_all(DRAWINGS, profiles)[0].chart is None


def test_of_each_kind_the_most_informative_neuron_is_shown(profiles: GalleryRows) -> None:
    made = hand_made()
    alike: dict[tuple[str, str], list[tuple[float, int, int, int]]] = {}
    counts = {}
    for row in made.rows["positions"]:
        if row["corpus_id"] != made.shown[row["model_id"]] or row["domain"] != "all":
            continue
        place = (row["model_id"], row["layer"], row["neuron"])
        counts[address(place)] = row["counts"]
        kind = labels(row, row["n_sequences"])
        if kind[0] in KIND_COLOURS:
            alike.setdefault(kind, []).append((-row["mutual_information_corrected"], *place))
    found = {(row["position_kind"], row["position_strength"]): row for row in profiles.profiles.to_dicts()}
    assert set(found) == set(alike)
    for kind, row in found.items():
        _, *best = min(alike[kind])
        assert row["address"] == address((best[0], best[1], best[2]))
        assert row["n_alike"] == len(alike[kind])
        assert row["counts"] == counts[row["address"]]


def test_there_is_a_panel_for_every_kind_and_strength(profiles: GalleryRows) -> None:
    kind = "oscillatory"
    without = replace(profiles, profiles=profiles.profiles.filter(position_kind="other", position_strength="strong"))
    for rows, n_empty in ((profiles, 0), (without, 7)):
        figure = draw_all(DRAWINGS, rows)[1]
        whole = drawing(figure)
        assert whole["columns"] == len(KIND_COLOURS)
        assert len(whole["concat"]) == len(KIND_COLOURS) * len(STRENGTHS)
        titles = [panel["title"]["text"] for panel in whole["concat"]]
        assert [title.split(" (")[0] for title in titles] == [f"{a}, {b}" for a in STRENGTHS for b in KIND_COLOURS]
        assert sum(title.endswith("(0)") for title in titles) == n_empty
        assert (f"strong {kind}" in caption(figure)) == (n_empty > 0)
        # Each keeps the colour of its kind.
        assert whole["resolve"]["scale"]["color"] == "independent"


def test_without_positional_neurons_it_says_why(profiles: GalleryRows) -> None:
    none = replace(profiles, profiles=profiles.profiles[:0])
    assert draw_all(DRAWINGS, none)[1].why_not.startswith("no neuron of these models is positional on ")
    undecided = replace(none, positions=none.positions.filter(model="gelu-1m"))
    assert "too few sequences of full length" in draw_all(DRAWINGS, undecided)[1].why_not
    not_measured = replace(none, positions=none.positions[:0])
    assert "`neurothek ingest MODEL --job positions`" in draw_all(DRAWINGS, not_measured)[1].why_not
