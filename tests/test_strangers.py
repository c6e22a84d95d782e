"""A stranger's warehouse: whatever it holds, nothing of it is run, nothing beyond it is read or written."""

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
import duckdb
import pytest
from click.testing import CliRunner, Result

import neurothek
from neurothek import Neurothek
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store import schema
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.catalog.tables import versions
from neurothek.queries.explain.plans import ExplanationPlan
from neurothek.queries.search.question import Question
from neurothek.queries.views import install
from tests.support import publications
from tests.support import warehouse as made
from tests.support.foreign import feature, write_neuronpedia
from tests.support.strangers import (
    KINDS,
    OF_AN_INSTANCE,
    REFUSED,
    SECRET,
    TEXTS,
    Canary,
    at_once,
    no_warnings,
    objects,
    of_text,
    strangers,
    twice,
    two_of_one_name,
    watched,
)

NOBODY = ("--endpoint", "http://127.0.0.1:9", "--model-name", "any")
"""Where no server answers."""

READS: Sequence[Sequence[str]] = (["models"], ["neuron", "tiny-1m/L0N0"])
"""What the default tests ask of every file."""

ALL: Sequence[Sequence[str]] = (
    *(["models"], ["corpora"], ["runs"], ["check"], ["claims"], ["compare"], ["views"], ["schema"]),
    *(["schema", "models"], ["schema", "mine"], ["views", "neurons", "--sql"], ["search", "school"]),
    *(["search", "--like", "tiny-1m/L0N0"], ["search", "school", "--where", "layer = 0"], ["neuron", "tiny-1m/L0N0"]),
    *(["neuron", "tiny-1m/L0N0", "--corpus", "text"], ["sql", "from neurons limit 1"], ["sql", "from mine"]),
    *(["sql", "select ln(2.0)"], ["sql", "from range(3)"], ["reproduce", "--plan"], ["annotate", "list"]),
    *(["pin", "tiny-1m", "--corpus", "text"], ["label", "tiny-1m", "--family", "other"], ["rename", "tiny-1m", "t"]),
    *(
        ["publish", "--to", "OUT"],
        ["copy", "HONEST", "OUT"],
        ["export", "OUT"],
        ["merge", "HONEST"],
        ["verify", "tiny-2m"],
        ["remove", "tiny-2m", "--yes"],
    ),
    *(["trace", "tiny-1m", "school"], ["switch", "tiny-1m", "school", "L0N0"], ["ingest", "tiny-1m", "--plan"]),
    *(["intervene", "tiny-1m", "--where", "layer = 0"], ["annotate", "tiny-1m", "--rules"], ["import", "OUT"]),
    ["import", "OUT", "--from", "neuronpedia", "--model", "tiny-1m"],
    *(["trace", "tiny-1m", "school", "--toward", "bus"], ["trace", "tiny-1m", "school", "--instead", "bus"]),
    *(["contrast", "tiny-1m", "--keep", "mine"], ["contrast", "tiny-1m", "--a", "builtin:questions", "--b", "OUT"]),
    *(["explain", "tiny-1m", "--where", "layer = 0", *NOBODY, "--yes"], ["search", "--explained", "school"]),
)

NO_WAREHOUSE = {"dashboard", "demo", "golden", "mcp", "train"}
"""Commands that read none, make their own, or run until they are stopped: pages and tools are asked by themselves."""


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
    return Canary(tmp_path / "canary").make()


def run(path: Path, arguments: Sequence[str]) -> Result:
    with watched(path.parent) as seen:
        result = CliRunner().invoke(neurothek.main, [*arguments, "--warehouse", str(path)])
    if seen:
        result.exception = AssertionError(f"beyond its folder: {seen}")
    return result


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


def test_the_watch_notices_what_python_does(tmp_path: Path) -> None:
    """The other control."""
    (tmp_path / "own").mkdir()
    with watched(tmp_path / "own") as seen:
        (tmp_path / "own" / "inner").mkdir()
        (tmp_path / "own" / "inner" / "a").write_text("a")
        # By its name and the number of its folder.
        shutil.rmtree(tmp_path / "own" / "inner")
        assert seen == []
        (tmp_path / "b").write_text("b")
        (tmp_path / "b").unlink()
        list(tmp_path.iterdir())
        with suppress(OSError):
            Path("/etc/hostname").read_text()
    done = ["open /b", "os.remove /b", "os.listdir ", "open /etc/hostname"]
    assert [one.replace(str(tmp_path), "") for one in seen] == done


def test_every_kind_of_object_is_made(canary: Canary) -> None:
    """A kind that a later DuckDB adds to its catalog fails here first."""
    with duckdb.connect() as connection:
        listed = connection.execute(
            "select distinct function_name[8:] from duckdb_functions() where starts_with(function_name, 'duckdb_')"
        ).fetchall()
    assert {kind for (kind,) in listed} == KINDS | OF_AN_INSTANCE
    said = " ".join(f"{kind} {statement}" for kind, lines in objects(canary).items() for statement in lines)
    words = {"constraints": "check (", "functions": "create macro", "indexes": "create index"}
    missing = [kind for kind in KINDS if words.get(kind, kind.removesuffix("s")) not in said]
    assert missing == []


def test_every_command_is_asked() -> None:
    context = click.Context(neurothek.main)
    assert {arguments[0] for arguments in ALL} | NO_WAREHOUSE == set(neurothek.main.list_commands(context))


def test_a_trigger_of_a_file_would_run(honest: Path, canary: Canary, tmp_path: Path) -> None:
    """The control: what keeps it from running is that nothing is written."""
    path = strangers(honest, tmp_path / "x.duckdb", objects(canary)["trigger"])
    with duckdb.connect(str(path)) as connection:
        connection.execute("update store.models set family = 'other'")
        assert connection.execute("from store.installed_views where name = 'a'").fetchall() == [("a", "b")]


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
                is_right &= ("which neurothek did not create" in result.stderr) == (kind != "healed")
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
    """A view that reads the file of the canary, and rows that were kept of one that no release has any more."""
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)) as connection:
        schema.create(connection)
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
        tables = connection.execute("select table_name from duckdb_tables() where table_name = 'kept_a'")
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
        schema.create(connection)
    monkeypatch.setattr(versions, "VERSION", versions.VERSION + 1)
    monkeypatch.setattr(Warehouse, "_is_writable", lambda _: False)
    result = run(path, ["models"])
    assert result.exit_code == 2
    assert "was written by an earlier release and has not been upgraded" in result.stderr


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


@dataclass(frozen=True)
class Call:
    """What a call from Python is given: the warehouse, one of its models, an honest warehouse and a new folder."""

    door: Neurothek
    model: str
    honest: Path
    out: Path

    @property
    def address(self) -> str:
        return f"{self.model}/L0N0"


def planned_explanations(call: Call) -> ExplanationPlan:
    return call.door.plan_explanations(call.model, endpoint=NOBODY[1], model_name="any", where="layer = 0")


CALLS: Mapping[str, Callable[[Call], object]] = {
    "sql": lambda call: call.door.sql("from neurons limit 3"),
    "ask": lambda call: call.door.ask("select * from mine, neurons limit 3"),
    "explain": lambda call: call.door.explain("select model, ln(avg(frequency) + 1) from neurons group by model"),
    "search": lambda call: call.door.search("school", where="layer >= 0"),
    "answer": lambda call: call.door.answer(Question(words=("school",)), like=call.address),
    "neuron": lambda call: call.door.neuron(call.address, show_all=True),
    "compare": lambda call: call.door.compare(),
    "claims": lambda call: call.door.claims(call.model),
    "score": lambda call: call.door.score("school"),
    "shortcut": lambda call: call.door.shortcut(call.model, state=0),
    "trace": lambda call: call.door.trace(call.model, "school"),
    "trace_grid": lambda call: call.door.trace_grid(call.model, "school"),
    "activations": lambda call: call.door.activations(call.address, "school"),
    "switch": lambda call: call.door.switch(call.model, "school", "L0N0"),
    "switch_together": lambda call: call.door.switch_together(call.model, "school", "L0N0", "L1N1"),
    "contrast": lambda call: call.door.contrast(call.model, ["school", "bus"], ["tea", "coffee"]),
    "plan_explanations": planned_explanations,
    "explain_neurons": lambda call: call.door.explain_neurons(planned_explanations(call)),
    "explained": lambda call: call.door.explained("school"),
    "attribute": lambda call: call.door.attribute(call.model, "school", instead=" bus"),
    "ingest": lambda call: call.door.ingest(call.model),
    "plan": lambda call: call.door.plan(call.model),
    "lacking": lambda call: call.door.lacking("voita"),
    "verify": lambda call: call.door.verify(call.model),
    "plan_intervention": lambda call: call.door.plan_intervention(call.model, where="layer = 0"),
    "run_intervention": lambda call: call.door.run_intervention(
        call.door.plan_intervention(call.model, where="layer = 0")
    ),
    "draw_neuron": lambda call: call.door.draw_neuron(call.door.neuron(call.address), call.out.with_suffix(".png")),
    "draw_comparison": lambda call: call.door.draw_comparison(call.door.compare(), call.out),
    "annotate": lambda call: call.door.annotate([{"address": call.address, "concept": None}], annotator="anna"),
    "annotate_by_rules": lambda call: call.door.annotate_by_rules(call.model),
    "reproduce": lambda call: call.door.reproduce("geva", call.model, to=call.out),
    "export": lambda call: call.door.export(call.out),
    "publish": lambda call: call.door.publish(to=call.out, with_texts=True),
    "copy": lambda call: call.door.copy(call.out.with_suffix(".duckdb")),
    "import_": lambda call: call.door.import_(call.out),
    "import_foreign": lambda call: call.door.import_foreign(
        write_neuronpedia(call.out, call.model, [feature(call.model, 0, 0)]), "neuronpedia"
    ),
    "label": lambda call: call.door.label(call.model, family="other"),
    "merge": lambda call: call.door.merge(call.honest),
    "models": lambda call: call.door.models(),
    "corpora": lambda call: call.door.corpora(),
    "runs": lambda call: call.door.runs(),
    "schema": lambda call: (call.door.schema(), call.door.schema("neurons")),
    "check": lambda call: call.door.check(),
    "pin": lambda call: call.door.pin(call.model, corpus="builtin"),
    "rename": lambda call: call.door.rename(call.model, "other"),
    "remove": lambda call: call.door.remove(call.model, job="activity"),
    "shown": lambda call: (call.door._repr_html_(), repr(call.door.compare())),
}
"""Every call from Python, and how a warehouse shows itself in a notebook."""


def test_every_call_from_python_is_made() -> None:
    public = {name for name in dir(Neurothek) if not name.startswith("_")} - {"reader", "warehouse", "at", "address"}
    assert set(CALLS) == public | {"shown"}


def harm_of_calls(path: Path, canary: Canary, honest: Path, names: Sequence[str], *, refused: bool | None) -> list[str]:
    """What calls did that they must not do to a copy of a file, each to a new one."""
    content, wrong = path.read_bytes(), []
    model = "tiny-1m"
    partner = path.with_name("partner.duckdb")
    door = neurothek.open(path)
    with suppress(NeurothekError), no_warnings():
        model = door.sql("select model from models order by all limit 1")["model"][0]
    for number, name in enumerate(names):
        # As it came: to ask for the name brought it up to date.
        path.write_bytes(content)
        partner.write_bytes(honest.read_bytes())
        canary.harm()
        problem, said = "", ""
        with watched(path.parent) as seen, no_warnings():
            try:
                said = repr(CALLS[name](Call(door, model, partner, path.parent / f"out-{number}")))
            except NeurothekError as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no sentence
                wrong.append(f"{name}: a traceback: {error!r}")
        wrong += [f"{name}: {one}" for one in (*seen, canary.harm()) if one]
        if SECRET in said + problem:
            wrong.append(f"{name}: it tells the secret")
        if refused and not problem and name not in ("ingest", "shown"):
            wrong.append(f"{name}: answered")
    return wrong


SOME = ("search", "sql", "shown", "label")


@pytest.mark.long
def test_python_runs_nothing_of_a_strangers_file(honest: Path, canary: Canary, tmp_path: Path) -> None:
    wrong = []
    for kind, statements in at_once(canary).items():
        path = strangers(honest, tmp_path / "x.duckdb", statements)
        found = harm_of_calls(path, canary, honest, SOME[: 1 if kind in REFUSED else None], refused=kind in REFUSED)
        wrong += [f"{kind}: {one}" for one in found]
    assert wrong == []


def test_two_models_of_one_name_are_told(honest: Path, canary: Canary, tmp_path: Path) -> None:
    """No release makes them, and each would answer for the other."""
    path = two_of_one_name(honest, tmp_path / "x.duckdb")
    before, wrong = digest(path), []
    for arguments in (*READS, ["compare"], ["check"], ["merge", str(honest)], ["rename", "tiny-1m", "t"]):
        result = run(path, arguments)
        wrong += problems(result, canary)
        if result.exit_code != 2 or "it contains two models named tiny-1m" not in result.stderr:
            wrong.append(f"{arguments[0]}: {result.exit_code} {result.output}")
    result = run(tmp_path / "mine.duckdb", ["merge", str(path)])
    assert "it contains two models named tiny-1m" in result.stderr
    assert (wrong, digest(path)) == ([], before)
    with pytest.raises(NeurothekError, match="it contains two models named tiny-1m"):
        neurothek.open(path).compare()


BY_KEY = ("corpora", "sequences", "tokenizers", "tokens", "runs", "pins", "token_counts")
"""Tables whose rows others name."""


@pytest.mark.long
def test_rows_that_are_there_twice_give_no_traceback(honest: Path, canary: Canary, tmp_path: Path) -> None:
    wrong = []
    with duckdb.connect(str(honest), read_only=True) as connection:
        listed = connection.execute("select table_name from duckdb_tables() where schema_name = 'store'").fetchall()
    others = {table for (table,) in listed if not table.startswith("kept_")} - {*BY_KEY, "models"}
    for tables in (BY_KEY, sorted(others)):
        path = twice(honest, tmp_path / "x.duckdb", tables)
        wrong += [f"{tables[0]}: {one}" for one in harm_of_commands(path, canary, honest, ALL, refused=None)]
    assert wrong == []


@pytest.mark.long
def test_every_call_from_python_in_turn(honest: Path, canary: Canary, tmp_path: Path) -> None:
    """Each call meets a file that is refused, one that is not, and two texts."""
    wrong = []
    kinds = at_once(canary)
    for among in (sorted(REFUSED), sorted(kinds.keys() - REFUSED)):
        for number, kind in enumerate(among):
            path = strangers(honest, tmp_path / "x.duckdb", kinds[kind])
            names = [*CALLS][number :: len(among)]
            found = harm_of_calls(path, canary, honest, names, refused=kind in REFUSED)
            wrong += [f"{kind}: {one}" for one in found]
    for number, text in enumerate(TEXTS):
        path = of_text(honest, tmp_path / "x.duckdb", text.replace("CANARY", str(canary.folder)))
        found = harm_of_calls(path, canary, honest, [*CALLS][number % 2 :: 2], refused=None)
        wrong += [f"{text!r}: {one}" for one in found]
    assert wrong == []


def harm_of_commands(
    path: Path, canary: Canary, honest: Path, asked: Sequence[Sequence[str]], *, refused: bool | None
) -> list[str]:
    """What commands did that they must not do to a copy of a file, each to a new one."""
    content, wrong = path.read_bytes(), []
    partner = path.with_name("partner.duckdb")
    for number, arguments in enumerate(asked):
        path.write_bytes(content)
        partner.write_bytes(honest.read_bytes())
        canary.harm()
        out = str(path.parent / f"out-{number}")
        result = run(path, [{"OUT": out, "HONEST": str(partner)}.get(word, word) for word in arguments])
        wrong += [f"{' '.join(arguments)}: {one}" for one in problems(result, canary)]
        if refused and result.exit_code != 2 and arguments[0] != "views":
            wrong.append(f"{' '.join(arguments)}: {result.exit_code} {result.output}")
    return wrong


@pytest.mark.long
@pytest.mark.parametrize(
    "in_full", [pytest.param(False, id="in turn"), pytest.param(True, id="in full", marks=pytest.mark.series)]
)
def test_every_command_on_objects(honest: Path, canary: Canary, tmp_path: Path, *, in_full: bool) -> None:
    """Every command on objects with which files are read, in turn or on all; refused are files at one door: in turn."""
    wrong = []
    kinds = at_once(canary)
    refused, read = sorted(REFUSED), sorted(kinds.keys() - REFUSED)
    for kind, statements in kinds.items():
        alike = refused if kind in REFUSED else read
        asked = ALL if in_full and kind in read else ALL[alike.index(kind) :: len(alike)]
        path = strangers(honest, tmp_path / "x.duckdb", statements)
        wrong += [f"{kind}: {one}" for one in harm_of_commands(path, canary, honest, asked, refused=kind in REFUSED)]
    assert wrong == []


@pytest.mark.long
def test_every_text_of_the_store_is_only_text(honest: Path, canary: Canary, tmp_path: Path) -> None:
    """One hostile text at a time in all columns of text, two for each command: answers or sentences, nothing else."""
    wrong = []
    for number, text in enumerate(TEXTS):
        path = of_text(honest, tmp_path / "x.duckdb", text.replace("CANARY", str(canary.folder)))
        asked = ALL[number % 2 :: 2]
        wrong += [f"{text!r}: {one}" for one in harm_of_commands(path, canary, honest, asked, refused=None)]
    assert wrong == []
