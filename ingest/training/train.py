"""Trains small models of the OPT architecture: a function of text, settings and seed that a kill only delays."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch

from neurothek.catalog.files import written
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Recipe
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.models.tokenizer import Tokenizer
from neurothek.ingest.models.transformer import require_device
from neurothek.ingest.training.card import TrainingOutcome, finish_model
from neurothek.ingest.training.fresh_model import build
from neurothek.ingest.training.optimization import STATE, Run
from neurothek.ingest.training.settings import (
    TOKENIZER_FILES,
    UNFINISHED,
    Settings,
    check_settings,
    checkpoint_folders,
    output_taken,
    require_new,
)
from neurothek.ingest.training.text import TrainingText, divide, pad_id, reuse_tokenizer, train_tokenizer

WEIGHTS = "model.safetensors"

# Ids of each built-in domain that the losses in the card are measured on.
MEASURED_TOKENS = 60_000


def train(
    sources: Sequence[Source],
    output: Path,
    settings: Settings,
    *,
    tokenizer: Path | None = None,
    progress: Progress | None = None,
) -> list[Path]:
    """Train one model and write it, and its early checkpoints, as folders that transformers opens.

    A second call with the same arguments after a kill goes on from the last saved state and ends with the same bits.

    Args:
        sources: the domains of the text; of built-in text only what is not kept for measuring is trained on.
        output: the model's folder; early checkpoints go to folders beside it, named with -stepN.
        settings: size, steps, seed and the like.
        tokenizer: folder of an earlier model whose tokenizer is reused; None: one is trained on the text.
        progress: who watches.

    Returns:
        The early checkpoints in order, the finished model last.
    """
    watcher = progress if progress is not None else Silent()
    check_settings(settings)
    device = require_device(settings.device)
    recipe = corpora.recipe(sources, sequence_length=settings.context, tokens_per_domain=None, split="train")
    _claim(output, settings, recipe)
    if not (output / WEIGHTS).exists():
        used = _tokenizer(output, sources, settings, tokenizer)
        text = _text(recipe, used, settings, watcher)
        with _reproducible(settings.seed, device):
            model = build(settings, used)
            torch.nn.Module.to(model, device)  # the model's own `to` is untyped
            _run_through(Run(model, text, settings, output), recipe, watcher)
    # A kill may have left a state half written.
    for state in (output / STATE, *output.glob(f".{STATE}.*")):
        state.unlink(missing_ok=True)
    (output / UNFINISHED).unlink()
    return [*checkpoint_folders(output, settings).values(), output]


def _run_through(run: Run, recipe: Recipe, progress: Progress) -> None:
    """Train from stop to stop and write a model at each."""
    stops = {**checkpoint_folders(run.folder, run.settings), run.settings.steps: run.folder}
    progress.start(f"training {run.settings.size}", run.settings.steps)
    progress.advance(run.step)
    for step, folder in stops.items():
        if run.step < step:
            run.advance(step, progress)
            run.save()
        if not (folder / WEIGHTS).exists():
            outcome = TrainingOutcome(run.settings, run.step, run.tokens_seen, run.loss, recipe.sources)
            finish_model(run.model, run.text, outcome, folder, tokenizer_folder=run.folder)
    progress.finish()


def _claim(output: Path, settings: Settings, recipe: Recipe) -> None:
    """Make the folder, or find in it the same run unfinished."""
    unfinished = output / UNFINISHED
    wanted = json.dumps({**asdict(settings), "recipe": json.loads(recipe.json())}, sort_keys=True, indent=1)
    if unfinished.exists():
        if unfinished.read_text() != wanted:
            raise output_taken(output, "holds an unfinished run with other settings or other text")
        return
    require_new(output, settings)
    output.mkdir(parents=True, exist_ok=True)
    with written(unfinished) as temporary:
        temporary.write_text(wanted)


def _tokenizer(output: Path, sources: Sequence[Source], settings: Settings, reused: Path | None) -> Tokenizer:
    """The run's tokenizer, in its folder from the start, so that a resumed run finds the same one."""
    if not all((output / name).exists() for name in TOKENIZER_FILES):
        unfinished = output / "tokenizer.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        if reused is None:
            train_tokenizer(sources, vocab_size=settings.vocab_size).save_pretrained(unfinished)
        else:
            reuse_tokenizer(reused, vocab_size=settings.vocab_size)
            unfinished.mkdir()
            for name in TOKENIZER_FILES:
                shutil.copyfile(reused / name, unfinished / name)
        for name in TOKENIZER_FILES:
            (unfinished / name).replace(output / name)
        shutil.rmtree(unfinished)
    return reuse_tokenizer(output, vocab_size=settings.vocab_size)


def _text(recipe: Recipe, tokenizer: Tokenizer, settings: Settings, progress: Progress) -> TrainingText:
    corpus = corpora.prepare(recipe, tokenizer, progress=progress)
    built_in = [source for source in recipe.sources if source.builtin_domain is not None]
    measured = None
    if built_in:
        kept = corpora.recipe(built_in, sequence_length=settings.context, tokens_per_domain=MEASURED_TOKENS)
        measured = corpora.prepare(kept, tokenizer, progress=progress)
    return divide(corpus, measured, batch_size=settings.batch_size, pad_id=pad_id(tokenizer))


@contextmanager
def _reproducible(seed: int, device: torch.device) -> Iterator[None]:
    """Deterministic kernels for the duration of a run; on a CPU the number of threads belongs to the device."""
    before = torch.are_deterministic_algorithms_enabled()
    if device.type == "cuda":
        # cuBLAS is deterministic only with a fixed workspace.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before)
