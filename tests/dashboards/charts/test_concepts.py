"""Charts of what people name: every kind of vector and every class has its word, its place and its colour."""

from typing import Any, get_args

import polars as pl
import pytest

from neurothek.catalog.tables.annotations import CONCEPT_CLASSES, Condition
from neurothek.dashboards.charts.concepts import CLASS_COLOURS, CONDITION_NAMES, concept_shares, concepts_by_layer
from neurothek.dashboards.charts.models import Look
from tests.support.colours import contrast

LOOK = Look({"small": "#44bf70", "large": "#440154"}, {})


def shares(*conditions: str) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"model": model, "condition": condition, "annotator": "all", "token_share": 0.5}
        | {"token_share_low": 0.4, "token_share_high": 0.6}
        | {"n_vectors": 10, "n_judgements": 20, "n_annotators": 2}
        for condition in conditions
        for model in ("large", "small")
    ]
    return pl.DataFrame(rows)


def test_every_class_has_a_colour_that_is_seen_on_white_and_on_black() -> None:
    assert list(CLASS_COLOURS) == list(CONCEPT_CLASSES)
    for colour in CLASS_COLOURS.values():
        assert min(contrast(colour, "#ffffff"), contrast(colour, "#171714")) > 2


def test_every_kind_of_vector_has_a_name() -> None:
    assert {*CONDITION_NAMES} == {*get_args(Condition)}
    drawn = concept_shares(shares(*CONDITION_NAMES), "token_share", LOOK).to_dict()
    (rows,) = drawn["datasets"].values()
    assert {row["vectors"] for row in rows} == {*CONDITION_NAMES.values()}
    bars, intervals = drawn["layer"]
    for layer in (bars, intervals):
        assert layer["encoding"]["x"]["sort"] == list(CONDITION_NAMES.values())
        assert layer["encoding"]["xOffset"]["sort"] == ["small", "large"]
    assert [intervals["encoding"][end]["field"] for end in ("y", "y2")] == ["token_share_low", "token_share_high"]
    assert "annotator" in {shown["field"] for shown in bars["encoding"]["tooltip"]}
    with pytest.raises(pl.exceptions.InvalidOperationError):
        concept_shares(shares("noise"), "token_share", LOOK)


def test_classes_are_stacked_in_their_order() -> None:
    rows: list[dict[str, Any]] = [
        {"layer": 0, "class": name, "token_share": 0.1, "concepts_per_vector": 0.2}
        | {"n_concepts": 3, "n_judgements": 9}
        for name in reversed(CONCEPT_CLASSES)
    ]
    drawn = concepts_by_layer(pl.DataFrame(rows)).to_dict()
    (drawn_rows,) = drawn["datasets"].values()
    assert [row["class"] for row in sorted(drawn_rows, key=lambda row: row["place"])] == list(CONCEPT_CLASSES)
    scale = drawn["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == CLASS_COLOURS
