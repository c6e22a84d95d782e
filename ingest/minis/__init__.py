"""The trained models that ship with the package, each a folder of this one."""

import json
from pathlib import Path


def folder(name: str) -> Path | None:
    """The folder of the shipped model `name`, None if none of that name ships."""
    here = Path(__file__).parent
    return next((path for path in here.iterdir() if path.name == name and (path / "config.json").is_file()), None)


def names() -> list[str]:
    """The names of the shipped models, sorted."""
    here = Path(__file__).parent
    return sorted(path.name for path in here.iterdir() if (path / "config.json").is_file())


def sizes() -> list[str]:
    """The names of those that differ in size alone: no other seeds, early checkpoints or changed architectures."""
    here = Path(__file__).parent
    configs = {name: json.loads((here / name / "config.json").read_text("utf-8")) for name in names()}
    return [name for name, config in configs.items() if config["neurothek"]["variant"] is None]
