"""Views on n-grams against labels from loops: planted detectors are found, nothing else is; shuffled text has none."""

import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views.install import all_views
from tests.support import ngrams as oracle
from tests.support import publications as made
from tests.support.detectors import (
    MODELS,
    NEURONS,
    SHUFFLED,
    can_be_labelled,
    controls,
    detectors,
    lines,
    publish,
    score,
    shuffled_detects,
)
from tests.support.ngrams import PERCENTAGES, Ngram
from tests.support.values import is_same

VIEWS = (
    *("coverage_bins", "token_detectors", "ngram_detectors", "detectors_by_layer", "detected_by_layer"),
    *("suppression", "suppression_by_model", "corpus_ngrams", "detected_ngrams", "detectors_by_minimum"),
)
BINS = {
    **{"1": (1, 1), "2-3": (2, 3), "4-5": (4, 5), "6-10": (6, 10), "11-20": (11, 20), "21-50": (21, 50)},
    **{"51-200": (51, 200), "201-1k": (201, 1000), "1k-2k": (1001, 2000), "2k-50k": (2001, 50_000)},
    ">50k": (50_001, 10**12),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ngrams") / "ngrams.duckdb"
    publish(path)
    return path


@pytest.fixture
def connection(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(path).reader() as connection:
        yield connection


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def wilson_low(successes: int, n: int) -> float:
    """By the roots of (p - x)^2 = z^2 x (1 - x) / n."""
    z2 = statistics.NormalDist().inv_cdf(0.975) ** 2
    share = successes / n
    a, b, c = 1 + z2 / n, -(2 * share + z2 / n), share**2
    return float((-b - (b * b - 4 * a * c) ** 0.5) / (2 * a))


def test_what_is_planted_is_a_detector_and_nothing_else() -> None:
    """The loops themselves: what the other tests compare with is not empty."""
    assert set(detectors("planted", 1)) == {(0, 0), (0, 2), (0, 3), (1, 0), (1, 1)}
    assert [key for key, one in detectors("planted", 1).items() if not one.is_strict] == [(0, 3)]
    assert (0, 1) in detectors("planted", 2)
    assert not detectors("shuffled", 1)
    assert not can_be_labelled("shuffled", 3)


@pytest.mark.parametrize("view", VIEWS)
def test_keys_are_unique(connection: duckdb.DuckDBPyConnection, view: str) -> None:
    key = ", ".join(all_views()[view].key)
    ((n_rows, n_keys),) = connection.execute(f"select count(*), count(distinct ({key})) from {view}").fetchall()
    assert n_rows == n_keys > 0


@pytest.mark.parametrize("view", VIEWS)
def test_attached_under_another_name(connection: duckdb.DuckDBPyConnection, path: Path, view: str) -> None:
    order = f"order by {', '.join(all_views()[view].key)}"
    expected = connection.execute(f"select * from {view} {order}").fetchall()
    with duckdb.connect() as other:
        other.execute(f"attach '{path}' as someone_elses (read_only)")
        assert is_same(other.execute(f"select * from someone_elses.main.{view} {order}").fetchall(), expected)


def test_token_detectors(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "select * from token_detectors")
    assert {row["model"] for row in found} == {"planted"}
    expected = detectors("planted", 1)
    assert {(row["layer"], row["neuron"]) for row in found} == set(expected)
    for row in found:
        key = row["layer"], row["neuron"]
        detected = sorted((ngram[0], *numbers) for ngram, numbers in expected[key].detected.items())
        total = sum(oracle.activations(lines("planted", *key), 1).values())
        assert row["address"] == f"planted/L{key[0]}N{key[1]}"
        assert row["detected_token_ids"] == [token for token, _, _ in detected]
        assert row["detected_tokens"] == [f" w{token}" for token, _, _ in detected]
        assert row["recalls"] == [count / seen for _, count, seen in detected]
        assert row["recall_lows"] == pytest.approx([wilson_low(count, seen) for _, count, seen in detected])
        assert row["scores"] == [score(*key, token) for token, _, _ in detected]
        assert row["detected_share"] == pytest.approx(sum(count for _, count, _ in detected) / total)
        assert (row["n_detected"], row["coverage"]) == (len(detected), expected[key].coverage)
        assert (row["is_strict"], row["n_active"]) == (expected[key].is_strict, total)


def test_ngram_detectors(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "select * from ngram_detectors")
    expected = {
        (model, n, *key, ngram): (*numbers, one.is_strict, one.coverage)
        for model in MODELS
        for n in (2, 3)
        for key, one in detectors(model, n).items()
        for ngram, numbers in one.detected.items()
    }
    names = ("model", "n", "layer", "neuron")
    measures = ("n_active", "n_occurrences", "is_strict", "coverage")
    assert {
        (*(row[name] for name in names), tuple(row["token_ids"])): tuple(row[name] for name in measures)
        for row in found
    } == expected
    assert all(row["text"] == "".join(f" w{token}" for token in row["token_ids"]) for row in found)
    planted = [row for row in found if (row["n"], row["layer"], row["neuron"]) == (2, 0, 1)]
    assert [row["token_ids"] for row in planted] == [[4, 7]]
    assert {row["model"] for row in found} == {"planted"}


def test_detectors_by_layer(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (row["model"], row["n"], row["layer"]): row for row in rows(connection, "select * from detectors_by_layer")
    }
    assert set(found) == {(model, n, layer) for model in MODELS for n in (1, 2, 3) for layer in (0, 1)}
    for (model, n, layer), row in found.items():
        own = [one for (at, _), one in detectors(model, n).items() if at == layer]
        alive = [sum(oracle.activations(lines(model, *key), n).values()) > 0 for key in NEURONS if key[0] == layer]
        assert (row["n_neurons"], row["n_alive"]) == (made.D_FFN, sum(alive))
        if can_be_labelled(model, n):
            assert (row["status"], row["n_detectors"]) == ("labelled", len(own))
            assert row["n_strict"] == sum(one.is_strict for one in own)
            assert row["detector_share"] == len(own) / made.D_FFN
        else:
            assert (row["status"], row["n_detectors"], row["n_strict"]) == ("cannot be labelled", None, None)


def test_what_chance_calls_a_detector(connection: duckdb.DuckDBPyConnection) -> None:
    """Neurons whose shuffled activations detect, by each condition that one of them just meets or just misses."""
    columns = ("n_shuffled", "n_shuffled_detectors", "shuffled_share")
    found = {
        (row["model"], row["n"], row["layer"]): tuple(row[name] for name in columns)
        for row in rows(connection, "select * from detectors_by_layer")
    }
    expected: dict[tuple[str, int, int], tuple[int | None, int | None, float | None]] = {}
    for model, n, layer in found:
        measured = SHUFFLED.get((model, layer))
        if measured is None:
            expected[model, n, layer] = (None, None, None)
        elif not can_be_labelled(model, n):
            expected[model, n, layer] = (len(measured), None, None)
        else:
            n_detectors = sum(shuffled_detects(counts, n) for counts in measured)
            expected[model, n, layer] = (len(measured), n_detectors, n_detectors / len(measured))
    assert found == expected
    # By hand: in the first layer of each, and in the second, where all were measured and none detects.
    assert [found["planted", n, 0][:2] for n in (1, 2)] == [(6, 1), (6, 3)]
    assert (found["planted", 1, 1], found["shuffled", 1, 1]) == ((None, None, None), (2, 0, 0.0))
    assert (found["shuffled", 1, 0], found["shuffled", 3, 0]) == ((4, 2, 0.5), (4, None, None))


def test_detectors_by_minimum(connection: duckdb.DuckDBPyConnection) -> None:
    key = ("model", "n", "layer", "least_occurrences")
    found = {tuple(row[name] for name in key): row for row in rows(connection, "select * from detectors_by_minimum")}
    assert set(found) == {
        (model, n, layer, least) for model in MODELS for n in (1, 2, 3) for layer in (0, 1) for least in (5, 10, 20)
    }
    for (model, n, layer, least), row in found.items():
        seen = oracle.occurrences(lines(model, 0, 0), n)
        counts = [oracle.activations(lines(model, *place), n) for place in NEURONS if place[0] == layer]
        alive = [count for count in counts if count]
        candidates = [
            count
            for count in alive
            if sum(count.values()) >= 100 and oracle.coverage(count, 95) <= (5 if n == 1 else 50)
        ]
        n_detectors = 0
        for count in candidates:
            nearly_always = [c for ngram, c in count.items() if seen[ngram] >= least and 20 * c >= 19 * seen[ngram]]
            n_detectors += 100 * sum(nearly_always) >= 95 * sum(count.values())
        assert (row["n_neurons"], row["n_alive"]) == (made.D_FFN, len(alive))
        assert (row["n_candidates"], row["n_detectors"]) == (len(candidates), n_detectors)
        assert row["detector_share"] == n_detectors / len(alive)
        often = [number for number in seen.values() if number >= least]
        assert (row["n_frequent"], row["frequent_share"]) == (len(often), sum(often) / sum(seen.values()))
        if least == 10 and can_be_labelled(model, n):
            assert n_detectors == sum(at == layer for at, _ in detectors(model, n))
    # Of the planted text's trigrams too few recur to be labelled; here their neurons are counted all the same.
    assert not can_be_labelled("shuffled", 3)
    assert any(found["planted", n, 0, 5]["n_detectors"] > found["planted", n, 0, 20]["n_detectors"] for n in (2, 3))


def test_detected_by_layer(connection: duckdb.DuckDBPyConnection) -> None:
    for row in rows(connection, "select * from detected_by_layer"):
        model, n, layer = row["model"], row["n"], row["layer"]
        sets = [
            {ngram for (at, _), one in detectors(model, n).items() if at == below for ngram in one.detected}
            for below in range(layer + 1)
        ]
        seen = oracle.occurrences(lines(model, 0, 0), n)
        n_frequent = sum(count >= 10 for count in seen.values())
        assert row["n_frequent"] == n_frequent
        measures = ("n_detected", "n_cumulative", "n_new", "n_new_vs_previous")
        if not can_be_labelled(model, n):
            assert {row[name] for name in measures} == {None}
            continue
        below: set[Ngram] = set().union(*sets[:-1])
        previous = sets[-2] if layer else set()
        expected = (len(sets[-1]), len(below | sets[-1]), len(sets[-1] - below), len(sets[-1] - previous))
        assert tuple(row[name] for name in measures) == expected
        assert row["cumulative_share"] == expected[1] / n_frequent
        assert row["new_vs_previous_share"] == expected[3] / n_frequent


def test_coverage_bins(connection: duckdb.DuckDBPyConnection) -> None:
    found = rows(connection, "select * from coverage_bins")
    for row in found:
        # Of two layers the first is the first half: 2 * 0 + 1 <= 2 < 2 * 1 + 1.
        layers = {"model": (0, 1), "first half": (0,), "layer": (row["layer"],)}[row["region"]]
        counts = [oracle.activations(lines(row["model"], *key), row["n"]) for key in NEURONS if key[0] in layers]
        alive = [count for count in counts if count]
        if row["bin"] == "too few activations":
            expected = sum(sum(count.values()) < 100 for count in alive)
            assert not row["is_corpus_bin"]
        else:
            low, high = BINS[row["bin"]]
            busy = [count for count in alive if sum(count.values()) >= 100]
            expected = sum(low <= oracle.coverage(count, 95) <= high for count in busy)
            assert row["is_corpus_bin"] == (low <= row["corpus_coverage"] <= high)
        assert (row["n_neurons"], row["n_alive"]) == (expected, len(alive))
        assert row["share"] == expected / len(alive)
        seen = oracle.occurrences(lines(row["model"], 0, 0), row["n"])
        assert row["corpus_coverage"] == oracle.coverage(seen, 95)
    # Every neuron that is alive is in one bin of each region.
    assert len(found) == 2 * 3 * 4 * (len(BINS) + 1)


def test_corpus_ngrams(connection: duckdb.DuckDBPyConnection) -> None:
    for row in rows(connection, "select * from corpus_ngrams"):
        seen = oracle.occurrences(lines(row["model"], 0, 0), row["n"])
        for percent in PERCENTAGES:
            assert row[f"coverage_{percent}"] == oracle.coverage(seen, percent)
        assert (row["n_positions"], row["n_distinct"]) == (sum(seen.values()), len(seen))
        assert row["can_be_labelled"] == can_be_labelled(row["model"], row["n"])


def expected_suppression(key: tuple[int, int]) -> tuple[float, float]:
    """(mean raw score of the detected tokens, share of draws with a negative mean)."""
    detected = [ngram[0] for ngram in detectors("planted", 1)[key].detected]
    drawn = [statistics.fmean(draw) for draw in zip(*(controls(*key, token) for token in detected), strict=True)]
    return statistics.fmean(score(*key, token) for token in detected), sum(mean < 0 for mean in drawn) / 100


def test_suppression(connection: duckdb.DuckDBPyConnection) -> None:
    found = {(row["layer"], row["neuron"]): row for row in rows(connection, "select * from suppression")}
    assert set(found) == set(detectors("planted", 1))
    for key, row in found.items():
        detected = [ngram[0] for ngram in detectors("planted", 1)[key].detected]
        mean, expected = expected_suppression(key)
        assert row["mean_score"] == pytest.approx(mean)
        assert row["suppresses"] == (mean < 0)
        assert row["expected"] == pytest.approx(expected)
        assert row["mean_score_centred"] == pytest.approx(mean - 0.25)
        assert row["suppresses_centred"] == (mean < 0.25)
        assert row["any_negative"] == any(score(*key, token) < 0 for token in detected)
        assert row["all_negative"] == all(score(*key, token) < 0 for token in detected)
        assert row["mean_z_score"] == pytest.approx(2 * mean)
    assert found[0, 0]["suppresses"]
    assert found[0, 0]["all_negative"]


def test_suppression_by_model(connection: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(connection, "select * from suppression_by_model")
    values = [expected_suppression(key) for key in detectors("planted", 1)]
    n_suppressing = sum(mean < 0 for mean, _ in values)
    observed, expected = n_suppressing / len(values), statistics.fmean(share for _, share in values)
    assert (row["model"], row["n_detectors"], row["n_suppressing"]) == ("planted", len(values), n_suppressing)
    assert (row["observed"], row["expected"]) == (pytest.approx(observed), pytest.approx(expected))
    assert row["difference"] == pytest.approx(observed - expected)
    assert row["observed_low"] == pytest.approx(wilson_low(n_suppressing, len(values)))
    assert row["observed_high"] == pytest.approx(1 - wilson_low(len(values) - n_suppressing, len(values)))


def test_neurons(connection: duckdb.DuckDBPyConnection) -> None:
    """The flat table's labels are those of the views that read the triggers."""
    for model in MODELS:
        found = {
            (row["layer"], row["neuron"]): row
            for row in rows(connection, f"select * from neurons where model = '{model}'")
        }
        assert set(found) == set(NEURONS)
        for key, row in found.items():
            counts = oracle.activations(lines(model, *key), 1)
            seen, own = oracle.occurrences(lines(model, *key), 1), detectors(model, 1).get(key)
            status = "too few activations" if sum(counts.values()) < 100 else "not" if own is None else "detector"
            assert (row["unigrams_95"], row["token_status"]) == (oracle.coverage(counts, 95), status)
            assert row["is_token_detector"] == (own is not None)
            ids = sorted(ngram[0] for ngram in own.detected) if own else []
            assert row["detected_tokens"] == ([f" w{token}" for token in ids] if own else None)
            suppresses = own is not None and statistics.fmean(score(*key, token) for token in ids) < 0
            assert row["suppresses_triggers"] == suppresses
            first = oracle.ranked(counts)[:5]
            if not first:
                assert (row["trigger_share"], row["trigger_recall"], row["trigger_z"]) == (None, None, None)
                continue
            held = sum(count for _, count in first)
            assert row["trigger_share"] == held / sum(counts.values())
            assert row["trigger_recall"] == held / sum(seen[ngram] for ngram, _ in first)
            assert row["trigger_z"] == pytest.approx(statistics.fmean(2 * score(*key, *ngram) for ngram, _ in first))


def test_scaling(connection: duckdb.DuckDBPyConnection) -> None:
    found = {row["model"]: row for row in rows(connection, "select * from scaling")}
    for model, row in found.items():
        for n, name in ((1, "token"), (2, "bigram"), (3, "trigram")):
            number = len(detectors(model, n)) if can_be_labelled(model, n) else None
            assert row[f"n_{name}_detectors"] == number
            assert row[f"{name}_detector_share"] == (None if number is None else number / len(NEURONS))
        detected = {ngram for one in detectors(model, 1).values() for ngram in one.detected}
        frequent = [count for count in oracle.occurrences(lines(model, 0, 0), 1).values() if count >= 10]
        assert (row["n_detected_tokens"], row["detected_token_share"]) == (len(detected), len(detected) / len(frequent))
    (suppressing,) = rows(connection, "select * from suppression_by_model")
    assert found["planted"]["suppressing_difference"] == suppressing["difference"]
    # Without a single detector nothing can be said of suppression.
    assert found["shuffled"]["suppressing_share"] is None
    long = rows(connection, "select * from scaling_long where metric = 'suppressing_share'")
    assert [(row["model"], row["value"], row["low"], row["n"]) for row in long] == [
        ("planted", suppressing["observed"], pytest.approx(suppressing["observed_low"]), suppressing["n_detectors"])
    ]
