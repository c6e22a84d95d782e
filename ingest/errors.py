"""Errors in requests for measurements, and in questions that need the model."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from neurothek.catalog.problems import (
    Conflict,
    Invalid,
    LimitExceeded,
    NotFound,
    Unavailable,
    Unsupported,
)
from neurothek.catalog.suggestions import nearest
from neurothek.ingest.amounts import in_words

# Requests


def config_changed(name: str, differences: Mapping[str, tuple[object, object]]) -> Conflict:
    """The warehouse holds the same weights under another configuration."""
    named = "; ".join(
        f"{field}: {stored} in the warehouse, {requested} requested"
        for field, (stored, requested) in differences.items()
    )
    return Conflict(
        f"the model {name} is in the warehouse with another config.json ({named})",
        "restore that one, or measure this model under another name with NAME=",
        what="config.json",
        name=name,
    )


def unknown_corpus(name: str, names: Sequence[str]) -> NotFound:
    """The warehouse has no such corpus, or it was asked for beside others."""
    content = f"has {', '.join(names)}" if names else "has none yet"
    return NotFound(
        f"the corpus {name} cannot be used by name here",
        f"the warehouse {content}: give one of these names alone, or builtin, NAME=PATH, or NAME=hub:ORG/NAME",
        what="corpus",
        name=name,
        known=names,
    )


def unknown_method(method: str, architecture: str | None, methods: Sequence[str]) -> NotFound:
    """There is no such shortcut, or not for such a model."""
    near = nearest(method, methods, limit=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(methods)}"
    models = f" for {architecture} models" if architecture is not None else ""
    return NotFound(f"there is no shortcut {method}{models}", hint, what="shortcut", name=method, known=methods)


def not_enough_disk(folder: Path, needed: int, free: int) -> LimitExceeded:
    """The disk cannot hold what is to be staged."""
    return LimitExceeded(
        f"measuring needs about {in_words(needed)} under {folder}, but only {in_words(free)} are free:"
        " free some space or choose another disk with --staging",
        what="disk",
        needed=needed,
        limit=free,
    )


def not_enough_memory(
    work: str, needed: int, limit: int, *, instead: str = "", is_of_gpu: bool = False
) -> LimitExceeded:
    """The memory budget does not hold some work.

    Args:
        work: such as "measuring projections".
        needed: bytes; told rounded up, as `limit` is rounded down: allowing as much as is told is enough.
        limit: bytes that are allowed.
        instead: what else helps.
        is_of_gpu: whether the GPU has no more, and not a person allows no more.
    """
    if is_of_gpu:
        return LimitExceeded(
            f"{work} needs at least {math.ceil(needed / 1e7) / 100:.2f} GB of memory,"
            f" but the GPU has {limit // 10**7 / 100:.2f} GB for it: measure with --device cpu{instead}",
            what="gpu memory",
            needed=needed,
            limit=limit,
        )
    return LimitExceeded(
        f"{work} needs at least {math.ceil(needed / 1e7) / 100:.2f} GB of memory,"
        f" but --memory allows {limit // 10**7 / 100:.2f} GB: allow more{instead}",
        what="memory",
        needed=needed,
        limit=limit,
    )


def causal_model_needed(model: str, jobs: Sequence[str], possible: Sequence[str]) -> Unsupported:
    """Jobs need a model that predicts the next token, and this one fills in masked ones."""
    several = f"jobs {', '.join(jobs)} need" if len(jobs) > 1 else f"job {jobs[0]} needs"
    ways = " ".join(f"--job {job}" for job in possible)
    return Unsupported(
        f"{model} is a masked model, and the {several} one that predicts the next token",
        f"use {ways}",
        what="masked model",
        name=model,
    )


def signs_needed(model: str, jobs: Sequence[str]) -> Unsupported:
    """Jobs tell the two signs of a coefficient apart, and no coefficient of this model is below 0."""
    several = f"jobs {', '.join(jobs)} tell" if len(jobs) > 1 else f"job {jobs[0]} tells"
    return Unsupported(
        f"no coefficient of {model} is ever below 0, and the {several} the two signs apart",
        f"leave out {' '.join(f'--job {job}' for job in jobs)}",
        what="signs",
        name=model,
    )


def nothing_to_trace() -> Unsupported:
    """The model does not continue a prompt."""
    return Unsupported(
        "this is a masked model: it fills in tokens and does not predict the next one, so there is nothing to trace",
        "use a causal model",
        what="masked model",
        name="trace",
    )


# Questions that need the model

WEIGHTS_OPTION = "--weights PATH"
"""How a command is told where weights lie, unless it says otherwise."""


def empty_prompt(prompt: str) -> Invalid:
    """The prompt has no tokens."""
    return Invalid(
        f"the prompt {prompt!r} has no tokens", "give a text with at least one", option="prompt", value=prompt
    )


def weights_not_at_hand(model: str, place: str, problem: str, *, option: str = WEIGHTS_OPTION) -> Unavailable:
    """The weights of a measured model are not where they came from."""
    return Unavailable(
        f"this answer needs the weights of {model}, which were not usable at {place!r}: {problem}",
        f"give their location with {option}",
        what="weights",
        name=model,
        why=problem,
    )


def other_weights(model: str, place: str, *, option: str = WEIGHTS_OPTION) -> Conflict:
    """The weights at hand are not those of the warehouse."""
    return Conflict(
        f"the weights at {place!r} are not the ones that were measured as {model}",
        f"give the right folder with {option}, or measure these weights under another name",
        what="weights",
        name=model,
    )


def no_value_before_gates(architecture: str) -> Unsupported:
    """Neurons with gates have no value before their non-linearity."""
    return Unsupported(
        f"the neurons of {architecture} models have gates, so there is no value before the non-linearity to set",
        "leave out --pre",
        what="architecture",
        name=architecture,
    )
