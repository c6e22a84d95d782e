"""The job `clusters`: its rows on every architecture, its sizes, its method by memory, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest
import torch

from neurothek.catalog.problems import Invalid, LimitExceeded
from neurothek.ingest.jobs.clusters.job import ClustersJob, default_sizes, value_neighbours_frame
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.models.units import FfnNeurons
from neurothek.ingest.request import IngestRequest
from tests.support import ingests, jobs, models
from tests.support.models import Kind

N_LAYERS, D_FFN = 3, 40
GENEROUS = 1 << 30


@pytest.fixture(scope="module", params=models.KINDS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Transformer, Tokenizer]:
    kind: Kind = request.param
    folder = models.build(
        tmp_path_factory.mktemp(kind), kind, n_layers=N_LAYERS, d_ffn=D_FFN, d_model=8, n_heads=2, seed=3
    )
    return open_transformer(find(str(folder))), load(folder)


def plain_cosines(transformer: Transformer) -> np.ndarray:
    values = np.concatenate([transformer.value_vectors(layer).double().numpy() for layer in range(N_LAYERS)])
    lengths = np.linalg.norm(values, axis=1)
    units = np.where(lengths[:, None] < 1e-6, 0, values / np.maximum(lengths, 1e-300)[:, None])
    cosines: np.ndarray = units @ units.T
    return cosines


def test_neighbours_equal_a_plain_sort(opened: tuple[Transformer, Tokenizer]) -> None:
    transformer, _ = opened
    cosines = plain_cosines(transformer)
    # Of a gated model the sign of a value vector is a convention.
    nearness = np.abs(cosines) if transformer.shape.is_gated else cosines
    for layer in range(N_LAYERS):
        frame = value_neighbours_frame(FfnNeurons(transformer), layer, k=10)
        for neuron in range(D_FFN):
            me = layer * D_FFN + neuron
            expected = [other for other in np.argsort(-nearness[me], kind="stable").tolist() if other != me][:10]
            mine = frame.filter(neuron=neuron).sort("rank")
            assert (mine["other_layer"].cast(int) * D_FFN + mine["other_neuron"]).to_list() == expected
            # Products of float32 vectors of length 1.
            assert mine["cosine"].to_numpy() == pytest.approx(cosines[me, expected], abs=1e-6)


def test_every_neuron_is_in_one_cluster_of_every_clustering(opened: tuple[Transformer, Tokenizer]) -> None:
    transformer, tokenizer = opened
    job = ClustersJob.of(JobContext(transformer, tokenizer), memory_bytes=GENEROUS)
    assert job.sizes == (12, 20)
    frames = jobs.measure_shard(job, "clusters")
    asked = frames["clusterings"].select("clustering_id", "method", "n_clusters_asked", "n_clusters").rows()
    assert asked == [(0, "exact", 12, 12), (1, "exact", 20, 20)]
    for clustering_id, n_clusters in ((0, 12), (1, 20)):
        members = frames["clusters"].filter(clustering_id=clustering_id)
        places = [(layer, neuron) for layer in range(N_LAYERS) for neuron in range(D_FFN)]
        assert members.select("layer", "neuron").rows() == places
        assert set(members["cluster_id"].to_list()) == set(range(n_clusters))


def test_twins_and_vectors_without_length(tmp_path: Path) -> None:
    """Neuron 0 of both layers is one vector in two lengths, neuron 1 of layer 0 is nearly zero."""

    def plant(tensors: dict[str, torch.Tensor]) -> None:
        one, other = (tensors[f"model.decoder.layers.{layer}.fc2.weight"] for layer in (0, 1))
        other[:, 0] = 3 * one[:, 0]
        one[:, 1] *= 1e-8

    folder = models.build(tmp_path / "m", "opt", n_layers=2, d_ffn=30, d_model=8, n_heads=2)
    transformer = open_transformer(find(str(models.edit_tensors(folder, plant))))
    nearest = value_neighbours_frame(FfnNeurons(transformer), 0, k=3)
    twin = nearest.row(0, named=True)
    assert (twin["other_layer"], twin["other_neuron"]) == (1, 0)
    assert twin["cosine"] == pytest.approx(1, abs=1e-6)
    assert twin["cosine"] <= 1
    empty = nearest.filter(neuron=1)
    assert empty.select("other_layer", "other_neuron", "cosine").rows() == [(0, 0, 0.0), (0, 2, 0.0), (0, 3, 0.0)]
    job = ClustersJob.of(JobContext(transformer, load(folder)), sizes=(59,), memory_bytes=GENEROUS)
    members = jobs.measure_shard(job, "clusters")["clusters"]
    labels = members["cluster_id"].to_list()
    assert labels[0] == labels[30]
    assert members["centre_cosine"].null_count() == 1


def test_default_sizes(subtests: pytest.Subtests) -> None:
    for n_neurons, sizes in [
        (36_864, (3686, 200)),
        (200_000, (10_000, 200)),
        (768, (76, 20)),
        (200, (20,)),
        (15, (1, 15)),
        (1, (1,)),
    ]:
        with subtests.test(n_neurons=n_neurons, sizes=sizes):
            assert default_sizes(n_neurons) == sizes


def test_the_method_follows_the_memory(opened: tuple[Transformer, Tokenizer]) -> None:
    shape = opened[0].shape
    big = type(shape)(**{**vars(shape), "n_layers": 24, "d_ffn": 4096, "d_model": 1024})
    exact, in_rounds, scalable = (
        ClustersJob.of(jobs.context_of(shape=big), memory_bytes=memory) for memory in (41 << 30, 12 << 30, 7 << 30)
    )
    assert (exact.linking.method, exact.parameters()["method"]) == ("exact", "exact")
    assert exact.linking.most == 98_304
    assert 98_304 // 2 <= in_rounds.linking.most < 98_304
    assert in_rounds.parameters() == exact.parameters() | {"linked_at_once": in_rounds.linking.most}
    assert scalable.linking.method == "scalable"
    assert scalable.parameters()["linked_at_once"] == scalable.linking.most < 98_304
    with pytest.raises(LimitExceeded, match=r"needs at least 1.10 GB of memory, but --memory allows 1.00 GB"):
        ClustersJob.of(jobs.context_of(shape=big), memory_bytes=10**9)


@pytest.mark.parametrize("asked", [0, 121])
def test_more_clusters_than_neurons_are_refused(opened: tuple[Transformer, Tokenizer], asked: int) -> None:
    with pytest.raises(Invalid, match=f"^cannot make {asked} clusters from the model's 120 neurons; choose"):
        ClustersJob.of(JobContext(*opened), sizes=(10, asked), memory_bytes=GENEROUS)


def test_from_a_request_to_the_warehouse(tmp_path: Path) -> None:
    folder = models.build(tmp_path / "small", "gpt2", n_layers=2, d_model=8, d_ffn=20, n_heads=2)
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    with pytest.raises(Invalid, match="cannot make 41 clusters"):
        ingests.measure(warehouse, folder, IngestRequest(jobs=("clusters",), clusters=(41,)))
    assert not warehouse.exists()
    report = ingests.measure(warehouse, folder, IngestRequest(jobs=("clusters",), clusters=(8, 5, 8)))
    assert report.rows == {"clusterings": 2, "clusters": 80, "neighbours": 400, "cluster_controls": 2}
    again = ingests.measure(warehouse, folder, IngestRequest(jobs=("clusters",), clusters=(8, 5)))
    assert again.up_to_date == ("clusters",)
    facts = ingests.table(warehouse, "neuron_facts")
    assert facts["clustering_id"].unique().to_list() == [0]
    assert facts["cluster_id"].n_unique() == 8
    sizes = facts.group_by("cluster_id").len()
    joined = facts.join(sizes, on="cluster_id")
    assert (joined["cluster_size"] == joined["len"]).all()
