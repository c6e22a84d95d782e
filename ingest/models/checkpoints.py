"""Finds a model's files, by hub id, folder or shipped name, and refuses what could not be measured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.models import gguf_files
from neurothek.ingest.models.errors import weights_not_finite
from neurothek.ingest.models.families.supported import family_of
from neurothek.ingest.models.finding import config_of, located, split_revision, valid_name
from neurothek.ingest.models.transformer import check
from neurothek.ingest.models.weight_files import weight_files
from neurothek.ingest.models.weights import Checkpoint, Weights
from neurothek.ingest.models.weights_hash import weights_fingerprint

__all__ = ["Checkpoint", "Weights", "find"]


def find(
    source: str,
    *,
    name: str | None = None,
    revision: str | None = None,
    allow_pickle: bool = False,
    progress: Progress | None = None,
) -> Checkpoint:
    """Find a model and check that it can be measured; code that lies beside the weights is never run.

    Args:
        source: a folder, a GGUF file, the name of a shipped model, or a hub id, maybe with @REVISION; tried in this
            order.
        name: what to call the model; else the last part of `source`, followed by @REVISION if one was asked for.
        revision: a branch, tag or commit of the hub.
        allow_pickle: read pickled weights where there are no safetensors (`weights_only`, so no code runs).
        progress: is told how far reading the weights has come, the first time they are seen.
    """
    source, revision = split_revision(source, revision)

    def accept(folder: Path) -> None:
        family_of(config_of(folder), where=source)

    folder, commit = located(source, revision=revision, allow_pickle=allow_pickle, accept=accept)
    config = config_of(folder)
    family = family_of(config, where=source)
    files, pickled = weight_files(folder, allow_pickle=allow_pickle)
    checkpoint = Checkpoint(
        name=valid_name(source, name=name, revision=revision),
        source=source,
        folder=folder,
        revision=commit,
        weights_sha256="",  # reading all weights takes longest and comes after everything that may be refused at once
        config=config,
        files=files,
        pickled=pickled,
        asked_revision=revision,
    )
    check(checkpoint)
    weights, origin = Weights(checkpoint), gguf_files.origin(folder)
    read = sorted(name for name in weights.names() if not family.ignorable.fullmatch(family.named(name)))
    digest = weights_fingerprint(
        files, inspect=lambda file: _require_finite(weights, file, read), progress=progress or Silent()
    )
    return replace(checkpoint, weights_sha256=digest if origin is None else origin.sha256)


def _require_finite(weights: Weights, file: Path, names: Sequence[str]) -> None:
    for name in names:
        if weights.file(name) != file:
            continue
        tensor = weights.read(name)
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        # The extremes carry NaN and infinity along and need no second copy of the tensor, as isfinite() would.
        # What float64 holds may be too large for float32, in which everything is measured.
        if not all(torch.isfinite(extreme.float()) for extreme in torch.aminmax(tensor)):
            raise weights_not_finite(file, name)
