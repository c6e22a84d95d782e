"""The annotator `rules`: it judges the sample that people judge, and all random vectors of each layer.

It is handed the tokens of each vector alone.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial

import duckdb

from neurothek.catalog.problems import NotMeasured
from neurothek.catalog.publishing.annotation_rows import withdraw_annotations, write_annotations
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.annotations import RULES
from neurothek.queries.annotate.annotations import Saved, annotation_rows, of_vectors
from neurothek.queries.annotate.lines import Entry
from neurothek.queries.annotate.sample import Key, Sample, control_keys, draw_sample, tokens_shown
from neurothek.queries.names.models import choose_models
from neurothek.queries.rules.chance import Pattern, Vocabulary, read_vocabulary
from neurothek.queries.rules.neighbourhoods import read_near
from neurothek.queries.rules.rulebook import Rulebook


def annotate_by_rules(warehouse: Warehouse, models: Sequence[str] = (), *, seed: int = 0) -> Saved:
    """Judge the samples of some models by rules, and publish in one transaction.

    What the rules said of these models before gives way, whatever the sample.

    Args:
        warehouse: what holds the models' projections and controls.
        models: their names; all that have controls where none is named.
        seed: of the samples.
    """
    with warehouse.current_reader() as connection:
        samples = _samples(connection, models, seed)
        vocabulary_of = cache(partial(read_vocabulary, connection))
        entries = [
            entry for one in samples for entry in _entries(connection, one, vocabulary_of(one.model.tokenizer_id))
        ]
    with warehouse.transaction() as connection:
        rows = annotation_rows(connection, entries)
        n_replaced = withdraw_annotations(connection, RULES, [sample.model.model_id for sample in samples])
        write_annotations(connection, rows)
    return of_vectors(rows, n_replaced)


def _samples(connection: duckdb.DuckDBPyConnection, models: Sequence[str], seed: int) -> list[Sample]:
    samples, missing = [], []
    for model in choose_models(connection, models):
        try:
            samples.append(draw_sample(connection, model.name, seed=seed))
        except NotMeasured as error:
            if "controls" not in error.jobs:
                raise
            missing.append(error)
    if missing and (models or not samples):
        raise missing[0]
    return samples


def _entries(connection: duckdb.DuckDBPyConnection, sample: Sample, vocabulary: Vocabulary) -> Iterator[Entry]:
    """What the rules say of each vector: one entry per concept, or one that there is none.

    Ten random vectors of a layer leave the share that chance gives too uncertain to compare with: all are judged.
    """
    rulebook = Rulebook(vocabulary, read_near(connection, sample.model.model_id))
    random = [key for key in control_keys(connection, sample.model) if key[0] == "random"]
    lists = {key: ids for key, (ids, _) in tokens_shown(connection, sample.model, random).items()}
    lists |= {vector.key: vector.token_ids for vector in sample.vectors}
    for key, token_ids in lists.items():
        patterns: Sequence[Pattern | None] = rulebook.judge(token_ids) or (None,)
        for pattern in patterns:
            yield _entry(sample.model.name, key, pattern)


def _entry(model: str, key: Key, pattern: Pattern | None) -> Entry:
    condition, layer, number = key
    return Entry(
        place=f"{condition} {number} of layer {layer}",
        annotator=RULES,
        model=model,
        handle=None,
        address=None,
        key=key,
        concept=None if pattern is None else pattern.concept,
        concept_class=None if pattern is None else pattern.concept_class,
        marked=() if pattern is None else pattern.token_ids,
        marked_by="token_ids",
    )
