"""Search by reading: planted readers come first, and the answer is all of the stored lists and nothing else."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.problems import Invalid, NotFound, NotMeasured
from neurothek.queries.search.by_reading import COLUMNS, ReadingResult, reading
from neurothek.queries.search.question import Question
from tests.support import reads

pytestmark = pytest.mark.xdist_group("reads")

Hit = tuple[int, int, str]
"""Layer, neuron, reader."""


def ask(connection: duckdb.DuckDBPyConnection, *words: str, **conditions: Any) -> ReadingResult:
    return reading(connection, Question(words=words, reads=True, **{"limit": 10_000, **conditions}))


def listed(connection: duckdb.DuckDBPyConnection, model: str, *words: str) -> dict[str, dict[Hit, dict[str, Any]]]:
    """Word -> the best place of each reader in the lists of a model, by a loop over all of them."""
    rows = connection.execute(
        "select lists.layer, lists.neuron, lists.reader::varchar, lists.score_mean, lists.score_sd,"
        " lists.top_token_ids, lists.top_scores, lists.bottom_token_ids, lists.bottom_scores"
        " from store.key_projections as lists join store.models as models on models.model_id = lists.set_id"
        " where models.name = ?",
        [model],
    ).fetchall()
    tokens = connection.execute(
        "select token_id, text, word from store.tokens as tokens join store.models as models using (tokenizer_id)"
        " where models.name = ?",
        [model],
    ).fetchall()
    texts = {token_id: (text, word) for token_id, text, word in tokens}
    best: dict[str, dict[Hit, dict[str, Any]]] = defaultdict(dict)
    for layer, neuron, reader, mean, sd, top, top_scores, bottom, bottom_scores in rows:
        sides = [("positive", top, top_scores)] + [("negative", bottom, bottom_scores)] * (reader == "up")
        for pole, ids, scores in sides:
            for rank, (token_id, score) in enumerate(zip(ids, scores, strict=True), start=1):
                text, word = texts[token_id]
                z = (score - mean) / sd
                hit = {"text": text, "pole": pole, "rank": rank, "score": score, "z": z}
                place = (layer, neuron, reader)
                if word in words and abs(z) > abs(best[word].get(place, {"z": 0.0})["z"]):
                    best[word][place] = hit
    return best


def hits_of(result: ReadingResult) -> dict[Hit, list[dict[str, Any]]]:
    hits = defaultdict(list)
    for row in result.neurons.to_dicts():
        names = ("matched", "matched_readers", "matched_poles", "matched_ranks", "matched_scores", "matched_z_scores")
        for text, reader, pole, rank, score, z in zip(*(row[name] for name in names), strict=True):
            hits[row["layer"], row["neuron"], reader].append(
                {"text": text, "pole": pole, "rank": rank, "score": score, "z": z}
            )
    return hits


@pytest.mark.parametrize("model", reads.MODELS)
def test_the_answer_is_all_of_the_lists(measured_reads: duckdb.DuckDBPyConnection, model: str) -> None:
    result = ask(measured_reads, reads.WORD, models=(model,))
    best = listed(measured_reads, model, reads.WORD)[reads.WORD]
    hits = hits_of(result)
    assert hits.keys() == best.keys()
    for place, (hit,) in hits.items():
        expected = best[place]
        assert (hit["text"], hit["rank"]) == (expected["text"], expected["rank"])
        assert hit["pole"] == (None if place[2] == "gate" else expected["pole"])
        assert (hit["score"], hit["z"]) == (pytest.approx(expected["score"]), pytest.approx(expected["z"], abs=1e-4))
    strongest: dict[tuple[int, int], float] = defaultdict(float)
    for (layer, neuron, _), hit in best.items():
        strongest[layer, neuron] = max(strongest[layer, neuron], abs(hit["z"]))
    rows = result.neurons
    assert result.n_found == rows.height == len(strongest)
    assert rows["z_sum"].to_list() == pytest.approx(sorted(strongest.values(), reverse=True), abs=1e-4)
    assert dict(rows.schema) == dict(COLUMNS)


def test_a_planted_reader_comes_first(measured_reads: duckdb.DuckDBPyConnection) -> None:
    (row,) = ask(measured_reads, reads.WORD, models=("ungated",), limit=1).neurons.to_dicts()
    assert row["address"] == f"ungated/L0N{reads.PLANTED}"
    assert (row["matched_readers"], row["matched_ranks"], row["matched_poles"]) == (["key"], [1], ["positive"])
    assert row["pole"] is None


def test_a_planted_up_reads_at_the_negative_pole_and_promotes_its_bottom_list(
    measured_reads: duckdb.DuckDBPyConnection,
) -> None:
    (row,) = ask(measured_reads, reads.WORD, models=("gated",), limit=1).neurons.to_dicts()
    assert row["address"] == f"gated/L0N{reads.PLANTED}"
    assert sorted(zip(row["matched_readers"], row["matched_ranks"], row["matched_poles"], strict=True)) == [
        ("gate", 1, None),
        ("up", 1, "negative"),
    ]
    assert dict(zip(row["matched_readers"], row["matched_scores"], strict=True))["up"] < 0
    assert row["pole"] == "negative"
    (bottom,) = measured_reads.execute(
        "select bottom_tokens from neurons where address = ?", [row["address"]]
    ).fetchone() or ([],)
    assert row["top_tokens"] == bottom


def test_all_words_must_be_read_by_the_neuron(measured_reads: duckdb.DuckDBPyConnection) -> None:
    words = ("the", "one")
    best = {word: {place[:2] for place in places} for word, places in listed(measured_reads, "gated", *words).items()}
    either, both = best["the"] | best["one"], best["the"] & best["one"]
    assert both != either
    for match_all, neurons in ((False, either), (True, both)):
        result = ask(measured_reads, *words, models=("gated",), match_all=match_all)
        assert {tuple(row) for row in result.neurons.select("layer", "neuron").rows()} == neurons


def test_conditions_hold(measured_reads: duckdb.DuckDBPyConnection) -> None:
    everything = ask(measured_reads, reads.WORD, models=("gated",))
    first = ask(measured_reads, reads.WORD, models=("gated",), layers=(0, 0))
    where = ask(measured_reads, reads.WORD, models=("gated",), where="layer = 0")
    assert set(first.neurons["layer"]) == {0}
    assert first.neurons.drop("place").rows() == where.neurons.drop("place").rows()
    assert 0 < first.n_found < everything.n_found
    limited = ask(measured_reads, reads.WORD, models=("gated",), limit=2)
    assert (limited.neurons.rows(), limited.n_found) == (everything.neurons.head(2).rows(), everything.n_found)
    assert limited.title.startswith(f"the first 2 of {everything.n_found} neurons that read school")


def test_a_table_has_a_line_per_reader(measured_reads: duckdb.DuckDBPyConnection) -> None:
    gated = ask(measured_reads, reads.WORD, models=("gated",), limit=1).table()
    lines = gated.select("#", "reader", "up", "rank").sort("reader").rows()
    assert lines == [(1, "gate", None, 1), (1, "up", "negative", 1)]
    ungated = ask(measured_reads, reads.WORD, models=("ungated",), limit=1).table()
    assert ungated.columns == ["#", "address", "reader", "rank", "score", "z_score", "token", "promotes"]


def test_models_without_keys_are_told_and_left_out(measured_reads: duckdb.DuckDBPyConnection) -> None:
    assert f"the job keys was not run, so left out: {reads.UNMEASURED}" in ask(measured_reads, reads.WORD).notes
    with pytest.raises(NotMeasured, match="bare has no measured reads") as raised:
        ask(measured_reads, reads.WORD, models=(reads.UNMEASURED,))
    assert "ingest bare --job keys" in str(raised.value.hint)


def test_an_empty_warehouse_of_keys_says_what_to_do(full: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotMeasured, match="no selected model has measured reads"):
        ask(full, "school")


def test_a_word_must_be_a_token(measured_reads: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(NotFound, match="is not a token of the selected models"):
        ask(measured_reads, "school river")
    with pytest.raises(Invalid, match="at least one word"):
        ask(measured_reads)


@pytest.mark.parametrize(
    "conditions",
    [
        {"side": "suppressed"},
        {"suppresses": ("river",)},
        {"concept": True},
        {"triggered_by": ("river",)},
        {"without": ("river",)},
        {"min_count": 2},
    ],
)
def test_conditions_that_it_would_pass_over_are_refused(
    measured_reads: duckdb.DuckDBPyConnection, conditions: dict[str, Any]
) -> None:
    (name,) = conditions
    with pytest.raises(Invalid, match=f"{name.replace('_', '-')} cannot be used with neurons by what they read"):
        ask(measured_reads, reads.WORD, **conditions)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--score"], "reads cannot be used with exact scores"),
        (["--like", "gated/L0N0"], "reads cannot be used with neurons like one"),
        (["--side", "both"], "side cannot be used with neurons by what they read"),
        (
            ["--model", reads.UNMEASURED],
            "bare has no measured reads; measure them with `neurothek ingest bare",
        ),
    ],
)
def test_the_command_refuses_what_cannot_be_meant(reads_path: Path, options: list[str], complaint: str) -> None:
    words = [] if "--like" in options else [reads.WORD]
    arguments = ["search", *words, "--reads", *options, "--warehouse", str(reads_path)]
    result = CliRunner().invoke(neurothek.main, arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_the_command_and_python_answer_alike(reads_path: Path) -> None:
    arguments = ["search", reads.WORD, "--reads", "--format", "json", "-n", "3", "--warehouse", str(reads_path)]
    result = CliRunner().invoke(neurothek.main, arguments, catch_exceptions=False)
    answer = neurothek.open(reads_path).search(reads.WORD, reads=True, limit=3)
    assert isinstance(answer, ReadingResult)
    rows = json.loads(result.stdout)
    assert [row["address"] for row in rows] == answer.neurons["address"].to_list()
    assert {row["address"] for row in rows[:2]} == {f"{model}/L0N{reads.PLANTED}" for model in reads.MODELS}
    assert "--limit" in result.stderr
