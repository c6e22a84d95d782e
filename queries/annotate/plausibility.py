"""Judgements of plausibility: resolved against the lists of the warehouse, then published in one transaction or not."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from neurothek.catalog.publishing.annotation_rows import write_judgements
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import PLAUSIBILITY_JUDGEMENTS
from neurothek.queries.annotate.errors import (
    invalid_field,
    judged_twice,
    kinds_mixed,
    missing_field,
    unknown_field,
    unknown_list,
)
from neurothek.queries.annotate.lines import LIST_FIELDS, Line, annotator_of, at, is_of_list, name_of
from neurothek.queries.annotate.lists import ListSample, draw_lists
from neurothek.queries.annotate.sample import seed_of
from neurothek.queries.annotate.saved import Saved


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
    return pl.DataFrame(rows, schema=dict(PLAUSIBILITY_JUDGEMENTS.columns), orient="row")
