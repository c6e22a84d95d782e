"""Matrices that are kept beside the warehouse: where they lie, and whether they are the ones that were measured.

A folder beside the file, `WAREHOUSE.shortcuts`, has a folder per run, named by its key, with a file per matrix.
The table `shortcut_maps` names them with their fingerprints; a folder that it does not name is nobody's.
"""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TypeVar

import duckdb

from neurothek.catalog.advice import command_line, text_words
from neurothek.catalog.files import sha256_of

_OURS = re.compile(r"\.?[0-9a-f]{64}")
"""Folders of runs, and those of them that were being filled."""

_STORED_MAPS = """
    select
        models.name as model, corpora.name as corpus, corpora.corpus_id, corpora.recipe,
        runs.run_key, runs.parameters, runs.dtype, maps.source_state, maps.target_state, maps.sha256, maps.n_bytes
    from store.shortcut_maps as maps
    inner join store.runs as runs on runs.run_id = maps.run_id
    inner join store.models as models on models.model_id = maps.model_id
    inner join store.corpora as corpora on corpora.corpus_id = maps.corpus_id
    where ($run_key is null or runs.run_key = $run_key) and regexp_full_match(runs.run_key, '[0-9a-f]{64}')
    order by maps.run_id, maps.source_state, maps.target_state
"""


AnyPath = TypeVar("AnyPath", bound=PurePath)


@dataclass(frozen=True)
class StoredMatrix:
    """A matrix that the warehouse knows of."""

    model: str  # name of its model
    corpus: str  # name of the corpus
    corpus_id: int  # its number in the file
    recipe: str  # how the corpus was made, JSON
    run_key: str  # the run that made it
    parameters: str  # of that run, JSON
    dtype: str  # number format of that run
    source_state: int  # the state it is applied to
    target_state: int  # the state it leads to
    sha256: str  # fingerprint of the file
    n_bytes: int  # size of the file

    def path(self, folder: AnyPath) -> AnyPath:
        """Where it lies."""
        return folder / self.run_key / file_name(self.source_state, self.target_state)

    def again(self) -> str:
        """The command that measures it again."""
        settings = json.loads(self.parameters)
        length = json.loads(self.recipe)["sequence_length"]
        words = ["--job", "shortcuts", *text_words(self.corpus, length, self.recipe)]
        words += ["--keep", "all"] if settings.get("keep") == "all" else []
        words += [word for domain in settings.get("domains", ()) for word in ("--domain", domain)]
        sizes = (("--fit", settings.get("n_fit")), ("--validate", settings.get("n_validation")))
        words += [word for option, number in sizes if number is not None for word in (option, str(number))]
        words += ["--dtype", self.dtype] if self.dtype != "float32" else []
        return command_line("ingest", self.model, *words)


def file_name(source: int, target: int) -> str:
    """Name of the file of one matrix, within the folder of its run."""
    return f"{source:04d}-{target:04d}.safetensors"


def stored_matrices(connection: duckdb.DuckDBPyConnection, run_key: str | None = None) -> list[StoredMatrix]:
    """The matrices that the warehouse knows of, those of one run if it is given."""
    # Row by row: Arrow, which frames come through, takes a quarter of a second to import.
    rows = connection.execute(_STORED_MAPS, {"run_key": run_key}).fetchall()
    return [StoredMatrix(*row) for row in rows]


def missing_matrices(maps: Sequence[StoredMatrix], folder: Path) -> list[StoredMatrix]:
    """Those that are not there."""
    return [one for one in maps if not is_there(one, folder)]


def is_there(one: StoredMatrix, folder: Path) -> bool:
    """Whether there is a file, and in the folder itself: a link could lead anywhere."""
    path = one.path(folder)
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def bring(staged: Path, folder: Path, run_key: str) -> None:
    """Put the matrices of a run in their place, all of them or none; what an earlier attempt left there is replaced.

    They stay staged as well, in case what is published with them is not.
    """
    target, unfinished = folder / run_key, folder / f".{run_key}"
    if unfinished.is_symlink():
        unfinished.unlink()
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for file in staged.glob("*.safetensors"):
        _linked(file, unfinished / file.name)
    if target.is_symlink():
        target.unlink()
    shutil.rmtree(target, ignore_errors=True)
    unfinished.replace(target)


def take(maps: Sequence[StoredMatrix], source: Path, folder: Path) -> list[StoredMatrix]:
    """Copy matrices that are not in `folder` from another one, each if it is the one that was kept.

    Returns:
        Those that are in neither.
    """
    for one in maps:
        taken_from, here = one.path(source), one.path(folder)
        if is_unchanged(one, folder) or not is_unchanged(one, source):
            continue
        if here.parent.is_symlink():
            here.parent.unlink()
        here.parent.mkdir(parents=True, exist_ok=True)
        unfinished = here.with_name(f".{here.name}")
        shutil.copyfile(taken_from, unfinished)
        unfinished.replace(here)
    return missing_matrices(maps, folder)


def is_unchanged(one: StoredMatrix, folder: Path) -> bool:
    """Whether the file is there and the one that was kept."""
    path = one.path(folder)
    return is_there(one, folder) and path.stat().st_size == one.n_bytes and sha256_of(path) == one.sha256


def tidy(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Delete what belongs to no run of the warehouse: replaced or removed ones, and what a kill left half done.

    Only who writes the warehouse may call it: another who publishes brings files before the table names them.
    """
    if not folder.is_dir():
        return
    query = "select distinct run_key from store.runs where run_id in (select run_id from store.shortcut_maps)"
    named = {str(run_key) for (run_key,) in connection.execute(query).fetchall()}
    for entry in folder.iterdir():
        if _OURS.fullmatch(entry.name) and entry.name not in named:
            shutil.rmtree(entry, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def _linked(file: Path, target: Path) -> None:
    """The same file under another name; a copy where staging is on another disk."""
    try:
        target.hardlink_to(file)
    except OSError:
        shutil.copyfile(file, target)
