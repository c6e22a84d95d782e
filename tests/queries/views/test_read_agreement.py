"""How often neurons fire on the tokens that they read, against loops over their contexts, lists, and random keys."""

from collections import defaultdict
from typing import Any

import duckdb
import pytest

from tests.support import reads

pytestmark = pytest.mark.xdist_group("reads")

Place = tuple[int, int, int, str]
"""Model, layer, neuron, reader."""


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    dicts: list[dict[str, Any]] = connection.sql(query).pl().to_dicts()
    return dicts


def ends(row: dict[str, Any]) -> dict[int, set[int]]:
    """The tokens that a reader reads at positive and at negative activations, by sign."""
    highest = set(row["top_token_ids"])
    return {1: highest, -1: set(row["bottom_token_ids"]) if row["reader"] == "up" else highest}


def expected(connection: duckdb.DuckDBPyConnection) -> dict[Place, tuple[int, int, float, float, float]]:
    """The header of the view, place by place."""
    lists = {
        (row["set_id"], row["layer"], row["neuron"], row["reader"]): ends(row)
        for row in rows(connection, "select * replace (reader::varchar as reader) from store.key_projections")
    }
    drawn = defaultdict(list)
    for row in rows(connection, "select * replace (reader::varchar as reader) from store.key_controls"):
        drawn[row["model_id"], row["layer"], row["reader"]].append(ends(row))
    places = defaultdict(list)
    texts = {(row["corpus_id"], row["sequence_id"]): row["tokens"] for row in rows(connection, "from store.sequences")}
    for row in rows(connection, "from store.contexts"):
        token = texts[row["corpus_id"], row["sequence_id"]][row["position"]]
        places[row["set_id"], row["layer"], row["neuron"]].append((token, -1 if row["activation"] < 0 else 1))
    result = {}
    for place, own in lists.items():
        model_id, layer, neuron, reader = place
        contexts = places[model_id, layer, neuron]
        if not contexts:
            continue
        others = [lists[one] for one in lists if one[:2] == place[:2] and one[2] != neuron and one[3] == reader]

        def share(one: dict[int, set[int]], contexts: list[tuple[int, int]] = contexts) -> float:
            # Which of the ends of another's up is which is a convention.
            return sum(token in one[sign] for token, _ in contexts for sign in (1, -1)) / 2 / len(contexts)

        random = drawn[model_id, layer, reader]
        n_read = sum(token in own[sign] for token, sign in contexts)
        result[place] = (
            len(contexts),
            n_read,
            n_read / len(contexts),
            sum(map(share, random)) / len(random),
            sum(map(share, others)) / len(others),
        )
    return result


def test_a_row_counts_the_contexts_at_tokens_that_the_reader_likes(measured_reads: duckdb.DuckDBPyConnection) -> None:
    query = "select agreement.*, model_id from read_agreement as agreement join store.models on name = model"
    view = rows(measured_reads, query)
    measured = {
        (row["model_id"], row["layer"], row["neuron"], row["reader"]): tuple(
            row[name] for name in ("n_contexts", "n_read", "read_share", "random_share", "other_share")
        )
        for row in view
    }
    counted = expected(measured_reads)
    assert measured.keys() == counted.keys()
    assert {row["model"] for row in view} == set(reads.MODELS)
    for place, numbers in counted.items():
        assert measured[place] == pytest.approx(numbers), place
    # Both signs occur, so that a view that forgot the poles would be found.
    assert measured_reads.sql("select count(*) from store.contexts where activation < 0").fetchall()[0][0] > 0


def test_layers_are_means_over_their_neurons(measured_reads: duckdb.DuckDBPyConnection) -> None:
    of_neurons = defaultdict(list)
    for row in rows(measured_reads, "from read_agreement"):
        of_neurons[row["model"], row["layer"], row["reader"]].append(row)
    by_layer = {
        (row["model"], row["layer"], row["reader"]): row for row in rows(measured_reads, "from read_agreement_by_layer")
    }
    assert by_layer.keys() == of_neurons.keys()
    for place, neurons in of_neurons.items():
        row = by_layer[place]
        assert row["n_neurons"] == len(neurons)
        for name in ("read_share", "random_share", "other_share"):
            assert row[name] == pytest.approx(sum(one[name] for one in neurons) / len(neurons)), name
        mean, n = row["read_share"], len(neurons)
        error = (sum((one["read_share"] - mean) ** 2 for one in neurons) / (n - 1) / n) ** 0.5
        assert row["read_share_low"] == pytest.approx(mean - 1.959963984540054 * error)
        assert row["read_share_high"] == pytest.approx(mean + 1.959963984540054 * error)
        assert row["n_readers"] == sum(one["read_share"] >= 0.5 for one in neurons)
