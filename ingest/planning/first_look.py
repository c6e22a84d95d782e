"""What is wrong with a request whatever the weights say: typing errors are reported before anything large is loaded."""

from collections.abc import Sequence
from pathlib import Path

from neurothek.catalog.advice import command_line
from neurothek.catalog.problems import Conflict, Invalid, NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables.registry import unknown_job
from neurothek.catalog.upkeep.changes import unknown_model
from neurothek.catalog.variants import family_of, variant_of
from neurothek.ingest.corpora.asked import asked_sources
from neurothek.ingest.corpora.errors import unknown_domain
from neurothek.ingest.corpora.sources.local_files import LocalFiles
from neurothek.ingest.corpora.sources.source import corpus_name, require_columns
from neurothek.ingest.corpora.split import SentenceSplit
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.errors import WEIGHTS_OPTION, unknown_method, weights_not_at_hand
from neurothek.ingest.jobs import registry
from neurothek.ingest.jobs.shortcuts.methods import METHODS
from neurothek.ingest.models.families.supported import family_of as supported_family
from neurothek.ingest.models.finding import (
    KnownFiles,
    Measured,
    by_name,
    config_of,
    folder_of,
    measured_models,
    model_name,
    split_revision,
    valid_name,
)
from neurothek.ingest.models.weight_files import require_tokenizer, weight_files
from neurothek.ingest.request import IngestRequest, ModelSource

_LARGEST_FLOAT32 = 3.4028234663852886e38


def check_request(request: IngestRequest) -> None:
    """Refuse what no model can be asked for."""
    is_about_pairs(request)
    for name in request.jobs:
        if name not in registry.JOBS:
            raise unknown_job(name)
    _require_choice(request)
    for method in request.methods:
        if method not in METHODS:
            raise unknown_method(method, None, METHODS)
    if request.active_above is not None and not abs(request.active_above) <= _LARGEST_FLOAT32:
        raise Invalid(
            f"--active-above {request.active_above} is not a finite float32 number",
            "give one",
            option="--active-above",
            value=request.active_above,
        )
    if request.examples < 1:
        message = f"--examples {request.examples} is too few"
        raise Invalid(message, "the job events needs at least 1", option="--examples", value=request.examples)
    SentenceSplit.of(request.fit, request.validate)
    if request.family is not None:
        family_of(request.family)
    if request.variant is not None:
        variant_of(request.variant)


def _require_choice(request: IngestRequest) -> None:
    """Refuse jobs on what a person chooses, where nothing was chosen."""
    of_queries = [name for name in request.jobs if name in registry.QUERY_NAMES]
    if of_queries == ["contrasts"] and not request.contrasts:
        command = command_line("contrast", "MODEL", "--a", "builtin:code", "--b", "builtin:prose", "--keep", "NAME")
        raise Invalid(
            "contrasts needs two sets of prompts",
            f"give them with, for example, `{command}`",
            option="--job",
            value=of_queries,
        )
    if of_queries and not (request.interventions or request.single_neurons or request.contrasts):
        command = command_line("intervene", "MODEL", "--where", "frequency > 0.1")
        raise Invalid(
            f"{' and '.join(of_queries)} needs neurons that a query finds",
            f"choose them with, for example, `{command}`",
            option="--job",
            value=of_queries,
        )


def is_about_pairs(request: IngestRequest) -> bool:
    """Whether a request is about pairs of models."""
    others = [name for name in request.jobs if name not in registry.PAIR_NAMES]
    if len(others) == len(request.jobs):
        return False
    if others:
        pairs = [name for name in request.jobs if name in registry.PAIR_NAMES]
        raise Invalid(
            f"the job {' and '.join(pairs)} cannot run together with {', '.join(others)}, because it compares models"
            " that are already in the warehouse",
            "run it in a separate command, after the other jobs",
            option="--job",
            value=list(request.jobs),
        )
    return True


def check_text(warehouse: Warehouse, request: IngestRequest) -> list[str]:
    """Refuse a text that cannot be one, if any job reads it; returns remarks on what is left out of it."""
    if set(request.jobs) <= {*registry.OF_WEIGHTS}:
        return []
    sources = asked_sources(warehouse, request.text)
    if sources is None:
        return []
    domains = [source.domain for source in sources]
    # The text that is shown for a model may be any of the warehouse: which one it is is known once the model is.
    is_shown = bool(request.named) and request.text.is_left_open
    possible = {*domains, *(_recorded_domains(warehouse) if is_shown else ())}
    for domain in request.domains if "shortcuts" in request.jobs else ():
        if domain not in possible:
            raise unknown_domain(request.text.name or corpus_name(sources), domain, domains)
    require_columns(sources, TextMemory(request.memory_bytes))
    return [
        f"{source.domain}: {', '.join(path.name for path in left_out)} in {text.path} is left out of the text"
        for source in sources
        if isinstance(text := source.text, LocalFiles) and (left_out := text.left_out())
    ]


def _recorded_domains(warehouse: Warehouse) -> set[str]:
    """Domains of all corpora of a warehouse."""
    if not warehouse.exists():
        return set()
    with warehouse.current_reader() as connection:
        rows = connection.execute("select distinct domain from store.sequences").fetchall()
    return {str(domain) for (domain,) in rows}


def refuse_one_name(request: IngestRequest, models: Sequence[str]) -> None:
    """Refuse two models that would be one in the warehouse."""
    sources: dict[str, str] = {}
    for model in map(ModelSource.parse, models):
        name = model_name(model.source, name=model.name, revision=request.revision)
        if name in sources:
            raise Conflict(
                f"{sources[name]} and {model.source} would both be called {name} in the warehouse:"
                f" give one of them another name, as in {name}-2={model.source}",
                what="model",
                name=name,
            )
        sources[name] = model.source


def look_for(warehouse: Warehouse, request: IngestRequest, model: str) -> None:
    """Refuse a model that cannot be measured, as far as names and places tell."""
    source = ModelSource.parse(model)
    measured = by_name(warehouse, source, revision=request.revision)
    if measured is not None:
        require_weights(measured, allow_pickle=request.allow_pickle, option=f"{measured.name}=PATH")
        return
    folder = _require_model(source.source, revision=request.revision, allow_pickle=request.allow_pickle)
    if folder is not None:
        require_tokenizer(folder, from_file=request.tokenizer_from_file)
    valid_name(source.source, name=source.name, revision=request.revision)


def measured_as(warehouse: Warehouse, model: str) -> Measured:
    """The files that the warehouse knows a model by."""
    with warehouse.current_reader():
        models = measured_models(warehouse)
    if model not in models:
        raise unknown_model(model, list(models))
    return models[model]


def require_weights(
    files: KnownFiles,
    *,
    weights: str | Path | None = None,
    allow_pickle: bool = False,
    option: str = WEIGHTS_OPTION,
) -> None:
    """Check that there are files where the weights of a measured model are to lie; which these are is seen later."""
    place = files.source if weights is None else str(weights)
    try:
        _require_model(place, revision=files.revision if weights is None else None, allow_pickle=allow_pickle)
    except NeurothekError as error:
        raise weights_not_at_hand(files.name, place, str(error), option=option) from error


def _require_model(source: str, *, revision: str | None, allow_pickle: bool) -> Path | None:
    """Check that there is a model; returns its folder, None of one of the hub."""
    source, revision = split_revision(source, revision)
    folder = folder_of(source, revision=revision)
    if folder is None:
        # The hub's library takes longer to import than a folder to be refused.
        from neurothek.ingest.models import hub  # noqa: PLC0415  (see above)

        hub.require_there(source, revision=revision)
        return None
    supported_family(config_of(folder), where=source)
    weight_files(folder, allow_pickle=allow_pickle)
    return folder
