"""Clusters of random directions: loops over pairs, and vectors whose clusters chance does or does not make."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.cluster.hierarchy import fcluster, linkage

import neurothek
from neurothek.ingest.jobs.clusters import agglomeration
from neurothek.ingest.jobs.clusters.job import ClustersJob, random_directions
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import load
from neurothek.ingest.models.transformer import open_transformer
from neurothek.ingest.numerics.random_stream import Purpose, random_stream
from neurothek.ingest.request import IngestRequest
from tests.support import ingests, jobs, models
from tests.support.models import Kind
from tests.support.tiny import Row

N, D_MODEL = 60, 8


def dot(one: list[float], other: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(one, other, strict=True))


def plain_signs(vectors: list[list[float]]) -> list[float]:
    """Signs that agree with the sum, beginning with the first vector, until none turns."""
    centre, signs = vectors[0], [1.0] * len(vectors)
    for _ in range(100):
        turned = [-1.0 if dot(one, centre) < 0 else 1.0 for one in vectors]
        centre = [sum(s * one[i] for s, one in zip(turned, vectors, strict=True)) for i in range(len(centre))]
        if turned == signs:
            break
        signs = turned
    return signs


def plain_cohesions(directions: np.ndarray, labels: list[int], *, either_sign: bool) -> list[float]:
    """Mean cosine over the pairs of each cluster of at least two, in the order of clusters."""
    cohesions = []
    for cluster in range(max(labels) + 1):
        members = [directions[i].tolist() for i, label in enumerate(labels) if label == cluster]
        if len(members) < 2:
            continue
        signs = plain_signs(members) if either_sign else [1.0] * len(members)
        pairs = [signs[i] * signs[j] * dot(members[i], members[j]) for i in range(len(members)) for j in range(i)]
        cohesions.append(sum(pairs) / len(pairs))
    return cohesions


def plain_quantile(numbers: list[float], share: float) -> float:
    ordered = sorted(numbers)
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    return below + (place - math.floor(place)) * (above - below)


@pytest.mark.parametrize("n", [5, 1024, 2500])
def test_directions_are_normal_draws_of_length_one(n: int) -> None:
    directions = random_directions(n, D_MODEL)
    drawn = random_stream(0, Purpose.RANDOM_DIRECTIONS, n, D_MODEL).standard_normal((n, D_MODEL))
    for row in {0, n // 2, n - 1}:
        length = math.sqrt(sum(x * x for x in drawn[row].tolist()))
        # Rounded to float32.
        assert directions[row].tolist() == pytest.approx([x / length for x in drawn[row].tolist()], abs=1e-7)
    assert torch.equal(directions, random_directions(n, D_MODEL))
    assert not torch.equal(directions, random_directions(n, D_MODEL, seed=1))


@pytest.mark.parametrize("either_sign", [False, True])
def test_cohesions_are_means_over_pairs(either_sign: bool) -> None:
    directions = random_directions(N, D_MODEL)
    labels = np.array([0, *range(12), *[i % 9 for i in range(N - 13)]])
    mine = agglomeration.cohesions(directions, labels, either_sign=either_sign)
    expected = plain_cohesions(directions.double().numpy(), labels.tolist(), either_sign=either_sign)
    assert len(expected) < labels.max() + 1  # Some are alone.
    # Vectors of float32 have length 1 to within 1e-7.
    assert mine.tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["opt", "llama"])
def test_the_rows_of_a_job_equal_loops(tmp_path: Path, kind: Kind) -> None:
    folder = models.build(tmp_path / kind, kind, n_layers=3, d_ffn=20, d_model=D_MODEL, n_heads=2)
    transformer = open_transformer(find(str(folder)))
    job = ClustersJob.of(JobContext(transformer, load(folder)), sizes=(15, 6, N), memory_bytes=1 << 30)
    rows = jobs.measure_shard(job, "random-directions")["cluster_controls"].to_dicts()
    directions = random_directions(N, D_MODEL).double().numpy()
    cosines = np.array([[dot(a, b) for b in directions.tolist()] for a in directions.tolist()])
    distances = 1 - (np.abs(cosines) if transformer.shape.is_gated else cosines)
    merges = linkage(distances[np.triu_indices(N, 1)], "complete")
    for row, size in zip(rows[:2], (15, 6), strict=True):
        labels = (fcluster(merges, size, "maxclust") - 1).tolist()
        cohesions = plain_cohesions(directions, labels, either_sign=transformer.shape.is_gated)
        assert (row["n_clusters_asked"], row["n_clusters"], row["n_several"]) == (size, size, len(cohesions))
        found = [row[name] for name in ("median_cohesion", "p95_cohesion", "max_cohesion")]
        assert found == pytest.approx([plain_quantile(cohesions, share) for share in (0.5, 0.95, 1)], abs=1e-6)
    alone = {"n_several": 0, "median_cohesion": None, "p95_cohesion": None, "max_cohesion": None}
    assert rows[2] == {"n_clusters_asked": N, "n_clusters": N} | alone


def planted(folder: Path, kind: Kind, name: str) -> Path:
    """A model of two layers of 1,000 random value vectors each, of which the first 20 point one way."""

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        generator = torch.Generator().manual_seed(7)
        first = torch.randn(16, generator=generator)
        for layer in (0, 1):
            values = torch.randn(16, 1000, generator=generator)
            if layer == 0:
                values[:, :20] = first[:, None] + 0.2 * values[:, :20]
                # Of a gated model half of them are stored with the other sign.
                values[:, :10] *= -1 if kind == "llama" else 1
            tensors[name.format(layer)] = values

    folder = models.build(folder / kind, kind, n_layers=2, d_ffn=1000, d_model=16, n_heads=2)
    return models.edit_tensors(folder, plant)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("opt", "model.decoder.layers.{}.fc2.weight"), ("llama", "model.layers.{}.mlp.down_proj.weight")],
)
def test_random_vectors_are_beyond_chance_as_often_as_chance_and_a_bundle_is(
    tmp_path: Path, kind: Kind, name: str
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, planted(tmp_path, kind, name), IngestRequest(jobs=("clusters",), clusters=(300,)))
    door = neurothek.open(warehouse.path)
    (row,) = door.sql("from clusterings").to_dicts()
    clusters: list[Row] = door.sql("from clusters_summary").to_dicts()
    cohesions = [one["cohesion"] for one in clusters if one["size"] > 1]
    beyond = [one for one in clusters if one["is_beyond_null"]]
    assert row["n_several"] == len(cohesions)
    assert row["median_cohesion"] == pytest.approx(plain_quantile(cohesions, 0.5), abs=1e-12)
    assert row["n_beyond_null"] == sum(cohesion > row["null_95"] for cohesion in cohesions) == len(beyond)
    assert row["share_beyond_null"] == len(beyond) / len(cohesions)
    # Of about 300 clusters on either side: four standard errors of the difference of two shares of 5% are .07.
    assert abs(row["share_beyond_null"] - 0.05) < 0.07
    assert row["median_cohesion"] == pytest.approx(row["null_median"], rel=0.1)
    bundle = {one["cluster_id"] for one in door.sql("from cluster_members where layer = 0 and neuron < 20").to_dicts()}
    assert len(bundle) == 1
    (tight,) = [one for one in clusters if one["cluster_id"] in bundle]
    assert tight["is_beyond_null"]
    assert tight["cohesion"] == max(cohesions) > row["null_max"]


def test_a_run_of_an_earlier_release_has_none_until_it_is_forced(tmp_path: Path) -> None:
    folder = models.build(tmp_path / "small", "gpt2", n_layers=2, d_model=8, d_ffn=20, n_heads=2)
    warehouse, asked = ingests.open_warehouse(tmp_path / "w.duckdb"), IngestRequest(jobs=("clusters",), clusters=(8,))
    ingests.measure(warehouse, folder, asked)
    with warehouse.transaction() as connection:
        connection.execute("delete from store.cluster_controls")
        connection.execute("update store.runs set n_rows = n_rows - 1")
    door = neurothek.open(warehouse.path)
    assert ingests.measure(warehouse, folder, asked).up_to_date == ("clusters",)
    (row,) = door.sql("from clusterings").to_dicts()
    absent = ("n_null", "null_median", "null_95", "null_max", "n_beyond_null", "share_beyond_null")
    assert [row[name] for name in absent] == [None] * len(absent)
    again = ingests.measure(warehouse, folder, IngestRequest(jobs=("clusters",), clusters=(8,), force=True))
    assert again.rows["cluster_controls"] == 1
    (row,) = door.sql("from clusterings").to_dicts()
    assert row["n_null"] is not None
