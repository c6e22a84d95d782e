"""Units of another kind than the neurons of an FFN: layers that are missing, and layers of unequal width."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from neurothek.catalog.problems import Invalid
from neurothek.ingest.jobs.clusters.job import ClustersJob
from neurothek.ingest.jobs.job import JobContext
from neurothek.ingest.jobs.projections.job import ProjectionsJob
from neurothek.ingest.models.checkpoints import find
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.models.units import FfnNeurons, Reader, Units, addresses
from tests.support import jobs, models

WIDTHS = {0: 7, 2: 11}
D_MODEL = 8


@dataclass(frozen=True, eq=False)
class Directions:
    """Drawn vectors, which write to layers 0 and 2 of a model of three."""

    vectors: dict[int, Tensor]
    is_signed: bool = False

    @property
    def layers(self) -> Sequence[int]:
        return tuple(self.vectors)

    def width(self, layer: int) -> int:
        return len(self.vectors[layer])

    def write_vectors(self, layer: int) -> Tensor:
        return self.vectors[layer]

    def read_vectors(self, layer: int) -> None:
        return None

    def readings(self, layer: int) -> dict[Reader, Tensor]:
        return {}

    def bound(self, layer: int) -> None:
        return None


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[Transformer, Tokenizer]:
    folder = models.build(tmp_path_factory.mktemp("units"), "gpt2", n_layers=3, d_ffn=5, d_model=D_MODEL, n_heads=2)
    return open_transformer(find(str(folder))), load(folder)


@pytest.fixture(scope="module")
def directions(opened: tuple[Transformer, Tokenizer]) -> Directions:
    """Drawn ones, but for one that is another of another layer in three times its length."""
    draw = torch.Generator().manual_seed(4)
    vectors = {layer: torch.randn(width, D_MODEL, generator=draw) for layer, width in WIDTHS.items()}
    vectors[2][10] = 3 * vectors[0][3]
    return Directions(vectors)


@pytest.fixture(scope="module")
def context(opened: tuple[Transformer, Tokenizer], directions: Directions) -> JobContext:
    return JobContext(*opened, kind=lambda transformer: directions)


PLACES = [(layer, unit) for layer, width in WIDTHS.items() for unit in range(width)]


def test_addresses_count_through_the_layers_that_there_are(directions: Units) -> None:
    layers, numbers = addresses(directions)
    assert list(zip(layers.tolist(), numbers.tolist(), strict=True)) == PLACES


def test_neurons_of_a_model_are_its_value_vectors(opened: tuple[Transformer, Tokenizer]) -> None:
    transformer, _ = opened
    neurons = JobContext(*opened).units
    assert isinstance(neurons, FfnNeurons)
    assert [neurons.width(layer) for layer in neurons.layers] == [5, 5, 5]
    for layer in neurons.layers:
        assert torch.equal(neurons.write_vectors(layer), transformer.value_vectors(layer))


def test_projections_of_each_layer_that_has_units(context: JobContext, directions: Directions) -> None:
    frames = jobs.measure_all(ProjectionsJob(context))
    rows = frames["projections"]
    assert rows.select("layer", "neuron").rows() == PLACES
    unembedding = context.transformer.unembedding()[context.tokenizer.ids].double()
    for row in rows.iter_rows(named=True):
        scores = unembedding @ directions.vectors[row["layer"]][row["neuron"]].double()
        assert row["top_token_ids"][0] == context.tokenizer.ids[int(scores.argmax())]
        assert row["score_mean"] == pytest.approx(float(scores.mean()), abs=1e-6)
        assert row["preactivation_bound"] is None
    assert set(frames["postings"].select("layer", "neuron").unique().rows()) == set(PLACES)


def test_clusters_and_neighbours_across_layers_of_unequal_width(context: JobContext, directions: Directions) -> None:
    frames = jobs.measure_all(ClustersJob.of(context, sizes=(17,), memory_bytes=1 << 30))
    assert frames["clusters"].select("layer", "neuron").rows() == PLACES
    clusters = dict(zip(PLACES, frames["clusters"]["cluster_id"].to_list(), strict=True))
    # Twins in two lengths are the one pair that is merged.
    assert clusters[0, 3] == clusters[2, 10]
    assert len(set(clusters.values())) == len(PLACES) - 1
    stacked = torch.cat([directions.vectors[layer] for layer in WIDTHS]).double().numpy()
    cosines = stacked @ stacked.T / np.outer(np.linalg.norm(stacked, axis=1), np.linalg.norm(stacked, axis=1))
    for me, (layer, unit) in enumerate(PLACES):
        expected = sorted((cosines[me, other] for other in range(len(PLACES)) if other != me), reverse=True)
        rows = frames["neighbours"].filter(layer=layer, neuron=unit).sort("rank")
        named = [PLACES.index(place) for place in rows.select("other_layer", "other_neuron").rows()]
        assert me not in named
        assert len(set(named)) == 10
        # Products of float32 vectors of length 1: twins change places.
        assert cosines[me, named] == pytest.approx(expected[:10], abs=1e-6)


def test_more_clusters_than_units_are_refused(context: JobContext) -> None:
    with pytest.raises(Invalid, match="18 neurons"):
        ClustersJob.of(context, sizes=(19,), memory_bytes=1 << 30)
