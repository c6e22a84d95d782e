"""Which files of a folder hold a model's weights and its tokenizer, known without opening them."""

import json
from pathlib import Path

from neurothek.ingest.models.errors import (
    missing_tokenizer,
    missing_weights,
    pickled_weights,
    unreadable_weights,
)

SAFETENSORS = "model.safetensors"
PICKLES = "pytorch_model.bin"
INDEX = ".index.json"
ADAPTER_FILES = ("adapter_config.json", "adapter_model.safetensors", "adapter_model.bin")

TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
"""Files of which a tokenizer is made of one."""


def require_tokenizer(folder: Path, *, from_file: bool = False) -> None:
    """Check that there is a file of a tokenizer, tokenizer.json if it is to be read as it stands."""
    files = TOKENIZERS[:1] if from_file else TOKENIZERS
    if not any((folder / name).is_file() for name in files):
        raise missing_tokenizer(folder, files[0] if from_file else None)


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
