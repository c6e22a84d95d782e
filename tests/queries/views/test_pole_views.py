"""Views of the two signs of a coefficient against loops over the stored rows."""

from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from neurothek.catalog.store.warehouse import Warehouse
from tests.support import ingests
from tests.support.models import Kind, build

Row = dict[str, Any]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A gated model, and one without negative coefficients beside it."""
    folder = tmp_path_factory.mktemp("poles")
    made = ingests.open_warehouse(folder / "w.duckdb")
    corpora = ingests.write_corpus(folder)
    jobs_of: dict[Kind, tuple[str, ...]] = {"llama": ("projections", "activity", "poles")}
    jobs_of["opt"] = ("projections", "activity")
    for kind, jobs in jobs_of.items():
        build(folder / kind, kind, d_ffn=16)
        ingests.measure(made, folder / kind, ingests.request(corpora, jobs=jobs, text={"tokens_per_domain": 300}))
    return made


def rows(warehouse: Warehouse, query: str) -> list[Row]:
    with warehouse.reader() as connection:
        found: list[Row] = connection.sql(query).pl().to_dicts()
    return found


def stored(warehouse: Warehouse, table: str, model: str = "llama") -> dict[tuple[int, int], list[Row]]:
    """(layer, neuron) -> rows of a table."""
    by_neuron: dict[tuple[int, int], list[Row]] = {}
    query = f"select t.* from store.{table} as t inner join store.models as m on m.model_id = t.set_id"
    for row in rows(warehouse, f"{query} where m.name = '{model}'"):
        by_neuron.setdefault((row["layer"], row["neuron"]), []).append(row)
    return by_neuron


def test_a_row_a_pole(warehouse: Warehouse) -> None:
    by_neuron, facts = stored(warehouse, "pole_activity"), stored(warehouse, "neuron_facts")
    found = rows(warehouse, "select * from neuron_poles")
    assert {row["model"] for row in found} == {"llama"}
    assert len(found) == 2 * 2 * 16
    for row in found:
        mine = by_neuron[row["layer"], row["neuron"]]
        pole = [one for one in mine if one["pole"] == row["pole"]]
        n_seen = facts[row["layer"], row["neuron"]][0]["n_positions"]
        abs_sum = sum(one["abs_sum"] for one in pole)
        lists = facts[row["layer"], row["neuron"]][0]
        assert row["promotes"] == lists["bottom_tokens" if row["pole"] == "negative" else "top_tokens"]
        assert row["n_active"] == sum(one["n_active"] for one in pole)
        assert row["frequency"] == pytest.approx(row["n_active"] / n_seen)
        assert row["strong_frequency"] == pytest.approx(sum(one["n_strong"] for one in pole) / n_seen)
        assert row["abs_share"] == pytest.approx(abs_sum / sum(one["abs_sum"] for one in mine))
        assert row["mean_magnitude"] == pytest.approx(abs_sum / row["n_active"])
        assert row["largest"] == pytest.approx(max(one["largest"] for one in pole))


@pytest.mark.parametrize("model", ["llama", "opt"])
def test_numbers_without_a_threshold(warehouse: Warehouse, model: str) -> None:
    activity, poles = stored(warehouse, "activity", model), stored(warehouse, "pole_activity", model)
    shares = stored(warehouse, "contributions", model)
    found = rows(warehouse, f"select * from neuron_activity where model = '{model}'")
    assert len(found) == 2 * 16
    for row in found:
        mine = activity[row["layer"], row["neuron"]]
        total, squares = (sum(one[name] for one in mine) for name in ("activation_abs_sum", "activation_square_sum"))
        n_seen = sum(one["n_positions"] for one in mine)
        expected = total**2 / (n_seen * squares) if squares else None
        assert row["effective_frequency"] == (None if expected is None else pytest.approx(expected))
        if model == "opt":
            names = ("gate_open", "negative_share", "strong_frequency", "contribution_max", "is_negligible")
            assert {row[name] for name in names} == {None}
            continue
        both = poles[row["layer"], row["neuron"]]
        negative = sum(one["abs_sum"] for one in both if one["pole"] == "negative")
        (share,) = shares[row["layer"], row["neuron"]]
        assert row["negative_share"] == pytest.approx(negative / sum(one["abs_sum"] for one in both))
        assert row["minor_share"] == pytest.approx(min(row["negative_share"], 1 - row["negative_share"]))
        assert row["strong_frequency"] == pytest.approx(sum(one["n_strong"] for one in both) / n_seen)
        assert row["gate_open"] == pytest.approx(sum(one["n_active"] for one in mine) / n_seen)
        assert row["contribution_max_later"] == pytest.approx(share["contribution_max_later"])
        assert row["is_negligible"] == (share["contribution_max"] < 0.01)


def test_cases_make_up_a_neuron(warehouse: Warehouse) -> None:
    by_neuron = stored(warehouse, "gate_cases")
    found = rows(warehouse, "select * from gate_cases")
    assert len(found) == 4 * 2 * 16
    for row in found:
        mine = by_neuron[row["layer"], row["neuron"]]
        (case,) = [one for one in mine if one["gate_case"] == row["gate_case"]]
        assert row["n_positions"] == case["n_positions"]
        assert row["abs_share"] == pytest.approx(case["abs_sum"] / sum(one["abs_sum"] for one in mine))


def test_places_say_their_token(warehouse: Warehouse) -> None:
    found = rows(warehouse, "select * from pole_contexts")
    assert {row["pole"] for row in found} == {"positive", "negative"}
    texts = {
        row["token_id"]: row["text"] for row in rows(warehouse, "select * from store.tokens where tokenizer_id = 0")
    }
    sequences = {
        row["sequence_id"]: row for row in rows(warehouse, "select * from store.sequences where corpus_id = 0")
    }
    for row in found:
        sequence = sequences[row["sequence_id"]]
        assert row["token"] == texts[sequence["tokens"][row["position"]]]
        assert row["domain"] == sequence["domain"]
        assert (row["activation"] > 0) == (row["pole"] == "positive")


def test_layers_sum_up_their_neurons(warehouse: Warehouse) -> None:
    by_layer: dict[tuple[str, int], list[Row]] = {}
    for row in rows(warehouse, "select * from neuron_activity"):
        by_layer.setdefault((row["model"], row["layer"]), []).append(row)
    found = rows(warehouse, "select * from poles_by_layer")
    assert {(row["model"], row["layer"]) for row in found} == set(by_layer)
    for row in found:
        mine = by_layer[row["model"], row["layer"]]
        assert row["n_neurons"] == len(mine)
        if row["model"] == "opt":
            assert row["n_negligible"] is None
            assert row["two_sided_share"] is None
            continue
        two_sided = [one["minor_share"] >= 0.25 for one in mine]
        assert row["two_sided_share"] == pytest.approx(sum(two_sided) / len(mine))
        assert row["n_negligible"] == sum(one["is_negligible"] for one in mine)
        values = sorted(one["effective_frequency"] for one in mine)
        assert row["median_effective_frequency"] == pytest.approx((values[7] + values[8]) / 2)


def test_a_tiny_neuron_is_negligible_and_the_others_are_not(tmp_path: Path) -> None:
    build(tmp_path / "llama", "llama", d_ffn=16)
    path = tmp_path / "llama" / "model.safetensors"
    weights = load_file(path)
    weights["model.layers.1.mlp.down_proj.weight"][:, 5] *= 1e-6
    save_file(weights, path, metadata={"format": "pt"})
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=("projections", "activity", "poles"))
    ingests.measure(warehouse, tmp_path / "llama", asked)
    query = "select layer, neuron from neuron_activity where is_negligible"
    assert rows(warehouse, query) == [{"layer": 1, "neuron": 5}]


def test_the_gate_is_not_open_where_coefficients_were_counted(tmp_path: Path) -> None:
    build(tmp_path / "llama", "llama", d_ffn=16)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    asked = ingests.request(ingests.write_corpus(tmp_path), jobs=("projections", "activity"), active_above=0.1)
    ingests.measure(warehouse, tmp_path / "llama", asked)
    found = rows(warehouse, "select gate_open, effective_frequency from neuron_activity")
    assert {row["gate_open"] for row in found} == {None}
    assert None not in {row["effective_frequency"] for row in found}
