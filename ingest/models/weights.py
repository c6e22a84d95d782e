"""What a checkpoint holds on disk, and its tensors read one at a time without loading the others."""

import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from neurothek.catalog.files import why_no_file
from neurothek.catalog.problems import Unreadable
from neurothek.ingest.models.errors import (
    missing_weights,
    pickled_weights,
    unreadable_weights,
)


@dataclass(frozen=True)
class Checkpoint:
    """A model's files, found and checked."""

    name: str  # what the warehouse calls the model
    source: str  # the hub id, folder or shipped model as it was asked for
    folder: Path  # where its files lie
    revision: str | None  # the hub's commit, None for a folder
    weights_sha256: str  # sha256 over the sorted (file name, file sha256) of `files`
    config: Mapping[str, Any] = field(repr=False)  # config.json as it stands
    files: tuple[Path, ...]  # the weight files, sorted by name
    pickled: bool  # whether `files` are pickles instead of safetensors
    # the branch, tag or commit that was asked for; None: the hub's main branch, or a folder
    asked_revision: str | None = None


class Weights:
    """The tensors of a checkpoint by the names they have on disk, memory-mapped: reading one loads no other."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._files: dict[str, Path] = {}
        self._handles: dict[Path, Any] = {}
        self._tensors: dict[str, Tensor] = {}
        for file in checkpoint.files:
            names = self._open_pickle(file) if checkpoint.pickled else self._open_safetensors(file)
            for name in names:
                if name in self._files:
                    raise unreadable_weights(file, f"the tensor {name} is in {self._files[name].name} too")
                self._files[name] = file

    def names(self) -> set[str]:
        """The names of all tensors."""
        return set(self._files)

    def file(self, name: str) -> Path:
        """The file that holds the tensor `name`."""
        return self._files[name]

    def layout(self, name: str) -> tuple[tuple[int, ...], str]:
        """Shape and number format (such as F16) of the tensor `name`, known without reading it."""
        if name in self._tensors:
            tensor = self._tensors[name]
            return tuple(tensor.shape), PICKLED_FORMATS.get(tensor.dtype, str(tensor.dtype))
        part = self._handles[self._files[name]].get_slice(name)
        return tuple(part.get_shape()), str(part.get_dtype())

    def read(self, name: str) -> Tensor:
        """The tensor `name` as stored, on the CPU; its memory is the mapped file's."""
        if name in self._tensors:
            return self._tensors[name]
        tensor: Tensor = self._handles[self._files[name]].get_tensor(name)
        return tensor

    def _open_safetensors(self, file: Path) -> list[str]:
        try:
            self._handles[file] = safe_open(file, framework="pt", device="cpu")
        except (SafetensorError, OSError) as error:
            unknown = _UNKNOWN_FORMAT.search(str(error))
            problem = f"there is no number format {unknown[1]}" if unknown else _first_line(error)
            raise unreadable_weights(file, problem) from error
        return list(self._handles[file].keys())

    def _open_pickle(self, file: Path) -> list[str]:
        tensors = _unpickled(file)
        self._tensors.update(tensors)
        return list(tensors)


_UNKNOWN_FORMAT = re.compile(r"unknown variant `(\w+)`, expected one of `BOOL`")

PICKLED_FORMATS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


def _unpickled(file: Path) -> dict[str, Tensor]:
    """The tensors of a pickle; `weights_only` refuses everything that would run code."""
    try:
        with warnings.catch_warnings():
            # torch remarks on unusual pickles before it refuses them; the refusal says enough.
            warnings.simplefilter("ignore")
            # Files from before torch 1.6 are not zip archives and cannot be mapped.
            found = torch.load(file, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(file))
    except pickle.UnpicklingError as error:
        raise unreadable_weights(file, "it is damaged, or holds more than tensors and was not run") from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable_weights(file, _first_line(error)) from error
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise unreadable_weights(file, "it does not hold a dictionary of tensors")
    return found


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


SAFETENSORS = "model.safetensors"
PICKLES = "pytorch_model.bin"
INDEX = ".index.json"


def weight_files(folder: Path, *, allow_pickle: bool = False) -> tuple[tuple[Path, ...], bool]:
    """The weight files of `folder`, sorted, and whether they are pickles.

    One file goes before shards with an index, safetensors go before pickles, as in transformers.
    """
    files = _complete(folder, SAFETENSORS)
    if files:
        return files, False
    files = _complete(folder, PICKLES)
    if not files:
        raise missing_weights(folder, f"weights: there is neither {SAFETENSORS} nor {SAFETENSORS}{INDEX}")
    if not allow_pickle:
        raise pickled_weights(str(folder), files[0].name)
    return files, True


def _complete(folder: Path, single: str) -> tuple[Path, ...]:
    """`single` if it is there, else all shards of its index, else nothing."""
    if (folder / single).is_file():
        return (folder / single,)
    index = folder / (single + INDEX)
    if not index.is_file():
        return ()
    names = _indexed(index)
    absent = [name for name in names if not (folder / name).is_file()]
    if absent:
        raise missing_weights(folder, f"{len(absent)} of the {len(names)} files of {index.name}, such as {absent[0]}")
    return tuple(folder / name for name in names)


def _indexed(index: Path) -> list[str]:
    try:
        names = sorted(set(json.loads(index.read_bytes())["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        raise unreadable_weights(index, "it is not an index of weight files") from error
    # A name that leads out of the folder would let a model read files that are none of its own.
    if not names or any(not isinstance(name, str) or Path(name).name != name for name in names):
        raise unreadable_weights(index, "it does not name files of its own folder")
    return names


def require_plain(folder: Path) -> None:
    """Check that a model's folder directly holds files and folders alone; nothing is opened.

    Links are followed; one that leads nowhere is not a file, which whoever needs the file says.
    """
    for path in sorted(folder.iterdir()):
        try:
            found = why_no_file(path)
        except OSError as error:
            raise _unfit(path, f"cannot be read ({error.strerror})") from error
        if found is not None:
            raise _unfit(path, f"is {found}, but a model is read from files only")


def _unfit(path: Path, problem: str) -> Unreadable:
    """Something in a model's folder that is not a readable file."""
    return Unreadable(f"{path} {problem}", "put the original file there, or remove it", path=path, why=problem)
