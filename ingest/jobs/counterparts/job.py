"""The job `counterparts`: which neurons of another model do each one's job, by the tokens of their lists [ours]."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import torch
from jaxtyping import Float, Int

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.store.warehouse import first_row
from neurothek.catalog.tables.table import BIG, Table
from neurothek.catalog.tables.weights import COUNTERPARTS
from neurothek.ingest.jobs.counterparts.overlaps import BLOCK, Best, best_of_each_other
from neurothek.ingest.jobs.job import Frames, MeasureShard, ReadBack
from neurothek.ingest.jobs.pair_job import ONE, OTHER, PairContext, PairJob
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions, workspace_bytes
from neurothek.ingest.lens.vocabulary import Vocabulary
from neurothek.ingest.models.listed import ListedModel
from neurothek.ingest.request import IngestRequest

PARTIAL: Mapping[str, pl.DataType] = {"place": BIG, "shared": BIG}
"""A `Best` as a frame, row after row."""


@dataclass(frozen=True, eq=False)
class Side:
    """One of the two models, as the lists of tokens that its neurons and random vectors have."""

    # [n_layers d_ffn 2 k] ids of the tokens that each promotes and suppresses, best first
    neurons: Int[np.ndarray, "n_layers d_ffn 2 k"]
    # [n_layers n_random 2 k] likewise of random vectors like the layer's value vectors
    random: Int[np.ndarray, "n_layers n_random 2 k"]

    @property
    def n_layers(self) -> int:
        """How many layers it has."""
        return int(self.neurons.shape[0])

    @property
    def d_ffn(self) -> int:
        """How many neurons a layer has."""
        return int(self.neurons.shape[1])

    @property
    def k(self) -> int:
        """How many tokens a list has."""
        return int(self.neurons.shape[3])

    @cached_property
    def all_neurons(self) -> Int[np.ndarray, "n 2 k"]:
        """[n 2 k] layer after layer."""
        return self.neurons.reshape(-1, 2, self.k)

    @cached_property
    def all_random(self) -> Int[np.ndarray, "n 2 k"]:
        """[n 2 k] layer after layer."""
        return self.random.reshape(-1, 2, self.k)


PARTS = ("forth", "back", "random_forth", "random_back")
"""What is found of a layer of the first model: the best of the second for each of its neurons, the best of the layer
for each neuron of the second, the best neuron of the second for each random vector of the layer, and the best of the
layer for each random vector of the second."""


def compare(one: Side, other: Side, *, layer: int, n_best: int, either_sign: bool = False) -> dict[str, pl.DataFrame]:
    """Compare one layer of the first model with all of the second, from either side: `PARTS`, as frames."""
    (forth, back), (_, random_back) = best_of_each_other(
        one.neurons[layer], other.all_neurons, other.all_random, n_best=n_best, either_sign=either_sign
    )
    ((random_forth, _),) = best_of_each_other(one.random[layer], other.all_neurons, n_best=1, either_sign=either_sign)
    sides = (forth, back, random_forth, random_back.first())
    return {name: _frame(best) for name, best in zip(PARTS, sides, strict=True)}


def part(rows: pl.LazyFrame, number: int, *, shape: tuple[int, ...]) -> Best:
    """The `Best` of one part, where those of all parts lie one after the other as frames and are of one shape."""
    size = math.prod(shape)
    frame = rows.slice(number * size, size).collect()
    return Best(*(frame[name].to_numpy().reshape(shape) for name in PARTIAL))


def _frame(best: Best) -> pl.DataFrame:
    return pl.DataFrame({"place": best.places.ravel(), "shared": best.shared.ravel()}, schema=dict(PARTIAL))


def rows_frame(
    side: Side, other: Side, *, layer: int, best: Best, random: Best, first_back: Int[np.ndarray, " n"]
) -> pl.DataFrame:
    """Rows of `counterparts` for one layer.

    Args:
        side: the model whose layer it is.
        other: the other model.
        layer: the layer.
        best: of the other model's neurons, for each of the layer's.
        random: the same for the layer's random vectors.
        first_back: [n] for each neuron of the other model the place of its best among all of this one's.
    """
    n, k = best.places.shape
    numbers = layer * side.d_ffn + np.arange(n)
    is_mutual = np.zeros((n, k), dtype=bool)
    is_mutual[:, 0] = (best.places[:, 0] >= 0) & (first_back[best.places[:, 0]] == numbers)
    columns = {
        "layer": np.full(n * k, layer),
        "neuron": np.repeat(np.arange(n), k),
        "rank": np.tile(np.arange(1, k + 1), n),
        "other_layer": best.places.ravel() // other.d_ffn,
        "other_neuron": best.places.ravel() % other.d_ffn,
        "overlap": best.overlaps(side.k, other.k).ravel(),
        "null_99": np.full(n * k, null_99(random.overlaps(side.k, other.k)[:, 0])),
        "is_mutual": is_mutual.ravel(),
    }
    # Those that share no token are not counterparts.
    frame = pl.DataFrame(columns).filter(pl.Series(best.places.ravel() >= 0))
    return frame.cast(pl.Schema(COUNTERPARTS.schema))


def null_99(overlaps: Float[np.ndarray, " n"]) -> float:
    """The smallest of them that at most one in a hundred exceeds [ours]."""
    return float(np.sort(overlaps)[len(overlaps) - 1 - len(overlaps) // 100])


_LAYER, _RANDOM = "layer", "random"

_K = 50
"""Tokens of a list, at most."""


@dataclass(frozen=True)
class CounterpartsJob(PairJob):
    """For each neuron of either model the best of the other, and how near random vectors come."""

    n_best: int = 5  # how many are kept
    n_random: int = 500  # random vectors per layer; they are those of the job `controls`
    seed: int = 0  # of the draws
    name = "counterparts"
    version = 2
    tables: ClassVar[tuple[Table, ...]] = (COUNTERPARTS,)
    basis: ClassVar[tuple[str, ...]] = ("projections", "other_projections")

    @classmethod
    def from_options(cls, context: PairContext, request: IngestRequest) -> "CounterpartsJob":
        """It has no options."""
        for model in (context.one, context.other):
            if model.projections is None:
                raise NotMeasured(
                    f"cannot find counterparts of {model.name}: its token lists are not in the warehouse",
                    f"measure them with `{command_line('ingest', model.name, '--job', 'projections')}`",
                    jobs=["projections"],
                    models=[model.name],
                )
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many are kept and drawn, and which lists are compared."""
        basis = zip(self.basis, (self.context.one.projections, self.context.other.projections), strict=True)
        signs = {"signs": "either"} if self.context.either_sign else {}
        return {"n_best": self.n_best, "n_random": self.n_random, "seed": self.seed, **dict(basis), **signs}

    @property
    def rests_on(self) -> str | None:
        """Run key of the first model's lists."""
        return self.context.one.projections

    def shards(self) -> Mapping[str, tuple[str, ...]]:
        """Random vectors' lists of either model, the first one's layers compared, and rows a layer of either model."""
        sides = self.context.sides
        return {
            **{f"{_RANDOM}-{side}": (f"{_RANDOM}_{side}",) for side in sides},
            **{f"{_LAYER}-{layer:04d}": PARTS for layer in range(self.context.one.n_layers)},
            **{
                f"{side}-{layer:04d}": (COUNTERPARTS.name,)
                for side, model in sides.items()
                for layer in range(model.n_layers)
            },
        }

    @contextmanager
    def open(self, folder: Path, read_back: ReadBack) -> Iterator[MeasureShard]:
        """What draws vectors, compares a layer, or makes its rows."""
        yield _Comparison(self, read_back).measure

    def random_lists(
        self, model: ListedModel, layers: Sequence[int], *, k: int
    ) -> Int[np.ndarray, "layers n_random 2 k"]:
        """[layers n_random 2 k] what random vectors like each layer's value vectors promote and suppress."""
        opened = self.context.opened[model.name]
        vocabulary = Vocabulary.of(opened.transformer.unembedding(), opened.tokenizer.ids)
        scorer = Scorer(vocabulary.rows, keep=ScorerOptions(largest=k, smallest=k))
        lists = np.empty((len(layers), self.n_random, 2, k), dtype=np.int32)
        for number, layer in enumerate(layers):
            values = opened.units.write_vectors(layer)
            drawn = random_vectors(values, n=self.n_random, seed=self.seed, layer=layer, either_sign=model.is_gated)
            scored = scorer.score(drawn)
            for side, extremes in enumerate((scored.largest, scored.smallest)):
                assert extremes is not None
                lists[number, :, side] = vocabulary.ids[extremes.rows.cpu().numpy()]
        return lists

    def layer_rows(self, layer: int) -> pl.DataFrame:
        """Rows of `counterparts` for one layer of the first model alone; the other needs not be opened."""
        context = self.context
        lists, others = (model.lists(context.warehouse) for model in (context.one, context.other))
        random = self.random_lists(context.one, [layer], k=lists.shape[3])[0]
        side, other = Side(lists, lists[:, :0]), Side(others, others[:, :0])
        best_of = partial(best_of_each_other, either_sign=self.context.either_sign)
        ((best, _),) = best_of(lists[layer], other.all_neurons, n_best=self.n_best)
        ((compared, _),) = best_of(random, other.all_neurons, n_best=1)
        firsts = np.unique(best.places[:, 0][best.places[:, 0] >= 0])
        ((back, _),) = best_of(other.all_neurons[firsts], side.all_neurons, n_best=1)
        first_back = np.full(len(other.all_neurons), -1)
        first_back[firsts] = back.places[:, 0]
        return rows_frame(side, other, layer=layer, best=best, random=compared, first_back=first_back)

    def again(self, layers: Sequence[int], folder: Path) -> Iterator[tuple[int, pl.DataFrame]]:
        """Of lists of the warehouse, which are verified themselves; random vectors are drawn from the weights again."""
        yield from ((layer, self.layer_rows(layer)) for layer in layers)

    def memory_bytes(self, *, batch_tokens: int) -> int:
        """What comparing takes, or drawing random vectors."""
        return max(self._comparing_bytes(), *map(self._drawing_bytes, self.context.sides.values()))

    def disk_bytes(self) -> int:
        """The best of each layer's, the rows, the lists of random vectors."""
        one, other = self.context.one, self.context.other
        n_vectors = one.n_neurons + other.n_neurons * one.n_layers
        random = (one.n_layers + other.n_layers) * self.n_random * 8 * _K
        return n_vectors * self.n_best * 16 + 2 * self.growth_bytes() + random

    def growth_bytes(self) -> int:
        """About 20 bytes a row."""
        return (self.context.one.n_neurons + self.context.other.n_neurons) * self.n_best * 20

    def trial(self) -> tuple[float, float]:
        """By some neurons of all layers."""
        one, other = (_sample(model.lists(self.context.warehouse)) for model in self.context.sides.values())
        started = time.perf_counter()
        best_of_each_other(one, other, n_best=self.n_best)
        seconds = time.perf_counter() - started
        n_pairs = self.context.one.n_neurons * self.context.other.n_neurons
        return seconds, seconds * n_pairs / (len(one) * len(other))

    def findings(self) -> tuple[str, ...]:
        """How many have a counterpart above chance, and how many are each other's."""
        query = """
            select count_if(is_mutual), count_if(rank = 1 and overlap > null_99) from store.counterparts
            where set_id = ? and other_set_id = ?
        """
        both_ways = """
            select count(*) from store.counterparts as forth
            inner join store.counterparts as back
                on back.set_id = forth.other_set_id and back.other_set_id = forth.set_id
                and back.layer = forth.other_layer and back.neuron = forth.other_neuron
            where forth.set_id = ? and forth.other_set_id = ? and forth.is_mutual and back.is_mutual
                and forth.overlap > forth.null_99 and back.overlap > back.null_99
        """
        one, other = self.context.one, self.context.other
        ids = [one.model_id, other.model_id]
        with self.context.warehouse.current_reader() as connection:
            forth, back = first_row(connection, query, ids), first_row(connection, query, ids[::-1])
            beyond = first_row(connection, both_ways, ids)
        assert forth is not None
        assert back is not None
        assert beyond is not None
        return (
            f"{forth[1]:,} of {one.n_neurons:,} and {back[1]:,} of {other.n_neurons:,} neurons have a counterpart above"
            f" chance; {forth[0]:,} pairs are mutual best matches, {beyond[0]:,} of them above chance on both sides",
        )

    def _comparing_bytes(self) -> int:
        """The lists of both, what a block lists at every rank, what each thread compares with it, the best so far."""
        models = self.context.sides.values()
        lists = sum((model.n_neurons + model.n_layers * self.n_random) * 2 * _K * 4 * 2 for model in models)
        listed = BLOCK * 2 * _K * _K * 40
        compared = torch.get_num_threads() * BLOCK * BLOCK * 8 * 6
        best = self.context.other.n_neurons * self.n_best * 16 * 8
        return lists + listed + compared + best

    def _drawing_bytes(self, model: ListedModel) -> int:
        """The unembedding and its unmasked rows, a layer's vectors in both precisions, the scorer's buffers."""
        table = 4 * model.vocab_size * model.d_model
        vectors = 4 * (4 * model.d_ffn + 6 * self.n_random) * model.d_model
        lists = model.n_neurons * 2 * _K * 4 * 2
        return 2 * table + vectors + lists + workspace_bytes(model.vocab_size)


def _sample(lists: Int[np.ndarray, "n_layers d_ffn 2 k"]) -> Int[np.ndarray, "n 2 k"]:
    """[n 2 k] neurons from all layers, as many as are compared at once."""
    flat = lists.reshape(-1, *lists.shape[2:])
    return flat[:: math.ceil(len(flat) / BLOCK)]


@dataclass(frozen=True, eq=False)
class _Comparison:
    """Measures the shards of one pair, which share the lists of both models."""

    job: CounterpartsJob
    read_back: ReadBack

    def measure(self, shard: str) -> Frames:
        kind, _, number = shard.partition("-")
        if kind == _RANDOM:
            model = self.job.context.sides[number]
            k = model.lists(self.job.context.warehouse).shape[3]
            drawn = self.job.random_lists(model, range(model.n_layers), k=k)
            return {f"{_RANDOM}_{number}": pl.DataFrame({"token_id": drawn.ravel()})}
        if kind == _LAYER:
            one, other = self.sides[ONE], self.sides[OTHER]
            either_sign = self.job.context.either_sign
            return compare(one, other, layer=int(number), n_best=self.job.n_best, either_sign=either_sign)
        return {COUNTERPARTS.name: self._rows(kind, OTHER if kind == ONE else ONE, int(number))}

    @cached_property
    def sides(self) -> dict[str, Side]:
        """Both models' lists."""
        return {name: self._side(name, model) for name, model in self.job.context.sides.items()}

    @cached_property
    def best(self) -> dict[str, tuple[Best, Best]]:
        """For each neuron of either model the best of all layers of the other, and for each of its random vectors."""
        one, other, n_best = self.sides[ONE], self.sides[OTHER], self.job.n_best
        forth = part(self.read_back("forth"), 0, shape=(len(one.all_neurons), n_best))
        random_forth = part(self.read_back("random_forth"), 0, shape=(len(one.all_random), 1))
        back, random_back = Best.none(len(other.all_neurons), n_best), Best.none(len(other.all_random), 1)
        for layer in range(one.n_layers):
            later = part(self.read_back("back"), layer, shape=back.places.shape)
            back = back.or_later(later, first=layer * one.d_ffn)
            later = part(self.read_back("random_back"), layer, shape=random_back.places.shape)
            random_back = random_back.or_later(later, first=layer * one.d_ffn)
        return {ONE: (forth, random_forth), OTHER: (back, random_back)}

    def _rows(self, name: str, other: str, layer: int) -> pl.DataFrame:
        side, (best, random), (back, _) = self.sides[name], self.best[name], self.best[other]
        return rows_frame(
            side,
            self.sides[other],
            layer=layer,
            best=best.part(layer, side.d_ffn),
            random=random.part(layer, self.job.n_random),
            first_back=back.places[:, 0],
        )

    def _side(self, name: str, model: ListedModel) -> Side:
        neurons = model.lists(self.job.context.warehouse)
        random = self.read_back(f"{_RANDOM}_{name}").collect()["token_id"].to_numpy()
        return Side(neurons, random.reshape(model.n_layers, self.job.n_random, 2, neurons.shape[3]))
