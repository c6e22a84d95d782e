"""Tokenizers as transformers makes them of a folder's files, and why some files make none."""

import hashlib
import itertools
import json
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from neurothek.catalog.problems import Unavailable, Unreadable
from neurothek.ingest.models.cutting import cuts_of
from neurothek.ingest.models.errors import invalid_config
from neurothek.ingest.models.finding import config_of, why_no_json
from neurothek.ingest.models.tokenizer import Tokenizer, different_parts
from neurothek.ingest.models.weight_files import TOKENIZERS

LARGEST_ID = (1 << 24) - 1
"""The library lists every id below the largest that no piece has: of a file of a kilobyte it would fill memory."""


def made(folder: Path, *, from_file: bool) -> Tokenizer:
    """The tokenizer of a folder; see `load`."""
    tokenizer = wrap(_read(folder, PreTrainedTokenizerFast if from_file else AutoTokenizer), name=folder.name)
    if from_file:
        return replace(
            tokenizer, identity=json.dumps(json.loads(tokenizer.identity) | {"file": TOKENIZERS[0]}, sort_keys=True)
        )
    if tokenizer.is_of_family and (folder / TOKENIZERS[0]).is_file():
        from_file_alone = wrap(_read(folder, PreTrainedTokenizerFast), name=folder.name)
        return replace(
            tokenizer,
            replaced=different_parts(from_file_alone.identity, tokenizer.identity, besides=("post_processor",)),
        )
    return tokenizer


def _read(folder: Path, kind: type[AutoTokenizer] | type[PreTrainedTokenizerFast]) -> PreTrainedTokenizerBase:
    try:
        tokenizer: PreTrainedTokenizerBase = kind.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, **_unsaid(folder)
        )
    except Exception as error:
        # The library behind transformers raises a bare Exception for a file that it cannot parse.
        if type(error) is not Exception and not isinstance(error, _MALFORMED):
            raise
        # The library reads config.json too: what is wrong there is no fault of the tokenizer.
        _refuse_config(folder, error)
        raise _unreadable(folder, _why(folder, error)) from error
    return tokenizer


_NO_NUMBER_FORMAT = re.compile(r"'torch' has no attribute '([^']*)'")

# What the library lets through of a file that is JSON and no tokenizer, or too deep to be read.
_MALFORMED = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)

_JSON_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json")
_LONGEST_REASON = 200


def _unreadable(folder: Path, why: str) -> Unreadable:
    """Tokenizer files that do not make a tokenizer."""
    message = f"the tokenizer of {folder} cannot be read: {why}"
    return Unreadable(message, "save it again as tokenizer.json", path=folder, why=why)


def _refuse_config(folder: Path, error: Exception) -> None:
    with suppress(Unavailable):
        config_of(folder)
    unknown = _NO_NUMBER_FORMAT.search(str(error))
    if unknown:
        raise invalid_config(folder, f"its dtype is {unknown[1]!r}, which is not a number format of PyTorch") from error


def _why(folder: Path, error: Exception) -> str:
    """What is wrong with the files: the first that is not a JSON object, else the library's sentence if it is one."""
    for path in (folder / name for name in _JSON_FILES if (folder / name).is_file()):
        try:
            content = json.loads(path.read_bytes().decode())
        except (OSError, ValueError, RecursionError) as problem:
            return f"{path.name} {why_no_json(problem)}"
        if not isinstance(content, dict):
            return f"{path.name} is not a JSON object"
        if path.name == "tokenizer.json":
            if not isinstance(content.get("model"), dict):
                return f"{path.name} has no model"
            if not isinstance(content.get("added_tokens"), list):
                return f"{path.name} has no list added_tokens"
    # Rust's library raises a bare Exception with a sentence; Python's errors speak of Python.
    message = " ".join(str(error).split())
    if type(error) is Exception and message:
        return message[:_LONGEST_REASON]
    return "a value has the wrong type for a tokenizer"


# What OPT's repository says in tokenizer_config.json; a copy of its vocabulary alone would become GPT-2's tokenizer.
OPT_SETTINGS = {
    "add_bos_token": True,
    "bos_token": "</s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "</s>",
}


def _unsaid(folder: Path) -> dict[str, Any]:
    """Settings of an OPT folder that holds nothing but vocab.json and merges.txt."""
    config = folder / "config.json"
    if (folder / "tokenizer_config.json").exists() or (folder / "tokenizer.json").exists() or not config.exists():
        return {}
    return OPT_SETTINGS if json.loads(config.read_text()).get("model_type") == "opt" else {}


def wrap(tokenizer: PreTrainedTokenizerBase, *, name: str) -> Tokenizer:
    """A transformers tokenizer as a `Tokenizer`."""
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        raise _unreadable(Path(name), "its files do not make a fast tokenizer")
    vocabulary = sorted((token_id, piece) for piece, token_id in tokenizer.get_vocab().items())
    if vocabulary and vocabulary[-1][0] > LARGEST_ID:
        token_id, piece = vocabulary[-1]
        raise _unreadable(Path(name), f"it gives {piece!r} the id {token_id:,}, and {LARGEST_ID:,} is the largest")
    for (token_id, piece), (next_id, other) in itertools.pairwise(vocabulary):
        if token_id == next_id:
            why = f"gives the id {token_id} to {piece!r} and {other!r}"
            raise Unreadable(
                f"the tokenizer of {name} {why}",
                "put the tokenizer that the model was trained with in its folder",
                path=name,
                why=why,
            )
    added = tokenizer.added_tokens_decoder.items()
    special = frozenset(tokenizer.all_special_ids) | {token_id for token_id, token in added if token.special}
    is_special = all(token_id in special for token_id, _ in vocabulary)
    if is_special or len(vocabulary) < 2:
        problem = "only special tokens" if is_special else "only one token"
        message = f"the tokenizer of {name} has {problem}: check that its vocabulary was saved"
        raise Unreadable(message, path=name, why=problem)
    backend = tokenizer.backend_tokenizer
    # A file may say that texts are cut at some length, and filled up to one.
    backend.no_truncation()
    backend.no_padding()
    settings = json.loads(backend.to_str())
    unknown = _unknown_around(settings.get("post_processor"))
    if unknown is not None:
        raise _unreadable(Path(name), f"it adds {unknown!r} around texts without giving its id")
    opening, closing = _added(tokenizer)
    beginnings = (tokenizer.bos_token_id, tokenizer.cls_token_id)
    bos = opening[0] if opening and opening[0] in beginnings else None
    # BERT has no EOS, and ends every text with a separator.
    eos = closing[-1] if tokenizer.eos_token_id is None and closing else tokenizer.eos_token_id
    return Tokenizer(
        name=name,
        # What is put before and between texts is part of it: two that differ there cut one text into other sequences.
        sha256=_sha256(vocabulary, special, bos, eos),
        identity=_identity(settings, closing=closing[-1] if closing else None, mask=tokenizer.mask_token_id),
        ids=np.array([token_id for token_id, _ in vocabulary], dtype=np.int32),
        bos_id=bos,
        eos_id=eos,
        closing_id=closing[-1] if closing else None,
        mask_id=tokenizer.mask_token_id,
        special_ids=special,
        pieces=tuple(piece for _, piece in vocabulary),
        _backend=backend,
        _cuts=cuts_of(settings),
        _byte_level=_is_byte_level(settings.get("decoder")),
        _byte_fallback=bool(settings["model"].get("byte_fallback")),
        _part_mark=(settings["model"].get("continuing_subword_prefix") or "").casefold(),
        is_of_family=type(tokenizer) is not PreTrainedTokenizerFast,
    )


def _unknown_around(settings: dict[str, Any] | None) -> str | None:
    """A token that is put around texts without an id, over which the library ends the process's call by a panic."""
    if settings is None:
        return None
    if settings["type"] == "Sequence":
        return next(filter(None, map(_unknown_around, settings["processors"])), None)
    parts = [*settings.get("single", []), *settings.get("pair", [])] if settings["type"] == "TemplateProcessing" else []
    named = [part["SpecialToken"]["id"] for part in parts if "SpecialToken" in part]
    return next((token for token in named if token not in settings["special_tokens"]), None)


def _added(tokenizer: PreTrainedTokenizerFast) -> tuple[list[int], list[int]]:
    """The ids that the tokenizer puts before and behind a text by itself: having a BOS says nothing about using it."""
    ids = tokenizer.backend_tokenizer.encode("a", add_special_tokens=True).ids
    plain = tokenizer.backend_tokenizer.encode("a", add_special_tokens=False).ids
    starts = [start for start in range(len(ids) - len(plain) + 1) if ids[start : start + len(plain)] == plain]
    if not starts:
        return [], []
    return ids[: starts[0]], ids[starts[0] + len(plain) :]


def _is_byte_level(decoder: dict[str, Any] | None) -> bool:
    if decoder is None:
        return False
    return decoder["type"] == "ByteLevel" or any(map(_is_byte_level, decoder.get("decoders", [])))


def _sha256(vocabulary: list[tuple[int, str]], special: frozenset[int], bos: int | None, eos: int | None) -> str:
    written = json.dumps([vocabulary, sorted(special), bos, eos], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


_PARTS = ("normalizer", "pre_tokenizer", "model", "post_processor", "added_tokens")
"""What of a tokenizer's serialization changes ids; its decoder, truncation and padding do not."""


def _identity(settings: dict[str, Any], *, closing: int | None, mask: int | None) -> str:
    """JSON of a hash for each part that the tokenizer has, and of the ids that jobs on masked tokens put in.

    The parts are what the library serializes after transformers has changed them, so that its class needs no name.
    """
    around = {"closing": closing, "mask": mask}
    parts = {name: _without_empty(settings.get(name)) for name in _PARTS} | {"around": _without_empty(around)}
    hashes = {
        name: hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]
        for name, part in parts.items()
        if part
    }
    return json.dumps(hashes, sort_keys=True)


def _without_empty(settings: Any) -> Any:  # noqa: ANN401 - JSON
    """The same without what is null, false or empty, which another release of the library may leave out."""
    if isinstance(settings, list):
        return [_without_empty(one) for one in settings]
    if not isinstance(settings, dict):
        return settings
    parts = {name: _without_empty(value) for name, value in settings.items()}
    return {
        name: value for name, value in parts.items() if value is not None and value is not False and value not in _EMPTY
    }


_EMPTY: tuple[Any, ...] = ("", [], {})
