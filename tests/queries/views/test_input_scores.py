"""How often neurons are strongest at tokens that they promote, against loops over contexts and lists; planted ones."""

from collections import defaultdict
from functools import partial
from typing import Any

import duckdb
import pytest
import torch

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.models.tokenizer import load
from tests.support import ingests, reads
from tests.support.models import Kind, build, edit_tensors

Row = dict[str, Any]
PLANTED, OF_ANOTHER, WORD = 3, 4, " river"
MOST_TOKENS = 20

pytestmark = pytest.mark.xdist_group("input_scores")


def plant_(tensors: dict[str, torch.Tensor], token: int, unread: int) -> None:
    """One neuron of layer 0 reads and promotes a token; another reads it and promotes one that no text has."""
    table, gain = tensors[f"{reads.NAMES['opt'].embedding}.weight"], reads.gain(tensors, "opt", 0)
    key = 20 * table[token] if gain is None else 20 * table[token] / gain
    name = reads.weight_name("opt", 0, "key")
    for neuron, promoted in ((PLANTED, token), (OF_ANOTHER, unread)):
        tensors[name][neuron] = key
        tensors[name.replace("fc1", "fc2")][:, neuron] = table[promoted]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A gated model whose poles were measured, one whose were not, and one with planted neurons."""
    folder = tmp_path_factory.mktemp("input_scores")
    made = ingests.open_warehouse(folder / "w.duckdb")
    corpora = ingests.write_corpus(folder)
    jobs: tuple[str, ...] = ("projections", "activity", "contexts")
    jobs_of: dict[Kind, tuple[str, ...]] = {"llama": (*jobs, "poles"), "gpt2": jobs, "opt": jobs}
    for kind, asked in jobs_of.items():
        built = build(folder / kind, kind, d_ffn=16, seed=2)
        if kind == "opt":
            tokenizer = load(built)
            token = int(tokenizer.encode([WORD])[0][-1])
            unread = int(tokenizer.encode(["Z"])[0][-1])
            edit_tensors(built, partial(plant_, token=token, unread=unread))
        ingests.measure(made, built, ingests.request(corpora, jobs=asked, text={"tokens_per_domain": 300}))
    return made


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    dicts: list[Row] = connection.sql(query).pl().to_dicts()
    return dicts


def strongest_pole(row: Row) -> str:
    """The sign of the activation farthest from 0."""
    return "negative" if -row["activation_min"] > row["activation_max"] else "positive"


def expected(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, int, int, str], tuple[Any, ...]]:
    """The header of the view, place by place."""
    models = {row["model_id"]: row["name"] for row in rows(connection, "select model_id, name from store.models")}
    lists: dict[tuple[int, int, int], dict[str, set[int]]] = {
        (row["set_id"], row["layer"], row["neuron"]): {
            "positive": set(row["top_token_ids"][:MOST_TOKENS]),
            "negative": set(row["bottom_token_ids"][:MOST_TOKENS]),
        }
        for row in rows(connection, "from store.projections")
    }
    by_name = {name: model_id for model_id, name in models.items()}
    strongest = {
        (by_name[row["model"]], row["layer"], row["neuron"]): strongest_pole(row)
        for row in rows(connection, "select model, layer, neuron, activation_min, activation_max from neurons")
    }
    texts = {(row["corpus_id"], row["sequence_id"]): row["tokens"] for row in rows(connection, "from store.sequences")}
    peaks = defaultdict(list)
    of_poles = rows(connection, "select * replace (pole::varchar as pole) from store.pole_contexts")
    for row in (*of_poles, *rows(connection, "from store.contexts")):
        if "pole" not in row and models[row["set_id"]] == "llama":
            continue
        pole = row.get("pole", "negative" if row["activation"] < 0 else "positive")
        token = texts[row["corpus_id"], row["sequence_id"]][row["position"]]
        peaks[row["set_id"], row["layer"], row["neuron"], pole].append(token)
    result = {}
    for (model_id, layer, neuron, pole), tokens in peaks.items():
        others = [
            one[strongest[place]]
            for place, one in lists.items()
            if place[:2] == (model_id, layer) and place[2] != neuron
        ]
        own = lists[model_id, layer, neuron][pole]
        n_promoted = sum(token in own for token in tokens)
        by_others = [sum(token in one for token in tokens) / len(tokens) for one in others]
        shares = (n_promoted / len(tokens), sum(by_others) / len(by_others))
        is_strongest = pole == strongest[model_id, layer, neuron]
        result[models[model_id], layer, neuron, pole] = (len(tokens), n_promoted, *shares, is_strongest)
    return result


def test_a_row_counts_the_contexts_at_tokens_that_the_neuron_promotes(warehouse: Warehouse) -> None:
    with warehouse.reader() as connection:
        measured = {
            (row["model"], row["layer"], row["neuron"], row["pole"]): tuple(
                row[name] for name in ("n_contexts", "n_promoted", "input_score", "other_score", "is_strongest")
            )
            for row in rows(connection, "from input_scores")
        }
        counted = expected(connection)
    assert measured.keys() == counted.keys()
    assert {model for model, *_ in measured} == {"llama", "gpt2", "opt"}
    assert {(model, pole) for model, *_, pole in measured} >= {
        *(("llama", "negative"), ("llama", "positive"), ("gpt2", "negative"), ("opt", "positive"))
    }
    for place, numbers in counted.items():
        assert measured[place] == pytest.approx(numbers), place


def test_a_neuron_that_promotes_what_it_reads_is_found(warehouse: Warehouse) -> None:
    with warehouse.reader() as connection:
        query = f"from input_scores where model = 'opt' and layer = 0 and neuron in ({PLANTED}, {OF_ANOTHER})"
        planted, of_another = rows(connection, f"{query} order by neuron")
    # Some sequences are without the word.
    assert planted["input_score"] >= 0.5
    assert planted["input_score"] > 2 * planted["other_score"]
    # It fires on the same, and promotes something else.
    assert (of_another["input_score"], of_another["n_contexts"]) == (0, planted["n_contexts"])
    assert of_another["other_score"] * 15 >= planted["input_score"]


def test_layers_are_means_over_their_neurons(warehouse: Warehouse) -> None:
    of_neurons = defaultdict(list)
    with warehouse.reader() as connection:
        for row in rows(connection, "from input_scores"):
            of_neurons[row["model"], row["layer"], row["is_strongest"]].append(row)
        by_layer = {
            (row["model"], row["layer"], row["is_strongest"]): row
            for row in rows(connection, "from input_scores_by_layer")
        }
    assert by_layer.keys() == of_neurons.keys()
    for place, neurons in of_neurons.items():
        row, n = by_layer[place], len(neurons)
        assert row["n_neurons"] == n
        for name in ("input_score", "other_score"):
            assert row[name] == pytest.approx(sum(one[name] for one in neurons) / n), name
        assert row["n_readers"] == sum(one["input_score"] >= 0.5 for one in neurons)
        if n == 1:
            assert row["input_score_low"] is None
            continue
        error = (sum((one["input_score"] - row["input_score"]) ** 2 for one in neurons) / (n - 1) / n) ** 0.5
        assert row["input_score_low"] == pytest.approx(row["input_score"] - 1.959963984540054 * error)
        assert row["input_score_high"] == pytest.approx(row["input_score"] + 1.959963984540054 * error)
