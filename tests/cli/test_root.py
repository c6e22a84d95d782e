"""How every command ends: in one line where it was written wrongly, whatever names it meets harmless to a terminal."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import neurothek
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.cli.main import Root
from tests.support import warehouse as made


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["models", "--formt", "csv"], "`neurothek models` has no option --formt; nearest: --format"),
        (["sql", "--fromat", "csv", "from models"], "`neurothek sql` has no option --fromat; nearest: --format"),
        (["sql", "from models", "--sekonds=3 4"], "`neurothek sql` has no option --sekonds; nearest: --seconds"),
        (["--quite", "models"], "`neurothek` has no option --quite"),
        (["serch", "school"], "there is no command serch; nearest: search"),
        (["neuron"], "missing argument 'ADDRESS'"),
        (["neuron", "a/L0N0", "b/L0N0"], "got unexpected extra argument (b/L0N0)"),
        (["search", "school", "--side", "huge"], "invalid value for '--side'"),
    ],
)
def test_what_was_written_wrongly_is_one_line(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(neurothek.main, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {told}")
    assert " --help`" in line


def test_a_word_of_a_stranger_cannot_write_on_the_terminal() -> None:
    """An option as an error quotes it, with what would clear the screen and what would turn the text around."""
    result = CliRunner().invoke(neurothek.main, ["models", "--a\x1b[2J\u202e"])
    assert "has no option --a\\x1b[2J\\u202e; see" in result.stderr
    assert result.stderr.rstrip("\n").isprintable()


EVIL = "evil\x1b]0;owned\x07\x1b[2J\u202ename\u2066"


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse whose names would write on the terminal."""
    path = tmp_path_factory.mktemp("strange") / "w.duckdb"
    made.create(path)
    with Warehouse(path).writer() as connection:
        connection.execute("update store.models set name = $1 || name where name = 'tiny-1m'", [EVIL])
        connection.execute("update store.corpora set name = $1 || name", [EVIL])
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["models"],
        ["corpora"],
        ["runs"],
        ["compare"],
        ["compare", "--corpus", EVIL],
        ["neuron", f"{EVIL}tiny-1m/L0N0"],
        ["neuron", f"{EVIL}tiny-1m/L99N0"],
        ["search", "school", "-n", "3"],
        ["search", "school", "-m", EVIL],
        ["search", EVIL],
        ["pin", f"{EVIL}tiny-1m", "--corpus", EVIL],
        ["remove", f"{EVIL}tiny-1m"],
        ["sql", f'select 1 as "{EVIL}", model from models'],
        ["sql", f'select "{EVIL}" from models'],
        ["sql", f"select error('{EVIL}')"],
        ["sql", f"from {EVIL}"],
        ["check"],
        ["schema", EVIL],
        ["ingest", EVIL],
        ["--" + EVIL],
        [EVIL],
    ],
    ids=lambda arguments: arguments[0].replace(EVIL, "evil") + str(len(arguments)),
)
def test_no_name_of_a_stranger_writes_on_the_terminal(strange: Path, arguments: list[str]) -> None:
    environment = {"NEUROTHEK_WAREHOUSE": str(strange), "COLUMNS": "200"}
    result = CliRunner().invoke(neurothek.main, arguments, env=environment, input="n\n")
    assert not isinstance(result.exception, UnicodeError)
    written = result.stdout + result.stderr
    assert written
    for line in written.split("\n"):
        assert line.isprintable(), line


@pytest.mark.parametrize("output_format", ["table", "csv", "json", "parquet"])
def test_an_answer_to_an_output_that_is_closed_is_an_error(tmp_path: Path, output_format: str) -> None:
    warehouse = neurothek.open(tmp_path / "w.duckdb").warehouse
    with warehouse.writer():
        pass
    before = warehouse.path.read_bytes()
    line = f"exec {sys.executable} -m neurothek models --format {output_format} --warehouse {warehouse.path}"
    # Not even the file that is opened next, the warehouse, is written to.
    assert subprocess.run(["bash", "-c", f"{line} <&- >&- 2>&-"], check=False).returncode == 2
    assert warehouse.path.read_bytes() == before
    told = subprocess.run(["bash", "-c", f"{line} >&-"], check=False, capture_output=True, text=True)
    assert told.returncode == 2
    assert told.stderr.startswith("Error: the answer could not be written: ")
    # What nobody asked to see may go nowhere.
    assert subprocess.run(["bash", "-c", f"{line} <&- 2>&-"], check=False, capture_output=True).returncode == 0


def ending(error: Exception) -> str:
    """What a command says whose body fails so."""

    @click.group(cls=Root)
    def group() -> None:
        pass

    @group.command()
    def fails() -> None:
        raise error

    result = CliRunner().invoke(group, ["fails"])
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libarrow.so: failed to map segment from shared object"),
        ImportError("libtorch.so: cannot create shared object descriptor: Cannot allocate memory", name="torch._C"),
    ],
)
def test_too_little_memory_is_a_sentence(error: Exception) -> None:
    line = ending(error)
    assert line.startswith("Error: there is not enough memory")
    assert "`ulimit -v`" in line


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'polars'", name="polars"),
        ImportError("cannot import name 'nothing' from 'polars' (/lib/polars/__init__.py)", name="polars"),
        ImportError("libgomp.so.1: cannot open shared object file: No such file or directory"),
        ImportError("/lib/_C.so: undefined symbol: _ZN3c10"),
        ImportError("/tmp/_C.so: failed to map segment from shared object: Operation not permitted"),
        ModuleNotFoundError("No module named 'cannot allocate memory'"),
        ImportError(),
    ],
    ids=str,
)
def test_what_cannot_be_imported_is_no_lack_of_memory(error: ImportError) -> None:
    line = ending(error)
    assert line.startswith(f"Error: a part of the installation is missing or does not fit the others ({error})")
    assert "memory" not in line.replace(str(error), "")
    assert "install neurothek again" in line


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a process is read, and limited, as Linux does")
def test_a_library_without_room_says_so_to_a_command() -> None:
    """The loader's own words, of a process that may have little more memory than Python itself takes."""
    code = (
        "import resource, sys; from neurothek.cli.main import _not_imported\n"
        "size = 1024 * int(next(line for line in open('/proc/self/status') if line.startswith('VmSize')).split()[1])\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 2**21, size + 2**21))\n"
        "try:\n    import _duckdb\n"
        "except ImportError as error:\n    print(_not_imported(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("there is not enough memory (")
