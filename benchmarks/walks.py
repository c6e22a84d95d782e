"""How many modules a command passes: `python -m benchmarks.walks WAREHOUSE [--list]` counts those whose functions ran.

A module counts once a function of it is called; one that is merely imported does not, nor what runs while it is.
Nor does what the process of an untrusted query passes.
"""

import argparse
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import duckdb
from streamlit.testing.v1 import AppTest

from neurothek.cli.main import main as command
from tests.support.models import build
from tests.support.pages import open_page

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("neurothek", "catalog", "ingest", "queries", "dashboards")


class Walk:
    """Collects the modules of the package in the order in which calls enter them."""

    def __init__(self) -> None:
        self.modules: dict[str, None] = {}
        self._module_of: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Note the module of a call, unless an import makes it."""
        if event != "call":
            return
        name = frame.f_code.co_filename
        if name not in self._module_of:
            self._module_of[name] = _module(name)
        module = self._module_of[name]
        if module and module not in self.modules and not _is_importing(frame):
            self.modules[module] = None

    def follow(self, call: Callable[[], object]) -> None:
        """Run the call, and collect what it and its threads pass."""
        threading.setprofile(self)
        sys.setprofile(self)
        try:
            call()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def _module(filename: str) -> str:
    """The name of a module of the package; nothing for other files."""
    path = Path(filename).resolve()
    if not path.is_relative_to(ROOT):
        return ""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts) if parts[0] in PACKAGES else ""


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the frame is the body of an imported module, or called by one; pages are scripts, which are run."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and str(frame.f_globals.get("__name__", "")).startswith("neurothek"):
            return True
        frame = frame.f_back
    return False


def _run(*arguments: str) -> Callable[[Path], Walk]:
    def walked(path: Path) -> Walk:
        walk = Walk()
        walk.follow(lambda: _succeed([*arguments, "--warehouse", str(path)]))
        return walk

    return walked


def _succeed(arguments: list[str]) -> None:
    """Run a command; one that ends with an error would pass few modules."""
    code = command(arguments, standalone_mode=False)
    if code:
        sys.exit(f"neurothek {' '.join(arguments)} ended with exit code {code}")


def _neuron(path: Path) -> Walk:
    return _run("neuron", _address(path))(path)


def _page(path: Path) -> Walk:
    walk, address = Walk(), _address(path)
    pages: list[AppTest] = []
    walk.follow(lambda: pages.append(open_page(path, "neuron", neuron=address)))
    (page,) = pages
    if problems := [*page.exception, *page.error]:
        sys.exit(f"the page of {address} shows an error: {problems[0].value}")
    return walk


def _ingest(path: Path) -> Walk:
    with TemporaryDirectory() as folder:
        build(Path(folder) / "model", "opt")
        return _run("ingest", f"{folder}/model", "--job", "projections")(Path(folder) / "w.duckdb")


def _address(path: Path) -> str:
    """An address, read without the package: what it has checked once it does not check again."""
    with duckdb.connect(path, read_only=True) as connection:
        return str(connection.sql("select name || '/L0N0' from store.models order by name limit 1").fetchall()[0][0])


WALKS: dict[str, tuple[Callable[[Path], Walk], int]] = {
    "search": (_run("search", "school"), 20),
    "sql": (_run("sql", "select model, n_layers from models"), 18),
    "neuron": (_neuron, 22),
    "ingest": (_ingest, 45),
    "page": (_page, 35),
}
"""Each walk, and how many modules it may pass."""


def main() -> None:
    """Take each walk in a process of its own, since caches shorten the second; print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks", description=__doc__)
    parser.add_argument("warehouse", type=Path, help="a warehouse, such as that of `neurothek demo`")
    parser.add_argument("--list", action="store_true", help="name the modules in the order in which they are entered")
    parser.add_argument("--walk", choices=WALKS, action="append", help="only this one (repeatable)")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_this_process:
        (name,) = options.walk
        print("\n".join(["", "modules:", *WALKS[name][0](options.warehouse).modules]))
        return
    rows = [f"{'walk':<8} {'modules':>7} {'goal':>5}"]
    for name in options.walk or WALKS:
        arguments = [sys.executable, "-m", "benchmarks.walks", str(options.warehouse), "--walk", name]
        process = subprocess.run([*arguments, "--in-this-process"], stdout=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            sys.exit(process.returncode)
        modules = process.stdout.rpartition("\nmodules:\n")[2].splitlines()
        if options.list:
            print(f"{name}:", *modules, sep="\n  ")
        rows.append(f"{name:<8} {len(modules):>7} {WALKS[name][1]:>5}")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
