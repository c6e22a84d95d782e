"""Neurons that stand out: the first of each kind, found by a loop over the neurons."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.parts.explore.striking import (
    FEWEST_BESIDE,
    MOST_BESIDE,
    NAMES,
    NEAREST_COUNTERPART,
    beside_each_other,
    distinction,
)
from neurothek.dashboards.widgets.figures import statement
from neurothek.queries.ask.one_query import run_query

Row = dict[str, Any]


def ways(row: Row) -> Row:
    """The number by which a neuron stands out in each way; None where it does not at all."""
    is_positional = row["position_kind"] not in (None, "not positional", "too few sequences")
    return {
        "dominant": row["times_dominant"] or None,
        "detector": row["least_recall"],
        "positional": row["mutual_information_corrected"] if is_positional else None,
        "effect": row["effect_on_loss"] if (row["effect_on_loss"] or 0) > 0 else None,
        "sharp": None if row["is_dead"] or row["is_negligible"] or not _peaks_where_listed(row) else row["kurtosis"],
        "rare": -row["n_active"] if row["n_active"] and row["is_dead"] is not None else None,
        "sparse": _sparseness(row),
        "domain": -row["domain_entropy"] if row["selective_domain"] and _is_general(row) else None,
        "entropy": row["null_share"]
        if row["is_entropy_neuron"] and not row["has_super_weight"] and not row["is_first_only"]
        else None,
        "counts": abs(row["count_correlation"]) if row["is_frequency_neuron"] else None,
        "massive": row["massive_ratio"] if row["has_super_weight"] else None,
        "reader": row["input_score"]
        if (row["input_score"] or 0) > (row["input_other_score"] or 0) and (row["n_strongest_contexts"] or 0) >= 5
        else None,
        "writer": row["output_score"] or None if (row["output_percentile"] or 0) >= 95 else None,
    }


def _is_idle(row: Row) -> bool:
    return bool(row["is_negligible"] if row["is_dead"] is None else row["is_dead"])


def _is_general(row: Row) -> bool:
    """Whether it acts, and elsewhere than at first tokens."""
    return not _is_idle(row) and not row["is_first_only"]


def _peaks_where_listed(row: Row) -> bool:
    """Whether the longer tail of its scores is that of the tokens it is listed with: at its pole, if it has one."""
    sign = -1 if row["pole"] == "negative" else 1
    return row["skewness"] is not None and sign * row["skewness"] > 0


def _sparseness(row: Row) -> float | None:
    """Of models without exact zeros, whose neurons are never dead: as far as they do not count as such."""
    if row["is_dead"] is not None or not _is_general(row) or row["effective_frequency"] is None:
        return None
    return -float(row["effective_frequency"])


@pytest.fixture(scope="module")
def with_traits(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with neurons of a domain, entropy neurons and frequency neurons."""
    path = tmp_path_factory.mktemp("traits") / "w.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "update store.neuron_facts set is_entropy_neuron = neuron % 2 = 0, null_share = (neuron % 3) / 4,"
            " is_frequency_neuron = neuron % 3 = 1, count_correlation = (neuron % 5 - 2) / 4,"
            " selective_domain = case when neuron % 2 = 1 then 'code' end, domain_entropy = (neuron % 4) / 8,"
            " massive_ratio = neuron * 100, has_super_weight = neuron % 2 = 1, input_score = (neuron % 4) / 8,"
            " input_other_score = (neuron % 3) / 8, output_score = (neuron % 7) / 16,"
            " output_percentile = 98 - neuron % 5, n_strongest_contexts = 4 + (neuron + 1) % 3,"
            " score_skewness = (neuron % 4 - 1.5) / 2"
        )
        connection.execute("update store.contexts set position = 0 where neuron % 5 in (0, 1, 2) or rank = 1")
    return path


@pytest.mark.parametrize("layer", [None, 0, 1])
@pytest.mark.parametrize("warehouse", ["full_path", "whole_path", "with_traits"])
def test_the_first_of_each_kind_is_that_of_a_loop(
    request: pytest.FixtureRequest, warehouse: str, layer: int | None
) -> None:
    path: Path = request.getfixturevalue(warehouse)
    with duckdb.connect(str(path), read_only=True) as connection:
        neurons = connection.sql("from neurons").pl().to_dicts()
        detected = connection.sql("from token_detectors").pl().to_dicts()
        places = connection.sql("select address, position from contexts_text").pl()
        elsewhere = set(places.filter(pl.col("position") > 0).get_column("address"))
        first_only = set(places.get_column("address")) - elsewhere
        if warehouse == "with_traits":
            assert first_only
            assert elsewhere
        least = {row["address"]: min(row["recall_lows"]) for row in detected}
        for row in neurons:
            row["least_recall"] = least.get(row["address"])
            row["is_first_only"] = row["address"] in first_only
            assert bool(row["is_token_detector"]) == (row["least_recall"] is not None)
        seen = set()
        for model in sorted({row["model"] for row in neurons}):
            found = run_query(connection, statement("striking_neurons"), {"model": model, "layer": layer, "n": 1})
            mine = [row for row in neurons if row["model"] == model and layer in (None, row["layer"])]
            for way in NAMES:
                known = [row for row in mine if ways(row).get(way) is not None]
                best = min(known, key=lambda row: (-ways(row)[way], row["layer"], row["neuron"]), default=None)
                rows = [row for row in found.to_dicts() if row["what"] == way]
                assert [row["address"] for row in rows] == ([] if best is None else [best["address"]])
                if best is not None:
                    assert abs(rows[0]["number"]) == pytest.approx(abs(ways(best)[way]))
                    seen.add(way)
    traits = {"domain", "entropy", "counts", "massive", "reader", "writer"}
    also = {"whole_path": {"dominant"}, "full_path": {"sharp"}, "with_traits": traits}
    assert {"rare", "positional", *also[warehouse]} <= seen


def test_each_is_told_with_its_number() -> None:
    row = {"n_tokens_seen": 5000, "position_kind": "oscillatory", "lacks_zeros": False}
    assert distinction({"what": "dominant", "number": 1200.0, **row}, 2000) == (
        "Among its layer's ten largest updates in 1,200 of 2,000 examples"
    )
    assert distinction({"what": "dominant", "number": 12.0, **row}, None).endswith("in 12 examples")
    assert distinction({"what": "detector", "number": 0.99, **row}, None).startswith("Fires at 99.0% or more of the")
    smooth = {**row, "lacks_zeros": True}
    assert distinction({"what": "detector", "number": 0.99, **smooth}, None).startswith(
        "Is strong at 99.0% or more of the"
    )
    assert (
        distinction({"what": "sparse", "number": 0.02, **smooth}, None) == "Effective frequency 2.00% on 5,000 tokens"
    )
    assert distinction({"what": "positional", "number": 0.5, **row}, None).endswith("(oscillatory)")
    assert distinction({"what": "rare", "number": 3.0, **row}, None) == "Fires at 3 of 5,000 tokens"
    assert "0.0123 nats" in distinction({"what": "effect", "number": 0.0123, **row}, None)
    of_domain = {"what": "domain", "number": 0.123, "selective_domain": "code", **row}
    assert distinction(of_domain, None).startswith("For code: entropy over domains 0.12")
    assert distinction({"what": "entropy", "number": 0.876, **row}, None).startswith("87.6% of its squared length")
    assert "correlation -0.46, " in distinction({"what": "counts", "number": -0.456, **row}, None)
    reader = {"what": "reader", "number": 0.5, "n_strongest_contexts": 8, "input_other_score": 0.0234, **row}
    assert distinction(reader, None) == (
        "50% of its 8 strongest contexts are at tokens that it promotes; "
        "2.3% are at those of another neuron of the layer"
    )
    writer = {"what": "writer", "number": 0.97, "output_percentile": 98.0, **row}
    assert distinction(writer, None).endswith("0.97, more than 98% of the layer's other lists")
    best = {**writer, "output_percentile": 100.0, "n_others": 50}
    assert distinction(best, None).endswith("0.97, more than all 50 other lists")
    assert "12.5" in distinction({"what": "sharp", "number": 12.5, **row}, None)
    massive = {"what": "massive", "number": 3000.0, **row}
    assert distinction({**massive, "is_at_first_tokens": True}, None) == (
        "Its largest activation is 3,000 times its layer's mean, at the first token, and one weight writes most of it"
    )
    assert "first token" not in distinction({**massive, "is_at_first_tokens": False}, None)


@pytest.mark.parametrize("layer", [0, 1])
def test_the_nearest_counterpart_is_that_of_a_loop(full_path: Path, layer: int) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        rows = connection.sql("from counterparts").pl().to_dicts()
        found = run_query(connection, NEAREST_COUNTERPART, {"model": "tiny-1m", "layer": layer})
    mine = [row for row in rows if row["model"] == "tiny-1m" and row["layer"] == layer]
    beyond = [row for row in mine if row["overlap"] > row["null_99"]]
    assert mine
    assert found["overlap"].to_list() == ([max(row["overlap"] for row in beyond)] if beyond else [])
    assert all(row["address"] in {one["address"] for one in beyond} for row in found.to_dicts())


def test_rows_of_cards_are_as_long_as_each_other() -> None:
    for n_cards in range(1, 25):
        n = beside_each_other(n_cards)
        assert FEWEST_BESIDE <= n <= MOST_BESIDE
        n_rows = -(-n_cards // n)
        assert n_rows == -(-n_cards // MOST_BESIDE)
        # No more free places than there are rows.
        assert n * n_rows - n_cards < max(n_rows, FEWEST_BESIDE)
