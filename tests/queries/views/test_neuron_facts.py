"""What stands beside neurons that were found, against loops over scores and coefficients."""

from typing import Any

import duckdb
import pytest

from neurothek.queries.names.models import choose_models
from neurothek.queries.views.neuron_facts import with_neuron_facts
from tests.support.tiny import BOS, CORPORA, DEAD, MODELS, TEXTS, Neuron, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()
BACKWARDS = [neuron for model_id in range(len(MODELS)) for neuron in neurons_of(model_id)][::-1]


def row(neuron: Neuron, side: str = "promoted", **more: object) -> dict[str, Any]:
    model_id, layer, index = neuron
    return {"model_id": model_id, "layer": layer, "neuron": index, "side": side, **more}


def first_tokens(neuron: Neuron, side: str) -> list[str]:
    scores, texts = MADE.scores[neuron], TEXTS[MODELS[neuron[0]].tokenizer_id]
    sign = -1 if side == "promoted" else 1
    order = sorted(range(len(scores)), key=lambda token: (sign * scores[token], token))
    return [texts[token] for token in order[: min(10, len(texts) // 2)]]


@pytest.mark.parametrize("side", ["promoted", "suppressed"])
def test_every_neuron_is_told_of_in_the_order_in_which_it_was_found(full: duckdb.DuckDBPyConnection, side: str) -> None:
    rows = [row(neuron, side, place=place) for place, neuron in enumerate(BACKWARDS)]
    found = with_neuron_facts(full, rows, choose_models(full))
    assert [one["place"] for one in found] == list(range(len(BACKWARDS)))
    for neuron, one in zip(BACKWARDS, found, strict=True):
        plan, corpus_id = MODELS[neuron[0]], MADE.shown.get(neuron[0])
        assert one["address"] == address(neuron)
        assert one["depth"] == (neuron[1] + 0.5) / plan.n_layers
        assert one["first_tokens"] == first_tokens(neuron, side)
        assert one["corpus_id"] == corpus_id
        if corpus_id is None:
            measured = ("corpus", "frequency", "never_active", "n_tokens_seen")
            assert [one[name] for name in measured] == [None] * len(measured)
            continue
        first = 0 if BOS[plan.tokenizer_id] is None else 1
        values = [m for line in MADE.coefficients[corpus_id, neuron].values() for m in line[first:]]
        assert one["corpus"] == CORPORA[corpus_id][0]
        assert one["n_tokens_seen"] == len(values)
        assert one["frequency"] == pytest.approx(sum(m > 0 for m in values) / len(values), rel=1e-12)
        assert one["never_active"] == (not any(m > 0 for m in values))
        assert neuron not in DEAD or one["never_active"]


def test_both_sides_of_different_neurons_are_told_at_once(full: duckdb.DuckDBPyConnection) -> None:
    rows = [row((0, 0, 0), "suppressed"), row((1, 2, 3), "promoted"), row((3, 1, 1), "suppressed")]
    found = with_neuron_facts(full, rows, choose_models(full))
    assert [one["first_tokens"] for one in found] == [
        first_tokens((one["model_id"], one["layer"], one["neuron"]), one["side"]) for one in rows
    ]


def test_nothing_found_is_nothing_told_and_a_stranger_is_left_out(full: duckdb.DuckDBPyConnection) -> None:
    models = choose_models(full)
    assert with_neuron_facts(full, [], models) == []
    found = with_neuron_facts(full, [row((0, 0, 1)), row((0, 0, 99)), row((0, 1, 0))], models)
    assert [one["address"] for one in found] == ["tiny-1m/L0N1", "tiny-1m/L1N0"]


def test_without_facts_nothing_is_said(weights: duckdb.DuckDBPyConnection) -> None:
    assert with_neuron_facts(weights, [row((0, 0, 0))], choose_models(weights)) == []
