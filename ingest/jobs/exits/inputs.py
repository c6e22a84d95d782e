"""What exits are worked out from: rows that the jobs clusters, events and shortcuts left in the warehouse."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from neurothek.catalog.problems import NotMeasured
from neurothek.ingest.corpora.prompts import Prompt
from neurothek.ingest.forward import prompt_pass
from neurothek.ingest.forward.prompt_pass import Look
from neurothek.ingest.jobs.events.sub_updates import N_DOMINANT
from neurothek.ingest.jobs.exits.rules import NOBODY
from neurothek.ingest.models.families.shapes import Shape
from neurothek.ingest.models.transformer import Transformer
from neurothek.ingest.numerics.array_files import keep, mapped_array
from neurothek.ingest.runs.finished import EarlierRuns

_EXAMPLES = """
    select example_id, domain, tokens, n_prefix_tokens, final_token, target_token, saturation_layer
    from store.examples where run_id = $run_id order by example_id
"""
_TOPS = "select example_id, layer, top_token from store.streams where run_id = $run_id and moment = 'post'"
_CLUSTERING = """
    select clustering_id, n_clusters_asked from store.clusterings
    where run_id = $run_id order by n_clusters_asked, clustering_id limit 1
"""
_LISTS = """
    select sub_updates.example_id, sub_updates.layer, sub_updates.rank, clusters.cluster_id
    from store.sub_updates as sub_updates
    inner join store.clusters as clusters
        on clusters.layer = sub_updates.layer and clusters.neuron = sub_updates.neuron
    where sub_updates.run_id = $run_id and sub_updates.kind = 'dominant' and clusters.clustering_id = $clustering_id
"""
_PARAMETERS = "select parameters from store.runs where run_id = $run_id"
_SENTENCES = """
    select sentence_id, own_position from store.shortcut_sentences
    where run_id = $run_id and is_validation order by sentence_id
"""
_READINGS = """
    select sentence_id, state, top_probability - second_probability as margin, rank_in_model = 1 as is_correct
    from store.shortcut_readings where run_id = $run_id and method = $method order by state, sentence_id
"""


@dataclass(frozen=True, eq=False)
class WatchedExamples:
    """The examples of the job events."""

    rows: list[Prompt]  # the examples, in the order of their numbers
    saturation: Int[np.ndarray, " examples"]  # the layer from which on each one's final token stays at the top
    is_correct: Bool[np.ndarray, "n_layers examples"]  # whether the final token is at the top after a layer


@dataclass(frozen=True, eq=False)
class ClusterLists:
    """The clusters of the dominant neurons of every example and layer."""

    n_clusters_asked: int  # of the clustering: the one into fewest clusters that the model has
    ids: Int[np.ndarray, "n_layers examples places"]  # by contribution; `NOBODY` where a layer has fewer neurons


@dataclass(frozen=True, eq=False)
class ShortcutReadings:
    """What one kind of shortcut says of the validation sentences, from every state."""

    margins: Float[np.ndarray, "sentences states"]  # the difference of its two largest probabilities
    is_correct: Bool[np.ndarray, "sentences states"]  # whether its token is the model's own


@dataclass(frozen=True)
class ExitInputs:
    """What the rows of other jobs say of one model on one text."""

    runs: EarlierRuns  # their runs

    def examples(self, *, n_layers: int) -> WatchedExamples:
        """The examples of the run of events."""
        rows = self.runs.rows(_EXAMPLES, "events")
        tops, n = self.runs.rows(_TOPS, "events"), rows.height
        _require("events", rows["example_id"].to_list() == list(range(n)))
        _require("events", tops.height == n_layers * n and _is_within(tops, layer=n_layers, example_id=n))
        tokens = np.zeros((n_layers, n), dtype=np.int64)
        tokens[tops["layer"].to_numpy(), tops["example_id"].to_numpy()] = tops["top_token"].to_numpy()
        return WatchedExamples(
            rows=[_example(row) for row in rows.to_dicts()],
            saturation=rows["saturation_layer"].to_numpy().astype(np.int64),
            is_correct=tokens == rows["final_token"].to_numpy(),
        )

    def lists(self, *, n_layers: int, n_examples: int) -> ClusterLists:
        """The clusters of the dominant neurons, in the model's coarsest clustering."""
        clusterings = self.runs.rows(_CLUSTERING, "clusters")
        _require("clusters", not clusterings.is_empty())
        chosen = clusterings.row(0, named=True)
        rows = self.runs.rows(_LISTS, "events", clustering_id=chosen["clustering_id"])
        _require("events", _is_within(rows, layer=n_layers, example_id=n_examples, rank=N_DOMINANT + 1))
        ids = np.full((n_layers, n_examples, N_DOMINANT), NOBODY, dtype=np.int32)
        place = (rows["layer"].to_numpy(), rows["example_id"].to_numpy(), rows["rank"].to_numpy() - 1)
        ids[place] = rows["cluster_id"].to_numpy()
        return ClusterLists(chosen["n_clusters_asked"], ids)

    def own_positions(self) -> Int[np.ndarray, " sentences"]:
        """[sentences] the position looked at in each validation sentence, among its own tokens."""
        return self.runs.rows(_SENTENCES, "shortcuts")["own_position"].to_numpy().astype(np.int64)

    def sentence_seed(self) -> int:
        """Seed of the draw of the sentences."""
        parameters = self.runs.rows(_PARAMETERS, "shortcuts").item()
        return int(json.loads(parameters)["seed"])

    def readings(self, method: str, *, n_layers: int) -> ShortcutReadings | None:
        """What a kind of shortcut says; None where it was not tried."""
        rows = self.runs.rows(_READINGS, "shortcuts", method=method)
        if rows.is_empty():
            return None
        sentences = self.runs.rows(_SENTENCES, "shortcuts").select("sentence_id")
        states = pl.DataFrame({"state": range(n_layers + 1)})
        _require("shortcuts", rows.select("state", "sentence_id").rows() == states.join(sentences, how="cross").rows())
        shape = (n_layers + 1, -1)
        return ShortcutReadings(
            margins=rows["margin"].to_numpy().reshape(shape).T,
            is_correct=rows["is_correct"].to_numpy().reshape(shape).T,
        )


def _is_within(rows: pl.DataFrame, **sizes: int) -> bool:
    """Whether each of the columns is within its size."""
    return all(rows[name].is_between(0, size, closed="left").all() for name, size in sizes.items())


def _require(job: str, is_whole: bool) -> None:
    if not is_whole:
        raise NotMeasured(
            f"the job exits needs the results of the job {job}, but some of those rows are missing or do not belong"
            " there",
            f"measure them again with --job {job} --force",
            jobs=[job],
        )


def _example(row: dict[str, Any]) -> Prompt:
    return Prompt(
        number=row["example_id"],
        domain=row["domain"],
        tokens=np.array(row["tokens"], dtype=np.int32),
        position=len(row["tokens"]) - 1,
        own_position=row["n_prefix_tokens"] - 1,
        target=row["target_token"],
    )


Kind = Literal["stream", "ffn"]
"""The stream before the FFN; what the FFN puts out, its bias included."""

EXAMPLES_AT_ONCE = 1_000
"""Examples whose streams wait between two layers."""


class ExampleVectors:
    """Vectors of every layer but the last, made when the first of them is asked for."""

    def __init__(
        self, folder: Path, transformer: Transformer, examples: Sequence[Prompt], *, batch_tokens: int
    ) -> None:
        self._folder, self._transformer, self._batch_tokens = folder, transformer, batch_tokens
        starts = range(0, len(examples), EXAMPLES_AT_ONCE)
        self._parts = [examples[start : start + EXAMPLES_AT_ONCE] for start in starts]

    @staticmethod
    def bytes_needed(shape: Shape, n_examples: int) -> int:
        """What the files take."""
        return 2 * (shape.n_layers - 1) * n_examples * shape.d_model * 4

    def of(self, layer: int, kind: Kind) -> Float[Tensor, "examples d_model"]:
        """[examples d_model] float32, on the device of the model."""
        paths = [self._path(layer, kind, part) for part in range(len(self._parts))]
        if not all(path.exists() for path in paths):
            self._fill()
        return torch.cat([mapped_array(path) for path in paths]).to(self._transformer.device)

    @torch.inference_mode()
    def _fill(self) -> None:
        n_lower = self._transformer.shape.n_layers - 1
        for part, examples in enumerate(self._parts):
            layers = prompt_pass.run(
                self._transformer, examples, self._look_at, batch_tokens=self._batch_tokens, n_layers=n_lower
            )
            for layer, columns in enumerate(layers):
                for kind, vectors in columns.items():
                    keep(self._path(layer, kind, part), vectors.numpy())

    def _look_at(self, layer: int) -> Look:
        values, bias = self._transformer.value_vectors(layer), self._transformer.value_bias(layer)
        return lambda seen: {
            "stream": seen.batch.at_positions(seen.output.pre_ffn).cpu(),
            "ffn": (seen.batch.at_positions(seen.output.written) @ values + bias).cpu(),
        }

    def _path(self, layer: int, kind: str, part: int) -> Path:
        return self._folder / f"{kind}-{layer:04d}-{part:04d}.npy"
