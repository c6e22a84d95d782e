"""Annotations of people: resolved against the warehouse, then published in one transaction, all of them or none."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.publishing.annotation_rows import write_annotations
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import ANNOTATIONS, LEAST_MARKED
from neurothek.queries.annotate.errors import (
    concept_and_none,
    named_twice,
    no_annotations,
    not_shown,
    tokens_not_kept,
    too_few_marked,
    unknown_vector,
)
from neurothek.queries.annotate.lines import Entry, Line, at, entry, is_of_list
from neurothek.queries.annotate.plausibility import judge_lists
from neurothek.queries.annotate.sample import Key, Sample, draw_sample, seed_of, tokens_shown
from neurothek.queries.annotate.saved import Saved, of_vectors
from neurothek.queries.names.models import KnownModel, choose_model
from neurothek.queries.names.neurons import find_neuron


@dataclass(frozen=True)
class _Place:
    """A vector that exists, and the tokens that its annotator saw."""

    model_id: int
    key: Key
    token_ids: tuple[int, ...]


def annotate(
    warehouse: Warehouse, annotations: Iterable[Line | Mapping[str, Any]], *, annotator: str | None = None
) -> Saved:
    """Publish annotations in one transaction; each vector's judgement replaces the same annotator's earlier one.

    Args:
        warehouse: where to.
        annotations: lines that were read, or the fields of each: `FIELDS` of `neurothek.queries.annotate.lines`, and
            `LIST_FIELDS` for judgements of plausibility, which are not sent together with others.
        annotator: who annotated, where an annotation does not say.
    """
    lines = [
        one if isinstance(one, Line) else Line(f"annotation {number}", one)
        for number, one in enumerate(annotations, start=1)
    ]
    if any(map(is_of_list, lines)):
        return judge_lists(warehouse, lines, annotator=annotator)
    entries = [entry(line, annotator=annotator) for line in lines]
    if not entries:
        raise no_annotations()
    # Refused before a writer is waited for, and judged again by it: a model may be gone by then.
    with warehouse.current_reader() as connection:
        annotation_rows(connection, entries)
    with warehouse.transaction() as connection:
        rows = annotation_rows(connection, entries)
        n_replaced = write_annotations(connection, rows)
    return of_vectors(rows, n_replaced)


def annotation_rows(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> pl.DataFrame:
    """Rows of ANNOTATIONS for entries whose vectors and tokens exist, all of one time."""
    places = _places(connection, entries)
    _refuse_contradictions(entries, places)
    created_at = datetime.now(UTC).replace(tzinfo=None)
    rows = [_row(one, place, created_at) for one, place in zip(entries, places, strict=True)]
    return pl.DataFrame(rows, schema=dict(ANNOTATIONS.columns), orient="row")


def _row(one: Entry, place: _Place, created_at: datetime) -> tuple[Any, ...]:
    condition, layer, number = place.key
    neuron, control = (number, None) if condition == "value" else (None, number)
    marked = _marked(one, place.token_ids)
    vector = (place.model_id, layer, condition, neuron, control, list(place.token_ids))
    return (str(uuid.uuid4()), *vector, one.concept, one.concept_class, marked, one.annotator, created_at)


def _marked(one: Entry, shown: Sequence[int]) -> list[int]:
    """Ids of the marked tokens, best first."""
    if one.concept is None:
        return []
    known = range(1, len(shown) + 1) if one.marked_by == "ranks" else shown
    for token in one.marked:
        if token not in known:
            raise not_shown(one.place, one.marked_by, token, len(shown))
    if len(one.marked) < LEAST_MARKED:
        raise too_few_marked(one.place, one.marked_by, len(one.marked))
    return [token for rank, token in zip(known, shown, strict=True) if rank in one.marked]


def _refuse_contradictions(entries: Sequence[Entry], places: Sequence[_Place]) -> None:
    """Of one annotator and vector: a concept twice, or concepts beside the judgement that there is none."""
    known: dict[tuple[str, _Place], dict[str | None, str]] = {}
    for one, place in zip(entries, places, strict=True):
        concepts = known.setdefault((one.annotator, place), {})
        name = None if one.concept is None else one.concept.casefold()
        if name in concepts:
            raise named_twice(one.place, one.concept, concepts[name])
        if concepts and (name is None) != (None in concepts):
            raise concept_and_none(one.place, next(iter(concepts.values())))
        concepts[name] = one.place


def _places(connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry]) -> list[_Place]:
    samples: dict[tuple[str, int], Sample] = {}
    models: dict[str, KnownModel] = {}
    named = [None if one.handle else _named(connection, one, models) for one in entries]
    lists: dict[tuple[int, Key], tuple[int, ...]] = {}
    for model in {model.model_id: model for model, _ in filter(None, named)}.values():
        keys = [key for one, key in filter(None, named) if one.model_id == model.model_id]
        lists |= {(model.model_id, key): ids for key, (ids, _) in tokens_shown(connection, model, keys).items()}
    places = []
    for one, name in zip(entries, named, strict=True):
        if name is None:
            places.append(_drawn(connection, one, samples))
            continue
        model, key = name
        if (model.model_id, key) not in lists:
            raise tokens_not_kept(one.place, model.name, _spoken(model, key))
        places.append(_Place(model.model_id, key, lists[model.model_id, key]))
    return places


def _drawn(connection: duckdb.DuckDBPyConnection, one: Entry, samples: dict[tuple[str, int], Sample]) -> _Place:
    """The vector behind a handle, from the sample that it is of."""
    assert one.handle is not None
    assert one.model is not None
    # Where no sample can be drawn, that is said first, whatever the name.
    seed = seed_of(one.handle) or 0
    if (one.model, seed) not in samples:
        with at(one.place, "model"):
            samples[one.model, seed] = draw_sample(connection, one.model, seed=seed)
    sample = samples[one.model, seed]
    if one.handle not in sample.by_handle:
        raise unknown_vector(one.place, one.handle, one.model)
    vector = sample.by_handle[one.handle]
    return _Place(sample.model.model_id, vector.key, vector.token_ids)


def _named(connection: duckdb.DuckDBPyConnection, one: Entry, models: dict[str, KnownModel]) -> tuple[KnownModel, Key]:
    """The model and the vector that are named openly; a model that is not among those known yet joins them."""
    if one.address is not None:
        with at(one.place, "address"):
            neuron = find_neuron(connection, one.address)
            model = choose_model(connection, neuron.model)
            return model, ("value", neuron.layer, neuron.neuron)
    assert one.model is not None
    assert one.key is not None
    if one.model not in models:
        with at(one.place, "model"):
            models[one.model] = choose_model(connection, one.model)
    return models[one.model], one.key


def _spoken(model: KnownModel, key: Key) -> str:
    condition, layer, number = key
    what = {"value": "neuron", "random": "random vector", "ffn_update": "FFN update"}[condition]
    return f"{what} {number} of layer {layer} of {model.name}"
