"""What a trained model is made of, and what is wrong with it before anything is read or loaded."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neurothek.catalog.problems import Conflict, Invalid, NotFound, Unreadable
from neurothek.ingest.models.errors import missing_device, missing_tokenizer

# The 256 bytes and the three special tokens are always there; a BPE needs at least one merge besides.
SMALLEST_VOCABULARY = 256 + 3 + 1
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")

UNFINISHED = "training.json"
"""File of the settings of a run that is not finished; it goes when the model is complete."""

VOCAB_SIZE = 8_192
CONTEXT = 256
BATCH_SIZE = 16


@dataclass(frozen=True)
class Dimensions:
    """The shape of one size; `d_model` is the embeddings' width, too, unless norms come after the blocks."""

    n_layers: int
    d_model: int
    d_ffn: int
    n_heads: int


SIZES: Mapping[str, Dimensions] = {
    "0.7m": Dimensions(3, 64, 256, 2),
    "2m": Dimensions(4, 128, 512, 4),
    "5m": Dimensions(6, 192, 768, 6),
}


@dataclass(frozen=True)
class Settings:
    """What makes a trained model what it is; with the text, the device and the library versions it fixes every bit."""

    size: str  # a key of `SIZES`
    steps: int  # optimizer steps; 0 leaves the fresh weights, the control of what training makes
    seed: int = 0  # of the fresh weights and of the order of the text
    no_positions: bool = False  # the position table is zero and stays so
    # norms after the blocks, no final norm, and a stream twice as wide as the embeddings, as OPT-350m has
    post_norm: bool = False
    checkpoint_at: tuple[int, ...] = ()  # steps after which the model is written too; 0 for the fresh weights
    vocab_size: int = VOCAB_SIZE  # tokens of the tokenizer, special ones included
    context: int = CONTEXT  # ids a sequence holds, BOS included
    batch_size: int = BATCH_SIZE  # sequences a step
    device: str = "cpu"  # as PyTorch names it
    save_every: int = 200  # steps between two saved states, which change no number


def check_settings(settings: Settings) -> None:
    """Refuse settings that no run can have."""
    if settings.size not in SIZES:
        message, hint = f"there is no model size {settings.size!r}", f"choose one of {', '.join(SIZES)}"
        raise NotFound(message, hint, what="model size", name=settings.size, known=SIZES)
    if settings.steps < 0:
        raise _impossible(f"a run of {settings.steps} steps", "--steps", settings.steps)
    for step in settings.checkpoint_at:
        if not 0 <= step < settings.steps:
            raise _impossible(f"a checkpoint at step {step} of {settings.steps}", "--checkpoint-at", step)
    if settings.vocab_size < SMALLEST_VOCABULARY:
        message = f"a vocabulary of {settings.vocab_size} tokens is too small"
        hint = f"bytes and special tokens alone need {SMALLEST_VOCABULARY}"
        raise Invalid(message, hint, option="--vocabulary", value=settings.vocab_size)
    if settings.no_positions and settings.post_norm:
        raise Invalid(
            "a model without positions and with norms after the blocks is not a known variant",
            "choose --no-positions or --post-norm",
            option="--post-norm",
            value=settings.post_norm,
        )


def check_places(settings: Settings, output: Path, *, tokenizer: Path | None) -> None:
    """Refuse names and places that no run can have, as far as they tell without the libraries that train."""
    check_settings(settings)
    if not re.fullmatch(r"(auto|cpu|cuda|mps|xpu)(:\d+)?", settings.device):
        raise missing_device(settings.device)
    if not (output / UNFINISHED).exists():
        require_new(output, settings)
    if tokenizer is not None and not tokenizer.is_dir():
        raise missing_tokenizer(tokenizer)
    if tokenizer is not None:
        require_files(tokenizer)


def checkpoint_folders(output: Path, settings: Settings) -> dict[int, Path]:
    """The folders of early checkpoints by their step."""
    return {step: output.with_name(f"{output.name}-step{step}") for step in sorted(set(settings.checkpoint_at))}


def require_new(output: Path, settings: Settings) -> None:
    """Refuse to write over a folder that holds anything."""
    for folder in (*checkpoint_folders(output, settings).values(), output):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise output_taken(folder, "exists and holds no unfinished run")


def require_files(folder: Path) -> None:
    """Refuse a folder without the files of a tokenizer of ours."""
    if not all((folder / name).is_file() for name in TOKENIZER_FILES):
        raise unfit_tokenizer(folder, f"it lacks one of {' and '.join(TOKENIZER_FILES)}")


def output_taken(folder: Path, problem: str) -> Conflict:
    """A training output that would overwrite something."""
    message = f"cannot write the model to {folder}, which {problem}: choose another folder or remove this one"
    return Conflict(message, what="folder", name=folder)


def unfit_tokenizer(folder: Path, problem: str) -> Unreadable:
    """A tokenizer to be reused that these models cannot be trained with."""
    message = f"cannot reuse the tokenizer of {folder}: {problem}"
    return Unreadable(message, "omit --tokenizer to train a new one", path=folder, why=problem)


def _impossible(setting: str, option: str, value: int) -> Invalid:
    """Steps or checkpoints that no run can have."""
    hint = "training needs at least 1 step, and checkpoints must come before the last step"
    return Invalid(f"{setting} is not possible", hint, option=option, value=value)
