"""Annotations of people: resolved against the warehouse, then published in one transaction, all of them or none."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.publishing.annotation_rows import write_annotations, write_judgements
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import ANNOTATIONS, LEAST_MARKED, PLAUSIBILITY_JUDGEMENTS
from neurothek.queries.annotate.errors import (
    concept_and_none,
    invalid_field,
    judged_twice,
    kinds_mixed,
    missing_field,
    named_twice,
    no_annotations,
    not_shown,
    tokens_not_kept,
    too_few_marked,
    unknown_field,
    unknown_list,
    unknown_vector,
)
from neurothek.queries.annotate.lines import LIST_FIELDS, Entry, Line, annotator_of, at, entry, is_of_list, name_of
from neurothek.queries.annotate.lists import ListSample, draw_lists
from neurothek.queries.annotate.sample import Key, Sample, draw_sample, seed_of, tokens_shown
from neurothek.queries.names.models import KnownModel, choose_model, find_neuron


@dataclass(frozen=True)
class Saved:
    """Summary of a publication.

    Attributes:
        n_annotations: rows written.
        n_vectors: vectors that they judge, counted once for each annotator; 0 where lists were judged.
        n_replaced: earlier rows about the same vectors or lists by the same annotators, which gave way.
        n_lists: lists of next tokens whose plausibility they judge, counted likewise.
    """

    n_annotations: int
    n_vectors: int
    n_replaced: int
    n_lists: int = 0

    def __str__(self) -> str:
        """What was saved, in words."""
        about = f"{self.n_lists:,} lists" if self.n_lists else f"{self.n_vectors:,} vectors"
        replaced = f", in place of {self.n_replaced:,} earlier ones" if self.n_replaced else ""
        return f"saved {self.n_annotations:,} annotations of {about}{replaced}"


def of_vectors(rows: pl.DataFrame, n_replaced: int) -> Saved:
    """What a publication of these rows of ANNOTATIONS wrote."""
    vectors = rows.select("model_id", "layer", "condition", "neuron", "control_id", "annotator")
    return Saved(rows.height, vectors.n_unique(), n_replaced)


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
    return pl.DataFrame(rows, schema=ANNOTATIONS.schema, orient="row")


def _row(one: Entry, place: _Place, created_at: datetime) -> tuple[Any, ...]:
    condition, layer, number = place.key
    neuron, control = (number, None) if condition == "value" else (None, number)
    marked = _marked(one, place.token_ids)
    vector = (place.model_id, layer, condition, neuron, control, list(place.token_ids))
    return (str(uuid.uuid4()), *vector, one.concept, one.concept_class, marked, one.annotator, created_at)


def _marked(one: Entry, token_ids: Sequence[int]) -> list[int]:
    """Ids of the marked tokens, best first."""
    if one.concept is None:
        return []
    marks = range(1, len(token_ids) + 1) if one.marked_by == "ranks" else token_ids
    for token in one.marked:
        if token not in marks:
            raise not_shown(one.place, one.marked_by, token, len(token_ids))
    if len(one.marked) < LEAST_MARKED:
        raise too_few_marked(one.place, one.marked_by, len(one.marked))
    return [token for rank, token in zip(marks, token_ids, strict=True) if rank in one.marked]


def _refuse_contradictions(entries: Sequence[Entry], places: Sequence[_Place]) -> None:
    """Of one annotator and vector: a concept twice, or concepts beside the judgement that there is none."""
    classes: dict[tuple[str, _Place], dict[str | None, str]] = {}
    for one, place in zip(entries, places, strict=True):
        concepts = classes.setdefault((one.annotator, place), {})
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


@dataclass(frozen=True)
class _Judgement:
    """One judgement that is sound by itself."""

    place: str
    annotator: str
    model: str
    item: str
    is_plausible: bool


def judge_lists(warehouse: Warehouse, lines: Sequence[Line], *, annotator: str | None = None) -> Saved:
    """Publish judgements in one transaction; each replaces the same annotator's earlier one of the same list.

    Args:
        warehouse: where to.
        lines: what was sent.
        annotator: who judged, where a line does not say.
    """
    judgements = [_judgement(line, annotator) for line in lines]
    # Refused before a writer is waited for, and judged again by it: a model may be gone by then.
    with warehouse.current_reader() as connection:
        _rows(connection, judgements)
    with warehouse.transaction() as connection:
        rows = _rows(connection, judgements)
        n_replaced = write_judgements(connection, rows)
    return Saved(rows.height, 0, n_replaced, n_lists=rows.height)


def _judgement(line: Line, annotator: str | None) -> _Judgement:
    if not is_of_list(line):
        raise kinds_mixed(line.place)
    for name in line.fields:
        if name not in LIST_FIELDS:
            raise unknown_field(line.place, str(name), LIST_FIELDS)
    who = annotator_of(line, annotator)
    model, item = name_of(line, "model"), name_of(line, "item")
    if model is None:
        raise missing_field(line.place, "model", "the name of the model")
    if item is None:
        raise missing_field(line.place, "item", "an item of the sample")
    is_plausible = line.fields.get("plausible")
    if is_plausible is None:
        raise missing_field(line.place, "plausible", "true or false; in a sheet, yes or no")
    if not isinstance(is_plausible, bool):
        raise invalid_field(line.place, "plausible", is_plausible, "true or false; in a sheet, yes or no")
    return _Judgement(line.place, who, model, item, is_plausible)


def _rows(connection: duckdb.DuckDBPyConnection, judgements: Sequence[_Judgement]) -> pl.DataFrame:
    """Rows of PLAUSIBILITY_JUDGEMENTS, all of one time."""
    created_at = datetime.now(UTC).replace(tzinfo=None)
    samples: dict[tuple[str, int], ListSample] = {}
    places: dict[tuple[str, str, str], str] = {}
    rows: list[tuple[Any, ...]] = []
    for one in judgements:
        seed = seed_of(one.item) or 0
        if (one.model, seed) not in samples:
            with at(one.place, "model"):
                samples[one.model, seed] = draw_lists(connection, one.model, seed=seed)
        sample = samples[one.model, seed]
        if one.item not in sample.by_handle:
            raise unknown_list(one.place, one.item, one.model)
        before = places.setdefault((one.annotator, one.model, one.item), one.place)
        if before != one.place:
            raise judged_twice(one.place, before)
        listed = sample.by_handle[one.item]
        about = (sample.model.model_id, listed.text, list(listed.token_ids))
        rows.append((str(uuid.uuid4()), *about, one.is_plausible, one.annotator, created_at))
    return pl.DataFrame(rows, schema=PLAUSIBILITY_JUDGEMENTS.schema, orient="row")
