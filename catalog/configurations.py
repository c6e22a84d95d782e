"""What the warehouse knows of a model's config.json: the part of it that changes numbers beside the same weights."""

import json
from collections.abc import Mapping
from typing import Any

CONFIGURED = (
    "architecture",
    "activation",
    "norm_position",
    "n_heads",
    "context_length",
    "has_parallel_residual",
    "settings",
)
"""Columns of `models` with what config.json decides; `settings` is JSON, or empty."""


def configured_of(model: Mapping[str, Any]) -> str:
    """What a row of `models` says of a config.json, as JSON."""
    return json.dumps({name: model[name] for name in CONFIGURED})


def config_differences(stored: str, requested: str) -> dict[str, tuple[Any, Any]]:
    """The fields in which two config.json differ -> both values, given what `configured_of` makes of them.

    A field that one of them does not name is none: earlier releases took no note of some.
    """
    before, now = _fields(stored), _fields(requested)
    return {name: (before[name], now[name]) for name in before if name in now and before[name] != now[name]}


def read_settings(text: str) -> dict[str, Any]:
    """The column `settings`, read; what is no object, which no release writes, is one unnamed field."""
    try:
        settings = json.loads(text or "{}")
    except (ValueError, RecursionError):
        settings = text
    return settings if isinstance(settings, dict) else {"": settings}


def _fields(text: str) -> dict[str, Any]:
    fields = read_settings(text)
    return fields | read_settings(str(fields.pop("settings", "")))
