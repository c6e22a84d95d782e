"""A catalog that was written here, put where others read it: a dataset of the hub, or a folder that fsspec writes.

The manifest comes last: what has none is no catalog, and one that is replaced is whole until that moment.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neurothek.catalog.exchange.manifest import MANIFEST
from neurothek.catalog.hub.addresses import Address, dataset_of, store_of
from neurothek.catalog.hub.origins import hub_unreachable, reason_of
from neurothek.catalog.problems import Conflict, Failed, Invalid, NeurothekError, Unavailable
from neurothek.catalog.spelling import one_line

if TYPE_CHECKING:
    from neurothek.catalog.progress import Progress

CARD = "README.md"

_OURS = re.compile(
    rf"{re.escape(MANIFEST)}|{re.escape(CARD)}|\.gitattributes|(?:tables/)?\w+/rows\.parquet|shortcuts/.*|\w+\.s(?:ql|vg)"
)
"""Files of a catalog, and the one that the hub adds to each dataset."""

_LAST = (CARD, MANIFEST)
_STALE = ["*/rows.parquet", "shortcuts/*", "*.svg"]
"""Files of an earlier plan, which the last commit removes unless they were published again."""


def send_to_hub(folder: Path, address: Address, *, private: bool) -> str:
    """Upload a catalog to a dataset, which is made if there is none; what was uploaded before is not sent again.

    Returns:
        The address of the dataset's page.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415 - where the hub is asked

    name, revision, below = dataset_of(address)
    if revision is not None or below:
        raise Invalid(
            f"{one_line(str(address))} names a revision or a folder of a dataset",
            "a catalog is a dataset of its own: write ORG/NAME",
            option="ORG/NAME",
            value=str(address),
        )
    reason = hub_unreachable()
    if reason is not None:
        raise Unavailable(
            f"nothing was published: the hub cannot be reached ({reason})",
            "go online, or publish to a folder with --to",
            what="hub",
            name=name,
            why=reason,
        )
    api = HfApi()
    with _refusals(name):
        page = api.create_repo(name, repo_type="dataset", private=private or None, exist_ok=True)
        if private and not api.dataset_info(name).private:
            raise Conflict(
                f"the dataset {name} is public, and nothing was uploaded",
                "make it private on its page, or name another",
                what="dataset",
                name=name,
            )
        _require_ours(api.list_repo_files(name, repo_type="dataset"), name)
        kind: dict[str, Any] = {"repo_id": name, "repo_type": "dataset", "folder_path": folder}
        api.upload_folder(**kind, ignore_patterns=list(_LAST), commit_message="Tables and views of a catalog")
        api.upload_folder(**kind, delete_patterns=_STALE, commit_message="A catalog, published by neurothek")
    return str(page)


def _require_ours(files: Sequence[str], name: str) -> None:
    other = next((file for file in files if not _OURS.fullmatch(file)), None)
    if other is not None:
        raise Conflict(
            f"{name} holds {one_line(other)}, which is of no catalog, and nothing was uploaded",
            "name another place",
            what="dataset",
            name=name,
        )


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    import httpx2  # noqa: PLC0415 - where the hub is asked
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - likewise

    try:
        yield
    except NeurothekError:
        raise
    except (HfHubHTTPError, httpx2.HTTPError, OSError, ValueError) as error:
        if getattr(getattr(error, "response", None), "status_code", None) in (401, 403, 404):
            raise Unavailable(
                f"the hub does not let you publish to {name}",
                "log in with `hf auth login`, or set HF_TOKEN, with a token that may write there",
                what="hub",
                name=name,
            ) from error
        raise Failed(
            f"the upload to {name} stopped: {reason_of(error)}",
            "run the same command again, what was uploaded is kept",
            what="upload",
            why=reason_of(error),
        ) from error


def send_to_store(folder: Path, address: Address, *, progress: Progress) -> None:
    """Copy a catalog to an empty folder of a store; if that fails, what was copied is deleted."""
    files = store_of(address)
    root = f"{address.protocol}://{address.place}"
    with _failures(address):
        held = files.find(root) if files.exists(root) else []
    # An upload that was killed left files of ours, without a manifest; they are written anew.
    prefix = str(files._strip_protocol(root)).rstrip("/") + "/"
    names = [str(path).removeprefix(prefix) for path in held]
    if MANIFEST in names:
        raise Conflict(
            f"{one_line(str(address))} already holds a catalog",
            "choose a new folder for the catalog",
            what="folder",
            name=str(address),
        )
    _require_ours(names, one_line(str(address)))
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    ordered = [*(path for path in paths if path not in _LAST), *(path for path in _LAST if path in paths)]
    progress.start("uploading", len(ordered))
    sent: list[str] = []
    try:
        with _failures(address):
            for path in ordered:
                target = f"{root}/{path}"
                files.makedirs(target.rpartition("/")[0], exist_ok=True)
                sent.append(target)
                files.put_file(str(folder / path), target)
                progress.advance(note=path)
    except BaseException:
        for target in reversed(sent):
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                files.rm_file(target)
        raise
    progress.finish()


@contextmanager
def _failures(address: Address) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError, NotImplementedError) as error:
        raise Failed(
            f"nothing was published to {one_line(str(address))}: {reason_of(error)}",
            "choose a place that can be written",
            what="upload",
            why=reason_of(error),
        ) from error
