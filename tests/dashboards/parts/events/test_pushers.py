"""Who pushes a word to the top: counted over the examples by loops, in a sentence and as rows that lead on."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import duckdb
import polars as pl
import pytest

import neurothek
from neurothek.catalog.publishing.summaries import rebuild_facts
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.dashboards.parts.events import MOST_ROWS, pushers_html, pushers_sentence, saturations, shown_pushers
from neurothek.dashboards.session import set_backend
from neurothek.dashboards.widgets.figures import data_of
from neurothek.queries.names.models import choose_models
from tests.support import event_warehouse, tiny
from tests.support import warehouse as made

MODELS = [tiny.MODELS[model_id].name for model_id, _ in event_warehouse.MEASURED]
LEAST = 10
"""Examples of a token from which on its neurons are ranked first."""

COLOURS = dict.fromkeys(MODELS, "#123456")


def rows_of(path: Path, word: str) -> pl.DataFrame:
    with Warehouse(path).reader() as connection:
        return data_of(connection, "pushers", {"models": MODELS, "word": word}).frame


def texts_of(model_id: int) -> tuple[str, ...]:
    return tiny.TEXTS[tiny.MODELS[model_id].tokenizer_id]


@cache
def mean_scores() -> dict[tuple[int, int, int], float]:
    return {key_of(row): row["score_mean"] for row in made.hand_made().rows["projections"]}


def key_of(row: tiny.Row) -> tuple[int, int, int]:
    return row["model_id"], row["layer"], row["neuron"]


def pushes(word: str) -> tuple[dict[str, int], dict[str, int]]:
    """Examples of each model in which an FFN brought the word to the top, and how often each neuron pushed it there."""
    rows = event_warehouse.rows()
    examples: dict[str, int] = defaultdict(int)
    neurons: dict[str, int] = defaultdict(int)
    for model_id, corpus_id in event_warehouse.MEASURED:
        here = {"model_id": model_id, "corpus_id": corpus_id}
        for example in rows["examples"]:
            settled = here.items() <= example.items() and example["saturation_by_ffn"]
            if not settled or texts_of(model_id)[example["final_token"]].strip().casefold() != word:
                continue
            examples[tiny.MODELS[model_id].name] += 1
            place = here | {"example_id": example["example_id"], "layer": example["saturation_layer"]}
            for update in rows["sub_updates"]:
                if not (place.items() <= update.items() and update["kind"] == "dominant"):
                    continue
                # What a neuron adds to every token alike pushes none.
                if update["score_final"] > update["coefficient"] * mean_scores()[key_of(update)]:
                    neurons[tiny.address((model_id, update["layer"], update["neuron"]))] += 1
    return dict(examples), dict(neurons)


@pytest.mark.parametrize("word", ["school", "coffee", "dog"])
def test_counts_are_those_of_the_examples(whole_path: Path, word: str) -> None:
    rows = rows_of(whole_path, word)
    examples, neurons = pushes(word)
    found = dict(rows.group_by("address").agg(pl.col("n_pushes").sum()).iter_rows())
    assert found == neurons
    known = saturations(rows)
    # Examples of a token that no neuron pushed are in no row.
    assert all(known[model] <= examples[model] for model in known)
    assert rows.filter(pl.col("n_pushes") > pl.col("n_saturations")).is_empty()


ROWS = pl.DataFrame(
    {
        "model": ["a", "b", "b", "b"],
        "address": ["a/L0N1", "b/L1N2", "b/L1N3", "b/L2N0"],
        "token": [" <b>", " <b>", "<b>", " <b>"],
        "n_pushes": [3, 9, 1, 9],
        "n_saturations": [4, 20, 1, 20],
        "push_share": [0.75, 0.45, 1.0, 0.45],
        "times_dominant": [10, 24, 300, 178],
        "n_examples": [40, 200, 200, 200],
        "base_share": [0.25, 0.12, 1.5, 0.89],
        "push_gain": [0.5, 0.33, -0.5, -0.44],
        "mean_score": [0.5] * 4,
        "mean_centred": [0.25, None, 0.25, 0.25],
        "mean_coefficient": [1.5, 1.5, 1.5, -1.5],
        "top_tokens": [[" <b>", "x"]] * 4,
        "bottom_tokens": [[" <i>", "y"]] * 4,
    }
)


def test_rows_are_ordered_by_what_a_neuron_pushes_beyond_its_base_rate(whole_path: Path) -> None:
    """Oracle: base rates counted over all examples by loops."""
    facts = event_warehouse.rows()
    names = {name: key for key in event_warehouse.MEASURED for name in [tiny.MODELS[key[0]].name]}
    set_backend(neurothek.open(whole_path))
    n_rows = 0
    for word in ("school", "coffee", "dog"):
        rows = rows_of(whole_path, word)
        for row in rows.to_dicts():
            model_id, corpus_id = names[row["model"]]
            place = {"model_id": model_id, "corpus_id": corpus_id, "layer": row["layer"], "neuron": row["neuron"]}
            dominated = {
                update["example_id"]
                for update in facts["sub_updates"]
                if place.items() <= update.items() and update["kind"] == "dominant" and update["coefficient"] != 0
            }
            base = len(dominated) / event_warehouse.N_EXAMPLES
            assert row["base_share"] == pytest.approx(base)
            assert row["push_gain"] == pytest.approx(row["n_pushes"] / row["n_saturations"] - base)
            n_rows += 1
        order = [(row["n_saturations"] < LEAST, -row["push_gain"]) for row in rows.to_dicts()]
        assert order == sorted(order)
    assert n_rows > 5


def test_who_is_dominant_anyway_does_not_lead(tmp_path: Path) -> None:
    """A neuron dominant in every example pushes the word most often, and says nothing about it."""
    path = tmp_path / "planted.duckdb"
    event_warehouse.create(path)
    model_id, corpus_id = event_warehouse.MEASURED[0]
    model, texts = tiny.MODELS[model_id].name, texts_of(model_id)
    word, another = texts.index(" school"), texts.index(" coffee")
    ids = f"model_id = {model_id} and corpus_id = {corpus_id}"
    with duckdb.connect(str(path)) as connection:
        # In 12 of the 40 examples an FFN of layer 0 settles the word.
        connection.execute(
            f"update store.examples set final_token = {word}, saturation_layer = 0, saturation_by_ffn = true"
            f" where {ids} and example_id < 12"
        )
        connection.execute(f"update store.examples set final_token = {another} where {ids} and example_id >= 12")
        connection.execute(f"delete from store.sub_updates where {ids.replace('model_id', 'set_id')} and layer = 0")
        for neuron, examples in {0: range(40), 1: range(6)}.items():
            planted = [
                {"model_id": model_id, "corpus_id": corpus_id, "run_id": 900, "example_id": example, "layer": 0}
                | {"neuron": neuron, "kind": "dominant", "rank": neuron + 1, "coefficient": 1.0, "contribution": 1.0}
                | {"share": 0.1, "score_final": 20.0, "score_candidate": 0.0}
                | {"score_logit_final": 1.0, "score_logit_candidate": 0.0}
                for example in examples
            ]
            made.insert(connection, "sub_updates", planted)
        rebuild_facts(connection, model_id)
    # Answers are kept by the warehouse that pages show.
    set_backend(neurothek.open(path))
    rows = rows_of(path, "school").filter(model=model, layer=0)
    assert rows.select("neuron", "n_pushes", "base_share").rows() == [(1, 6, 6 / 40), (0, 12, 1.0)]
    assert f"{model}/L0N1 exceeds its base rate most: it pushes the token in 6 of 12 (50%)" in pushers_sentence(
        rows, [model], "school"
    )
    assert "No neuron pushes it more often than its base rate" in pushers_sentence(rows[1:], [model], "school")
    rare = rows.with_columns(n_pushes=pl.lit(2, pl.Int64))
    assert pushers_sentence(rare, [model], "school").endswith("No neuron pushes it 3 times.")


def test_the_sentence_counts_each_token_once_and_names_who_exceeds_its_base_rate_most() -> None:
    assert saturations(ROWS) == {"a": 4, "b": 21}
    assert pushers_sentence(ROWS, ["b", "c", "a"], "<b>") == (
        "An FFN brings “<b>” to the top for good in 21 examples of b and 4 of a. a/L0N1 exceeds its base rate most: it "
        "pushes the token in 3 of 4 (75%), and is dominant in 25% of all 40 examples of its model."
    )
    assert pushers_sentence(ROWS[2:], ["b"], "x").endswith("No neuron pushes it more often than its base rate.")
    assert pushers_sentence(ROWS.head(1).with_columns(n_saturations=1), ["a"], "x").startswith(
        "An FFN brings “x” to the top for good in 1 example of a. "
    )


def test_each_model_has_a_card_whose_rows_lead_to_neurons_and_searches() -> None:
    drawn = pushers_html(ROWS, {"a": 4, "b": 21, "c": 0}, dict.fromkeys("abc", "#123456"), {"word": "<b>"})
    assert drawn.count('class="nt-card"') == 3
    assert "None of its FFNs brought the word to the top for good." in drawn
    assert drawn.count('href="/neuron?neuron=b/L1N2&amp;word=%3Cb%3E"') == 1
    assert 'href="/search?words=' in drawn
    assert "<b>&" not in re.sub("<style>.*?</style>", "", drawn)
    assert "·&lt;b&gt;" in drawn
    assert "width: 75%" in drawn
    plain_text = re.sub("<[^>]+>", "", drawn)
    for row in ROWS.to_dicts():
        counts = f"{row['n_pushes']} of {row['n_saturations']} ({row['times_dominant']} of {row['n_examples']})"
        assert counts in plain_text
    # At a coefficient below 0 a neuron promotes the bottom of its list.
    assert (drawn.count(">·&lt;i&gt;<"), drawn.count(">·&lt;b&gt;<")) == (1, 3)
    assert (drawn.count("mean centred score 0.250, mean raw score 0.500"), drawn.count("mean raw score 0.500")) == (
        6,
        8,
    )


def test_the_first_rows_of_each_model_are_shown_with_what_their_neurons_promote(whole_path: Path) -> None:
    projections = {
        tiny.address((row["model_id"], row["layer"], row["neuron"])): row["top_token_ids"][:10]
        for row in made.hand_made().rows["projections"]
    }
    set_backend(neurothek.open(whole_path))
    with Warehouse(whole_path).reader() as connection:
        models = choose_models(connection, MODELS)
        for word in ("school", "coffee"):
            rows = data_of(connection, "pushers", {"models": MODELS, "word": word}).frame
            shown = shown_pushers(connection, models, rows)
            for model in models:
                own = shown.filter(model=model.name)
                assert own.drop("top_tokens", "bottom_tokens").equals(rows.filter(model=model.name).head(MOST_ROWS))
                texts = texts_of(model.model_id)
                for row in own.to_dicts():
                    assert row["top_tokens"] == [texts[token] for token in projections[row["address"]]]
