"""A tokenizer as the warehouse sees it: its ids, their exact texts, and text turned into ids without additions."""

import dataclasses
import errno
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import tokenizers

from neurothek.catalog.files import sha256_of
from neurothek.catalog.tables.dimensions import TOKENS
from neurothek.ingest.models.cutting import Cuts
from neurothek.ingest.models.regular_files import require_plain
from neurothek.ingest.models.weight_files import require_tokenizer
from neurothek.ingest.user_cache import read_content, write_content

# Encoding 256 kilobytes at once keeps both cores busy and the encodings' memory near 100 MB.
BYTES_AT_ONCE = 1 << 18
# A long text is cut at the first place after so many characters where that changes no id.
CHARACTERS_A_CUT = 1 << 15
# How SentencePiece writes the bytes of a character that it has no piece for.
SINGLE_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """What the rest of the project needs of a tokenizer."""

    name: str  # the folder's name, for people
    # hash of the vocabulary: the (id, piece) list, the special ids, and what is put before and between texts; models
    # with the same one share their tokens
    sha256: str
    # everything that changes which ids a text becomes, as JSON: a hash of each part of the tokenizer; see `_identity`.
    # Texts tokenized under one identity need not be tokenized again.
    identity: str
    ids: np.ndarray  # int32 [vocab_size], the ids that exist, rising
    bos_id: int | None  # the id that the tokenizer puts in front of every text by itself, None where it does not
    eos_id: int | None  # the id that ends a text, None where the tokenizer has none
    # the id that the tokenizer puts behind every text by itself (BERT: [SEP]), None where it does not
    closing_id: int | None
    mask_id: int | None  # the id that stands for a token to be filled in, None where the tokenizer has none
    special_ids: frozenset[int]  # ids of control tokens
    pieces: tuple[str, ...] = field(repr=False)  # the raw pieces in the order of `ids`
    _backend: tokenizers.Tokenizer = field(repr=False)
    _cuts: Cuts = field(repr=False)
    _byte_level: bool = field(repr=False)
    _byte_fallback: bool = field(repr=False)
    _part_mark: str = field(repr=False)
    # whether transformers made it with a class of the model's family, which may have parts of its own
    is_of_family: bool = False
    replaced: tuple[str, ...] = ()  # parts of the folder's tokenizer.json in whose place that class put its own

    @property
    def vocab_size(self) -> int:
        """How many ids there are (padding rows of an embedding are not ids)."""
        return len(self.ids)

    def encode(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One int32 array of ids a text, without BOS or any other addition."""
        pieces = [[part for part, is_cut in self.parts([text]) if is_cut] for text in texts]
        encoded = iter(self.encode_parts([piece for cut in pieces for piece in cut]))
        return [_joined([next(encoded) for _ in cut]) for cut in pieces]

    def parts(self, blocks: Iterable[str], *, every: int | None = None) -> Iterator[tuple[str, bool]]:
        """Parts of a text whose ids, one after another, are those of the whole; see `Cuts.parts`."""
        return self._cuts.parts(blocks, every=every or CHARACTERS_A_CUT)

    def encode_parts(self, parts: Sequence[str], *, bytes_at_once: int = BYTES_AT_ONCE) -> Iterator[np.ndarray]:
        """int32 ids of each part, some of them at once; a part is not cut any further."""
        sizes = [len(part.encode()) for part in parts]
        start = 0
        while start < len(parts):
            end, size = start + 1, sizes[start]
            while end < len(parts) and size + sizes[end] <= bytes_at_once:
                size += sizes[end]
                end += 1
            for encoding in self._backend.encode_batch(parts[start:end], add_special_tokens=False):
                yield np.asarray(encoding.ids, dtype=np.int32)
            start = end

    def decode(self, ids: np.ndarray) -> str:
        """The text that ids stand for, without the special ones."""
        text: str = self._backend.decode(ids.tolist(), skip_special_tokens=True)
        return text

    def texts(self, ids: np.ndarray) -> tuple[str, ...]:
        """The exact text of each id, as the table `tokens` has it."""
        places = np.searchsorted(self.ids, ids).tolist()
        return tuple(self._text(int(number), self.pieces[place]) for number, place in zip(ids, places, strict=True))

    def frame(self) -> pl.DataFrame:
        """[vocab_size] rows of the table `tokens`: token_id, piece, text, word, is_special."""
        texts = [self._text(token_id, piece) for token_id, piece in zip(self.ids.tolist(), self.pieces, strict=True)]
        columns = {
            "token_id": self.ids,
            "piece": list(self.pieces),
            "text": texts,
            "word": [self._word(text) for text in texts],
            "is_special": [token_id in self.special_ids for token_id in self.ids.tolist()],
        }
        return TOKENS.check(pl.DataFrame(columns, schema=TOKENS.schema))

    def contents(self) -> list[bytes | None]:
        """The bytes that each piece stands for, where the tokenizer works on bytes; None for any other."""
        return [
            None if token_id in self.special_ids else self._bytes(piece)
            for token_id, piece in zip(self.ids.tolist(), self.pieces, strict=True)
        ]

    def _bytes(self, piece: str) -> bytes | None:
        if self._byte_level:
            return _bytes_of(piece)
        byte = SINGLE_BYTE.fullmatch(piece) if self._byte_fallback else None
        return None if byte is None else bytes.fromhex(byte[1])

    def _word(self, text: str) -> str:
        """What searches compare: without white space, the mark of a word's later parts, and capitals."""
        return text.strip().casefold().removeprefix(self._part_mark)

    def _text(self, token_id: int, piece: str) -> str:
        if token_id in self.special_ids:
            return piece
        if self._byte_level:
            return _decoded(piece)
        byte = SINGLE_BYTE.fullmatch(piece) if self._byte_fallback else None
        if byte is not None:
            return bytes.fromhex(byte[1]).decode(errors="backslashreplace")
        return piece.replace("\u2581", " ")


def load(folder: Path, *, from_file: bool = False) -> Tokenizer:
    """The tokenizer of a checkpoint's folder; code that lies there is never run.

    Args:
        folder: the folder.
        from_file: take tokenizer.json as it stands, where transformers would build a tokenizer of the model's family.
    """
    require_tokenizer(folder, from_file=from_file)
    require_plain(folder)
    key = _key(folder, from_file=from_file)
    tokenizer = None if key is None else _recalled(key, folder.name)
    if tokenizer is None:
        # The library takes longer to import than a prompt takes to run, and the same files need it once.
        from neurothek.ingest.models.library_tokenizers import made  # noqa: PLC0415  (see above)

        tokenizer = made(folder, from_file=from_file)
        if key is not None:
            _keep(key, tokenizer)
    return tokenizer


_FOLDER = "tokenizers"
_MOST_TOKENIZERS = 32
"""Tokenizers that the user's cache holds, those that were asked for last; a large one takes 20 megabytes."""

_MOST_BYTES = 1 << 26
"""A larger file belongs to no tokenizer that is kept."""

_WEIGHTS = (".safetensors", ".bin", ".gguf", ".h5", ".msgpack", ".onnx", ".pt", ".pth")
_MAKERS = ("tokenizer.py", "library_tokenizers.py", "cutting.py")
"""The modules of this folder that make of files what is kept."""


def _key(folder: Path, *, from_file: bool) -> str | None:
    """A fingerprint of the files that a tokenizer may be made of, and of what makes it; None where it is not kept."""
    try:
        digests = [(path.name, sha256_of(path)) for path in _own_files(folder)]
        makers = [sha256_of(Path(__file__).with_name(name)) for name in _MAKERS]
    except OSError:
        return None
    versions = [version(name) for name in ("tokenizers", "transformers")]
    return hashlib.sha256(json.dumps([from_file, digests, makers, versions]).encode()).hexdigest()


def _own_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix not in _WEIGHTS:
            if path.stat().st_size > _MOST_BYTES:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
            yield path


def _keep(key: str, tokenizer: Tokenizer) -> None:
    """Put a tokenizer into the user's cache, if all of it can be written down."""
    backend = tokenizer._backend.to_str()
    again = tokenizers.Tokenizer.from_str(backend)
    # What a file cannot say, such as whether special tokens are sought in texts, is as it always is.
    is_whole = again.to_str() == backend and again.get_vocab() == tokenizer._backend.get_vocab()
    if not is_whole or again.encode_special_tokens != tokenizer._backend.encode_special_tokens or "\n" in backend:
        return
    cuts = tokenizer._cuts
    fields = {field.name: getattr(tokenizer, field.name) for field in dataclasses.fields(tokenizer)} | {
        "ids": tokenizer.ids.tolist(),
        "special_ids": sorted(tokenizer.special_ids),
        "_cuts": [None if cuts.pattern is None else cuts.pattern.pattern, cuts.added, cuts.drops_space],
    }
    del fields["name"], fields["_backend"]
    write_content(f"{_FOLDER}/{key}", f"{backend}\n{json.dumps(fields)}".encode(), most=_MOST_TOKENIZERS)


def _recalled(key: str, name: str) -> Tokenizer | None:
    """A tokenizer as it was kept."""
    content = read_content(f"{_FOLDER}/{key}")
    if content is None:
        return None
    backend, _, rest = content.partition(b"\n")
    fields = json.loads(rest)
    pattern, added, drops_space = fields["_cuts"]
    return Tokenizer(
        **fields
        | {
            "name": name,
            "ids": np.array(fields["ids"], dtype=np.int32),
            "special_ids": frozenset(fields["special_ids"]),
            "pieces": tuple(fields["pieces"]),
            "replaced": tuple(fields["replaced"]),
            "_backend": tokenizers.Tokenizer.from_str(backend.decode()),
            "_cuts": Cuts(None if pattern is None else re.compile(pattern), tuple(added), drops_space),
        }
    )


def different_parts(one: str, other: str, *, besides: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of the parts in which two identities of tokenizers differ."""
    first, second = json.loads(one), json.loads(other)
    names = sorted({**first, **second}.keys() - set(besides))
    return tuple(name for name in names if first.get(name) != second.get(name))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.int32), *parts])


def _decoded(piece: str) -> str:
    r"""The exact bytes behind a byte-level piece as text; a broken character shows as \xe2\x80."""
    held = _bytes_of(piece)
    return piece if held is None else held.decode(errors="backslashreplace")


def _bytes_of(piece: str) -> bytes | None:
    """The bytes behind a byte-level piece; None where it is not written in GPT-2's alphabet."""
    table = _byte_of()
    return None if any(letter not in table for letter in piece) else bytes(table[letter] for letter in piece)


@lru_cache(maxsize=1)
def _byte_of() -> dict[str, int]:
    """GPT-2's alphabet: the character that stands for a byte -> the byte; for those not seen one from 256 on."""
    visible = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    unseen = (byte for byte in range(256) if byte not in visible)
    return {chr(byte): byte for byte in sorted(visible)} | {chr(256 + place): byte for place, byte in enumerate(unseen)}
