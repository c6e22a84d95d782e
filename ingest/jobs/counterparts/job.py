"""The job `counterparts`: which neurons of another model do each one's job, by the tokens of their lists [ours]."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from jaxtyping import Float, Int

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Conflict, NotMeasured
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.table import BIG, Table
from neurothek.catalog.tables.weights import COUNTERPARTS
from neurothek.ingest.jobs.counterparts.listed import ListedModel
from neurothek.ingest.jobs.counterparts.overlaps import Best, best_of_each_other
from neurothek.ingest.jobs.job import Frames, JobContext, MeasureShard, ReadBack, ShardJob
from neurothek.ingest.lens.random_vectors import random_vectors
from neurothek.ingest.lens.scorer import Scorer, ScorerOptions
from neurothek.ingest.lens.vocabulary import Vocabulary
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


BASIS = ("projections", "other_projections")
"""Parameters that name the runs whose lists are compared."""

_ONE, _OTHER, _LAYER, _RANDOM = "one", "other", "layer", "random"


@dataclass(frozen=True)
class PairContext:
    """Two models of a warehouse that are compared."""

    warehouse: Warehouse  # what holds their lists
    one: ListedModel  # the first of them
    other: ListedModel  # the second
    # the models by name, from whose weights random vectors are drawn; none before these were looked for
    opened: Mapping[str, JobContext] = field(default_factory=dict)

    @classmethod
    def of(cls, warehouse: Warehouse, models: Sequence[ListedModel]) -> "PairContext":
        """The same whichever was named first: the one first that came first into the warehouse."""
        one, other = sorted(models, key=lambda model: model.model_id)
        for model in (one, other):
            if model.projections is None:
                raise NotMeasured(
                    f"cannot find counterparts of {model.name}: its token lists are not in the warehouse",
                    f"measure them with `{command_line('ingest', model.name, '--job', 'projections')}`",
                    jobs=["projections"],
                    models=[model.name],
                )
        if one.tokenizer_sha256 != other.tokenizer_sha256:
            raise Conflict(
                f"{one.name} and {other.name} have different tokenizers, so their token lists cannot be compared",
                "name models with the same tokenizer",
                what="tokenizer",
                name=other.name,
            )
        return cls(warehouse, one, other)

    @property
    def sides(self) -> dict[str, ListedModel]:
        """Both models."""
        return {_ONE: self.one, _OTHER: self.other}


@dataclass(frozen=True)
class CounterpartsJob(ShardJob[PairContext]):
    """For each neuron of either model the best of the other, and how near random vectors come."""

    n_best: int = 5  # how many are kept
    n_random: int = 500  # random vectors per layer; they are those of the job `controls`
    seed: int = 0  # of the draws
    name = "counterparts"
    version = 2
    tables: ClassVar[tuple[Table, ...]] = (COUNTERPARTS,)

    @classmethod
    def from_options(cls, context: PairContext, request: IngestRequest) -> "CounterpartsJob":
        """It has no options."""
        return cls(context)

    def parameters(self) -> dict[str, Any]:
        """How many are kept and drawn, and which lists are compared."""
        basis = zip(BASIS, (self.context.one.projections, self.context.other.projections), strict=True)
        signs = {"signs": "either"} if self.either_sign else {}
        return {"n_best": self.n_best, "n_random": self.n_random, "seed": self.seed, **dict(basis), **signs}

    @property
    def either_sign(self) -> bool:
        """Whether signs of one of the models are a convention, so that neurons are compared at opposite ones, too."""
        return self.context.one.is_gated or self.context.other.is_gated

    @property
    def turned(self) -> "CounterpartsJob":
        """The job from the side of the other model."""
        return replace(self, context=replace(self.context, one=self.context.other, other=self.context.one))

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
        best_of = partial(best_of_each_other, either_sign=self.either_sign)
        ((best, _),) = best_of(lists[layer], other.all_neurons, n_best=self.n_best)
        ((compared, _),) = best_of(random, other.all_neurons, n_best=1)
        firsts = np.unique(best.places[:, 0][best.places[:, 0] >= 0])
        ((back, _),) = best_of(other.all_neurons[firsts], side.all_neurons, n_best=1)
        first_back = np.full(len(other.all_neurons), -1)
        first_back[firsts] = back.places[:, 0]
        return rows_frame(side, other, layer=layer, best=best, random=compared, first_back=first_back)


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
            one, other = self.sides[_ONE], self.sides[_OTHER]
            either_sign = self.job.either_sign
            return compare(one, other, layer=int(number), n_best=self.job.n_best, either_sign=either_sign)
        return {COUNTERPARTS.name: self._rows(kind, _OTHER if kind == _ONE else _ONE, int(number))}

    @cached_property
    def sides(self) -> dict[str, Side]:
        """Both models' lists."""
        return {name: self._side(name, model) for name, model in self.job.context.sides.items()}

    @cached_property
    def best(self) -> dict[str, tuple[Best, Best]]:
        """For each neuron of either model the best of all layers of the other, and for each of its random vectors."""
        one, other, n_best = self.sides[_ONE], self.sides[_OTHER], self.job.n_best
        forth = part(self.read_back("forth"), 0, shape=(len(one.all_neurons), n_best))
        random_forth = part(self.read_back("random_forth"), 0, shape=(len(one.all_random), 1))
        back, random_back = Best.none(len(other.all_neurons), n_best), Best.none(len(other.all_random), 1)
        for layer in range(one.n_layers):
            later = part(self.read_back("back"), layer, shape=back.places.shape)
            back = back.or_later(later, first=layer * one.d_ffn)
            later = part(self.read_back("random_back"), layer, shape=random_back.places.shape)
            random_back = random_back.or_later(later, first=layer * one.d_ffn)
        return {_ONE: (forth, random_forth), _OTHER: (back, random_back)}

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
