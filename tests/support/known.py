"""A model as questions know it, with what a test does not care for filled in."""

from dataclasses import replace
from typing import Any

from neurothek.queries.names.models import KnownModel

_MODEL = KnownModel(
    model_id=0,
    name="m",
    family="m",
    variant=None,
    size=1000,
    n_layers=4,
    d_ffn=3072,
    d_model=768,
    tokenizer_id=0,
    architecture="opt",
    has_exact_zeros=True,
    is_signed=False,
    is_measured_on_text=True,
    source="m",
    revision=None,
    weights_sha256="",
    configured="",
)


def known_model(**said: Any) -> KnownModel:
    return replace(_MODEL, **said)
