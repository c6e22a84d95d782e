"""What a checkpoint holds on disk, and its tensors read one at a time without loading the others."""

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

from neurothek.ingest.models.errors import (
    unreadable_weights,
)


@dataclass(frozen=True)
class Checkpoint:
    """A model's files, found and checked."""

    name: str  # what the warehouse calls the model
    source: str  # the hub id, folder or shipped model as it was asked for
    folder: Path  # where its files lie
    revision: str | None  # the hub's commit, None for a folder
    weights_sha256: str  # sha256 over the sorted (file name, file sha256) of `files`; that of a GGUF file is its own
    config: Mapping[str, Any] = field(repr=False)  # config.json as `config_of` gives it
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
            tensors = torch.load(file, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(file))
    except pickle.UnpicklingError as error:
        raise unreadable_weights(file, "it is damaged, or holds more than tensors and was not run") from error
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise unreadable_weights(file, _first_line(error)) from error
    if not isinstance(tensors, dict) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise unreadable_weights(file, "it does not hold a dictionary of tensors")
    return tensors


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
