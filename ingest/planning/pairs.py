"""Pairs of models of the warehouse that are to be compared, as they were asked for."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Invalid, NotFound
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.suggestions import nearest
from neurothek.ingest.models.finding import model_name
from neurothek.ingest.models.listed import ListedModel, listed_models
from neurothek.ingest.request import IngestRequest, ModelSource


def asked_models(warehouse: Warehouse, request: IngestRequest, names: Sequence[str]) -> list[ListedModel]:
    """The models of the warehouse that are meant; `NAME=PLACE` also says where the weights of one lie."""
    stored = listed_models(warehouse)
    models: list[ListedModel] = []
    for text in names:
        source = ModelSource.parse(text)
        name = model_name(source.source, name=source.name, revision=request.revision)
        if name not in stored:
            raise _unknown_model(name, list(stored), text)
        if name in [model.name for model in models]:
            similar = command_line("search", "--like", f"{name}/L0N0")
            raise Invalid(
                f"cannot compare {name} with itself",
                f"name each model once (`{similar}` finds similar neurons within one model)",
                option="model",
                value=name,
            )
        models.append(_at(stored[name], source.source))
    if len(models) < 2:
        raise Invalid(
            f"models are compared in pairs, but only {models[0].name} was named",
            "name another model with the same tokenizer",
            option="model",
            value=models[0].name,
        )
    return models


def _unknown_model(model: str, names: Sequence[str], argument: str) -> NotFound:
    """The warehouse does not have a model that was named."""
    message = f"cannot compare {model}: there is no such model in the warehouse"
    near = nearest(model, names)
    if near:
        return NotFound(message, f"did you mean {', '.join(near)}?", what="model", name=model, known=names)
    return NotFound(
        f"{message}, which has {', '.join(names) or 'no model yet'}:"
        f" measure a new one first, with `{command_line('ingest', argument)}`",
        what="model",
        name=model,
        known=names,
    )


def pairs_of(models: Sequence[ListedModel]) -> list[tuple[ListedModel, ListedModel]]:
    """Every two of them."""
    return list(combinations(models, 2))


def _at(model: ListedModel, place: str) -> ListedModel:
    is_elsewhere = place not in (model.name, model.measured.source)
    return replace(model, weights=Path(place)) if is_elsewhere else model
