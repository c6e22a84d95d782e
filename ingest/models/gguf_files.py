"""Models in one GGUF file, as llama.cpp reads them: dequantized once, into a folder of the user's cache."""

import contextlib
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from safetensors import SafetensorError

from neurothek.catalog.problems import MissingExtra, Unavailable, Unreadable, Unsupported
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.spelling import one_line
from neurothek.ingest.models.errors import weights_not_finite
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.weights_hash import known_sha256

SUFFIX = ".gguf"
ARCHITECTURES = frozenset({"gemma2", "gemma3", "gpt2", "llama", "mistral", "phi3", "qwen2", "qwen3"})
"""Architectures whose files transformers reads and whose models are known here."""

_MARK = "gguf.json"
"""Says in a folder of the cache of which file it was made."""


@dataclass(frozen=True)
class Origin:
    """The file that a folder was made of."""

    file: str  # its name
    sha256: str  # its hash, which is what the warehouse knows the weights by
    quantization: str  # how most of its numbers are stored, such as Q4_1


def file_in(path: Path) -> Path | None:
    """The GGUF file at a path: itself, or the only one of a folder without config.json; None for anything else."""
    try:
        if path.is_file():
            return path if path.suffix.lower() == SUFFIX else None
        if not path.is_dir() or (path / "config.json").exists():
            return None
        files = [one for one in sorted(path.iterdir()) if one.suffix.lower() == SUFFIX and one.is_file()]
    except (OSError, ValueError):
        # What such a path is, if anything, others say.
        return None
    return files[0] if len(files) == 1 else None


def origin(folder: Path) -> Origin | None:
    """What a folder was made of; None where it is a folder of safetensors."""
    try:
        mark = json.loads((folder / _MARK).read_bytes())
        return Origin(**{name: str(mark[name]) for name in Origin.__dataclass_fields__})
    except (OSError, ValueError, KeyError, TypeError):
        return None


def dequantized(file: Path, *, progress: Progress | None = None) -> Path:
    """The folder with a GGUF file's weights as float32 in safetensors, and its tokenizer; made at the first use.

    Args:
        file: the file.
        progress: is told how far hashing the file has come, the first time it is seen.

    Raises:
        MissingExtra: the libraries that read such files are not installed.
        Unreadable: the file is damaged.
        Unavailable: the cache folder cannot be written.
        Unsupported: its architecture, or the way its numbers are stored, is not supported.
    """
    digest = known_sha256(file, progress or Silent())
    folder = user_cache_path("neurothek", appauthor=False) / "gguf" / digest
    if origin(folder) is None:
        _make_folder(file, digest, folder)
    return folder


def _make_folder(file: Path, digest: str, folder: Path) -> None:
    header = _header(file)
    hidden: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        hidden = Path(tempfile.mkdtemp(prefix=".", dir=folder.parent))
        _save_dequantized(file, hidden, header)
        (hidden / _MARK).write_text(
            json.dumps({"file": file.name, "sha256": digest, "quantization": header["quantization"]})
        )
        # Another process may have made it meanwhile, of the same bytes.
        if origin(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
            hidden.rename(folder)
    except (OSError, SafetensorError) as error:
        if origin(folder) is None:
            raise Unavailable(
                f"{file} could not be dequantized into {folder.parent} ({one_line(str(error))[:120]})",
                "it takes 4 bytes a weight there; XDG_CACHE_HOME names another cache folder",
                what="cache folder",
                name=folder.parent,
            ) from error
    finally:
        if hidden is not None:
            shutil.rmtree(hidden, ignore_errors=True)


def _header(file: Path) -> Mapping[str, Any]:
    """Architecture and quantization of a file, its tensors unread."""
    try:
        # Here, because they are an extra, and slow to import.
        import accelerate  # noqa: F401, PLC0415 - transformers reads the tensors through it
        from gguf import GGUFReader, LlamaFileType  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(
            f"reading {file} needs the libraries gguf and accelerate, which are not installed:"
            " install them with pip install 'neurothek[gguf]'",
            what="library",
            name="gguf",
        ) from error
    try:
        reader = GGUFReader(file)
        fields = {name: reader.get_field(f"general.{name}") for name in ("architecture", "file_type")}
        values = {name: None if field is None else field.contents() for name, field in fields.items()}
        end = max((int(tensor.data_offset) + int(tensor.n_bytes) for tensor in reader.tensors), default=0)
    except Exception as error:  # the library says what it stumbles over in any class
        raise _damaged(file, error) from error
    if end > file.stat().st_size:
        raise _damaged(file, "its last tensors are missing")
    named = str(values["architecture"])
    if named not in ARCHITECTURES:
        raise Unsupported(
            f"{file} has the architecture {named!r}, which is not supported in GGUF files",
            f"supported there are {', '.join(sorted(ARCHITECTURES))}; a folder of safetensors may also be of"
            f" {', '.join(sorted(FAMILIES.keys() - ARCHITECTURES))}",
            what="architecture",
            name=named,
        )
    names: dict[object, str] = {one.value: one.name for one in LlamaFileType if one is not LlamaFileType.GUESSED}
    name = names.get(values["file_type"])
    if name is None:
        # The type that most of its bytes are of.
        sizes: Counter[str] = Counter()
        for tensor in reader.tensors:
            sizes[tensor.tensor_type.name] += int(tensor.n_bytes)
        name = max(sizes, key=lambda kind: sizes[kind], default="F32")
    return {"architecture": named, "quantization": name.removeprefix("MOSTLY_").removeprefix("ALL_")}


def _save_dequantized(file: Path, folder: Path, header: Mapping[str, Any]) -> None:
    import torch  # noqa: PLC0415 - a folder that was made before is found without it
    from safetensors.torch import save_file  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415
    from transformers.utils import logging  # noqa: PLC0415

    logging.disable_progress_bar()
    place = {"gguf_file": file.name, "local_files_only": True}
    try:
        # The library draws bars of its own.
        with contextlib.redirect_stderr(io.StringIO()):
            model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **place)
            tokenizer = AutoTokenizer.from_pretrained(file.parent, **place)
    except NotImplementedError as error:
        raise Unsupported(
            f"{file} has numbers that are stored in an unsupported way ({one_line(str(error))[:120]})",
            "give the model in another quantization, or before quantization",
            what="quantization",
            name=header["quantization"],
        ) from error
    except Exception as error:
        raise _damaged(file, error) from error
    config = model.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    config.neurothek = {"variant": header["quantization"], "quantization": header["quantization"]}
    config.save_pretrained(folder)
    tensors: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, tensor in model.state_dict().items():
        if not bool(torch.isfinite(tensor).all()):
            raise weights_not_finite(file, name)
        # A tied unembedding is the token embedding itself.
        if tensor.data_ptr() not in seen:
            tensors[name] = tensor.contiguous()
        seen.add(tensor.data_ptr())
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save_pretrained(folder)


def _damaged(file: Path, why: object) -> Unreadable:
    reason = one_line(str(why))[:120] or type(why).__name__
    return Unreadable(f"{file} cannot be read as a GGUF file ({reason})", "fetch it again", path=file, why=reason)
