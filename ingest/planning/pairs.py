"""Pairs of models of the warehouse that are to be compared, as they were asked for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from catalog.warehouse import Warehouse
from ingest.models.finding import Measured, model_name
from ingest.planning.pair_errors import ListsMissing, PairIncomplete, PairOfOne, PairTokenizers, PairUnknown
from ingest.request import IngestRequest, ModelSource
from ingest.runs.identity import FOUND, RunIdentity, is_missing

_BASIS = ("projections", "other_projections")
"""Parameters that name the runs whose lists are compared: of others the rows say nothing, whatever else was asked."""


@runtime_checkable
class PairJob(Protocol):
    """What names a run of a job on two models."""

    @property
    def name(self) -> str:
        """The job's name."""

    @property
    def version(self) -> int:
        """Its version."""

    def parameters(self) -> dict[str, Any]:
        """Its own parameters, as JSON values."""


@dataclass(frozen=True)
class ListedModel:
    """A model of the warehouse.

    Attributes:
        model_id: its number.
        measured: where its weights came from.
        tokenizer_sha256: hash of its tokenizer.
        n_layers: how many layers it has.
        d_ffn: neurons of a layer.
        d_model: width of the residual stream.
        vocab_size: rows of the unembedding.
        projections: run key of its lists of tokens; None before they are measured.
        weights: where its weights are looked for instead; None: where they came from.
    """

    model_id: int
    measured: Measured
    tokenizer_sha256: str
    n_layers: int
    d_ffn: int
    d_model: int
    vocab_size: int
    projections: str | None
    weights: Path | None = None

    @property
    def name(self) -> str:
        """Its name."""
        return self.measured.name

    @property
    def n_neurons(self) -> int:
        """How many neurons it has."""
        return self.n_layers * self.d_ffn

    def lists(self, warehouse: Warehouse) -> Int[np.ndarray, "n_layers d_ffn 2 k"]:
        """[n_layers d_ffn 2 k] the tokens that each neuron promotes and suppresses, best first."""
        query = """
            select top_token_ids, bottom_token_ids from store.projections
            where model_id = $model_id order by layer, neuron
        """
        with warehouse.reader() as connection:
            rows = connection.sql(query, params={"model_id": self.model_id}).pl()
        sides = [rows[name].explode().to_numpy().reshape(self.n_layers, self.d_ffn, -1) for name in rows.columns]
        return np.stack(sides, axis=2)


@dataclass(frozen=True)
class Pair:
    """Two models that are to be compared, the one first that came first into the warehouse."""

    one: ListedModel
    other: ListedModel

    @classmethod
    def of(cls, models: Sequence[ListedModel]) -> "Pair":
        """The same whichever was named first.

        Raises:
            ListsMissing: a model has no lists of tokens.
            PairTokenizers: they have other tokens.
        """
        one, other = sorted(models, key=lambda model: model.model_id)
        for model in (one, other):
            if model.projections is None:
                raise ListsMissing(model.name)
        if one.tokenizer_sha256 != other.tokenizer_sha256:
            raise PairTokenizers(one.name, other.name)
        return cls(one, other)

    def identities(self, job: PairJob) -> tuple[RunIdentity, RunIdentity]:
        """The runs from either side."""
        return _identity(self.one, self.other, job), _identity(self.other, self.one, job)

    def is_missing(self, warehouse: Warehouse, job: PairJob, *, force: bool) -> bool:
        """Whether it is to be measured.

        Raises:
            ParametersDiffer: it was measured with other parameters, and `force` is off.
        """
        forth, back = self.identities(job)
        sides = ((forth, self.one, self.other), (back, self.other, self.one))
        return any(_is_missing(warehouse, *side, force=force) for side in sides)


def asked_models(warehouse: Warehouse, request: IngestRequest, asked: Sequence[str]) -> list[ListedModel]:
    """The models of the warehouse that are meant; `NAME=PLACE` also says where the weights of one lie.

    Raises:
        PairIncomplete: it is only one.
        PairOfOne: one is named twice.
        PairUnknown: the warehouse has no such model.
        WarehouseMissing, WarehouseInvalid, WarehouseBusy: the warehouse cannot be read.
    """
    known = listed_models(warehouse)
    found: list[ListedModel] = []
    for text in asked:
        source = ModelSource.parse(text)
        name = model_name(source.source, name=source.name, revision=request.revision)
        if name not in known:
            raise PairUnknown(name, list(known), text)
        if name in [model.name for model in found]:
            raise PairOfOne(name)
        found.append(_at(known[name], source.source))
    if len(found) < 2:
        raise PairIncomplete(found[0].name)
    return found


def pairs_of(models: Sequence[ListedModel]) -> list[tuple[ListedModel, ListedModel]]:
    """Every two of them."""
    return list(combinations(models, 2))


def _at(model: ListedModel, place: str) -> ListedModel:
    is_elsewhere = place not in (model.name, model.measured.source)
    return replace(model, weights=Path(place)) if is_elsewhere else model


def listed_models(warehouse: Warehouse) -> Mapping[str, ListedModel]:
    """All models of the warehouse by name."""
    query = """
        select
            models.model_id, models.name, models.source, models.revision, models.weights_sha256,
            models.n_layers, models.d_ffn, models.d_model, models.vocab_size,
            tokenizers.sha256 as tokenizer_sha256, runs.run_key as projections
        from store.models as models
        inner join store.tokenizers as tokenizers on tokenizers.tokenizer_id = models.tokenizer_id
        left join store.runs as runs on runs.model_id = models.model_id and runs.job = 'projections'
        order by models.model_id
    """
    with warehouse.current_reader() as connection:
        rows = connection.sql(query).pl().to_dicts()
    return {row["name"]: _listed_model(row) for row in rows}


def _listed_model(row: Mapping[str, Any]) -> ListedModel:
    copied = ("model_id", "tokenizer_sha256", "n_layers", "d_ffn", "d_model", "vocab_size", "projections")
    measured = Measured(row["name"], row["source"], row["revision"], row["weights_sha256"])
    return ListedModel(measured=measured, **{name: row[name] for name in copied})


def _identity(model: ListedModel, other: ListedModel, job: PairJob) -> RunIdentity:
    basis = dict(zip(_BASIS, (model.projections, other.projections), strict=True))
    return RunIdentity(
        job=job.name,
        version=job.version,
        model=model.name,
        weights_sha256=model.measured.weights_sha256,
        # What else there is to know of both is part of the keys of their lists.
        shape={},
        tokenizer_sha256=model.tokenizer_sha256,
        corpus_sha256=None,
        sequence_length=None,
        dtype="float32",
        parameters=job.parameters() | basis,
    )


def _is_missing(
    warehouse: Warehouse, identity: RunIdentity, model: ListedModel, other: ListedModel, *, force: bool
) -> bool:
    query = f"select {', '.join(FOUND)} from store.runs where job = ? and model_id = ? and other_model_id = ?"  # noqa: S608 - names of ours
    with warehouse.reader() as connection:
        rows = connection.execute(query, [identity.job, model.model_id, other.model_id]).fetchall()
    earlier = dict(zip(FOUND, rows[0], strict=True)) if rows else None
    if earlier is not None:
        before = json.loads(earlier["parameters"])
        if any(before.get(name) != identity.parameters[name] for name in _BASIS):
            return True
    return is_missing(earlier, identity, force=force)
