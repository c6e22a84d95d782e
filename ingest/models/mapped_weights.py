"""A measured model's unembedding and value vectors as they lie in its files, mapped by numpy: torch is not imported.

One row of the unembedding times all value matrices is a word's score for every neuron: megabytes to read, where opening
the model takes seconds.
"""

import errno
import json
import mmap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from neurothek.catalog.arguments import expanded
from neurothek.catalog.problems import NeurothekError, memory_refused
from neurothek.catalog.progress import Progress, Silent
from neurothek.ingest import minis
from neurothek.ingest.errors import other_weights, weights_not_at_hand
from neurothek.ingest.models import gguf_files
from neurothek.ingest.models.errors import (
    invalid_config,
    unknown_model,
    unreadable_weights,
    unsupported_architecture,
)
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.finding import is_hub_id
from neurothek.ingest.models.weight_files import weight_files
from neurothek.ingest.models.weights_hash import has_fingerprint

_FORMATS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_LONGEST_HEADER = 100_000_000
"""Bytes: what the library safetensors reads at most."""

_BLOCK_BYTES = 2**26
"""What scores of some neurons by all tokens may take at once."""


@runtime_checkable
class MeasuredModel(Protocol):
    """What the warehouse knows of a model and its files."""

    @property
    def name(self) -> str:
        """The model's name in the warehouse."""

    @property
    def source(self) -> str:
        """Where it came from."""

    @property
    def revision(self) -> str | None:
        """The hub's commit, if it came from there."""

    @property
    def weights_sha256(self) -> str:
        """What the warehouse knows its weights by."""

    @property
    def architecture(self) -> str:
        """Its family."""

    @property
    def n_layers(self) -> int:
        """Blocks."""


@dataclass(frozen=True)
class _Tensor:
    """Where a tensor lies."""

    file: Path
    number_format: str
    shape: tuple[int, ...]
    start: int
    end: int


class MappedWeights:
    """What scores need of one model's weights; nothing is read before it is asked for.

    Attributes:
        folder: where the files lie.
        n_bytes: what all scores and ranks read: the value matrices and the unembedding, as stored.
    """

    def __init__(self, model: MeasuredModel, folder: Path, files: Sequence[Path]) -> None:
        self.folder = folder
        if model.architecture not in FAMILIES:
            raise unsupported_architecture(model.name, model.architecture, sorted(FAMILIES))
        self._family = FAMILIES[model.architecture]
        self._maps = {file: _mapped(file) for file in files}
        self._tensors = {
            self._family.named(name): tensor for file in files for name, tensor in _header(file, self._maps[file])
        }
        head = f"{self._family.head}.weight"
        # A tied unembedding is not in the file.
        self._head = head if head in self._tensors else f"{self._family.tokens}.weight"
        project = f"{self._family.project_out}.weight"
        self._project = project if project in self._tensors else None
        self._values = [f"{self._family.layers}.{n}.{self._family.values}.weight" for n in range(model.n_layers)]
        norm = self._family.written_norm
        self._norms = [f"{self._family.layers}.{n}.{norm}.weight" for n in range(model.n_layers)] if norm else []
        self._scale = np.float32(_number(folder, self._family.written_scale))
        self._scale /= np.float32(_number(folder, self._family.logit_divisor))
        needed = [self._head, *([self._project] if self._project else []), *self._values, *self._norms]
        for name in needed:
            if name not in self._tensors:
                raise unreadable_weights(files[0], f"it holds no tensor {name}")
        self.n_bytes = sum(self._tensors[name].end - self._tensors[name].start for name in needed)

    def scores(self, token_ids: Sequence[int], *, layers: tuple[int, int]) -> np.ndarray:
        """[n_tokens n_layers d_ffn] e_w . v of some tokens for every neuron of the layers, first to last."""
        rows = self._rows(np.asarray(token_ids))
        first, last = layers
        return np.stack([rows @ self._columns(layer) for layer in range(first, last + 1)], axis=1)

    def ranks(
        self, places: Sequence[tuple[int, int, int]], *, vocabulary: Sequence[int] | np.ndarray
    ) -> list[tuple[int, int]]:
        """Rank of a token in what a neuron promotes, and from the bottom: 1 + tokens with a strictly larger score.

        Args:
            places: token, layer and neuron of each.
            vocabulary: the tokens that count, rising.
        """
        ids = np.asarray(vocabulary)
        is_head = bool(len(ids)) and int(ids[-1]) == len(ids) - 1
        table = self._rows(slice(0, len(ids)) if is_head else ids)
        own_rows = np.searchsorted(ids, [token for token, _, _ in places])
        result: list[tuple[int, int]] = []
        step = max(1, _BLOCK_BYTES // (4 * max(1, len(ids))))
        for start in range(0, len(places), step):
            block = places[start : start + step]
            scores = table @ np.stack([self._vector(layer, neuron) for _, layer, neuron in block], axis=1)
            score = scores[own_rows[start : start + step], np.arange(len(block))]
            above, below = (scores > score).sum(axis=0) + 1, (scores < score).sum(axis=0) + 1
            result += list(zip(above.tolist(), below.tolist(), strict=True))
        return result

    def _rows(self, chosen: slice | np.ndarray) -> np.ndarray:
        """[rows d_model] rows of the unembedding; OPT-350m's output projection is folded in."""
        rows = _float32(self._tensors[self._head].number_format, self._array(self._head)[chosen])
        # Scores alone are asked for, so that either factor may bear what the other is multiplied by.
        rows = rows if self._scale == 1 else rows * self._scale
        return rows if self._project is None else rows @ self._whole(self._project)

    def _columns(self, layer: int) -> np.ndarray:
        """[d_model d_ffn] value vectors of a layer, one a column."""
        whole = self._whole(self._values[layer])
        columns = whole.T if self._family.has_input_rows else whole
        return columns * self._gamma(layer)[:, None] if self._norms else columns

    def _vector(self, layer: int, neuron: int) -> np.ndarray:
        """[d_model] a neuron's value vector."""
        name = self._values[layer]
        stored = self._array(name)
        vector = stored[neuron] if self._family.has_input_rows else stored[:, neuron]
        row = _float32(self._tensors[name].number_format, np.ascontiguousarray(vector))
        return row * self._gamma(layer) if self._norms else row

    def _gamma(self, layer: int) -> np.ndarray:
        """[d_model] what the norm of what an FFN writes multiplies it by."""
        return self._whole(self._norms[layer]) + np.float32(self._family.norm_offset)

    def _whole(self, name: str) -> np.ndarray:
        return _float32(self._tensors[name].number_format, self._array(name))

    def _array(self, name: str) -> np.ndarray:
        tensor = self._tensors[name]
        flat = np.frombuffer(self._maps[tensor.file], dtype=np.uint8)[tensor.start : tensor.end]
        return flat.view(_FORMATS[tensor.number_format]).reshape(tensor.shape)


def map_measured(
    model: MeasuredModel,
    *,
    weights: str | Path | None = None,
    is_thorough: bool = False,
    progress: Progress | None = None,
) -> MappedWeights:
    """Map the files that the warehouse measured a model from, where they came from or in the folder `weights`.

    Args:
        model: the model.
        weights: a folder to look in instead.
        is_thorough: fetch what the hub has, and hash files of any size that this machine has not seen before.
        progress: is told how far reading the weights has come, the first time they are seen.
    """
    place = model.source if weights is None else str(weights)
    try:
        folder = _folder(place, model.revision if weights is None else None, is_thorough=is_thorough)
        files, _ = weight_files(folder)
        most = None if is_thorough else MOST_HASHED
        made_of = gguf_files.origin(folder)
        if made_of is None:
            is_same = has_fingerprint(files, model.weights_sha256, most_bytes=most, progress=progress or Silent())
        else:
            is_same = made_of.sha256 == model.weights_sha256
        if is_same is None:
            raise unreadable_weights(files[0], "it was not seen on this machine before, and is large")
        mapped = MappedWeights(model, folder, files)
    except NeurothekError as error:
        raise weights_not_at_hand(model.name, place, str(error)) from error
    if not is_same:
        raise other_weights(model.name, place)
    return mapped


MOST_HASHED = 2**26
"""Bytes of weights that a passing question may hash: the shipped models are smaller."""


def _folder(place: str, revision: str | None, *, is_thorough: bool) -> Path:
    folder = expanded(place)
    one_file = gguf_files.file_in(folder)
    if one_file is not None:
        return gguf_files.dequantized(one_file)
    local = folder if folder.is_dir() else minis.folder(place)
    if local is not None:
        return local
    # The hub's library takes longer to import than most questions to answer.
    from neurothek.ingest.models import hub  # noqa: PLC0415  (see above)

    cached = hub.cached(place, revision=revision)
    if cached is None and not (is_thorough and is_hub_id(place)):
        raise unknown_model(place, minis.names())
    return cached or hub.snapshot(place, revision=revision)


def _number(folder: Path, field: str | None) -> float:
    """A number of config.json, 1 where it says none."""
    if field is None:
        return 1.0
    try:
        return float(json.loads((folder / "config.json").read_bytes()).get(field, 1))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise invalid_config(folder, f"{field} cannot be read") from error


def _header(file: Path, mapped: mmap.mmap) -> Iterator[tuple[str, _Tensor]]:
    """The tensors that a file of safetensors says it holds."""
    try:
        first = min(8 + int.from_bytes(mapped[:8], "little"), _LONGEST_HEADER)
        for name, entry in json.loads(mapped[8:first]).items():
            if name != "__metadata__" and entry["dtype"] in _FORMATS:
                start, end = (first + int(offset) for offset in entry["data_offsets"])
                shape = tuple(int(size) for size in entry["shape"])
                # Sizes that do not fit are refused by numpy where the tensor is read.
                yield name, _Tensor(file, entry["dtype"], shape, start, end)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise unreadable_weights(file, "it is not a file of safetensors") from error


def _mapped(file: Path) -> mmap.mmap:
    try:
        with file.open("rb") as opened:
            return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise memory_refused(error) from error
        raise unreadable_weights(file, "it cannot be mapped") from error


def _float32(number_format: str, stored: np.ndarray) -> np.ndarray:
    """Numbers as float32, the same memory where they are; bfloat16 is the upper half of it."""
    if number_format == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32, copy=False)
