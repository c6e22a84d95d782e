"""The views' numbers against loops over the scores and coefficients that the warehouse was made from."""

import math
import statistics
from typing import Any

import duckdb
import pytest

from tests.support.measurements import Measurements
from tests.support.tiny import (
    BOS,
    CORPORA,
    DEAD,
    FLAT,
    MODELS,
    ONLY_AT_BOS,
    PROVABLY_DEAD,
    TEXTS,
    Neuron,
    Row,
    address,
    neurons_of,
)
from tests.support.warehouse import hand_made

MADE: Measurements = hand_made()
CLOSE = 1e-12
"""Sums of at most 84 doubles in another order differ by less."""


def by_key(connection: duckdb.DuckDBPyConnection, view: str, *key: str) -> dict[Any, dict[str, Any]]:
    frame = connection.sql(f"select * from {view}").pl()
    rows = frame.to_dicts()
    return {tuple(row[name] for name in key) if len(key) > 1 else row[key[0]]: row for row in rows}


def counted(corpus_id: int, neuron: Neuron, domain: str | None = None) -> list[float]:
    """The neuron's coefficients at the counted positions, in the corpus's order."""
    first = 0 if BOS[MODELS[neuron[0]].tokenizer_id] is None else 1
    domains = {row["sequence_id"]: row["domain"] for row in MADE.rows["sequences"] if row["corpus_id"] == corpus_id}
    lines = MADE.coefficients[corpus_id, neuron].items()
    return [m for sequence, line in lines if domain in (None, domains[sequence]) for m in line[first:]]


def n_fired(values: list[float]) -> int:
    return sum(m > 0 for m in values)


def shown_neurons() -> list[tuple[Neuron, int]]:
    return [(neuron, corpus) for model_id, corpus in MADE.shown.items() for neuron in neurons_of(model_id)]


def counts_of(corpus_id: int | None) -> dict[int, int]:
    counts: dict[int, int] = {}
    first = None if corpus_id is None else (0 if BOS[CORPORA[corpus_id][2]] is None else 1)
    for row in MADE.rows["sequences"]:
        if row["corpus_id"] == corpus_id:
            for token in row["tokens"][first:]:
                counts[token] = counts.get(token, 0) + 1
    return counts


def test_measured_corpora_show_the_pinned_else_the_longest(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "measured_corpora", "model", "corpus_id")
    assert set(rows) == {(plan.name, corpus) for plan in MODELS for corpus in plan.corpora}
    shown = {model: corpus for (model, corpus), row in rows.items() if row["is_shown"]}
    assert shown == {"tiny-1m": 0, "tiny-2m": 1, "tiny-2m-nopos": 0, "gelu-1m": 2}
    assert [key for key, row in rows.items() if row["is_pinned"]] == [("tiny-1m", 0)]
    assert rows["gelu-1m", 2]["activation_rule"] == "m > 0"
    assert rows["tiny-1m", 1]["n_tokens"] == 84


def test_models(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "models", "model")
    assert {name: row["size"] for name, row in rows.items()} == {plan.name: plan.size for plan in MODELS}
    assert rows["tiny-1m"]["jobs"] == [
        *("activity", "clusters", "contexts", "controls", "counterparts", "positions", "projections"),
    ]
    assert rows["weights-only"]["jobs"] == ["clusters", "counterparts", "projections"]
    assert rows["weights-only"]["corpus"] is None
    assert rows["tiny-2m"]["corpus"] == "long"
    assert rows["tiny-1m"]["tokens_per_parameter"] == pytest.approx(20_000_000 / 1_100_000, rel=CLOSE)
    assert rows["gelu-1m"]["tokens_per_parameter"] is None


def test_corpora(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "corpora", "corpus_id")
    assert [rows[number]["corpus"] for number in (0, 1, 2)] == ["builtin", "long", "builtin"]
    assert rows[0]["domains"] == ["code", "prose"]
    assert rows[0]["models"] == ["tiny-1m", "tiny-2m", "tiny-2m-nopos"]
    assert rows[0]["n_tokens"] == sum(counts_of(0).values())


def test_neurons_activity(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "neurons", "address")
    assert len(rows) == sum(plan.n_layers * plan.d_ffn for plan in MODELS)
    for neuron, corpus_id in shown_neurons():
        row, values = rows[address(neuron)], counted(corpus_id, neuron)
        assert row["n_tokens_seen"] == len(values)
        assert row["frequency"] == pytest.approx(n_fired(values) / len(values), rel=CLOSE)
        assert row["never_active"] == (n_fired(values) == 0)
        assert row["mean_activation"] == pytest.approx(math.fsum(values) / len(values), rel=CLOSE)
        assert (row["activation_min"], row["activation_max"]) == (min(values), max(values))
        assert row["corpus"] == CORPORA[corpus_id][0]
        fired = [place for place, m in enumerate(values) if m > 0]
        assert row["first_active"] == (fired[0] if fired else None)


def test_who_fires_only_at_bos(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "neurons", "address")
    every = by_key(full, "neurons_by_corpus", "address", "corpus_id")
    found = set()
    for model_id, plan in enumerate(MODELS):
        for neuron in neurons_of(model_id):
            row = rows[address(neuron)]
            for corpus_id in plan.corpora:
                places = counted(corpus_id, neuron)
                has_bos = BOS[plan.tokenizer_id] is not None
                at_bos = [line[0] for line in MADE.coefficients[corpus_id, neuron].values() if has_bos]
                expected = not n_fired(places) and n_fired(at_bos) > 0
                assert every[address(neuron), corpus_id]["fires_only_at_bos"] is expected
                if corpus_id == MADE.shown[model_id]:
                    assert row["fires_only_at_bos"] is expected
                    found |= {neuron} if expected else set()
            if not plan.corpora:
                assert row["fires_only_at_bos"] is None
    assert found >= ONLY_AT_BOS
    assert not found & (DEAD - ONLY_AT_BOS)


def test_neurons_labels(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "neurons", "address")
    for neuron in DEAD:
        assert rows[address(neuron)]["is_dead"] is True
    for model_id, plan in enumerate(MODELS):
        for neuron in neurons_of(model_id):
            row = rows[address(neuron)]
            # Null only where the job has not run or the label has no meaning: GELU has no zeros, post-norm no bound.
            assert (row["is_dead"] is None) == (not plan.is_relu or not plan.corpora)
            assert (row["never_active"] is None) == (not plan.corpora)
            expected = (neuron in PROVABLY_DEAD) if plan.is_relu and plan.norm_position == "pre" else None
            assert row["is_provably_dead"] == expected
            assert row["depth"] == pytest.approx((neuron[1] + 0.5) / plan.n_layers, rel=CLOSE)
    assert rows[address(FLAT)]["kurtosis"] is None


def test_neurons_tokens_and_their_frequency(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "neurons", "address")
    for model_id, plan in enumerate(MODELS):
        texts, k = TEXTS[plan.tokenizer_id], min(50, len(TEXTS[plan.tokenizer_id]) // 2)
        counts = counts_of(MADE.shown.get(model_id))
        for neuron in neurons_of(model_id):
            row, scores = rows[address(neuron)], MADE.scores[neuron]
            best = sorted(range(len(texts)), key=lambda token: (-scores[token], token))[:k]
            worst = sorted(range(len(texts)), key=lambda token: (scores[token], token))[:k]
            assert row["top_tokens"] == [texts[token] for token in best[:10]]
            assert row["bottom_tokens"] == [texts[token] for token in worst[:10]]
            logs = [math.log(1 + counts.get(token, 0)) for token in best]
            expected = None if model_id not in MADE.shown else pytest.approx(statistics.fmean(logs), rel=CLOSE)
            assert row["top_token_log_frequency"] == expected


def test_neurons_by_corpus_and_domain(full: duckdb.DuckDBPyConnection) -> None:
    whole = by_key(full, "neurons_by_corpus", "address", "corpus_id")
    parts = by_key(full, "activity_by_domain", "address", "corpus_id", "domain")
    assert set(whole) == {(address(neuron), corpus_id) for corpus_id, neuron in MADE.coefficients}
    for corpus_id, neuron in MADE.coefficients:
        row, values = whole[address(neuron), corpus_id], counted(corpus_id, neuron)
        assert (row["n_active"], row["n_tokens_seen"]) == (n_fired(values), len(values))
        assert row["is_dead"] == (n_fired(values) == 0 if MODELS[neuron[0]].is_relu else None)
        assert row["is_shown"] == (MADE.shown[neuron[0]] == corpus_id)
        for domain in CORPORA[corpus_id][3]:
            part, own = parts[address(neuron), corpus_id, domain], counted(corpus_id, neuron, domain)
            assert part["frequency"] == pytest.approx(n_fired(own) / len(own), rel=CLOSE)
            if MODELS[neuron[0]].is_relu and n_fired(own):
                assert part["mean_when_active"] == pytest.approx(math.fsum(own) / n_fired(own), rel=CLOSE)


def test_promotions_and_neuron_tokens_are_one_list(full: duckdb.DuckDBPyConnection) -> None:
    key = ("address", "side", "rank")
    promotions, tokens = by_key(full, "promotions", *key), by_key(full, "neuron_tokens", *key)
    assert set(promotions) == set(tokens)
    for place, row in tokens.items():
        for name in ("model", "layer", "neuron", "token_id", "token", "word", "corpus_count", "score"):
            assert row[name] == promotions[place][name]
        # The z-scores of a flat neuron are undefined, and stored as 0.
        assert (row["z_score"] or 0) == pytest.approx(promotions[place]["z_score"], abs=1e-6)


def test_promotions(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "promotions", "address", "side", "token_id")
    for model_id, plan in enumerate(MODELS):
        texts, k = TEXTS[plan.tokenizer_id], min(50, len(TEXTS[plan.tokenizer_id]) // 2)
        counts = counts_of(MADE.shown.get(model_id))
        for neuron in neurons_of(model_id):
            scores = MADE.scores[neuron]
            mean, sd = statistics.fmean(scores), statistics.pstdev(scores)
            for side, sign in (("promoted", -1), ("suppressed", 1)):
                listed = sorted(range(len(texts)), key=lambda token: (sign * scores[token], token))[:k]
                for rank, token in enumerate(listed, start=1):
                    row = rows.pop((address(neuron), side, token))
                    assert (row["rank"], row["token"], row["score"]) == (rank, texts[token], scores[token])
                    # Stored as a float32 of about 3: within 2e-7 of itself.
                    assert row["z_score"] == pytest.approx((scores[token] - mean) / sd if sd else 0, abs=1e-6)
                    expected = counts.get(token, 0) if model_id in MADE.shown else None
                    assert row["corpus_count"] == expected
    assert rows == {}


def test_contexts(full: duckdb.DuckDBPyConnection) -> None:
    every = by_key(full, "contexts_by_corpus", "address", "corpus_id", "rank")
    shown = by_key(full, "contexts_text", "address", "rank")
    sequences = {(row["corpus_id"], row["sequence_id"]): row for row in MADE.rows["sequences"]}
    for row in MADE.rows["contexts"]:
        neuron = (row["model_id"], row["layer"], row["neuron"])
        sequence = sequences[row["corpus_id"], row["sequence_id"]]
        texts = [TEXTS[MODELS[neuron[0]].tokenizer_id][token] for token in sequence["tokens"]]
        place = row["position"]
        found = every.pop((address(neuron), row["corpus_id"], row["rank"]))
        assert found["before"] == "".join(texts[max(0, place - 12) : place])
        assert found["token"] == texts[place]
        assert found["after"] == "".join(texts[place + 1 : place + 7])
        assert (found["activation"], found["domain"]) == (row["activation"], sequence["domain"])
        if MADE.shown[neuron[0]] == row["corpus_id"]:
            assert shown.pop((address(neuron), row["rank"]))["before"] == found["before"]
    assert every == shown == {}


def test_windows_are_the_coefficients_around_their_places(full: duckdb.DuckDBPyConnection) -> None:
    found = by_key(full, "context_windows", "address", "corpus_id", "band", "rank", "position")
    sequences = {(row["corpus_id"], row["sequence_id"]): row for row in MADE.rows["sequences"]}
    for row in MADE.rows["context_windows"]:
        neuron = (row["model_id"], row["layer"], row["neuron"])
        sequence = sequences[row["corpus_id"], row["sequence_id"]]
        line, texts = (
            MADE.coefficients[row["corpus_id"], neuron][row["sequence_id"]],
            TEXTS[MODELS[neuron[0]].tokenizer_id],
        )
        for position in range(row["position"] - row["n_before"], row["position"] + row["n_after"] + 1):
            token = found.pop((address(neuron), row["corpus_id"], row["band"], row["rank"], position))
            assert (token["token_id"], token["token"]) == (
                sequence["tokens"][position],
                texts[sequence["tokens"][position]],
            )
            assert token["activation"] == pytest.approx(line[position], abs=row["largest"] / 254 + 1e-6)
            assert token["is_place"] == (position == row["position"])
            assert (token["domain"], token["sequence_id"]) == (sequence["domain"], row["sequence_id"])
            n_sampled = sum(
                one["band"] == "quantile" and window_of(one) == window_of(row) for one in MADE.rows["context_windows"]
            )
            part = (
                ("upper", "middle", "lower")[3 * (row["rank"] - 1) // n_sampled] if row["band"] == "quantile" else None
            )
            assert token["part"] == part
    assert found == {}


def window_of(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("model_id", "corpus_id", "layer", "neuron"))


def lies_in(m: float, number: int, low: float, high: float) -> bool:
    """Whether a bin has the activation: the edge that is nearer to 0 belongs to it, and 0 to its own."""
    if number == 0 or m == 0:
        return number == 0 and m == 0
    return low <= m < high if number > 0 else low < m <= high


def test_histograms_are_counts_between_their_edges(full: duckdb.DuckDBPyConnection) -> None:
    found = by_key(full, "activation_histogram", "address", "corpus_id", "bin")
    for (corpus_id, neuron), _ in MADE.coefficients.items():
        values, rest = counted(corpus_id, neuron), 0
        bins = {key[2]: row for key, row in found.items() if key[:2] == (address(neuron), corpus_id)}
        for number, row in bins.items():
            assert row["n_tokens"] == sum(lies_in(m, number, row["low"], row["high"]) for m in values) > 0
            assert row["n_tokens_counted"] == len(values)
            rest += row["n_tokens"]
        assert rest == len(values)


def test_units_are_the_neurons_of_every_model(full: duckdb.DuckDBPyConnection) -> None:
    units = by_key(full, "units", "model", "layer", "unit")
    neurons = by_key(full, "neurons", "model", "layer", "neuron")
    planned = {
        (plan.name, layer, unit) for plan in MODELS for layer in range(plan.n_layers) for unit in range(plan.d_ffn)
    }
    assert units.keys() == planned
    renamed = {"unit": "neuron", "write_norm": "value_norm"}
    for place, row in units.items():
        assert (row.pop("unit_set"), row.pop("kind")) == ("ffn", "ffn")
        assert row == {name: neurons[place][renamed.get(name, name)] for name in row}


def test_layer_activity(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "layer_activity", "model", "layer")
    every = by_key(full, "layer_activity_by_corpus", "model", "corpus_id", "layer")
    for model_id, corpus_id in MADE.shown.items():
        plan = MODELS[model_id]
        for layer in range(plan.n_layers):
            lines = [counted(corpus_id, (model_id, layer, neuron)) for neuron in range(plan.d_ffn)]
            frequencies = [n_fired(values) / len(values) for values in lines]
            fired = [frequency for frequency in frequencies if frequency > 0]
            row = rows.pop((plan.name, layer))
            n_silent = len(frequencies) - len(fired)
            assert row["n_never_active"] == n_silent
            assert row["dead_share"] == (pytest.approx(n_silent / plan.d_ffn) if plan.is_relu else None)
            assert row["mean_frequency"] == pytest.approx(statistics.fmean(fired), rel=CLOSE)
            quartiles = statistics.quantiles(fired, n=4, method="inclusive")
            shown = [row[name] for name in ("frequency_25", "median_frequency", "frequency_75")]
            assert shown == pytest.approx(quartiles, rel=CLOSE)
            provable = sum((model_id, layer, neuron) in PROVABLY_DEAD for neuron in range(plan.d_ffn))
            assert row["n_provably_dead"] == (provable if plan.is_relu else None)
            same = every[plan.name, corpus_id, layer]
            for name in (
                "n_never_active",
                "n_dead",
                "dead_share",
                "mean_frequency",
                "median_frequency",
                "n_tokens_seen",
            ):
                assert same[name] == (None if row[name] is None else pytest.approx(row[name], rel=CLOSE))
    assert rows == {}


def test_dead_by_tokens(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "dead_by_tokens", "model", "domain", "layer", "n_tokens")
    for model_id, corpus_id in MADE.shown.items():
        plan = MODELS[model_id]
        for domain in (None, *CORPORA[corpus_id][3]):
            lines = {neuron: counted(corpus_id, neuron, domain) for neuron in neurons_of(model_id)}
            n_seen = len(lines[model_id, 0, 0])
            for n_tokens in [*(n for n in (10, 20, 50) if n < n_seen), n_seen]:
                for layer in (None, *range(plan.n_layers)):
                    own = [values for key, values in lines.items() if layer in (None, key[1])]
                    silent = sum(n_fired(values[:n_tokens]) == 0 for values in own)
                    row = rows.pop((plan.name, domain or "all", layer, n_tokens))
                    assert (row["n_never_active"], row["n_neurons"]) == (silent, len(own))
                    assert row["dead_share"] == (pytest.approx(silent / len(own)) if plan.is_relu else None)
    assert rows == {}


def test_scaling(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "scaling", "model")
    for model_id, plan in enumerate(MODELS):
        row = rows[plan.name]
        assert (row["size"], row["n_neurons"]) == (plan.size, plan.n_layers * plan.d_ffn)
        if model_id not in MADE.shown:
            assert row["dead_share"] is row["mean_frequency"] is row["n_alive"] is None
            continue
        lines = {neuron: counted(MADE.shown[model_id], neuron) for neuron in neurons_of(model_id)}
        frequencies = {key: n_fired(values) / len(values) for key, values in lines.items()}
        fired = [frequency for frequency in frequencies.values() if frequency > 0]
        silent = [key for key, frequency in frequencies.items() if not frequency]
        assert row["never_active_share"] == pytest.approx(len(silent) / len(lines), rel=CLOSE)
        assert row["n_dead"] == (len(silent) if plan.is_relu else None)
        first_half = [key for key in lines if 2 * key[1] + 1 <= plan.n_layers]
        share = sum(key in silent for key in first_half) / len(first_half)
        assert row["first_half_dead_share"] == (pytest.approx(share) if plan.is_relu else None)
        assert row["mean_frequency"] == pytest.approx(statistics.fmean(fired), rel=CLOSE)
        assert row["median_frequency"] == pytest.approx(statistics.median(fired), rel=CLOSE)
        assert row["frequency_sd"] == pytest.approx(statistics.stdev(fired), rel=CLOSE)


def test_scaling_says_what_may_be_compared(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "scaling", "model")
    assert {name: row["why_not"] for name, row in rows.items()} == {
        "tiny-1m": None,
        "tiny-2m-nopos": None,
        "tiny-2m": "another text",
        "gelu-1m": "active means m > 0 instead of m != 0",
        "weights-only": "its activity was not measured",
    }
    assert all(row["comparable"] == (row["why_not"] is None) for row in rows.values())


def test_scaling_long(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "scaling_long", "model", "metric")
    scaling = by_key(full, "scaling", "model")
    assert {(model, metric): row["value"] for (model, metric), row in rows.items()} == {
        (model, metric): scaling[model][metric]
        for model in scaling
        for metric in {metric for _, metric in rows}
        if scaling[model][metric] is not None
    }
    for row in rows.values():
        if row["metric"].endswith("_share"):
            # The ends of Wilson's interval are the shares whose normal test rejects the observed one at 5%.
            for end in (row["low"], row["high"]):
                distance = 1.959963984540054 * math.sqrt(end * (1 - end) / row["n"])
                assert abs(row["value"] - end) == pytest.approx(distance, abs=1e-9)
            assert row["low"] <= row["value"] <= row["high"]
        elif row["metric"] == "mean_frequency":
            half = 1.959963984540054 * scaling[row["model"]]["frequency_sd"] / math.sqrt(row["n"])
            assert (row["low"], row["high"]) == pytest.approx((row["value"] - half, row["value"] + half), rel=1e-9)
        else:
            assert row["low"] is row["high"] is None
