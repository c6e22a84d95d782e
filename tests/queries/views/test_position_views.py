"""The views of position profiles against loops over the counts they were made from."""

import math
from itertools import pairwise
from typing import Any

import duckdb
import pytest

from tests.support.profiles import labels
from tests.support.tiny import MODELS, POSITION_SEQUENCES, Row, address, neurons_of
from tests.support.warehouse import hand_made

MADE = hand_made()
KINDS = ("oscillatory", "both extremes", "one extreme", "other")


def by_key(connection: duckdb.DuckDBPyConnection, view: str, *key: str) -> dict[Any, dict[str, Any]]:
    rows = connection.sql(f"select * from {view}").pl().to_dicts()
    return {tuple(row[name] for name in key) if len(key) > 1 else row[key[0]]: row for row in rows}


def profiles(domain: str = "all") -> dict[str, Row]:
    """The rows of the shown corpora, by address."""
    return {
        address((row["model_id"], row["layer"], row["neuron"])): row
        for row in MADE.rows["positions"]
        if row["corpus_id"] == MADE.shown[row["model_id"]] and row["domain"] == domain
    }


def labelled() -> dict[str, tuple[str, str]]:
    """Kind and strength of every neuron of the shown corpora."""
    return {name: labels(row, row["n_sequences"]) for name, row in profiles().items()}


def in_layer(model_id: int, layer: int) -> list[str]:
    return [address(key) for key in neurons_of(model_id) if key[1] == layer]


def test_every_label_is_there() -> None:
    """What the tests below compare is not empty: every kind, strong and weak."""
    found = set(labelled().values())
    strengths = {(kind, strength) for kind in KINDS for strength in ("strong", "weak")}
    assert found == strengths | {(word, word) for word in ("not positional", "too few sequences")}


def test_neurons(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "neurons", "address")
    expected, stored = labelled(), profiles()
    for name, row in rows.items():
        assert (row["position_kind"], row["position_strength"]) == expected.get(name, (None, None))
        for column in ("mutual_information", "mutual_information_corrected"):
            assert row[column] == (stored[name][column] if name in stored else None)
    assert {name for name in rows if name not in expected} == {address(key) for key in neurons_of(4)}


def test_positional_neurons(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "positional_neurons", "address")
    expected, stored = labelled(), profiles()
    assert set(rows) == {name for name, (kind, _) in expected.items() if kind != "not positional"}
    for name, row in rows.items():
        copied = ("n_sequences", "n_switches", "n_on_runs", "n_off_runs", "weakest_on", "weakest_off", "roughness")
        assert {column: row[column] for column in copied} == {column: stored[name][column] for column in copied}
        assert (row["position_kind"], row["position_strength"]) == expected[name]
        is_undecided = expected[name][0] == "too few sequences"
        assert row["why_not"] == ("19 full-length sequences, at least 100 are needed" if is_undecided else None)
        own = [profiles(domain).get(name) for domain in ("prose", "code")]
        judged = [one["mutual_information_corrected"] for one in own if one and one["n_sequences"] >= 100]
        assert row["domain_agreement"] == min(judged, default=None)


def test_a_neuron_that_is_positional_on_prose_only_agrees_less(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "positional_neurons", "address")
    assert rows["tiny-1m/L0N1"]["domain_agreement"] < 0.05 < rows["tiny-1m/L0N1"]["mutual_information_corrected"]
    assert rows["tiny-1m/L0N0"]["domain_agreement"] > 0.6


def test_positions_by_layer(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "positions_by_layer", "model", "layer")
    expected, stored = labelled(), profiles()
    watched = {
        (plan.name, layer): (i, layer)
        for i, plan in enumerate(MODELS)
        if plan.corpora
        for layer in range(plan.n_layers)
    }
    assert set(rows) == set(watched)
    for name, (model_id, layer) in watched.items():
        row, own = rows[name], in_layer(model_id, layer)
        assert row["n_neurons"] == len(own)
        assert row["n_sequences"] == sum(POSITION_SEQUENCES[MADE.shown[model_id]].values())
        if row["n_sequences"] < 100:
            assert row["why_not"] == "too few sequences: the corpus has 19 of full length"
            assert row["n_positional"] is row["positional_share"] is row["n_strong"] is row["n_other_weak"] is None
            continue
        positional = [one for one in own if expected[one][0] in KINDS]
        assert row["why_not"] is None
        assert (row["n_positional"], row["positional_share"]) == (len(positional), len(positional) / len(own))
        assert row["n_strong"] == sum(expected[one][1] == "strong" for one in positional)
        for kind in KINDS:
            for strength in ("strong", "weak"):
                n = sum(expected[one] == (kind, strength) for one in own)
                assert row[f"n_{kind.replace(' ', '_')}_{strength}"] == n
        information = [stored[one]["mutual_information_corrected"] for one in positional]
        mean = math.fsum(information) / len(information) if information else None
        assert row["mean_mutual_information"] == pytest.approx(mean, rel=1e-12)


def mean_and_interval(values: list[float]) -> tuple[float, float | None, float | None]:
    n, mean = len(values), math.fsum(values) / len(values)
    if n == 1:
        return mean, None, None
    half = 1.96 * math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n)
    return mean, mean - half, mean + half


def test_positional_values(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "positional_values", "model", "layer", "kind")
    labels_of = labelled()
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for fact in MADE.rows["neuron_facts"]:
        kind = labels_of.get(fact["address"], (None, None))[0]
        if kind not in (None, "too few sequences"):
            group = "positional" if kind in KINDS else "other"
            groups.setdefault((MODELS[fact["model_id"]].name, fact["layer"], group), []).append(fact)
    assert set(rows) == {key for key in groups if (*key[:2], "positional") in groups}
    assert {kind for _, _, kind in rows} == {"positional", "other"}
    for key, row in rows.items():
        assert row["n"] == len(groups[key])
        for name, stored in (("value_norm", "value_norm"), ("kurtosis", "score_kurtosis"), ("coherence", "coherence")):
            values = [fact[stored] for fact in groups[key] if fact[stored] is not None]
            expected = mean_and_interval(values) if values else (None, None, None)
            found = row[name], row[f"{name}_low"], row[f"{name}_high"]
            # 1.96 stands for the quantile that the view has in full.
            assert found == tuple(None if one is None else pytest.approx(one, rel=1e-3, abs=1e-4) for one in expected)
            if name == "coherence":
                assert row["n_coherent"] == len(values)


def test_scaling(full: duckdb.DuckDBPyConnection) -> None:
    rows, expected = by_key(full, "scaling", "model"), labelled()
    for model_id, plan in enumerate(MODELS):
        row = rows[plan.name]
        own = [expected[address(key)] for key in neurons_of(model_id) if address(key) in expected]
        if not own or own[0][0] == "too few sequences":
            assert row["n_positional"] is row["positional_share"] is row["strong_positional_share"] is None
            continue
        positional = [strength for kind, strength in own if kind in KINDS]
        assert (row["n_positional"], row["positional_share"]) == (len(positional), len(positional) / len(own))
        n_strong = positional.count("strong")
        assert (row["n_strong_positional"], row["strong_positional_share"]) == (n_strong, n_strong / len(own))


def test_position_teams(full: duckdb.DuckDBPyConnection) -> None:
    rows = by_key(full, "position_teams", "model", "layer", "team")
    expected, stored = labelled(), profiles()
    teams = {"oscillatory": {"oscillatory"}, "both": {"oscillatory", "both extremes"}}
    found = {}
    for model_id in MADE.shown:
        for layer in range(MODELS[model_id].n_layers):
            for team, kinds in teams.items():
                members = [
                    name
                    for name in in_layer(model_id, layer)
                    if expected[name][0] in kinds and expected[name][1] == "strong"
                ]
                if members:
                    found[MODELS[model_id].name, layer, team] = [covering(stored[name]) for name in members]
    assert set(rows) == set(found)
    for key, covers in found.items():
        row = rows[key]
        n_covering = [sum(column) for column in zip(*covers, strict=True)]
        alone = [sum(own and n == 1 for own, n in zip(one, n_covering, strict=True)) for one in covers]
        assert row["n_neurons"] == len(covers)
        assert row["n_positions"] == len(n_covering)
        assert row["n_covered"] == sum(n > 0 for n in n_covering)
        assert row["covered_share"] == row["n_covered"] / row["n_positions"]
        assert row["n_covered_once"] == sum(n == 1 for n in n_covering) == sum(alone)
        assert row["n_redundant"] == sum(n == 0 for n in alone)
        assert row["n_ranges"] == sum(sum(b and not a for a, b in pairwise([False, *one])) for one in covers)
    assert any(row["n_neurons"] > 1 for row in rows.values())


def covering(row: Row) -> list[bool]:
    """Where the neuron fires more often than not."""
    return [2 * count > row["n_sequences"] for count in row["counts"]]


def test_without_the_job_labels_are_null(weights: duckdb.DuckDBPyConnection) -> None:
    assert weights.sql("select distinct position_kind, position_strength from neurons").fetchall() in (
        [],
        [(None, None)],
    )
