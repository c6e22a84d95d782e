"""The reader's wheel, beside the libraries that it names alone, answers questions as the whole package does."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import duckdb
import pytest
from packaging.requirements import Requirement

import neurothek
from tests.support import ingests

pytestmark = pytest.mark.xdist_group("reader")

ROOT = Path(__file__).parents[1]

LEFT_OUT = ("torch", "transformers", "streamlit", "altair", "numpy", "scipy", "pyarrow", "tokenizers", "safetensors")

QUESTIONS = (
    ("search", "school"),
    ("search", "school", "--format", "json"),
    ("search", "--like", "opt/L1N3"),
    ("neuron", "opt/L1N3"),
    ("compare", "opt", "llama"),
    ("models",),
    ("views",),
    ("views", "neurons"),
    ("schema",),
    ("runs",),
    ("sql", "select address, frequency from neurons order by address limit 5"),
    ("search", "school", "--warehouse", "published"),
    ("sql", "select count(*) from neurons", "--warehouse", "published"),
    ("sql", "select address, top_tokens, bottom_tokens from neurons order by address", "--format", "csv"),
)
"""Commands whose answers need no weights."""

PYTHON = """
import json, sys
import neurothek
warehouse = neurothek.open(sys.argv[1])
found = warehouse.search("school", limit=3)
page = warehouse.neuron("opt/L1N3")
rows = warehouse.sql("select count(*) as n from neurons")
refused = {}
for name, ask in {
    "trace": lambda: warehouse.trace("opt", "the school"),
    "ingest": lambda: warehouse.ingest("opt"),
}.items():
    try:
        ask()
    except neurothek.NeurothekError as error:
        refused[name] = error.to_dict()
print(json.dumps({"neurons": found.neurons.height, "n": rows.item(), "refused": refused}))
"""


def settings(path: Path) -> dict[str, object]:
    project: dict[str, object] = tomllib.loads(path.read_text("utf-8"))["project"]
    return project


def closure(requirements: list[str]) -> set[str]:
    """Names of the distributions that these come with here."""
    names: set[str] = set()
    waiting = [Requirement(one) for one in requirements]
    while waiting:
        one = waiting.pop()
        if one.name in names or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        try:
            needed = distribution(one.name).requires or []
        except PackageNotFoundError:
            continue
        names.add(one.name)
        waiting += map(Requirement, needed)
    return names


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT / "reader", check=True, capture_output=True)
    (built,) = folder.glob("neurothek_reader-*.whl")
    return built


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's files and links to those of its libraries."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    for name in closure([*settings(ROOT / "reader" / "pyproject.toml")["dependencies"]]):  # type: ignore[misc]  # a list of texts
        of_library = distribution(name)
        for top in {file.parts[0] for file in of_library.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(of_library.locate_file(top))))
    return folder


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    ingests.measured_models(folder, ("opt", "llama"))
    neurothek.open(folder / "w.duckdb").publish(to=str(folder / "published"))
    # The reader has no libraries for weights: without them, all of the package answers from what is stored as well.
    for kind in ("opt", "llama"):
        (folder / kind / "model.safetensors").rename(folder / f"{kind}.safetensors")
    return folder / "w.duckdb"


def run(arguments: list[str], place: Path, warehouse: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"PYTHONPATH": str(place), "NEUROTHEK_WAREHOUSE": str(warehouse), "COLUMNS": "120"}
    # Without `site`, which would bring the libraries of this environment.
    command = [sys.executable, "-S", *arguments]
    return subprocess.run(command, cwd=warehouse.parent, env=environment, capture_output=True, text=True, check=False)


def whole(arguments: tuple[str, ...], warehouse: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NEUROTHEK_WAREHOUSE": str(warehouse), "COLUMNS": "120"}
    command = [sys.executable, "-m", "neurothek", *arguments]
    answer = subprocess.run(command, cwd=warehouse.parent, env=environment, capture_output=True, text=True, check=True)
    return answer.stdout


def test_it_is_the_same_package_without_weights(wheel: Path) -> None:
    files = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("neurothek/")}
    folders = {"neurothek": "neurothek", **{f"neurothek/{name}": name for name in ("ingest", "catalog", "queries")}}
    for inside, folder in folders.items():
        for source in (ROOT / folder).rglob("*.py"):
            name = source.relative_to(ROOT / folder).as_posix()
            if "__pycache__" not in name and not source.is_symlink():
                assert f"{inside}/{name}" in files
    assert not [name for name in files if name.endswith((".safetensors", ".pyc"))]
    assert wheel.stat().st_size < 3_000_000


def test_it_names_the_whole_package_s_version_and_fewer_libraries() -> None:
    reader, package = settings(ROOT / "reader" / "pyproject.toml"), settings(ROOT / "pyproject.toml")
    assert (reader["version"], reader["requires-python"]) == (package["version"], package["requires-python"])
    assert set(reader["dependencies"]) < set(package["dependencies"])  # type: ignore[call-overload]  # lists of texts
    assert not set(LEFT_OUT) & {re.sub(r"[-_.]+", "-", name) for name in closure([*reader["dependencies"]])}  # type: ignore[misc]


@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_answers_are_the_same(question: tuple[str, ...], site: Path, path: Path) -> None:
    answer = run(["-m", "neurothek", *question], site, path)
    assert (answer.returncode, answer.stderr.count("Traceback")) == (0, 0), answer.stderr
    assert answer.stdout == whole(question, path)


@pytest.mark.parametrize(
    "command", [("trace", "opt", "the school"), ("ingest", "opt"), ("dashboard", "--no-browser"), ("verify", "opt")]
)
def test_what_is_left_out_is_one_sentence_with_the_way_out(command: tuple[str, ...], site: Path, path: Path) -> None:
    answer = run(["-m", "neurothek", *command], site, path)
    assert answer.returncode == 2
    (line,) = answer.stderr.strip().splitlines()
    assert re.fullmatch(
        r"Error: this needs \w+, which neurothek-reader leaves out; `pip install neurothek` brings .*", line
    )


def test_an_export_without_pyarrow_is_the_same(site: Path, path: Path, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    answer = run(["-m", "neurothek", "export", str(theirs)], site, path)
    assert answer.returncode == 0, answer.stderr
    neurothek.open(path).export(ours)
    files = sorted(file.relative_to(ours) for file in ours.rglob("*.parquet"))
    assert files == sorted(file.relative_to(theirs) for file in theirs.rglob("*.parquet"))
    with duckdb.connect() as connection:
        for file in files:
            queries = [f"from '{folder / file}'" for folder in (ours, theirs)]
            shapes = [connection.execute(f"describe {query}").fetchall() for query in queries]
            assert shapes[0] == shapes[1], file
            rows = [connection.execute(query).fetchall() for query in queries]
            assert rows[0] == rows[1] or repr(rows[0]) == repr(rows[1]), file


def test_files_of_parquet_are_an_extra(site: Path, path: Path) -> None:
    """A catalog that the hub shows has pages and row groups that pyarrow alone writes."""
    answer = run(["-m", "neurothek", "publish", "--to", "again"], site, path)
    assert answer.returncode == 2
    assert "neurothek-reader[export]" in answer.stderr
    assert not (path.parent / "again").exists()


def test_python_asks_in_the_same_way(site: Path, path: Path) -> None:
    answer = run(["-c", PYTHON, str(path)], site, path)
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert found["neurons"] == 3
    assert found["n"] > 0
    assert {(one["what"], one["why"]) for one in found["refused"].values()} == {
        ("module", "neurothek-reader is installed")
    }
