"""What can be wrong with a model, where several modules find it: its place, its files, its tokenizer."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from neurothek.catalog.problems import (
    LimitExceeded,
    NotFound,
    Refused,
    Unavailable,
    Unreadable,
    Unsupported,
)

PICKLED = "pickled weights"
"""Why such weights are refused, in the error's field."""

ADDING = "'Add an architecture' in docs/contributing.md says how to add another"
"""Follows the names of the architectures that are supported."""

NAMES_SHOWN = 3
LONGEST_NAME = 200
_SHOWN_OF_A_NAME = 40


def shortened(name: str) -> str:
    """A name, or the beginning of one that is too long to be shown."""
    return name if len(name) <= LONGEST_NAME else f"{name[:_SHOWN_OF_A_NAME]}..."


def first_names(names: Sequence[str]) -> str:
    """The first of several names, and whether there are more."""
    return ", ".join(names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")


def meant(source: str, names: Sequence[str]) -> str:
    """The names that `source` may be a slip of the pen for, as a question."""
    near = get_close_matches(source.rpartition("/")[2], names, n=NAMES_SHOWN, cutoff=0.75)
    return f"did you mean {' or '.join(near)}? If not, " if near else ""


def unknown_model(source: str, names: Sequence[str] = ()) -> NotFound:
    """A path that names no folder."""
    return NotFound(
        f"there is no model at {source!r}: no such folder exists",
        f"{meant(source, names)}give a folder with config.json and weights, or a hub id such as facebook/opt-125m",
        what="model",
        name=source,
        known=names,
    )


def invalid_config(folder: Path, why: str) -> Unreadable:
    """A config.json that describes no model."""
    message = f"config.json in {folder} does not describe a model: {why}"
    return Unreadable(message, "restore the original file", path=folder / "config.json", why=why)


def unsupported_architecture(
    where: str, name: object, supported: Sequence[str], *, description: str = ""
) -> Unsupported:
    """A model of a family that is not known here; `description` is how the family is said, if not by its name."""
    message = f"{where} has the architecture {description or repr(name)}, which is not supported"
    hint = f"supported are {', '.join(supported)}; {ADDING}"
    return Unsupported(message, hint, what="architecture", name=name)


def unsupported_config(where: str, setting: str, *, way: str, architecture: str = "") -> Unsupported:
    """A model of a supported family in a shape that is not supported."""
    named = f"the {architecture} model in {where}" if architecture else where
    return Unsupported(f"{named} has {setting}, which is not supported", way, what="configuration", name=setting)


def missing_weights(folder: Path, missing: str) -> Unavailable:
    """A folder without weight files, or with a part of them."""
    message, hint = f"{folder} lacks {missing}", "copy or download all of the model's weights"
    return Unavailable(message, hint, what="weights", name=folder, why=missing)


def pickled_weights(where: str, file: str) -> Refused:
    """Weights that exist only as pickles."""
    return Refused(
        f"{where} has only pickled weights ({file}), which are not read by default",
        "give a revision with safetensors, or add --allow-pickle if you trust the author",
        what=file,
        why=PICKLED,
    )


def unreadable_weights(file: Path, why: str) -> Unreadable:
    """A weight file that cannot be read."""
    message = f"the weights in {file} cannot be read: {why}"
    return Unreadable(message, "copy or download the file again", path=file, why=why)


def weights_not_finite(file: Path, tensor: str) -> Unreadable:
    """Weights with NaN or infinity."""
    why = f"the tensor {tensor} in {file} contains NaN or infinity"
    message = f"{why}, so measurements from it would be meaningless"
    return Unreadable(message, "restore the original weights", path=file, why=why)


def sequence_too_long(length: int, context_length: int) -> LimitExceeded:
    """A sequence longer than the model's position table."""
    return LimitExceeded(
        f"sequences of {length} tokens are too long for a model that reads {context_length}",
        f"use a sequence length of at most {context_length}",
        what="tokens",
        needed=length,
        limit=context_length,
    )


def missing_tokenizer(folder: Path, file: str | None = None) -> Unavailable:
    """A folder without any of the tokenizer files that are looked for."""
    file_names = "its tokenizer.json (or vocab.json and merges.txt)" if file is None else "it"
    message = f"{folder} has no {file or 'tokenizer'}: put {file_names} beside the weights"
    return Unavailable(message, what="tokenizer", name=folder)


def missing_device(device: str) -> Unavailable:
    """A device that this machine, or this PyTorch, does not have."""
    message = f"the device {device!r} is not available: use --device cpu, or install a PyTorch build that supports it"
    return Unavailable(message, what="device", name=device)
