"""Models from the Hugging Face hub: the local cache first, without waiting for a network that is not there."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from neurothek.catalog.hub.origins import OFFLINE, hub_unreachable, reason_of
from neurothek.catalog.problems import Failed, NeurothekError, Refused, Unavailable
from neurothek.ingest import minis
from neurothek.ingest.models.errors import (
    meant,
    pickled_weights,
    unknown_model,
)
from neurothek.ingest.models.finding import is_hub_id
from neurothek.ingest.models.weight_files import ADAPTER_FILES, INDEX, PICKLES, SAFETENSORS, weight_files

_CONFIGURATIONS = ["config.json", ADAPTER_FILES[0]]
"""What says at once that a model is not supported."""

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)


def snapshot(
    repo_id: str,
    *,
    revision: str | None = None,
    allow_pickle: bool = False,
    accept: Callable[[Path], None] = lambda folder: None,
) -> Path:
    """The folder of a model's files in the hub's cache, downloaded if they are not there yet.

    A complete snapshot in the cache is used without asking the hub. Only the configuration, the tokenizer and the
    weights are downloaded; HF_TOKEN, HF_HUB_OFFLINE, HF_ENDPOINT and HF_HOME are respected. `accept` sees the folder
    when only config.json lies there, and raises if the rest need not be fetched.
    """
    cached = _cached(repo_id, revision)
    if cached is not None and _has_weights(cached, allow_pickle) and _has_tokenizer(cached):
        return cached
    reason = why_unreachable()
    if reason is None:
        return _download(repo_id, revision, allow_pickle, accept)
    if cached is not None and _has_weights(cached, allow_pickle):
        return cached
    raise _unreachable(repo_id, reason)


def cached(repo_id: str, *, revision: str | None = None) -> Path | None:
    """The folder of a model whose files are complete in the hub's cache, so that the hub is not asked for them."""
    folder = _cached(repo_id, revision) if is_hub_id(repo_id) else None
    return folder if folder is not None and _has_weights(folder, allow_pickle=True) else None


def require_there(repo_id: str, *, revision: str | None = None) -> None:
    """Check that the cache or the hub has a model, before anything else is done; of the hub config.json is fetched."""
    if cached(repo_id, revision=revision) is not None:
        return
    reason = why_unreachable()
    if reason is not None:
        raise _unreachable(repo_id, reason)
    with _model_refusals(repo_id, revision):
        snapshot_download(repo_id, revision=revision, allow_patterns=_CONFIGURATIONS)


def _cached(repo_id: str, revision: str | None) -> Path | None:
    try:
        location = snapshot_download(repo_id, revision=revision, local_files_only=True, allow_patterns="config.json")
    except LocalEntryNotFoundError:
        return None
    except HFValidationError as error:
        raise unknown_model(repo_id) from error
    folder = Path(location)
    return folder if (folder / "config.json").is_file() else None


def _has_weights(folder: Path, allow_pickle: bool) -> bool:
    try:
        weight_files(folder, allow_pickle=allow_pickle)
    except (Unavailable, Refused):
        return False
    return True


def _has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES)


def why_unreachable() -> str | None:
    """Why the hub cannot be asked for models or texts, or None if it answers; takes at most about `PROBE_SECONDS`."""
    # Also where it was set after the library was loaded: pages may read a catalog on the hub, and nothing else there.
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        return OFFLINE
    return hub_unreachable()


def _download(repo_id: str, revision: str | None, allow_pickle: bool, accept: Callable[[Path], None]) -> Path:
    with _model_refusals(repo_id, revision):
        folder = Path(snapshot_download(repo_id, revision=revision, allow_patterns=_CONFIGURATIONS))
        accept(folder)
        files = HfApi().list_repo_files(repo_id, revision=folder.name)
        patterns = _patterns(repo_id, files, allow_pickle)
        return Path(snapshot_download(repo_id, revision=revision, allow_patterns=patterns))


def _model_refusals(repo_id: str, revision: str | None) -> AbstractContextManager[None]:
    return refusals(
        revision,
        withheld=partial(_withheld, repo_id),
        unknown=lambda problem: _withheld(repo_id, problem, minis.names()),
        broken=partial(_broken_off, repo_id),
    )


def _unreachable(source: str, reason: str) -> Unavailable:
    """A model that is not on this machine while the hub cannot be asked."""
    return Unavailable(
        f"the model {source!r} is not a folder, not a shipped model and not complete in the local hub cache, "
        f"and the hub cannot be reached ({reason})",
        f"{meant(source, minis.names())}go online, or give a folder",
        what="model",
        name=source,
        why=reason,
    )


def _withheld(source: str, problem: str, names: Sequence[str] = ()) -> Unavailable:
    """A hub id that the hub does not show to this person."""
    return Unavailable(
        f"the hub does not provide the model {source!r}: {problem}",
        f"{meant(source, names)}check the spelling, or set HF_TOKEN if the model is private or gated",
        what="model",
        name=source,
        why=problem,
    )


def _broken_off(source: str, problem: str) -> Failed:
    """A download that did not come to its end."""
    message = f"the download of {source!r} stopped: {problem}"
    return Failed(message, "run the same command again, finished files are kept", what="download", why=problem)


@contextmanager
def refusals(
    revision: str | None,
    *,
    withheld: Callable[[str], NeurothekError],
    unknown: Callable[[str], NeurothekError],
    broken: Callable[[str], NeurothekError],
) -> Iterator[None]:
    """Turn what the hub refuses into sentences, each made of what the problem is.

    Args:
        revision: what is asked for.
        withheld: it is there, and the hub does not give it out, or not in this revision.
        unknown: the hub knows nothing of that name.
        broken: the hub or the way to it failed.
    """
    try:
        yield
    except GatedRepoError as error:
        raise withheld("its authors require you to accept their terms first") from error
    except RepositoryNotFoundError as error:
        raise unknown("there is none of that name, or you may not read it") from error
    except RevisionNotFoundError as error:
        raise withheld(f"it has no revision {revision!r}") from error
    except (HfHubHTTPError, httpx2.HTTPError, OSError) as error:
        raise broken(reason_of(error)) from error


def _patterns(repo_id: str, files: Sequence[str], allow_pickle: bool) -> list[str]:
    """The names of the files to download: the weights in one format only, and no other framework's."""
    small = [name for name in files if name in ("config.json", *TOKENIZER_FILES)]
    weights = _of_format(files, SAFETENSORS)
    if not weights:
        weights = _of_format(files, PICKLES)
        if weights and not allow_pickle:
            raise pickled_weights(repo_id, weights[0])
    return small + weights


def _of_format(files: Sequence[str], single: str) -> list[str]:
    if single in files:
        return [single]
    if single + INDEX not in files:
        return []
    stem, suffix = single.rsplit(".", 1)
    shard = re.compile(rf"{re.escape(stem)}-\d+-of-\d+\.{suffix}")
    return [single + INDEX, *(name for name in files if shard.fullmatch(name))]
