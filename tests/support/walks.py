"""The walks of docs/contributing.md, as what each adds to a copy of the tree."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = ("ingest", "catalog", "queries", "dashboards", "neurothek", "pyproject.toml")


@dataclass(frozen=True)
class Walk:
    """What one walk does to the tree."""

    title: str  # its heading in the guide
    new: Mapping[str, str] = field(default_factory=dict)  # file -> its text
    # file -> (a text that stands there once, what takes its place), one after the other
    lines: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    first: tuple["Walk", ...] = ()  # the walks that it begins with

    @property
    def files(self) -> set[str]:
        """All that it makes or changes itself."""
        return {*self.new, *self.lines}

    @property
    def all_files(self) -> set[str]:
        """These, and those of the walks that it begins with."""
        return self.files.union(*(walk.all_files for walk in self.first))

    def take(self, tree: Path) -> None:
        """Do it."""
        for walk in self.first:
            walk.take(tree)
        for name, text in self.new.items():
            path = tree / name
            assert not path.exists()
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        for name, changes in self.lines.items():
            text = (tree / name).read_text("utf-8")
            for before, after in changes:
                assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in {name}"
                text = text.replace(before, after)
            (tree / name).write_text(text, "utf-8")

    def section(self) -> str:
        """What the guide says of it."""
        guide = (ROOT / "docs" / "contributing.md").read_text("utf-8")
        (found,) = (part for part in guide.split("\n## ") if part.startswith(f"{self.title}\n"))
        return found


def copy_tree(folder: Path) -> Path:
    """The packages and their settings, without what is compiled and without the weights that ship."""
    folder.mkdir(parents=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.safetensors", "tokenizer.json")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def content(tree: Path) -> dict[str, bytes]:
    """Every file by its path, as a copy has them, but for what is compiled."""
    files = (path for path in tree.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return {path.relative_to(tree).as_posix(): path.read_bytes() for path in files}


def differing(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> Iterator[str]:
    """The files that are not the same in both."""
    return (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
