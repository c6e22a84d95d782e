"""Models in one GGUF file, as llama.cpp reads them: dequantized once, into a folder of the user's cache."""

import contextlib
import io
import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from safetensors import SafetensorError

from neurothek.catalog.problems import MissingExtra, Unavailable, Unreadable, Unsupported
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.spelling import one_line
from neurothek.ingest.models.errors import weights_not_finite
from neurothek.ingest.models.families.table import FAMILIES
from neurothek.ingest.models.gguf_header import GgufHeader, read_header
from neurothek.ingest.models.weights_hash import KnownHashes, known_sha256

SUFFIX = ".gguf"
ARCHITECTURES = frozenset({"gemma2", "gemma3", "gpt2", "llama", "mistral", "phi3", "qwen2", "qwen3"})
"""Architectures whose files transformers reads and whose models are known here."""

_MARK = "gguf.json"
"""Says in a folder of the cache of which file it was made, and by its time when it was last needed."""

UNUSED_SECONDS = 30 * 86_400
"""How long a folder of the cache is kept that no command needs."""

_UNFINISHED_SECONDS = 86_400
"""How long one is kept that nobody finished: making it takes minutes."""

_NOTED_SECONDS = 86_400
"""How old the time becomes before another need is noted."""


@dataclass(frozen=True)
class Origin:
    """The file that a folder was made of."""

    file: str  # its name
    sha256: str  # its hash, which is what the warehouse knows the weights by
    quantization: str  # how most of its numbers are stored, such as Q4_1


def file_in(path: Path) -> Path | None:
    """The GGUF file at a path: itself, or the only one of a folder without config.json; None for anything else."""
    files = files_in(path)
    return files[0] if len(files) == 1 else None


def files_in(path: Path) -> list[Path]:
    """The GGUF files at a path: itself, or those of a folder without config.json."""
    try:
        if path.is_file():
            return [path] if path.suffix.lower() == SUFFIX else []
        if not path.is_dir() or (path / "config.json").exists():
            return []
        return [one for one in sorted(path.iterdir()) if one.suffix.lower() == SUFFIX and one.is_file()]
    except (OSError, ValueError):
        # What such a path is, if anything, others say.
        return []


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
    # What is refused is not hashed first.
    header = None if KnownHashes().sha256(file) else _header(file)
    digest = known_sha256(file, progress or Silent())
    folder = user_cache_path("neurothek", appauthor=False) / "gguf" / digest
    if origin(folder) is None:
        _make_folder(file, digest, folder, header or _header(file))
        _forget_unused(folder.parent)
    with contextlib.suppress(OSError):
        # A cache that only others may write to is read all the same. A folder that changes with each question would be
        # opened anew for each.
        if time.time() - (folder / _MARK).stat().st_mtime > _NOTED_SECONDS:
            os.utime(folder / _MARK)
    return folder


def _forget_unused(cache: Path) -> None:
    """Delete what no command needed for long, so that the cache does not grow with every file that was ever read."""
    for folder in cache.iterdir():
        with contextlib.suppress(OSError):
            is_finished = (folder / _MARK).exists() and not folder.name.startswith(".")
            used = (folder / _MARK if is_finished else folder).stat().st_mtime
            if time.time() - used > (UNUSED_SECONDS if is_finished else _UNFINISHED_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)


def _make_folder(file: Path, digest: str, folder: Path, header: Mapping[str, Any]) -> None:
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
    """Architecture and quantization of a file, its tensors unread; a file that would be misread is refused here."""
    try:
        header = read_header(file)
    except (OSError, ValueError) as error:
        raise _damaged(file, error) from error
    named = str(header.values.get("general.architecture"))
    if named not in ARCHITECTURES:
        raise Unsupported(
            f"{file} has the architecture {named!r}, which is not supported in GGUF files",
            f"supported there are {', '.join(sorted(ARCHITECTURES))}; a folder of safetensors may also be of"
            f" {', '.join(sorted(FAMILIES.keys() - ARCHITECTURES))}",
            what="architecture",
            name=named,
        )
    n_parts = header.values.get("split.count", 1)
    if n_parts != 1:
        raise Unsupported(
            f"{file} is one of the {n_parts!r:.20} files of its model; a model in several GGUF files is not supported",
            "join them with `llama-gguf-split --merge`, or give the model as a folder of safetensors",
            what="split file",
            name=file.name,
        )
    _refuse_scaled_angles(file, named, header)
    try:
        # Here, because it is an extra.
        from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, LlamaFileType, quants  # noqa: PLC0415
    except ImportError as error:
        raise _missing_extra(file) from error
    # transformers reads the tensors through it, but it is slow to import.
    if find_spec("accelerate") is None:
        raise _missing_extra(file)
    kinds = {one.value: one for one in GGMLQuantizationType}
    readable = {"F32", "F16", *(one.name for one in quants._type_traits)}
    end, sizes = header.start, Counter[str]()
    for tensor in header.tensors:
        kind = kinds.get(tensor.kind)
        name = f"number {tensor.kind}" if kind is None else kind.name
        if kind is None or name not in readable:
            raise Unsupported(
                f"{file} has numbers that are stored in an unsupported way ({name}, those of {tensor.name!r:.80})",
                "give the model in another quantization, or before quantization",
                what="quantization",
                name=name,
            )
        n_block, n_bytes = GGML_QUANT_SIZES[kind]
        sizes[name] += -(-tensor.n_values // n_block) * n_bytes
        end = max(end, header.start + tensor.offset + -(-tensor.n_values // n_block) * n_bytes)
    if end > file.stat().st_size:
        raise _damaged(file, f"it ends at byte {file.stat().st_size:,}, and its tensors at {end:,}")
    names: dict[object, str] = {one.value: one.name for one in LlamaFileType if one is not LlamaFileType.GUESSED}
    # Without a type of its own it is called after the one that most of its bytes are of.
    most = max(sizes, key=lambda kind: sizes[kind], default="F32")
    name = names.get(header.values.get("general.file_type"), most)
    return {"architecture": named, "quantization": name.removeprefix("MOSTLY_").removeprefix("ALL_")}


def _refuse_scaled_angles(file: Path, architecture: str, header: GgufHeader) -> None:
    """Refuse rotations of long contexts: transformers passes over what a file says of them, and computes others."""
    way = header.values.get(f"{architecture}.rope.scaling.type", "none")
    scales = [tensor.name for tensor in header.tensors if tensor.name.startswith("rope_")]
    named = [f"rope.scaling.type {way!r:.80}"] if way != "none" else scales
    if named:
        raise Unsupported(
            f"{file} scales its rotary positions ({named[0]}), which is not supported in GGUF files",
            "give the model as a folder of safetensors",
            what="rotary positions",
            name=named[0],
        )


def _missing_extra(file: Path) -> MissingExtra:
    return MissingExtra(
        f"reading {file} needs the libraries gguf and accelerate, which are not installed:"
        " install them with pip install 'neurothek[gguf]'",
        what="library",
        name="gguf",
    )


def _save_dequantized(file: Path, folder: Path, header: Mapping[str, Any]) -> None:
    import torch  # noqa: PLC0415 - a folder that was made before is found without it
    from safetensors.torch import save_file  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: PLC0415

    from neurothek.ingest.models.quiet import quiet_library  # noqa: PLC0415

    place = {"gguf_file": file.name, "local_files_only": True}
    try:
        # The library draws bars of its own.
        with quiet_library(), contextlib.redirect_stderr(io.StringIO()):
            loaded: Any = AutoModelForCausalLM.from_pretrained(
                file.parent, dtype=torch.float32, output_loading_info=True, **place
            )
            model, report = loaded
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
    # The library draws numbers at random for tensors that are not there.
    if missing := sorted(report["missing_keys"]):
        raise _damaged(file, f"{len(missing)} of its tensors are missing, the first is {missing[0]}")
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
