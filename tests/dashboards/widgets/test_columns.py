"""Columns of pages: each has a label, shares are in percent, and a name means one thing."""

import re

from neurothek.dashboards.widgets import columns as columns_module
from neurothek.dashboards.widgets.columns import columns, in_percent, shares
from neurothek.queries.views.install import all_views

PARTS = (
    "_of_models",
    "_of_neurons",
    "_of_layers",
    "_of_poles",
    "_of_clusters",
    "_of_events",
    "_of_exits",
    "_of_interventions",
    "_of_annotations",
    "_of_explanations",
)


def test_every_share_has_two_digits_in_every_row() -> None:
    known = columns()
    assert {"dead_share", "frequency", "saturated_share", "agreement", "exited_share"} <= shares()
    assert all(known[in_percent(name)]["type_config"]["format"] == "%.2f%%" for name in shares())
    # A share under its own name would be drawn as a hundredth of what its unit says.
    assert not shares() & set(known)
    assert not any(column["type_config"].get("format") == "percent" for column in known.values())


def test_a_column_is_described_once() -> None:
    """The later of two descriptions would win without a word."""
    names = [name for part in PARTS for name in getattr(columns_module, part)()]
    assert sorted(names) == sorted({*names})
    assert len(columns()) == len(names)


def test_every_column_has_a_label_and_its_kind_of_number() -> None:
    for name, column in columns().items():
        assert column["label"], name
        kind = column["type_config"]["type"]
        assert kind in ("number", "text", "link"), name
        assert (kind == "link") == (name == "address"), name
        if name.startswith("n_") or name in ("rank", "layer"):
            assert kind == "number", name
        if name.startswith("is_"):
            # Yes or no: a box would look as if it could be ticked.
            assert kind == "text", name


def test_labels_of_all_pages_have_one_vocabulary() -> None:
    labels = [column["label"] for column in columns().values()]
    assert not [label for label in labels if re.search("coefficient|writes", label)]
    # Of the scores of a token each says which one it is.
    assert not {"score", "mean score"} & set(labels)


def test_columns_are_of_the_type_that_views_give_them() -> None:
    known = {name for view in all_views().values() for name in view.columns}
    described = {name.removesuffix("_percent") for name in columns()}
    assert len(described & known) > 60
    assert {"model", "layer", "address", "frequency", "dead_share"} <= described & known


def test_what_stays_at_the_edge_is_what_names_a_row() -> None:
    assert {name for name, column in columns().items() if column.get("pinned")} == {"model", "address"}
