"""Labels of one neuron made beside the view `neurons`: the view is the oracle, at every threshold and around it."""

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.catalog.spelling import marked_label
from neurothek.queries.names.models import choose_model, find_neuron
from neurothek.queries.neuron.page import neuron_page
from neurothek.queries.views.contents import thresholds
from neurothek.queries.views.labels import labelled
from tests.support.tiny import address, neurons_of
from tests.support.warehouse import hand_made

OF = thresholds("neurons")
N_NEURONS = 3_000


def around(bound: float, step: float = 1.0) -> list[float]:
    return [bound - step, bound, bound + step]


ALONE: Mapping[str, Sequence[float | None]] = {
    "preactivation_bound": [None, *around(OF["dead_bound"], 1e-9)],
    "value_norm": [None, 0.5],
    "coherence": [None, 0.25],
    "score_skewness": [None, -0.5, 0.0, 0.5],
    "clustering_id": [None, 0],
    "times_dominant": [None, 0, 3],
    "trigger_share": [None, 0.5],
}
"""Values of columns that are null or not by themselves."""

TOGETHER: Sequence[Mapping[str, Sequence[float | None]]] = [
    {
        "n_active": around(OF["dead_active_positions"] + 1),
        "n_active_bos": [0, 0, 3],
        "n_positions": [0, 7, 1_000_003],
        "activation_sum": [-1.0, 0.0, 2.5],
        "activation_min": [-2.0, -1.0, 0.0],
        "activation_max": [0.0, 1.0, 2.0],
    },
    {
        "n_position_sequences": around(OF["least_sequences"]),
        "mutual_information_corrected": [None, *around(OF["positional_information"], 1e-9), 0.5, 0.5, 0.5],
        "n_switches": [0, 0, 0, 1, *around(OF["oscillating_switches"])],
        "n_on_runs": [0, 1],
        "n_off_runs": [0, 1],
        "weakest_on": [None, *around(OF["strong_on"], 1e-9)],
        "weakest_off": [None, *around(OF["strong_off"], 1e-9)],
        "roughness": [None, *around(OF["strong_roughness"], 1e-9)],
    },
    {
        "unigram_active": [0, *around(OF["min_activations"]), 200, 200],
        "unigrams_95": [None, *around(OF["most_tokens"])],
        "detected_active": [None, 94, 95, 96, 189, 190, 191],
        "detected_score": [None, *around(OF["suppression_bound"], 1e-9)],
    },
]
"""Values of columns that one job writes: a neuron has all of them or none."""


def drawn(draw: random.Random) -> dict[str, float | None]:
    values = {name: draw.choice(choices) for name, choices in ALONE.items()}
    for columns in TOGETHER:
        is_measured = draw.random() < 0.9
        values |= {name: draw.choice(choices) if is_measured else None for name, choices in columns.items()}
    return values


@pytest.fixture(scope="module")
def drawn_facts(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse whose neurons have drawn measurements; one model of two has exact zeros, the other is gated."""
    path = tmp_path_factory.mktemp("drawn") / "w.duckdb"
    shutil.copy(full_path, path)
    draw = random.Random(0)
    rows = [
        {"set_id": n % 2, "layer": 0, "neuron": n, "corpus_id": draw.choice([None, 0]), **drawn(draw)}
        for n in range(N_NEURONS)
    ]
    with duckdb.connect(str(path)) as connection:
        connection.execute("delete from store.neuron_facts")
        connection.execute("update store.models set d_ffn = ?, has_exact_zeros = (model_id = 0)", [N_NEURONS])
        connection.execute("update store.models set activation_rule = 'gate > 0' where model_id = 1")
        drawn_rows = pl.DataFrame(rows, infer_schema_length=None)
        connection.register("drawn_rows", drawn_rows)
        connection.execute("""
            insert into store.neuron_facts by name
            select *, 'n' || neuron as address, 0.5 as depth,
                ['a'] as top_tokens, ['b'] as bottom_tokens, [' c'] as detected_tokens
            from drawn_rows
        """)
        connection.unregister("drawn_rows")
        yield connection


def of_view(connection: duckdb.DuckDBPyConnection, condition: str) -> dict[str, dict[str, Any]]:
    asked = connection.execute(f"select * from neurons where {condition}")
    columns = [one[0] for one in asked.description]
    rows = (dict(zip(columns, row, strict=True)) for row in asked.fetchall())
    return {row["address"]: row for row in rows}


@pytest.mark.parametrize("model_id", [0, 1])
def test_labels_are_those_of_the_view(drawn_facts: duckdb.DuckDBPyConnection, model_id: int) -> None:
    connection = drawn_facts
    (name,) = connection.execute("select name from store.models where model_id = ?", [model_id]).fetchone() or ("",)
    model = choose_model(connection, name)
    corpora = dict(connection.execute("select corpus_id, name from store.corpora").fetchall())
    asked = connection.execute("select * from store.neuron_facts where set_id = ?", [model_id])
    columns = [one[0] for one in asked.description]
    flat = [dict(zip(columns, row, strict=True)) for row in asked.fetchall()]
    expected = of_view(connection, f"model = '{name}'")
    assert len(flat) == len(expected) == N_NEURONS // 2
    for row in flat:
        found = labelled(row, model, corpora.get(row["corpus_id"]))
        assert list(found) == list(expected[row["address"]])
        assert found == expected[row["address"]]


def test_the_drawn_neurons_have_every_label(drawn_facts: duckdb.DuckDBPyConnection) -> None:
    labels = {
        "position_kind": "oscillatory, both extremes, one extreme, other, not positional, too few sequences",
        "position_strength": "strong, weak, not positional, too few sequences",
        "token_status": "detector, not, too few activations",
        "suppresses_triggers": "true, false",
        "is_dead": "true, false",
        "is_provably_dead": "true, false",
        "never_active": "true, false",
        "fires_only_at_bos": "true, false",
    }
    for column, values in labels.items():
        found = drawn_facts.execute(f"select {column}::varchar, count(*) from neurons group by all").fetchall()
        assert {value for value, _ in found} == {None, *values.split(", ")}
        assert min(n for _, n in found) >= 10
    both = "position_kind = 'other' and position_strength = 'strong'"
    assert drawn_facts.execute(f"select 1 from neurons where {both}").fetchall()


def test_facts_of_a_page_are_its_row_of_the_view(full: duckdb.DuckDBPyConnection) -> None:
    rows = of_view(full, "true")
    neurons = [neuron for model_id in range(len(hand_made().rows["models"])) for neuron in neurons_of(model_id)]
    assert len(neurons) == len(rows)
    for neuron in neurons:
        assert dict(neuron_page(full, address(neuron)).facts) == rows[address(neuron)]
    assert find_neuron(full, "tiny-1m/L0N0").of.has_exact_zeros


@pytest.mark.parametrize(
    ("label", "seen"),
    [
        ("promotes “French” “ French” (z 10.1)", "promotes “French” “·French” (z 10.1)"),
        ("detects “ a” “\n” and suppresses them", "detects “·a” “↵” and suppresses them"),
        ("reads “””; promotes “ b”", "reads “””; promotes “·b”"),
        ("for prose (entropy over domains 0.33)", "for prose (entropy over domains 0.33)"),
    ],
)
def test_tokens_are_marked_and_the_rest_stays(label: str, seen: str) -> None:
    assert marked_label(label) == seen
