"""The job `output_scores` on small models: rows against hooks, a planted neuron, and one that says nothing."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from polars.testing import assert_frame_equal
from scipy.stats import spearmanr
from transformers import AutoModelForCausalLM

import neurothek
from neurothek.catalog.problems import Invalid, NeurothekError, NotFound
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.upkeep.checks import check
from neurothek.catalog.upkeep.verification import Remeasured, agreement
from neurothek.ingest.jobs.output_scores.job import PROMPT, beside, scored, skewed
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.pipeline.verify import remeasure
from tests.support import ingests, models
from tests.support.models import Kind

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("output_scores")]

D_FFN, N_LAYERS = 20, 2
SECOND = {
    "opt": "model.decoder.layers.{}.fc2",
    "gpt2": "transformer.h.{}.mlp.c_proj",
    "llama": "model.layers.{}.mlp.down_proj",
}
"""The matrix that reads the activations of a layer, and holds the value vectors."""


def measured(folder: Path, kind: Kind, edit: Any = None, **fields: Any) -> Warehouse:  # noqa: ANN401 - an edit of tensors
    folder.mkdir(exist_ok=True)
    corpora = ingests.write_corpus(folder)
    models.build(folder / "tiny", kind, d_ffn=D_FFN, n_layers=N_LAYERS, d_model=16)
    if edit is not None:
        models.edit_tensors(folder / "tiny", edit)
    warehouse = ingests.open_warehouse(folder / "w.duckdb")
    jobs = ("projections", "activity", "contexts", "output_scores")
    ingests.measure(warehouse, folder / "tiny", ingests.request(corpora, jobs=jobs, **fields))
    return warehouse


def plain(folder: Path, kind: Kind, row: dict[str, Any]) -> dict[str, float]:
    """What a row must say, by the library's own model with one activation replaced."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), load(folder)
    unmasked = tokenizer.ids.astype(np.int64)
    embedding = model.get_output_embeddings().weight.detach().double().numpy()[unmasked]

    def listed(neuron: int, sign: int) -> list[int]:
        weight = model.get_submodule(SECOND[kind].format(row["layer"])).weight.detach().double().numpy()
        vector = weight[neuron] if kind == "gpt2" else weight[:, neuron]
        return [int(at) for at in np.argsort(-sign * (embedding @ vector), kind="stable")[:20]]

    def said(*, is_set: bool) -> np.ndarray:
        def replaced(_: object, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
            changed = inputs[0].clone()
            if is_set:
                changed.reshape(-1, D_FFN)[-1, row["neuron"]] = row["value"]
            return (changed, *inputs[1:])

        handle = model.get_submodule(SECOND[kind].format(row["layer"])).register_forward_pre_hook(replaced)
        bos = [] if tokenizer.bos_id is None else [tokenizer.bos_id]
        with torch.no_grad():
            logits = model(torch.tensor([[*bos, *tokenizer.encode([PROMPT])[0].tolist()]])).logits
        handle.remove()
        values: np.ndarray = logits[0, -1].double().numpy()[unmasked]
        return values

    def score(logits: np.ndarray, tokens: list[int]) -> tuple[int, float, float]:
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        best = max(tokens, key=lambda token: logits[token])
        rank = sum(1 for token in range(len(logits)) if logits[token] > logits[best])
        return rank, probabilities[best], (1 - rank / len(logits)) * probabilities[best]

    sign = 1 if row["pole"] == "positive" else -1
    changed, untouched = said(is_set=True), said(is_set=False)
    rank, probability, output = score(changed, listed(row["neuron"], sign))
    beside = [score(changed, listed(*other))[2] for other in row["others"]]
    smaller = sum(one < output * (1 - 1e-6) for one in beside)
    equal = sum(abs(one - output) <= output * 1e-6 for one in beside)
    return {
        "rank_best": rank,
        "max_probability": probability,
        "output_score": output,
        "untouched_score": score(untouched, listed(row["neuron"], sign))[2],
        "other_score": sum(beside) / len(beside),
        "other_percentile": 100 * (smaller + equal / 2) / len(beside),
    }


@pytest.mark.parametrize("kind", ["opt", "gpt2", "llama"])
def test_rows_are_those_of_a_model_with_one_activation_replaced(kind: Kind, tmp_path: Path) -> None:
    warehouse = measured(tmp_path, kind, scored=6)
    rows = ingests.table(warehouse, "output_scores").to_dicts()
    assert [sum(row["layer"] == layer for row in rows) for layer in range(N_LAYERS)] == [6, 6]
    with warehouse.reader() as connection:
        activity = """
            select layer, neuron, max(activation_max) as most, min(activation_min) as least
            from store.activity group by all
        """
        extremes = {row[:2]: row[2:] for row in connection.execute(activity).fetchall()}
        seen = connection.execute("select neuron, pole, input_score from output_scores where layer = 0").fetchall()
        expected = dict(
            connection.execute("select (neuron, pole), input_score from input_scores where layer = 0").fetchall()
        )
    signs = {place: -1 if kind == "llama" and -least > most else 1 for place, (most, least) in extremes.items()}
    ever = [place for place, (most, least) in extremes.items() if max(most, -least if kind == "llama" else most) > 0]
    for row in rows:
        most, least = extremes[row["layer"], row["neuron"]]
        assert row["pole"] == ("negative" if signs[row["layer"], row["neuron"]] < 0 else "positive")
        assert row["value"] == pytest.approx(10 * (least if row["pole"] == "negative" else most), rel=1e-6)
        # Of so few neurons all others stand beside one.
        others = [place for place in ever if place[0] == row["layer"] and place[1] != row["neuron"]]
        row["others"] = [(neuron, signs[layer, neuron]) for layer, neuron in others]
        assert row["n_others"] == len(others)
        for name, value in plain(tmp_path / "tiny", kind, row).items():
            # Logits in float32 differ in the sixth figure.
            assert row[name] == pytest.approx(value, rel=1e-4, abs=1e-9), name
    assert len(seen) == 6
    assert all(score == expected.get((neuron, pole)) for neuron, pole, score in seen)
    assert check(warehouse) == []


def test_a_planted_neuron_says_its_token_and_one_whose_vector_is_zero_changes_nothing(tmp_path: Path) -> None:
    def plant(tensors: dict[str, torch.Tensor]) -> None:
        # In the last layer nothing comes after it but the final norm.
        values = tensors["model.decoder.layers.1.fc2.weight"]
        embedding = tensors["model.decoder.embed_tokens.weight"]
        embedding[50] = 3 * embedding[50]
        values[:, 4] = 0.5 * embedding[50]
        values[:, 5] = 0
        for neuron in (4, 5):
            tensors["model.decoder.layers.1.fc1.weight"][neuron] = 0
            tensors["model.decoder.layers.1.fc1.bias"][neuron] = 1
        # One that is never active cannot be set to ten times nothing.
        tensors["model.decoder.layers.1.fc1.weight"][6] = 0
        tensors["model.decoder.layers.1.fc1.bias"][6] = -1

    warehouse = measured(tmp_path, "opt", plant, scored=D_FFN)
    rows = {row["neuron"]: row for row in ingests.table(warehouse, "output_scores", "layer = 1").to_dicts()}
    assert rows[4]["output_score"] > 0.9
    assert rows[4]["rank_best"] == 0
    assert rows[4]["untouched_score"] < 0.9
    # Nobody says more; those that list the token, too, say the same, and the others next to nothing.
    assert rows[4]["other_percentile"] > 80
    listing = 2 * (1 - rows[4]["other_percentile"] / 100)
    assert rows[4]["other_score"] == pytest.approx(listing * rows[4]["output_score"], abs=0.01)
    assert rows[5]["output_score"] == pytest.approx(rows[5]["untouched_score"], rel=1e-6)
    assert 6 not in rows
    assert {row["n_others"] for row in rows.values()} == {len(rows) - 1}


def test_where_vectors_are_shuffled_no_neuron_says_more_of_its_own_tokens_than_of_others(tmp_path: Path) -> None:
    """Random vectors in a stream as wide as theirs are small: percentiles of 80 are spread as by chance."""

    def small(tensors: dict[str, torch.Tensor]) -> None:
        # Set to ten times its largest, a neuron of a random model still moves the stream by little.
        for layer in range(N_LAYERS):
            tensors[f"model.decoder.layers.{layer}.fc2.weight"] *= 1e-3

    warehouse = measured(tmp_path, "opt", small, scored=D_FFN)
    percentiles = ingests.table(warehouse, "output_scores")["other_percentile"].to_numpy()
    assert len(percentiles) > 30
    # Six standard errors of the mean of so many numbers that are uniform from 0 to 100.
    assert abs(percentiles.mean() - 50) < 6 * 100 / np.sqrt(12 * len(percentiles))
    # By chance 6%, of 40 neurons that share lists.
    assert (percentiles >= 95).mean() < 0.2


def test_scores_are_as_counted_by_loops() -> None:
    draw = np.random.default_rng(3)
    for n_tokens in (1, 2, 7, 40):
        # Many are equal.
        logits = torch.from_numpy(draw.integers(-3, 3, (5, n_tokens)).astype(np.float64)).log_softmax(1)
        best = torch.from_numpy(draw.choice(logits[0].numpy(), (5, 3)))
        found = scored(logits, best)
        for row in range(5):
            for place in range(3):
                rank = sum(1 for one in logits[row].tolist() if one > float(best[row, place]))
                probability = math.exp(float(best[row, place]))
                assert found.ranks[row, place] == rank
                assert found.probabilities[row, place] == pytest.approx(probability)
                assert found.output[row, place] == pytest.approx((1 - rank / n_tokens) * probability)


def test_a_percentage_counts_half_of_equal_ones_and_leaves_the_neuron_itself_out() -> None:
    own = np.array([0.5, 0.5, np.nan, 0.5])
    others = np.array([[0.1, 0.5, 0.9, 0.5], [0.1, 0.2, 0.3, 9], [0.1, 0.1, 0.1, 0.1], [1, 1, 1, 1]])
    is_other = np.array([[True, True, True, False], [True, True, True, False], [True] * 4, [False] * 4])
    means, percentages = beside(own, others, is_other)
    assert means.tolist() == pytest.approx([0.5, 0.2, np.nan, np.nan], nan_ok=True)
    assert percentages.tolist() == pytest.approx([50, 100, np.nan, np.nan], nan_ok=True)


def test_of_equal_extremes_the_skewness_of_its_scores_says_which_sign_a_neuron_has() -> None:
    rows = torch.tensor([[1.0, 0], [1, 0], [1, 0], [-9, 0], [0, 0]])
    vectors = torch.tensor([[1.0, 0], [-1, 0], [0, 1]])
    assert skewed(vectors, rows).tolist() == [-1, 1, 1]


def test_layers_sum_up_readers_and_writers_as_counted_by_loops(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama", scored=D_FFN - 3)
    with warehouse.reader() as connection:
        rows = connection.sql("from output_scores").pl().to_dicts()
        layers = connection.sql("from readers_and_writers_by_layer order by layer").pl().to_dicts()
        facts = connection.sql("select layer, neuron, output_score, output_percentile from neurons").fetchall()
    assert [layer["layer"] for layer in layers] == [0, 1]
    for layer in layers:
        found = [row for row in rows if row["layer"] == layer["layer"] and row["input_score"] is not None]
        n = len(found)
        assert [row["is_reader"] for row in found] == [row["input_score"] > row["input_other_score"] for row in found]
        readers = [row["input_score"] > row["input_other_score"] for row in found]
        writers = [row["output_score"] > row["untouched_score"] and row["other_percentile"] >= 95 for row in found]
        chances = [
            sum(1 for above in range(row["n_others"] + 1) if 100 * above <= 5 * row["n_others"]) / (row["n_others"] + 1)
            for row in found
        ]
        expected = {
            "n_neurons": n,
            "reader_share": sum(readers) / n,
            "reader_chance": sum(min(1, row["n_contexts"] * row["input_other_score"]) for row in found) / n,
            "writer_share": sum(writers) / n,
            "writer_chance": sum(chances) / n,
            "both_share": sum(map(all, zip(readers, writers, strict=True))) / n,
            "output_other_score": sum(row["other_score"] for row in found) / n,
        } | {name: sum(row[name] for row in found) / n for name in ("input_score", "output_score", "untouched_score")}
        assert n == D_FFN - 3
        assert {name: layer[name] for name in expected} == pytest.approx(expected)
        pairs = [(row["input_score"], row["output_score"]) for row in found]
        is_flat = len({pair[0] for pair in pairs}) == 1
        correlation = None if is_flat else spearmanr(*zip(*pairs, strict=True)).statistic
        assert layer["rank_correlation"] == pytest.approx(correlation)
    of_rows = {(row["layer"], row["neuron"]): (row["output_score"], row["other_percentile"]) for row in rows}
    assert {fact[:2]: fact[2:] for fact in facts if fact[2] is not None} == of_rows
    with warehouse.writer() as connection:
        # Neurons that are all alike have no order.
        connection.execute("update store.output_scores set output_score = 0.5 where layer = 1")
    with warehouse.reader() as connection:
        (alike,) = connection.sql(
            "select rank_correlation from readers_and_writers_by_layer where layer = 1"
        ).fetchall()
    assert alike == (None,)


def test_a_planted_neuron_that_reads_and_writes_a_word_is_told_as_both(tmp_path: Path) -> None:
    def plant(tensors: dict[str, torch.Tensor]) -> None:
        # In the last layer nothing comes after it but the final norm; the block before adds little.
        embedding = tensors["model.decoder.embed_tokens.weight"]
        embedding[token] = 2 * embedding[token]
        key = 20 * embedding[token] / tensors["model.decoder.layers.1.final_layer_norm.weight"]
        tensors["model.decoder.layers.1.fc1.weight"][4] = key
        tensors["model.decoder.layers.1.fc2.weight"][:, 4] = 0.1 * embedding[token]

    token = int(load(models.build(tmp_path / "words", "opt", d_model=16)).encode([" river"])[0][-1])
    warehouse = measured(tmp_path, "opt", plant, scored=D_FFN)
    with warehouse.reader() as connection:
        (row,) = connection.sql("from output_scores where layer = 1 and neuron = 4").pl().to_dicts()
        (layer,) = connection.sql("from readers_and_writers_by_layer where layer = 1").pl().to_dicts()
    assert row["input_score"] > 0.5 > row["input_other_score"]
    assert row["output_score"] > 0.5 > row["untouched_score"]
    page = neurothek.open(warehouse.path).neuron(row["address"])
    shown = f"output score {row['output_score']:.2g}, more than {row['other_percentile']:.0f}% of other neurons' lists"
    assert shown in page.summary
    assert layer["reader_share"] >= 1 / layer["n_neurons"]


def test_a_neuron_that_the_number_format_cannot_hold_has_no_score(tmp_path: Path) -> None:
    def plant(tensors: dict[str, torch.Tensor]) -> None:
        tensors["model.decoder.layers.1.fc2.weight"][:, 4] = 6e4
        tensors["model.decoder.layers.1.fc1.weight"][4] = 0
        tensors["model.decoder.layers.1.fc1.bias"][4] = 1

    warehouse = measured(tmp_path, "opt", plant, scored=D_FFN, dtype="float16")
    rows = {row["neuron"]: row for row in ingests.table(warehouse, "output_scores", "layer = 1").to_dicts()}
    lacking = ("rank_best", "max_probability", "output_score", "other_score", "other_percentile")
    assert [rows[4][name] for name in lacking] == [None] * len(lacking)
    assert all(row["output_score"] is not None for neuron, row in rows.items() if neuron != 4)
    assert check(warehouse) == []


def test_the_sample_grows_with_the_number_and_is_verified(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama", scored=4)
    parts = [
        part
        for part in remeasure(warehouse, "tiny", weights=None, n_shards=2, progress=Silent())
        if isinstance(part, Remeasured) and part.job == "output_scores"
    ]
    few = ingests.table(warehouse, "output_scores").to_dicts()
    more = ingests.table(measured(tmp_path / "more", "llama", scored=7), "output_scores").to_dicts()
    same = ("layer", "neuron", "pole", "n_others")
    assert {tuple(row[name] for name in same) for row in few} < {tuple(row[name] for name in same) for row in more}
    assert len(more) == 2 * 7
    with warehouse.reader() as connection:
        judged = [agreement(connection, part) for part in parts]
    assert (sum(one.n_rows for one in judged), sum(one.n_different for one in judged)) == (2 * 4, 0)
    with warehouse.writer() as connection:
        connection.execute("update store.output_scores set output_score = output_score + 0.1 where layer = 0")
    with warehouse.reader() as connection:
        assert sum(agreement(connection, part).n_different for part in parts) == 4


def test_chosen_neurons_stand_beside_the_sample_and_change_none_of_its_numbers(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "llama", scored=3)
    base = neurothek.open(warehouse.path)
    sample = ingests.table(warehouse, "output_scores").drop("run_id")
    by_layer = base.sql("select * from readers_and_writers_by_layer order by layer")
    of_all = {
        (row["layer"], row["neuron"]): row
        for row in ingests.table(measured(tmp_path / "all", "llama", scored=D_FFN), "output_scores").to_dicts()
    }
    (planned,) = base.plan("tiny", job="output_scores", scored=3, where="layer = 1 and neuron < 9")
    assert "output_scores: more is asked for than was measured" in "\n".join(planned.lines())
    for where in ("layer = 1 and neuron < 9", "neuron in (0, 12)"):
        (outcome,) = base.ingest("tiny", job="output_scores", scored=3, where=where)
        assert getattr(outcome.report, "jobs", None) == ("output_scores",)
    rows = ingests.table(warehouse, "output_scores").drop("run_id")
    assert rows.filter("is_sampled").equals(sample)
    drawn = {(row["layer"], row["neuron"]) for row in sample.to_dicts()}
    chosen = {(1, neuron) for neuron in range(9)} | {(layer, neuron) for layer in range(2) for neuron in (0, 12)}
    added = rows.filter(~pl.col("is_sampled")).to_dicts()
    assert {(row["layer"], row["neuron"]) for row in added} == (chosen & set(of_all)) - drawn
    assert len(added) > 5
    for row in added:
        alone = of_all[row["layer"], row["neuron"]]
        assert (row["pole"], row["rank_best"], row["n_others"]) == (
            alone["pole"],
            alone["rank_best"],
            alone["n_others"],
        )
        for name in ("value", "output_score", "untouched_score", "other_score", "other_percentile"):
            assert row[name] == pytest.approx(alone[name], rel=1e-4)
    # Shares of a layer are those of its random neurons alone.
    assert_frame_equal(base.sql("select * from readers_and_writers_by_layer order by layer"), by_layer)
    for again in ("layer = 1 and neuron < 4", None):
        (outcome,) = base.ingest("tiny", job="output_scores", scored=3, where=again)
        assert getattr(outcome.report, "up_to_date", None) == ("output_scores",)
    parts = remeasure(warehouse, "tiny", weights=None, n_shards=2, progress=Silent())
    with warehouse.reader() as connection:
        judged = [
            agreement(connection, part)
            for part in parts
            if isinstance(part, Remeasured) and part.job == "output_scores"
        ]
    assert (sum(one.n_rows for one in judged), sum(one.n_different for one in judged)) == (rows.height, 0)
    assert check(warehouse) == []


def test_a_condition_is_about_one_measured_model_and_this_job(tmp_path: Path) -> None:
    warehouse = measured(tmp_path, "opt", scored=2)
    base = neurothek.open(warehouse.path)
    wrong = [
        (("tiny",), "entropy", "add --job output_scores"),
        (("tiny", "other"), "output_scores", "name one model"),
        (("other",), "output_scores", "measure it first"),
    ]
    for named, job, hint in wrong:
        with pytest.raises(Invalid) as caught:
            base.ingest(*named, where="layer = 0", job=job)
        assert hint in caught.value.hint
    with pytest.raises(NotFound):
        base.ingest("tiny", job="output_scores", where="layer = 9")
    with pytest.raises(NeurothekError, match="nonsense"):
        base.plan("tiny", job="output_scores", where="nonsense > 0")
    with pytest.raises(NeurothekError):
        neurothek.open(tmp_path / "none.duckdb").ingest("tiny", job="output_scores", where="layer = 0")
    assert not (tmp_path / "none.duckdb").exists()
