"""A stranger's warehouse: whatever it holds, nothing of it is run, nothing beyond it is read or written."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from catalog.errors import NeurothekError
from catalog.store.warehouse import Warehouse
from catalog.tables.migrations import migrate
from queries.views import install
from tests.support import publications
from tests.support import warehouse as made
from tests.support.strangers import REFUSED, SECRET, Canary, at_once, no_warnings, objects, strangers

READS: Sequence[Sequence[str]] = (["models"], ["neuron", "tiny-1m/L0N0"])
"""What the default tests ask of every file."""

ALL: Sequence[Sequence[str]] = (
    *(["models"], ["corpora"], ["runs"], ["check"], ["claims"], ["compare"], ["views"], ["schema"]),
    *(["schema", "models"], ["schema", "mine"], ["views", "neurons", "--sql"], ["search", "school"]),
    *(["search", "--like", "tiny-1m/L0N0"], ["search", "school", "--where", "layer = 0"], ["neuron", "tiny-1m/L0N0"]),
    *(["neuron", "tiny-1m/L0N0", "--corpus", "text"], ["sql", "from neurons limit 1"], ["sql", "from mine"]),
    *(["sql", "select ln(2.0)"], ["sql", "from range(3)"], ["reproduce", "--plan"], ["annotate", "list"]),
    *(["pin", "tiny-1m", "--corpus", "text"], ["label", "tiny-1m", "--family", "other"], ["rename", "tiny-1m", "t"]),
    *(["export", "OUT"], ["merge", "HONEST"], ["verify", "tiny-2m"], ["remove", "tiny-2m", "--yes"]),
)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("honest") / "honest.duckdb"
    made.create(path)
    return path


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that was published as measurements are, and can be merged."""
    path = tmp_path_factory.mktemp("sound") / "sound.duckdb"
    publications.publish_everything(Warehouse(path, views=install))
    return path


@pytest.fixture
def canary(tmp_path: Path) -> Canary:
    made_here = Canary(tmp_path / "canary")
    made_here.make()
    return made_here


def run(path: Path, arguments: Sequence[str]) -> Result:
    return CliRunner().invoke(neurothek.main, [*arguments, "--warehouse", str(path)])


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def problems(result: Result, canary: Canary) -> list[str]:
    found = [canary.harm()] if canary.harm() else []
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        found.append(f"a traceback: {result.exception!r}")
    if SECRET in result.output:
        found.append("it tells the secret")
    return found


def test_the_canary_notices_who_reads_and_writes(canary: Canary) -> None:
    """The control: what the other tests look for would be seen."""
    assert canary.harm() == ""
    with duckdb.connect() as connection:
        connection.execute(f"from read_text('{canary.secret}')").fetchall()
        assert canary.harm() == "its file was read"
        connection.execute(f"copy (select 1) to '{canary.folder / 'out.csv'}'")
    assert "out.csv" in canary.harm()


def test_nothing_that_a_file_holds_is_run(honest: Path, canary: Canary, tmp_path: Path) -> None:
    expected = [run(honest, arguments).stdout for arguments in READS]
    wrong = []
    for kind, statements in at_once(canary).items():
        path = strangers(honest, tmp_path / "x.duckdb", statements)
        canary.harm()
        before = digest(path)
        for arguments, answer in zip(READS, expected, strict=True):
            result = run(path, arguments)
            wrong += [f"{kind}: {arguments[0]}: {one}" for one in problems(result, canary)]
            if kind in REFUSED:
                is_right = (result.exit_code, result.stderr[:7], result.stderr.count("\n")) == (2, "Error: ", 1)
            else:
                is_right = (result.exit_code, result.stdout) == (0, answer)
                is_right &= ("which neurothek did not make" in result.stderr) == (kind == "left alone")
            if not is_right:
                wrong.append(f"{kind}: {arguments[0]}: {result.exit_code} {result.output}")
        written = run(path, ["label", "tiny-1m", "--family", "other"])
        wrong += [f"{kind}: label: {one}" for one in problems(written, canary)]
        if (kind == "healed") != (written.exit_code == 0) or (kind != "healed" and digest(path) != before):
            wrong.append(f"{kind}: label: {written.exit_code} {written.output}")
    assert wrong == []


def test_definitions_that_an_earlier_release_kept_in_the_file_are_dropped_unread(
    canary: Canary, tmp_path: Path
) -> None:
    """What was run once: a row of the table of kept views, and one row less of those that were installed."""
    path = tmp_path / "x.duckdb"
    write = (
        f"select 1) limit 0; copy (from read_text('{canary.secret}')) to '{canary.folder / 'out.csv'}'; from (select 1"
    )
    with duckdb.connect(str(path)) as connection:
        migrate(connection, 22)
        connection.execute("insert into store.kept_views values (0, ?, 'model', 'models', ?, ?)", ["a", write, write])
        connection.execute("create table store.kept_a as select 'm' as model")
        connection.execute("create view main.models as from store.kept_a")
        connection.execute("insert into store.installed_views values ('models', 'older')")
        for table, rows in made.hand_made().rows.items():
            made.insert(connection, table, rows)
    result = run(path, ["models"])
    assert result.exit_code == 0, result.output
    assert problems(result, canary) == []
    assert "tiny-1m" in result.stdout
    with Warehouse(path, views=install).reader() as connection:
        tables = connection.execute(
            "select table_name from duckdb_tables() where table_name in ('kept_a', 'kept_views')"
        )
        assert tables.fetchall() == []


def test_a_file_that_cannot_be_written_is_read_by_our_definitions(
    honest: Path, canary: Canary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Warehouse, "_is_writable", lambda _: False)
    expected = [run(honest, arguments).stdout for arguments in READS]
    wrong = []
    path = strangers(honest, tmp_path / "x.duckdb", at_once(canary)["healed"])
    canary.harm()
    before = digest(path)
    for arguments, answer in zip(READS, expected, strict=True):
        result = run(path, arguments)
        wrong += problems(result, canary)
        if (result.exit_code, result.stdout) != (0, answer) or digest(path) != before:
            wrong.append(f"{arguments[0]}: {result.exit_code} {result.output}")
    assert wrong == []


def test_an_older_schema_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        migrate(connection, 22)
    monkeypatch.setattr(Warehouse, "_is_writable", lambda _: False)
    result = run(path, ["models"])
    assert result.exit_code == 2
    assert "was written by an earlier release and has not been brought up to date" in result.stderr


def test_a_partner_of_a_merge_is_read_by_our_definitions(sound: Path, canary: Canary, tmp_path: Path) -> None:
    wrong = []
    for kind, statements in at_once(canary).items():
        partner = strangers(sound, tmp_path / "partner.duckdb", statements)
        canary.harm()
        before = digest(partner)
        mine = tmp_path / "mine.duckdb"
        mine.unlink(missing_ok=True)
        result = run(mine, ["merge", str(partner), "--quiet"])
        wrong += [f"{kind}: {one}" for one in problems(result, canary)]
        if (result.exit_code == 2) != (kind in REFUSED) or digest(partner) != before:
            wrong.append(f"{kind}: {result.exit_code} {result.output}")
    assert wrong == []


TEXTS = (
    "'; drop table store.models; --",
    "../../out",
    '"x"" || y',
    "\x1b[2J\x00<script>alert(1)</script>\n",
    "{",
    "[]",
    "null",
    "",
)
"""What may stand in any column of text."""


@pytest.mark.long
@pytest.mark.parametrize("arguments", ALL, ids=" ".join)
def test_every_command_on_every_object(honest: Path, canary: Canary, tmp_path: Path, arguments: Sequence[str]) -> None:
    wrong = []
    for kind, statements in objects(canary).items():
        if kind == "view without an end" and arguments[0] == "schema":
            continue  # its columns are ours
        path = strangers(honest, tmp_path / "x.duckdb", statements)
        canary.harm()
        typed = [{"OUT": str(tmp_path / kind), "HONEST": str(honest)}.get(word, word) for word in arguments]
        result = run(path, typed)
        wrong += [f"{kind}: {one}" for one in problems(result, canary)]
        if kind in REFUSED and result.exit_code != 2 and arguments[0] != "views":
            wrong.append(f"{kind}: {result.exit_code} {result.output}")
    assert wrong == []


@pytest.mark.long
def test_every_text_of_the_store_is_only_text(honest: Path, canary: Canary, tmp_path: Path) -> None:
    """One hostile text at a time in all columns of text of all tables: answers or sentences, and nothing else."""
    wrong = []
    for number, text in enumerate(TEXTS):
        path = tmp_path / f"{number}.duckdb"
        path.write_bytes(honest.read_bytes())
        with duckdb.connect(str(path)) as connection:
            columns = connection.execute(
                "select table_name, column_name from duckdb_columns() where schema_name = 'store'"
                " and data_type = 'VARCHAR' and not starts_with(table_name, 'kept_')"
            ).fetchall()
            for table, column in columns:
                # Names differ: files in which they do not are told by `check`.
                value = "? || model_id" if (table, column) == ("models", "name") else "?"
                connection.execute(f'update store.{table} set "{column}" = {value}', [text])
        for arguments in ALL:
            typed = [
                {"OUT": str(tmp_path / f"out{number}"), "HONEST": str(honest)}.get(word, word) for word in arguments
            ]
            wrong += [f"{text!r}: {arguments}: {one}" for one in problems(run(path, typed), canary)]
    assert wrong == []


def test_python_asks_a_strangers_file_no_more_than_commands_do(honest: Path, canary: Canary, tmp_path: Path) -> None:
    wrong = []
    expected = repr(neurothek.open(honest).search("school"))
    assert "tiny-1m" in expected
    for kind, statements in at_once(canary).items():
        path = strangers(honest, tmp_path / "x.duckdb", statements)
        canary.harm()
        try:
            with no_warnings():
                is_answered = repr(neurothek.open(path).search("school")) == expected
        except NeurothekError:
            is_answered = False
        if canary.harm() or is_answered != (kind not in REFUSED):
            wrong.append(f"{kind}: {'answered' if is_answered else 'not answered'}")
    assert wrong == []
