"""Pairs of models of the warehouse that are to be compared, as they were asked for."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.jobs.counterparts.errors import PairIncomplete, PairOfOne, PairUnknown
from neurothek.ingest.jobs.counterparts.listed import ListedModel, listed_models
from neurothek.ingest.models.finding import model_name
from neurothek.ingest.request import IngestRequest, ModelSource


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
