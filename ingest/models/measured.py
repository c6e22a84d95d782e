"""Models of the warehouse, opened again from the files that were measured."""

from collections.abc import Sequence
from pathlib import Path

import torch

from neurothek.catalog.configurations import config_differences, configured_of
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.progress import Progress
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.errors import (
    WEIGHTS_OPTION,
    causal_model_needed,
    config_changed,
    other_weights,
    weights_not_at_hand,
)
from neurothek.ingest.models import checkpoints
from neurothek.ingest.models import tokenizer as tokenization
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.finding import KnownFiles
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import Transformer, open_transformer
from neurothek.ingest.models.weights import Checkpoint


def open_measured(
    measured: KnownFiles, *, weights: str | Path | None = None, allow_pickle: bool = False
) -> tuple[Transformer, Tokenizer]:
    """Open the model that the warehouse measured, with its tokenizer; see `find_measured`."""
    checkpoint, tokenizer = find_measured(measured, weights=weights, allow_pickle=allow_pickle)
    return open_transformer_of(measured, checkpoint), tokenizer


def open_transformer_of(
    measured: KnownFiles,
    checkpoint: Checkpoint,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    resident: bool = True,
) -> Transformer:
    """Open the files of a model that the warehouse measured, as `open_transformer` does."""
    try:
        opened = open_transformer(checkpoint, device=device, dtype=dtype, resident=resident)
    except NeurothekError as error:
        raise weights_not_at_hand(measured.name, str(checkpoint.folder), str(error)) from error
    differences = config_differences(measured.configured, configured_of(vars(opened.shape)))
    if differences:
        raise config_changed(measured.name, differences)
    return opened


def find_measured(
    measured: KnownFiles,
    *,
    weights: str | Path | None,
    allow_pickle: bool = False,
    option: str = WEIGHTS_OPTION,
    progress: Progress | None = None,
) -> tuple[Checkpoint, Tokenizer]:
    """The files that the warehouse measured a model from, where they came from or in the folder `weights`.

    Args:
        measured: the model.
        weights: a folder to look in instead.
        allow_pickle: read pickled weights.
        option: how a person says another place, for the errors.
        progress: is told how far reading the weights has come, the first time they are seen.
    """
    place = measured.source if weights is None else str(weights)
    commit = measured.revision if weights is None else None
    try:
        checkpoint = checkpoints.find(
            place, name=measured.name, revision=commit, allow_pickle=allow_pickle, progress=progress
        )
        tokenizer = tokenization.load(checkpoint.folder, from_file=measured.tokenizer_from_file)
    except NeurothekError as error:
        raise weights_not_at_hand(measured.name, place, str(error), option=option) from error
    if checkpoint.weights_sha256 != measured.weights_sha256:
        raise other_weights(measured.name, place, option=option)
    return checkpoint, tokenizer


def require_causal(warehouse: Warehouse, model: str, job: str, *, possible: Sequence[str]) -> None:
    """Refuse a model of the warehouse that fills in masked tokens, for a job that needs the next one.

    Args:
        warehouse: what holds the model.
        model: its name.
        job: the job.
        possible: jobs that such a model can be asked for.
    """
    query = "select architecture from store.models where name = $name"
    with warehouse.current_reader() as connection:
        rows = connection.execute(query, {"name": model}).fetchall()
    # One that this release does not know is refused where its weights are opened.
    families = [FAMILIES.get(str(architecture)) for (architecture,) in rows]
    if any(family is not None and family.is_masked for family in families):
        raise causal_model_needed(model, [job], possible)
