"""Finds a model's files, by hub id, folder or shipped name, and refuses what could not be measured."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from catalog.progress import Progress, Silent
from ingest import hub, minis
from ingest.architectures import check, require_supported
from ingest.hashing import fingerprint
from ingest.model_errors import (
    ConfigInvalid,
    ConfigMissing,
    ModelIsFile,
    ModelMissing,
    ModelNameInvalid,
    RevisionOfFolder,
    RevisionTwice,
    WeightsNotFinite,
)
from ingest.regular_files import require_plain
from ingest.weights import Checkpoint, Weights, weight_files

__all__ = ["Checkpoint", "Weights", "find", "model_name"]

NAME = re.compile(r"[A-Za-z0-9._@+-]+")


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
        source: a folder, the name of a shipped model, or a hub id, maybe with @REVISION; tried in this order.
        name: what to call the model; else the last part of `source`, followed by @REVISION if one was asked for.
        revision: a branch, tag or commit of the hub.
        allow_pickle: read pickled weights where there are no safetensors (`weights_only`, so no code runs).
        progress: is told how far reading the weights has come, the first time they are seen.

    Raises:
        ModelMissing, ModelIsFile, RevisionOfFolder, RevisionTwice, ModelNameInvalid: `source` or `name` is no model's.
        ModelUnreachable, ModelNotOnHub, ModelDownloadFailed: the hub did not give it out.
        ModelFileUnfit: the folder holds a named pipe, a socket, a device or a circle of links.
        ConfigMissing, ConfigInvalid, ArchitectureUnsupported: config.json describes nothing that is known here.
        WeightsMissing, WeightsPickled, WeightsUnreadable, WeightsMismatch, WeightsNotFinite: the weights are
            absent, refused, damaged, not those of config.json, or hold NaN or infinity.
    """
    source, revision = split_revision(source, revision)
    folder, commit = _folder(source, revision, allow_pickle)
    config = _config(folder)
    require_supported(config, where=source)
    files, pickled = weight_files(folder, allow_pickle=allow_pickle)
    found = Checkpoint(
        name=_name(source, name, revision),
        source=source,
        folder=folder,
        revision=commit,
        weights_sha256="",  # reading all weights takes longest and comes after everything that may be refused at once
        config=config,
        files=files,
        pickled=pickled,
        asked_revision=revision,
    )
    check(found)
    weights = Weights(found)
    digest = fingerprint(files, inspect=lambda file: _require_finite(weights, file), progress=progress or Silent())
    return replace(found, weights_sha256=digest)


def _folder(source: str, revision: str | None, allow_pickle: bool) -> tuple[Path, str | None]:
    """Where the files of `source` lie, and the hub's commit if they are the hub's."""
    path = Path(source).expanduser()
    if path.is_file():
        raise ModelIsFile(source)
    local = path if path.is_dir() else minis.folder(source)
    if local is not None:
        if revision is not None:
            raise RevisionOfFolder(source, revision)
        return local, None
    if not hub.is_id(source):
        raise ModelMissing(source)

    def accept(folder: Path) -> None:
        require_supported(_config(folder), where=source)

    snapshot = hub.snapshot(source, revision=revision, allow_pickle=allow_pickle, accept=accept)
    return snapshot, snapshot.name


def split_revision(source: str, revision: str | None = None) -> tuple[str, str | None]:
    """A hub id and its revision, which may stand behind it as in `EleutherAI/pythia-70m@step1000`.

    A folder keeps its name, whatever it holds.

    Raises:
        RevisionTwice: another one is asked for as well.
    """
    repo, _, written = source.partition("@")
    if not written or not hub.is_id(repo) or Path(source).expanduser().exists():
        return source, revision
    if revision is not None and revision != written:
        raise RevisionTwice(source, revision)
    return repo, written


def model_name(source: str, *, name: str | None = None, revision: str | None = None) -> str:
    """What a model is called: `name`, else the last part of `source`, followed by @REVISION if one was asked for.

    Raises:
        RevisionTwice: see `split_revision`.
    """
    if name is not None:
        return name
    source, revision = split_revision(source, revision)
    last = Path(source).name
    # "." and ".." are folders whose name stands elsewhere.
    last = last if last not in ("", "..") else Path(source).expanduser().resolve().name
    return f"{last}@{revision}" if revision is not None else last


def _name(source: str, name: str | None, revision: str | None) -> str:
    called = model_name(source, name=name, revision=revision)
    if not NAME.fullmatch(called):
        raise ModelNameInvalid(called, source, re.sub(r"[^A-Za-z0-9._@+-]+", "-", called).strip("-") or "NAME")
    return called


def _config(folder: Path) -> dict[str, Any]:
    try:
        require_plain(folder)
        found = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError as error:
        raise ConfigMissing(folder) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigInvalid(folder, "it is no JSON") from error
    if not isinstance(found, dict):
        raise ConfigInvalid(folder, "it is no JSON object")
    return found


def _require_finite(weights: Weights, file: Path) -> None:
    for name in sorted(weights.names()):
        if weights.file(name) != file:
            continue
        tensor = weights.read(name)
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        # The extremes carry NaN and infinity along and need no second copy of the tensor, as isfinite() would.
        # What float64 holds may be too large for float32, in which everything is measured.
        if not all(torch.isfinite(extreme.float()) for extreme in torch.aminmax(tensor)):
            raise WeightsNotFinite(file, name)
