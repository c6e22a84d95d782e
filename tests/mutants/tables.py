"""Which modules are mutated, which tests have to notice, and which mutants are known to change nothing."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES, EQUIVALENT = Path(__file__).with_name("modules.toml"), Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True, order=True)
class Change:
    """Lines of a module before and after, without their indentation."""

    module: str
    before: str
    after: str


@dataclass(frozen=True)
class Mutant:
    """A changed module."""

    change: Change  # which lines differ
    line: int  # number of the first of them
    source: str  # the whole module, changed


def mirrors() -> dict[str, list[str]]:
    """Module -> its test files, as paths from the root of the repository."""
    found: dict[str, list[str]] = tomllib.loads(MODULES.read_text())["mirrors"]
    return found


def equivalents() -> dict[Change, str]:
    """Change -> why it is none."""
    listed = tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])
    return {Change(one["module"], one["before"], one["after"]): one["reason"] for one in listed}
