"""The beginning of a GGUF file: what it says of its model, and where its tensors lie; read without any library."""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_NUMBERS: Mapping[int, struct.Struct] = {
    number: struct.Struct(f"<{code}") for number, code in enumerate("BbHhIif?", start=0)
} | {10: struct.Struct("<Q"), 11: struct.Struct("<q"), 12: struct.Struct("<d")}
_COUNT, _KIND = struct.Struct("<Q"), struct.Struct("<I")
_MOST_DIMENSIONS = 8
"""More than any tensor of a file has."""


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as the file announces it."""

    name: str  # as llama.cpp calls it
    kind: int  # number of the way in which its numbers are stored
    n_values: int  # how many they are
    offset: int  # its first byte, from the first one of all tensors


@dataclass(frozen=True)
class GgufHeader:
    """What stands before the tensors."""

    values: Mapping[str, Any]  # numbers and texts by their names; lists are left out
    tensors: tuple[StoredTensor, ...]  # in the file's order
    start: int  # where the tensors begin


def read_header(file: Path) -> GgufHeader:
    """The beginning of a file.

    Args:
        file: the file.

    Raises:
        ValueError: it is no such file, or ends before its tensors begin.
        OSError: it cannot be read.
    """
    with file.open("rb") as opened:
        if opened.read(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                return _Beginning(content).header()
            except (struct.error, UnicodeDecodeError, OverflowError) as error:
                raise ValueError("it ends before its tensors begin, or is none") from error


class _Beginning:
    """Reads one value after another."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content, self.at = content, 4

    def header(self) -> GgufHeader:
        version = self._number(_KIND)
        if version not in _VERSIONS:
            raise ValueError(f"it is of version {version}, and versions 2 and 3 are read")
        n_tensors, n_values = self._number(_COUNT), self._number(_COUNT)
        values = {}
        for _ in range(n_values):
            name, value = self._text(), self._value(self._number(_KIND))
            if value is not None:
                values[name] = value
        tensors = tuple(self._tensor() for _ in range(n_tensors))
        alignment = values.get("general.alignment", 32)
        if not isinstance(alignment, int) or alignment < 1:
            raise ValueError(f"its alignment is {alignment!r:.80}")
        return GgufHeader(values, tensors, -(-self.at // alignment) * alignment)

    def _number(self, form: struct.Struct) -> Any:  # noqa: ANN401 - of the kind that the form says
        (value,) = form.unpack_from(self.content, self.at)
        self.at += form.size
        return value

    def _text(self) -> str:
        return self._bytes().decode()

    def _bytes(self) -> bytes:
        n = self._number(_COUNT)
        self._pass_over(n)
        return self.content[self.at - n : self.at]

    def _pass_over(self, n: int) -> None:
        self.at += n
        if self.at > len(self.content):
            raise ValueError("it ends before its tensors begin")

    def _value(self, kind: int) -> Any:  # noqa: ANN401 - a number or a text; None for a list
        if kind == _STRING:
            # Texts that nobody asks for need not be ones.
            return self._bytes().decode(errors="replace")
        if kind == _ARRAY:
            return self._pass_over_list()
        if kind not in _NUMBERS:
            raise ValueError(f"it has a value of the unknown kind {kind}")
        return self._number(_NUMBERS[kind])

    def _pass_over_list(self) -> None:
        kind, n = self._number(_KIND), self._number(_COUNT)
        if kind == _STRING:
            # Hundreds of thousands of tokens: as few calls for each as can be.
            at, content, size_of = self.at, self.content, _COUNT.unpack_from
            for _ in range(n):
                at += 8 + size_of(content, at)[0]
            self.at = at
            self._pass_over(0)
        elif kind in _NUMBERS:
            self._pass_over(n * _NUMBERS[kind].size)
        else:
            raise ValueError(f"it has a list of the unknown kind {kind}")

    def _tensor(self) -> StoredTensor:
        name, n_dimensions = self._text(), self._number(_KIND)
        if n_dimensions > _MOST_DIMENSIONS:
            raise ValueError(f"its tensor {name!r:.80} has {n_dimensions} dimensions")
        n_values = 1
        for _ in range(n_dimensions):
            n_values *= self._number(_COUNT)
        return StoredTensor(name, self._number(_KIND), n_values, self._number(_COUNT))
