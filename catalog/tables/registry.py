"""All tables of the warehouse, by job and by name."""

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules

from neurothek.catalog import tables
from neurothek.catalog.problems import NotFound
from neurothek.catalog.suggestions import nearest
from neurothek.catalog.tables.annotations import ANNOTATIONS, PLAUSIBILITY_JUDGEMENTS
from neurothek.catalog.tables.derived import CLUSTER_PINS, INSTALLED_VIEWS, PINS, SCHEMA_VERSIONS
from neurothek.catalog.tables.dimensions import CORPORA, MODELS, RUNS, SEQUENCES, TOKEN_COUNTS, TOKENIZERS, TOKENS
from neurothek.catalog.tables.events import EVENT_SAMPLES, EVENTS, EXAMPLES, STREAMS, SUB_UPDATES
from neurothek.catalog.tables.exits import EXITS
from neurothek.catalog.tables.explanations import EXPLANATION_JUDGEMENTS, EXPLANATIONS
from neurothek.catalog.tables.foreign import FOREIGN
from neurothek.catalog.tables.neuron_facts import NEURON_FACTS
from neurothek.catalog.tables.shortcuts import (
    SHORTCUT_MAPS,
    SHORTCUT_PREDICTIONS,
    SHORTCUT_READINGS,
    SHORTCUT_SENTENCES,
    SHORTCUT_TOPS,
    SHORTCUTS,
    SUB_MODULE_FITS,
)
from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.texts import (
    ACTIVATION_HISTOGRAMS,
    ACTIVITY,
    COHERENCES,
    CONTEXT_WINDOWS,
    CONTEXTS,
    CONTROL_COHERENCES,
    NGRAM_SPECTRUM,
    NGRAMS,
    POSITIONS,
    SHUFFLED_NGRAMS,
    TRIGGERS,
)
from neurothek.catalog.tables.units import SETS
from neurothek.catalog.tables.weights import (
    CLUSTER_CONTROLS,
    CLUSTERINGS,
    CLUSTERS,
    CONTROLS,
    COUNTERPARTS,
    LOGIT_HISTOGRAMS,
    NEIGHBOURS,
    NORM_OVERLAPS,
    POSTINGS,
    PROJECTIONS,
    TOKEN_INDICATORS,
    TOKEN_NEIGHBOURS,
)


def unknown_job(job: str) -> NotFound:
    """There is no such job."""
    near = nearest(job, JOB_TABLES, limit=1)
    hint = f"did you mean {near[0]}?" if near else f"the jobs are {', '.join(JOB_TABLES)}"
    return NotFound(f"there is no job {job}", hint, what="job", name=job, known=JOB_TABLES)


_HERE = __name__.rpartition(".")[2]


def _job_tables() -> dict[str, tuple[Table, ...]]:
    """What the modules of this room that declare `JOB_TABLES` say, by name."""
    names = sorted(module.name for module in iter_modules(tables.__path__) if module.name != _HERE)
    modules = [import_module(f"{tables.__name__}.{name}") for name in names]
    return {job: filled for module in modules for job, filled in getattr(module, "JOB_TABLES", {}).items()}


_JOB_TABLES = _job_tables()

FACTS: tuple[Table, ...] = (
    PROJECTIONS,
    POSTINGS,
    TOKEN_NEIGHBOURS,
    LOGIT_HISTOGRAMS,
    TOKEN_INDICATORS,
    ACTIVITY,
    CONTEXTS,
    CONTEXT_WINDOWS,
    ACTIVATION_HISTOGRAMS,
    NGRAMS,
    TRIGGERS,
    NGRAM_SPECTRUM,
    SHUFFLED_NGRAMS,
    POSITIONS,
    EXAMPLES,
    STREAMS,
    SUB_UPDATES,
    EVENTS,
    EVENT_SAMPLES,
    SHORTCUT_SENTENCES,
    SHORTCUTS,
    SHORTCUT_MAPS,
    SUB_MODULE_FITS,
    SHORTCUT_READINGS,
    SHORTCUT_TOPS,
    SHORTCUT_PREDICTIONS,
    EXITS,
    CLUSTERINGS,
    CLUSTERS,
    NEIGHBOURS,
    CLUSTER_CONTROLS,
    COUNTERPARTS,
    CONTROLS,
    NORM_OVERLAPS,
    COHERENCES,
    CONTROL_COHERENCES,
    *(table for filled in _JOB_TABLES.values() for table in filled),
)
JOB_TABLES: Mapping[str, tuple[Table, ...]] = {
    "projections": (PROJECTIONS, POSTINGS, TOKEN_NEIGHBOURS, LOGIT_HISTOGRAMS, TOKEN_INDICATORS),
    "activity": (ACTIVITY,),
    "contexts": (CONTEXTS, CONTEXT_WINDOWS, ACTIVATION_HISTOGRAMS),
    "ngrams": (NGRAMS, TRIGGERS, NGRAM_SPECTRUM, SHUFFLED_NGRAMS),
    "positions": (POSITIONS,),
    "events": (EXAMPLES, STREAMS, SUB_UPDATES, EVENTS, EVENT_SAMPLES),
    "clusters": (CLUSTERINGS, CLUSTERS, NEIGHBOURS, CLUSTER_CONTROLS),
    "shortcuts": (
        SHORTCUT_SENTENCES,
        SHORTCUTS,
        SHORTCUT_MAPS,
        SUB_MODULE_FITS,
        SHORTCUT_READINGS,
        SHORTCUT_TOPS,
        SHORTCUT_PREDICTIONS,
    ),
    "counterparts": (COUNTERPARTS,),
    "exits": (EXITS,),
    "controls": (CONTROLS, NORM_OVERLAPS, COHERENCES, CONTROL_COHERENCES),
    **_JOB_TABLES,
}
"""The tables that each job fills."""

PAIR_JOBS = tuple(job for job, filled in JOB_TABLES.items() if any(table.is_of_pair for table in filled))
"""Jobs about two models."""

OF_WEIGHTS = frozenset(
    job for job, filled in JOB_TABLES.items() if not any(table.scope.endswith("corpus") for table in filled)
)
"""Jobs that read no text: none of their rows is of a corpus."""

DIMENSIONS: tuple[Table, ...] = (MODELS, TOKENIZERS, TOKENS, CORPORA, SEQUENCES, TOKEN_COUNTS, RUNS)
WRITTEN_BY_PEOPLE: tuple[Table, ...] = (ANNOTATIONS, PLAUSIBILITY_JUDGEMENTS, EXPLANATIONS, EXPLANATION_JUDGEMENTS)
"""The tables that no job fills, but people or the language models that they ask; a row is known by its UUID."""

AUTHORS: Mapping[str, str] = {
    table.name: column
    for table in WRITTEN_BY_PEOPLE
    for column in ("annotator", "explainer")
    if column in table.columns
}
"""Those of them that say who wrote -> the column that does."""

BY_NAME: Mapping[str, Table] = {table.name: table for table in (*DIMENSIONS, *FACTS, *WRITTEN_BY_PEOPLE, *FOREIGN)}

ALL: tuple[Table, ...] = (*BY_NAME.values(), NEURON_FACTS, PINS, CLUSTER_PINS, INSTALLED_VIEWS, SCHEMA_VERSIONS, *SETS)
"""The tables of a file, but for those that hold rows of views."""

OWNERS: Mapping[str, str] = {table.name: table.owner for table in ALL if table.owner is not None}
"""Table -> its column that says of which model or set of units a row is, but for what is kept of views."""
