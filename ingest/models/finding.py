"""Where a model that was asked for lies, and what config.json says of it; the weights are not opened."""

import errno
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from neurothek.catalog.arguments import expanded
from neurothek.catalog.configurations import configured_of
from neurothek.catalog.files import why_no_file
from neurothek.catalog.problems import Invalid, NotFound, Unavailable
from neurothek.catalog.store.frames import as_frame
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest import minis
from neurothek.ingest.models import gguf_files
from neurothek.ingest.models.errors import (
    LONGEST_NAME,
    invalid_config,
    shortened,
    unknown_model,
    unsupported_config,
)
from neurothek.ingest.models.families.supported import config_of_text
from neurothek.ingest.models.regular_files import require_plain
from neurothek.ingest.models.weight_files import ADAPTER_FILES
from neurothek.ingest.request import ModelSource

NAME = re.compile(rf"[A-Za-z0-9._@+-]{{1,{LONGEST_NAME}}}")
_LONGEST_SUGGESTED = 40

_MOST_BYTES = 1 << 22
"""The largest config.json: a hundred times those with long lists of labels."""


@runtime_checkable
class KnownFiles(Protocol):
    """What the warehouse knows of a model's files."""

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
    def tokenizer_from_file(self) -> bool:
        """Whether its tokenizer.json was taken as it is."""

    @property
    def configured(self) -> str:
        """What the warehouse knows of its config.json, as `configured_of` writes it; empty for nothing."""


@dataclass(frozen=True)
class Measured:
    """The files of a model, known as `KnownFiles` says."""

    name: str
    source: str
    revision: str | None
    weights_sha256: str
    tokenizer_from_file: bool = False
    configured: str = ""


FROM_FILE = """
    models.model_id in (
        select runs.model_id from store.runs as runs where runs.tokenizer_identity like '%\"file\"%'
    )
"""
"""Says in SQL whether a model was measured with its tokenizer.json as it is."""


def folder_of(source: str, *, revision: str | None) -> Path | None:
    """The folder on this machine that `source` names, its own or that of a shipped model; None for a hub id."""
    path = expanded(source)
    one_file = gguf_files.file_in(path)
    kind = "a file" if one_file is None and path.is_file() else _why_no_file(path)
    if kind is not None:
        message = f"{source!r} is {kind}, but a model is a folder with config.json and weights, or a GGUF file"
        raise Invalid(message, "give its folder", option="model", value=source)
    local = one_file or (path if path.is_dir() else minis.folder(source))
    if local is not None and revision is not None:
        what = "folder" if one_file is None else "file"
        message = f"{source!r} is a {what} on this machine and has no revision {revision!r}"
        raise Invalid(message, "omit the revision, or give a hub id", option="--revision", value=revision)
    if local is None and not is_hub_id(source):
        raise unknown_model(source, minis.names())
    return local if one_file is None else gguf_files.dequantized(one_file)


def _why_no_file(path: Path) -> str | None:
    try:
        return why_no_file(path)
    except OSError as error:
        # Of names that are too long for a path none lies there.
        return "a link that leads back to itself" if error.errno == errno.ELOOP else None
    except ValueError:
        # Nor does any at a path with a NUL.
        return None


def located(
    source: str, *, revision: str | None, allow_pickle: bool, accept: Callable[[Path], None]
) -> tuple[Path, str | None]:
    """Where the files of `source` lie, and the hub's commit if they are the hub's; downloaded if need be."""
    local = folder_of(source, revision=revision)
    if local is not None:
        return local, None
    # The hub's library takes longer to import than a folder to be refused.
    from neurothek.ingest.models import hub  # noqa: PLC0415  (see above)

    snapshot = hub.snapshot(source, revision=revision, allow_pickle=allow_pickle, accept=accept)
    return snapshot, snapshot.name


def is_hub_id(source: str) -> bool:
    """Whether `source` has the form of a hub id, NAME or ORG/NAME, and not that of a path."""
    return re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", source, flags=re.ASCII) is not None


def cached_on_hub(source: str, *, revision: str | None = None) -> Path | None:
    """The folder of a model of the hub whose files are complete in the hub's cache; None for what is no hub id."""
    if not is_hub_id(source):
        return None
    # The hub's library takes longer to import than a folder to be refused.
    from neurothek.ingest.models import hub  # noqa: PLC0415  (see above)

    return hub.cached(source, revision=revision)


def split_revision(source: str, revision: str | None = None) -> tuple[str, str | None]:
    """A hub id and its revision, which may stand behind it as in `EleutherAI/pythia-70m@step1000`.

    A folder keeps its name, whatever it holds.
    """
    repo, _, written = source.partition("@")
    if not written or not is_hub_id(repo) or expanded(source).exists():
        return source, revision
    if revision is not None and revision != written:
        raise Invalid(
            f"{source!r} already names a revision, but --revision {revision!r} was given too",
            "give only one, as REPO@REVISION for each model or as --revision for all",
            option="--revision",
            value=revision,
        )
    return repo, written


def model_name(source: str, *, name: str | None = None, revision: str | None = None) -> str:
    """What a model is called: `name`, else the last part of `source`, followed by @REVISION if one was asked for."""
    if name is not None:
        return name
    source, revision = split_revision(source, revision)
    last = Path(source).name
    last = last.removesuffix(gguf_files.SUFFIX)
    # "." and ".." are folders whose name stands elsewhere.
    last = last if last not in ("", "..") else expanded(source).resolve().name
    return f"{last}@{revision}" if revision is not None else last


def valid_name(source: str, *, name: str | None, revision: str | None) -> str:
    """The same, as long as the warehouse takes it."""
    called = model_name(source, name=name, revision=revision)
    if not NAME.fullmatch(called):
        suggestion = re.sub(r"[^A-Za-z0-9._@+-]+", "-", called).strip("-")[:_LONGEST_SUGGESTED] or "NAME"
        too_long = f", {LONGEST_NAME} at most and not {len(called)}" if len(called) > LONGEST_NAME else ""
        raise Invalid(
            f"{shortened(called)!r} cannot be a model's name: letters, digits and . _ @ + - are allowed{too_long}",
            f"give one yourself, as in {suggestion}={source}",
            option="model",
            value=called,
        )
    return called


def config_of(folder: Path) -> dict[str, Any]:
    """config.json as it stands; of a model that sees, too, what it says of the language model."""
    try:
        require_plain(folder)
        _refuse_adapter(folder)
        path = folder / "config.json"
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise invalid_config(folder, f"it has {size:,} bytes, but can have {_MOST_BYTES:,} at most")
        config = json.loads(path.read_bytes().decode(), object_pairs_hook=_once(folder))
    except FileNotFoundError as error:
        if several := gguf_files.files_in(folder):
            names = ", ".join(one.name for one in several)
            message = f"{folder} has several GGUF files: {names}"
            raise Invalid(message, "give the path of one of them", option="model", value=folder) from error
        raise Unavailable(
            f"{folder} has no config.json, so it is not a model",
            "give the folder that save_pretrained wrote",
            what="config.json",
            name=folder,
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise invalid_config(folder, f"it {why_no_json(error)}") from error
    if not isinstance(config, dict):
        raise invalid_config(folder, "it is not a JSON object")
    text = config_of_text(config)
    if text is None:
        raise invalid_config(folder, "text_config is not an object")
    for name, value in config.items():
        if not all(map(math.isfinite, _floats(value))):
            raise invalid_config(folder, f"{name} has a number that is not finite")
    return dict(text)


def _floats(value: object) -> Iterator[float]:
    """The numbers with a point in a value of JSON, at any depth."""
    left = [value]
    while left:
        match left.pop():
            case dict() as inner:
                left.extend(inner.values())
            case list() as inner:
                left.extend(inner)
            case float() as number:
                yield number


def _refuse_adapter(folder: Path) -> None:
    """Refuse an adapter: transformers would put it on the model beside it, or on one that it names."""
    for name in ADAPTER_FILES:
        if (folder / name).exists():
            way = "merge it into its model (merge_and_unload of peft), save that, and give its folder"
            raise unsupported_config(str(folder), f"an adapter ({name})", way=way)


def why_no_json(error: Exception) -> str:
    """What Python found wrong with a file that should be JSON, to follow its name."""
    # Python reads no integer of more digits.
    if "integer string conversion" in str(error):
        return "holds an integer of too many digits"
    return "begins with a byte-order mark, unlike JSON" if "utf-8-sig" in str(error) else "is not JSON"


def _once(folder: Path) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Makes an object of its fields, each of which stands there once: of two the library would take the last."""

    def made(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(fields)
        if len(result) < len(fields):
            names = [name for name, _ in fields]
            twice = next(name for name in names if names.count(name) > 1)
            raise invalid_config(folder, f"it says {twice} twice")
        return result

    return made


def measured_models(warehouse: Warehouse) -> Mapping[str, Measured]:
    """The models of a warehouse by name, in the order in which they came; none where there is no file."""
    if not warehouse.exists():
        return {}
    query = f"select models.*, {FROM_FILE} as tokenizer_from_file from store.models as models order by model_id"  # noqa: S608 - a condition of this module
    with warehouse.current_reader() as connection:
        rows = as_frame(connection.sql(query)).to_dicts()
    return {row["name"]: measured_of(row) for row in rows}


def measured_of(model: Mapping[str, Any]) -> Measured:
    """The files of a model, by its row of `models` with `FROM_FILE` as `tokenizer_from_file`."""
    files = ("name", "source", "revision", "weights_sha256", "tokenizer_from_file")
    return Measured(**{name: model[name] for name in files}, configured=configured_of(model))


def by_name(warehouse: Warehouse, model: ModelSource, *, revision: str | None) -> Measured | None:
    """The model of the warehouse that is asked for by nothing but its name; None for a folder, a shipped one, others.

    A model of the hub that has this name and is complete in the cache goes before one whose weights are gone.
    """
    source = model.source
    if model.name is not None or revision is not None or expanded(source).exists() or minis.folder(source):
        return None
    measured = measured_models(warehouse).get(source)
    if measured is None or (measured.source != source and _is_gone(measured) and cached_on_hub(source)):
        return None
    return measured


def _is_gone(measured: Measured) -> bool:
    try:
        place = folder_of(measured.source, revision=measured.revision) or cached_on_hub(
            measured.source, revision=measured.revision
        )
    except NotFound:
        return True
    except Invalid as error:
        if error.option not in ("model", "--revision"):
            raise
        return True
    return place is None
