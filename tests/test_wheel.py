"""The built wheel, installed elsewhere, builds the demo outside the checkout, and the README's examples run on it."""

import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).parents[1]

# One worker builds the demo once; the tests that look at it run beside it.
pytestmark = [pytest.mark.long, pytest.mark.xdist_group("demo")]

TOKENS = "3000"
"""Of each domain: enough for every table to have rows."""

Finished = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Installed:
    """The wheel's own command, in a folder of its own."""

    site: Path
    outside: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.site), "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}

    def run(self, *command: str | Path) -> Finished:
        return subprocess.run(
            command, cwd=self.outside, env=self.environment, check=True, capture_output=True, text=True
        )

    def neurothek(self, *arguments: str) -> Finished:
        return self.run(self.site / "bin" / "neurothek", *arguments)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        folder,
        ROOT,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (built,) = folder.glob("neurothek-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    site, outside = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("outside")
    command: list[str | Path] = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel]
    subprocess.run(command, check=True, capture_output=True)
    return Installed(site, outside)


@pytest.fixture(scope="session")
def demo(installed: Installed) -> Finished:
    return installed.neurothek("demo", "--tokens", TOKENS)


def test_the_wheel_carries_the_packages_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"neurothek"}
    assert any(name.endswith("views/neurons.sql") for name in names)
    assert "neurothek/queries/sql/cookbook.md" in names
    assert "neurothek/catalog/tables/neuron_facts.sql" in names
    assert all(f"neurothek/{package}/py.typed" in names for package in ("catalog", "dashboards", "ingest", "queries"))
    models = {name.split("/")[3] for name in names if name.endswith("model.safetensors")}
    assert {"mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m"} <= models


def test_a_source_archive_holds_each_file_once_and_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    archive: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path]
    subprocess.run(archive, cwd=ROOT, check=True, capture_output=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(packed) as held:
        held.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    models = list(source.rglob("mini-opt-0.7m/model.safetensors"))
    assert [model.relative_to(source).parts[:2] for model in models] == [("neurothek", "ingest")]
    again: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path]
    subprocess.run(again, cwd=source, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    assert set(zipfile.ZipFile(built).namelist()) == set(zipfile.ZipFile(wheel).namelist())


def test_it_lies_beside_packages_of_the_same_names(demo: Finished, installed: Installed, tmp_path: Path) -> None:
    for name in ("catalog", "dashboards", "ingest", "queries"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWNER = 'somebody else'\n")
    # Theirs come first, and are what is imported by these names.
    environment = {**installed.environment, "PYTHONPATH": f"{tmp_path}{os.pathsep}{installed.site}"}
    program = (
        "import queries, neurothek; print(queries.OWNER);"
        "print(neurothek.open('neurothek.duckdb').search('school', limit=1).neurons.height)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        cwd=installed.outside,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.split() == ["somebody", "else", "1"]
    assert demo.returncode == 0


def test_the_demo_runs_outside_the_checkout_and_compares_the_sizes(demo: Finished, installed: Installed) -> None:
    assert "share of dead neurons by depth" in demo.stdout
    assert all(f"mini-opt-{size}" in demo.stdout for size in ("0.7m", "2m", "5m"))
    assert "try next" in demo.stderr
    version = installed.neurothek("--version").stdout
    assert version.startswith("neurothek, version ")


def test_a_second_demo_says_that_everything_is_up_to_date(demo: Finished, installed: Installed) -> None:
    again = installed.neurothek("demo", "--tokens", TOKENS)
    assert again.stdout == demo.stdout
    assert "measured" not in again.stderr
    assert again.stderr.count("everything is up to date") == demo.stderr.count(": measured ")


def readme_commands() -> list[str]:
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("neurothek ")]


@pytest.mark.parametrize("command", readme_commands())
@pytest.mark.usefixtures("demo")
def test_the_readmes_commands_run(command: str, installed: Installed) -> None:
    answer = installed.neurothek(*shlex.split(command)[1:])
    # What only measures answers to a pipe with nothing, and to the person with what it did.
    assert "measured " in answer.stderr if " ingest " in command else answer.stdout.strip()


@pytest.mark.usefixtures("demo")
def test_the_readmes_python_runs(installed: Installed, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), flags=re.DOTALL)
    script = tmp_path / "example.py"
    script.write_text(code)
    installed.run(sys.executable, script)


@pytest.mark.usefixtures("demo")
def test_any_duckdb_client_opens_the_warehouse_under_another_name(installed: Installed) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"attach '{installed.outside / 'neurothek.duckdb'}' as mine (read_only)")
        rows = connection.execute("select model, count(*) from mine.main.neurons group by model").fetchall()
    assert {"mini-opt-0.7m", "mini-opt-2m", "mini-opt-5m"} <= {model for model, _ in rows}


# Views of every page that the jobs of text leave empty.
@pytest.mark.parametrize(
    "view",
    [
        *("shortcut_quality", "shortcut_fit", "store.sub_module_fits", "exit_tradeoff", "early_exits"),
        *("interventions", "steering", "worth_of_kinds", "attribute_shares", "continuations"),
        *("counterparts", "annotations"),
    ],
)
@pytest.mark.usefixtures("demo")
def test_no_page_of_the_demo_is_empty(view: str, installed: Installed) -> None:
    with duckdb.connect(str(installed.outside / "neurothek.duckdb"), read_only=True) as connection:
        assert connection.execute(f"select count(*) from {view}").fetchall()[0][0] > 0
