"""Options of `ingest` as keywords of a call from Python, and the request that they make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_type_hints

from neurothek.catalog.arguments import (
    bad_argument,
    expanded,
    parse_size,
    require,
    unknown_argument,
)
from neurothek.catalog.problems import Invalid
from neurothek.ingest.jobs import registry
from neurothek.ingest.request import DEFAULT_JOBS, Device, Dtype, EngineName, IngestRequest, Keep, TextRequest


class IngestOptions(TypedDict, total=False):
    """The keywords of `ingest`; `neurothek.ingest.request` says what each of them is."""

    job: str | Sequence[str]
    jobs: str | Sequence[str]
    corpus: str | Sequence[str]
    corpora: str | Sequence[str]
    corpus_name: str | None
    tokens: int
    sequence_length: int | None
    packing: bool
    text: TextRequest
    named: Sequence[str]
    family: str | None
    variant: str | None
    revision: str | None
    allow_pickle: bool
    tokenizer_from_file: bool
    examples: int
    method: str | Sequence[str]
    methods: str | Sequence[str]
    keep: Keep
    domain: str | Sequence[str]
    domains: str | Sequence[str]
    fit: int | None
    validate: int | None
    baselines: bool
    positions: int
    scored: int
    where: str | None
    neighbours: int
    clusters: int | Sequence[int]
    device: Device
    dtype: Dtype
    active_above: float | None
    memory: int | str
    memory_bytes: int | str
    batch_tokens: int
    staging: str | PathLike[str] | None
    engine: EngineName
    address: str | None
    workers: int | None
    gpus_per_worker: float | None
    force: bool


_TEXT = {
    "corpus": "corpora",
    "corpora": "corpora",
    "corpus_name": "name",
    "tokens": "tokens_per_domain",
    "sequence_length": "sequence_length",
    "packing": "packing",
}
"""Words that are about the text -> the field of `TextRequest`."""

_OF_QUERIES = {
    "interventions",
    "intervention_tokens",
    "random_sets",
    "steering",
    "single_neurons",
    "scored_neurons",
    "contrasts",
    "corpus_id",
}
"""Fields about what a query found, which nobody can ask for in words."""

_SINGULAR = {"job": "jobs", "method": "methods", "domain": "domains", "memory": "memory_bytes"}


def ingest_request(**options: Unpack[IngestOptions]) -> IngestRequest:
    """The request of these options; `all` among the jobs stands for all that are about one model."""
    text = {name: value for name, value in options.items() if name in _TEXT}
    others = {name: value for name, value in options.items() if name not in _TEXT}
    if text and "text" in others:
        raise Invalid(
            f"text and {', '.join(text)} both say what is read",
            "put all of it into the one or the other",
            option="text",
        )
    values = _fields(IngestRequest, others, _SINGULAR)
    if text:
        values["text"] = TextRequest(**_fields(TextRequest, text, _TEXT))
    if "jobs" in values:
        jobs = values["jobs"]
        values.setdefault("named", tuple(job for job in jobs if job != "all"))
        values["jobs"] = tuple(name for job in jobs for name in (registry.NAMES if job == "all" else (job,)))
        values["jobs"] = values["jobs"] or DEFAULT_JOBS
    return IngestRequest(**values)


def _fields(kind: type[Any], given: Mapping[str, Any], called: Mapping[str, str]) -> dict[str, Any]:
    """Values for the fields of a request, each of its field's type."""
    values: dict[str, Any] = {}
    types, names = get_type_hints(kind), {one.name for one in fields(kind)} - _OF_QUERIES
    for word, value in given.items():
        name = called.get(word, word)
        if name not in names:
            raise unknown_argument("ingest", word, get_type_hints(IngestOptions))
        if name in values:
            raise bad_argument(word, value, "give one of the two", why=f"{name} is given, too")
        is_many = types[name] in (tuple[str, ...], tuple[int, ...])
        read = _READ.get(name, _several if is_many else _as_it_is)
        values[name] = read(value)
        if values[name] is None and value is not None:
            raise bad_argument(word, value, "give a size, such as 4GB")
        require(types[name], **{word: values[name]})
        if is_many:
            values[name] = tuple(values[name])
        if value is not None and types[name] in (Path | None, float | None):
            values[name] = (expanded if types[name] == Path | None else float)(value)
        numbers = values[name] if is_many else (values[name],)
        if name in _LEAST and any(number is not None and number < _LEAST[name] for number in numbers):
            raise bad_argument(word, value, f"give {_LEAST[name]} or more")
    return values


def _several(value: object) -> object:
    """One of several things stands for itself."""
    return (value,) if isinstance(value, str | int) else value


def _as_it_is(value: object) -> object:
    return value


_READ: Mapping[str, Callable[[Any], object]] = {
    "memory_bytes": lambda value: parse_size(value) if isinstance(value, str) else value
}
"""How what people write for a field becomes its value, where its type does not say."""

_LEAST = {"tokens_per_domain": 1, "sequence_length": 2, "memory_bytes": 1} | {
    one.name: one.metadata["settings"]["least"]
    for one in fields(IngestRequest)
    if "least" in one.metadata.get("settings", {})
}
