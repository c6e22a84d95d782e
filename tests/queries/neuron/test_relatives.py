"""Clusters, neighbours, controls and coherence as views and on a neuron's page, against loops over a plane."""

import math
import statistics
from typing import Any

import duckdb
import pytest

from neurothek.queries.neuron.page import neuron_page
from tests.support import relatives, tiny
from tests.support import warehouse as made


def records(connection: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = connection.sql(query).pl().to_dicts()
    return found


MODEL_IDS = range(len(tiny.MODELS))


def top_tokens(model_id: int, place: relatives.Place) -> list[str]:
    texts = tiny.TEXTS[tiny.MODELS[model_id].tokenizer_id]
    for row in made.hand_made().rows["projections"]:
        if (row["model_id"], row["layer"], row["neuron"]) == (model_id, *place):
            return [texts[token] for token in row["top_token_ids"][:10]]
    raise AssertionError


@pytest.mark.parametrize("model_id", MODEL_IDS)
def test_clusters_summary(full: duckdb.DuckDBPyConnection, model_id: int) -> None:
    plane, name = tiny.plane(model_id), tiny.MODELS[model_id].name
    query = f"select * from clusters_summary where model = '{name}' order by clustering_id, cluster_id"
    found = iter(records(full, query))
    most = max(len(plane.clusters(sectors)) for sectors in relatives.SECTORS)
    for sectors in relatives.SECTORS:
        for cluster_id, members in enumerate(plane.clusters(sectors)):
            row = next(found)
            layers = {layer for layer, _ in members}
            assert (row["cluster_id"], row["size"], row["n_layers"]) == (cluster_id, len(members), len(layers))
            assert (row["first_layer"], row["last_layer"]) == (min(layers), max(layers))
            assert row["n_clusters"] == len(plane.clusters(sectors))
            assert not row["is_shown"] or row["n_clusters"] == most
            null = None if model_id == relatives.WITHOUT_RANDOM_CLUSTERS else 0.75
            assert row["null_95"] == null
            if len(members) == 1:
                assert row["cohesion"] is row["shared_tokens"] is row["top_share"] is row["is_beyond_null"] is None
                continue
            pairs = [plane.cosine(one, other) for one in members for other in members if one != other]
            assert row["cohesion"] == pytest.approx(math.fsum(pairs) / len(pairs), abs=1e-9)
            assert row["is_beyond_null"] == (None if null is None else math.fsum(pairs) / len(pairs) > null)
            listed = [set(top_tokens(model_id, member)) for member in members]
            counts = {token: sum(token in tokens for tokens in listed) for token in set.union(*listed)}
            shared = sorted(token for token, n in counts.items() if n >= 2 and 3 * n >= len(members))
            assert (row["shared_tokens"] or []) == shared
            assert row["n_shared_tokens"] == len(shared)
            assert row["top_share"] == max(counts.values()) / len(members)
    assert next(found, None) is None


@pytest.mark.parametrize("model_id", MODEL_IDS)
def test_clusterings_count_what_is_beyond_chance(full: duckdb.DuckDBPyConnection, model_id: int) -> None:
    name, has_null = tiny.MODELS[model_id].name, model_id != relatives.WITHOUT_RANDOM_CLUSTERS
    clusters = records(full, f"select * from clusters_summary where model = '{name}'")
    rows = records(full, f"select * from clusterings where model = '{name}' order by clustering_id")
    for row, sectors in zip(rows, relatives.SECTORS, strict=True):
        mine = [one for one in clusters if one["clustering_id"] == row["clustering_id"]]
        cohesions = sorted(one["cohesion"] for one in mine if one["size"] > 1)
        assert (row["n_clusters_asked"], row["n_clusters"], row["n_several"]) == (sectors, len(mine), len(cohesions))
        assert row["is_shown"] == mine[0]["is_shown"]
        # In one model no cluster has a second neuron.
        assert row["max_cohesion"] == max(cohesions, default=None)
        assert row["median_cohesion"] == pytest.approx(statistics.median(cohesions) if cohesions else None, abs=1e-12)
        null = {"n_null": sectors - 1, "null_median": 0.25, "null_95": 0.75, "null_max": 0.875}
        null["n_beyond_null"] = sum(cohesion > 0.75 for cohesion in cohesions)
        share = null["n_beyond_null"] / len(cohesions) if cohesions else None
        assert {key: row[key] for key in null} == (null if has_null else dict.fromkeys(null))
        assert row["share_beyond_null"] == (share if has_null else None)


def test_members_and_neighbours_carry_addresses(full: duckdb.DuckDBPyConnection) -> None:
    for model_id in MODEL_IDS:
        plane, name = tiny.plane(model_id), tiny.MODELS[model_id].name
        members = records(full, f"select * from cluster_members where model = '{name}'")
        assert len(members) == len(relatives.SECTORS) * len(plane.places())
        for row in records(full, f"select * from neighbours where model = '{name}'"):
            place, other = (row["layer"], row["neuron"]), (row["other_layer"], row["other_neuron"])
            assert row["address"] == tiny.address((model_id, *place))
            assert row["other_address"] == tiny.address((model_id, *other))
            assert row["cosine"] == pytest.approx(plane.cosine(place, other), abs=1e-7)
            assert row["other_top_tokens"] == top_tokens(model_id, other)


def test_separation_is_the_mean_percentile(full: duckdb.DuckDBPyConnection) -> None:
    data = made.hand_made()
    found = records(full, "select * from coherence_separation")
    assert len(found) == sum(plan.n_layers for plan in tiny.MODELS if plan.corpora)
    for row in found:
        (model_id,) = [i for i in MODEL_IDS if tiny.MODELS[i].name == row["model"]]
        plane, corpus_id = tiny.plane(model_id), data.shown[model_id]
        judged = [plane.coherence(place, corpus_id) for place in plane.places() if place[0] == row["layer"]]
        percentiles = [one["coherence_percentile"] for one in judged]
        assert row["n_neurons"] == len(judged)
        assert row["separation"] == pytest.approx(math.fsum(percentiles) / len(judged) / 100, abs=1e-12)
        assert row["mean_z"] == pytest.approx(math.fsum(one["coherence_z"] for one in judged) / len(judged), abs=1e-12)
        assert row["share_above_95"] == sum(value > 95 for value in percentiles) / len(judged)


def test_norm_overlap_is_null_without_a_final_norm(full: duckdb.DuckDBPyConnection) -> None:
    for row in records(full, "select * from norm_overlap"):
        has_norm = row["model"] != "tiny-2m" and row["model"] != "gelu-1m"
        assert row["norm_overlap"] == (0.25 if has_norm else None)
        assert row["n"] == (500 if row["kind"] == "random" else row["n"])


def test_tokens_of_controls(full: duckdb.DuckDBPyConnection) -> None:
    query = "select * from control_tokens where model = 'tiny-2m' and layer = 1"
    names = ("kind", "control_id", "side", "rank", "token", "score", "z_score", "coherence_percentile")
    found = [tuple(row[name] for name in names) for row in records(full, query)]
    corpus_id = made.hand_made().shown[1]
    expected = []
    for (kind, control_id), token_ids in relatives.CONTROLS.items():
        percentile = 62.5 + corpus_id if (kind, control_id) == ("random", 0) else None
        for side, ids, scores in (("promoted", token_ids, [4.5, 2.5, 2.0, 1.5, 1.0]), ("suppressed", [4], [-3.5])):
            for rank, (token_id, score) in enumerate(zip(ids, scores, strict=True), start=1):
                token = tiny.ENGLISH[token_id]
                expected.append((kind, control_id, side, rank, token, score, (score - 0.5) / 2, percentile))
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_a_page_shows_cluster_mates_and_neighbours(full: duckdb.DuckDBPyConnection) -> None:
    for model_id, place in ((0, (0, 1)), (1, (2, 3)), (3, (1, 0)), (4, tiny.FLAT[1:])):
        plane = tiny.plane(model_id)
        page = neuron_page(full, tiny.address((model_id, *place)))
        facts = plane.facts(place, None)
        sectors = relatives.SECTORS[plane.clustering_ids().index(facts["clustering_id"])]
        members = plane.clusters(sectors)[facts["cluster_id"]]
        mates = [tiny.address((model_id, *member)) for member in members if member != place]
        assert sorted(page.relatives.mates["address"].to_list()) == sorted(mates)
        cosines = page.relatives.mates["centre_cosine"].drop_nulls().to_list()
        assert cosines == sorted(cosines, reverse=True)
        assert page.relatives.neighbours.height == relatives.N_NEIGHBOURS
        said = f"cluster {facts['cluster_id']} of"
        assert f"In {said}" in page.summary if mates else f"Alone in {said}" in page.summary
        is_compared = bool(mates) and model_id != relatives.WITHOUT_RANDOM_CLUSTERS
        assert ("chance (95% of clusters of random directions: at most 0.750)" in page.summary) == is_compared
        assert ("other neurons of its cluster" in repr(page)) == bool(mates)
        assert "nearest value vectors" in repr(page)
        assert page.data()["mates"] is page.relatives.mates


def test_a_page_of_a_model_that_was_not_clustered_says_nothing(weights: duckdb.DuckDBPyConnection) -> None:
    assert records(weights, "select * from clusters_summary") == []
