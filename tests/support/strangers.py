"""Files that a stranger made: an honest warehouse with one object of every kind that DuckDB's catalog knows."""

import mimetypes
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

SECRET = "what-no-warehouse-holds"

KINDS = {
    *("columns", "constraints", "functions", "indexes", "schemas", "sequences", "tables", "triggers", "types", "views"),
}
"""What a file can hold, as the functions `duckdb_KIND()` list it: `objects` has each of them.

Triggers are new in DuckDB 2.0, in files of its own storage version only, which a stranger may choose.
"""

OF_AN_INSTANCE = {
    *("approx_database_count", "available_metrics", "connection_count", "coordinate_systems", "databases"),
    *("dependencies", "dialects", "eviction_queues", "extension_repositories", "extensions", "external_file_cache"),
    *("external_resource_types", "external_resources", "grammar_extensions", "keywords", "log_contexts", "logs"),
    *("logs_parsed", "memory", "optimizers", "prepared_statements", "profiling_settings", "secret_type_parameters"),
    *("secret_types", "secrets", "settings", "table_sample", "temporary_files", "variables"),
}
"""What the other functions of that name list: nothing of a file."""


@dataclass(frozen=True)
class Canary:
    """A folder that must stay as it was: nothing in it is read, and nothing is written to it."""

    folder: Path

    @property
    def secret(self) -> Path:
        """A file whose content no answer may hold."""
        return self.folder / "secret.txt"

    def make(self) -> "Canary":
        self.folder.mkdir()
        self.secret.write_text(SECRET)
        self._age()
        return self

    def _age(self) -> None:
        # Whoever reads a file that is read for the first time since it was written leaves a later time of access.
        os.utime(self.secret, ns=(10**9, 2 * 10**9))

    def harm(self) -> str:
        """What was done to the folder since it was made; nothing, if all is well."""
        done = []
        if sorted(path.name for path in self.folder.iterdir()) != [self.secret.name]:
            done.append(f"it holds {sorted(path.name for path in self.folder.iterdir())}")
        if self.secret.stat().st_atime_ns != 10**9:
            done.append("its file was read")
        if self.secret.read_text() != SECRET:
            done.append("its file was changed")
        self._age()
        return ", ".join(done)


_CHANGING = ("os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate")
_LISTING = ("os.listdir", "os.scandir")
_STARTING = ("os.exec", "os.posix_spawn", "os.system", "socket.connect", "subprocess.Popen")
_WATCHES: list[Callable[[str, tuple[Any, ...]], None]] = []


def _folder_of(event: str, arguments: tuple[Any, ...]) -> str:
    """What a relative name is relative to: where a folder is deleted, its files go by name and its own number."""
    is_within = event in ("os.remove", "os.rmdir") and arguments[1] >= 0
    return os.readlink(f"/proc/self/fd/{arguments[1]}") if is_within else ""  # noqa: PTH115 - as it is told


@contextmanager
def watched(own: Path) -> Iterator[list[str]]:
    """What Python opens, changes and starts meanwhile beyond a folder: a list that fills.

    Python reads itself, its libraries and the caches of these tests. What DuckDB does is the canary's to notice.
    """
    if not hasattr(watched, "hook"):

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            for watch in _WATCHES:
                watch(event, arguments)

        # Hooks stay as long as the process does: one, which is idle while nobody watches.
        sys.addaudithook(hook)
        watched.hook = hook  # type: ignore[attr-defined]
    seen: list[str] = []
    caches = [os.environ[name] for name in ("XDG_CACHE_HOME", "HF_HOME")]
    writable = [*(os.path.realpath(one) for one in (str(own), *caches)), "/dev/null"]
    code: list[str] = [
        sys.prefix,
        sys.base_prefix,
        *(path for path in sys.path if path),
        "/proc",
        "/sys",
        "/usr/share",
        *(os.fspath(one) for one in mimetypes.knownfiles),
    ]
    readable = [*writable, *(os.path.realpath(one) for one in code), *code]

    # Found here: to find it opens files, under a lock. The other is the folder of what PyTorch compiles.
    spilled = tuple(f"{tempfile.gettempdir()}/{name}" for name in ("neurothek-", "torchinductor_"))

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        # A query that a person typed runs in a Python of its own; a name that the file has no model of is the hub's.
        is_hub = event == "socket.connect" and arguments[1] == ("127.0.0.1", 9)
        if event in _STARTING and arguments[0] != sys.executable and not is_hub:
            seen.append(f"{event} {arguments[:2]}")
        if event not in ("open", *_LISTING, *_CHANGING) or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        is_reading = event in _LISTING or (
            event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )
        for one in arguments[: 1 + (event in ("os.rename", "os.link"))]:
            # Links are not followed: that would list folders.
            path = os.path.abspath(os.path.join(_folder_of(event, arguments), os.fsdecode(one)))  # noqa: PTH100, PTH118
            is_code = "__pycache__" in path
            among = readable if is_reading or is_code else writable
            is_ours = any(path == one or path.startswith(f"{one}{os.sep}") for one in among)
            if not is_ours and not path.startswith(spilled):
                seen.append(f"{event} {path}")

    _WATCHES.append(watch)
    try:
        yield seen
    finally:
        _WATCHES.remove(watch)


def objects(canary: Canary) -> Mapping[str, Sequence[str]]:
    """Kind of object -> statements that put it into a file; what they would read and write lies in the canary."""
    reads = f"(select content from read_text('{canary.secret}'))"
    write = f"copy (select 1) to '{canary.folder / 'out.csv'}'"
    evil = f"x; {write}; --"
    name = evil.replace('"', '""')
    return {
        "macro called as a function of DuckDB": [f"create macro ln(x) as {reads}"],
        "macro called as an operator": [f'create macro "||"(x, y) as {reads}'],
        "table macro": [f"create macro range(x) as table select content as range from read_text('{canary.secret}')"],
        "macro over the catalog": [f"create macro duckdb_tables() as table from read_text('{canary.secret}')"],
        "macro elsewhere": ["create schema aside", f"create macro aside.lower(x) as {reads}"],
        "view in place of ours": [f"create or replace view main.models as select {reads} as model"],
        "view of ours that is told to be older": [
            f"create or replace view main.neurons as select {reads} as model",
            "update store.installed_views set sha256 = 'older' where name = 'neurons'",
        ],
        "view of nobody's": [f"create view main.mine as from read_text('{canary.secret}')"],
        "view that is told to be retired": [
            f'create view main."{name}" as select {reads} as a',
            f"insert into store.installed_views values ('{evil.replace(chr(39), chr(39) * 2)}', 'older')",
        ],
        "view without an end": [
            "create or replace view main.tokens as"
            " with recursive n(i) as (select 1 union all select i + 1 from n) select i::varchar as token from n"
        ],
        "table in place of a view": ["drop view main.neurons", "create table main.neurons (model varchar)"],
        "table of nobody's": ["create table main.ours as select 1 as a"],
        "table that is kept for no view": [f'create table store."kept_{name}" as select 1 as a'],
        "kept table with other columns": ["create or replace table store.kept_suppression as select 1 as a"],
        "view in place of a table": ["drop table store.pins", f"create view store.pins as select {reads} as model_id"],
        "computed column": [
            "create or replace table store.pins (model_id int, corpus_id int generated always as (model_id + 1))"
        ],
        "default": ["create sequence s", "alter table store.pins alter corpus_id set default nextval('s')"],
        "condition": [
            "create or replace table store.pins (model_id int not null, corpus_id int check (corpus_id < 0))"
        ],
        "more columns": ["alter table store.models add column more varchar"],
        "other types": ["alter table store.models alter n_layers type varchar"],
        "lost table": ["drop table store.runs"],
        "type": ["create type mood as enum ('a')"],
        "sequence": ["create sequence numbers"],
        "index": ["create index i on store.models (name)"],
        "trigger": [
            "create trigger t after update on store.models insert into store.installed_views values ('a', 'b')",
            "create trigger u before insert on store.installed_views delete from store.pins",
        ],
        "schema": [f'create schema "{name}"', f'create table "{name}".t as select 1 as a'],
        "schema of DuckDB's name": ["create schema temp", "create schema system"],
        "remark": [f"comment on table store.models is '{evil.replace(chr(39), chr(39) * 2)}'"],
    }


REFUSED = frozenset(
    {
        *(
            "macro called as a function of DuckDB",
            "macro called as an operator",
            "table macro",
            "macro over the catalog",
        ),
        *("macro elsewhere", "view in place of a table", "computed column", "default", "condition", "more columns"),
        *("other types", "lost table"),
    }
)
"""Kinds of which nothing is read: what is ours is not there, or something else could stand in for it."""

HEALED = frozenset(
    {
        *("view in place of ours", "view of ours that is told to be older", "view that is told to be retired"),
        *("view without an end", "kept table with other columns", "remark"),
    }
)
"""Kinds that look like an earlier release's: replaced by ours, without being read. Remarks are texts."""


def at_once(canary: Canary) -> Mapping[str, Sequence[str]]:
    """The same in few files: what is refused by itself, what is left alone in one, what is healed in another."""
    kinds = objects(canary)
    alone = {kind: statements for kind, statements in kinds.items() if kind in REFUSED}
    healed = [one for kind, statements in kinds.items() if kind in HEALED for one in statements]
    # A file with triggers is of another storage version.
    ours = REFUSED | HEALED | {"trigger"}
    left = [one for kind, statements in kinds.items() if kind not in ours for one in statements]
    return {**alone, "healed": healed, "left alone": left, "trigger": kinds["trigger"]}


def strangers(honest: Path, path: Path, statements: Sequence[str]) -> Path:
    """A copy of a warehouse in which somebody ran statements; triggers need a file of DuckDB's latest storage."""
    if any(statement.startswith("create trigger") for statement in statements):
        path.unlink(missing_ok=True)
        with duckdb.connect() as connection:
            connection.execute(f"attach '{honest}' as honest (read_only)")
            connection.execute(f"attach '{path}' as copy (storage_version 'v2.0.0')")
            connection.execute("copy from database honest to copy")
    else:
        path.write_bytes(honest.read_bytes())
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


TEXTS = (
    "'; drop table store.models; --" + "../../out" + '"x"" || y' + "\x1b[2J\x00<script>alert(1)</script>\n{{",
    "CANARY",
    "null",
    "",
)
"""What may stand in any column of text; CANARY is for the path of a folder, which stands for the source of weights."""

KEYS = {("models", "name"): "model_id", ("annotations", "annotation_id"): "if(rowid = 0, '', annotation_id)"}
"""Texts by which rows are known -> what they end in: two models of one name are refused, and rows that are there twice
are a test of their own. One annotation is known by the text alone."""


def of_text(honest: Path, path: Path, text: str) -> Path:
    """A copy of a warehouse with one text in all columns of text of all tables."""
    path.write_bytes(honest.read_bytes())
    with duckdb.connect(str(path)) as connection:
        columns = connection.execute(
            "select table_name, column_name from duckdb_columns() where schema_name = 'store'"
            " and data_type = 'VARCHAR' and not starts_with(table_name, 'kept_')"
        ).fetchall()
        for table, column in columns:
            key = KEYS.get((table, column))
            value = f"? || {key}" if key else "?"
            connection.execute(f'update store.{table} set "{column}" = {value}', [text])
    return path


def two_of_one_name(honest: Path, path: Path) -> Path:
    """A copy of a warehouse in which another model has the name of one."""
    renamed = "update store.models set name = 'tiny-1m' where name = 'tiny-2m'"
    return strangers(honest, path, [renamed])


def twice(honest: Path, path: Path, tables: Sequence[str]) -> Path:
    """A copy of a warehouse in which every row of some tables is there twice."""
    return strangers(honest, path, [f"insert into store.{table} from store.{table}" for table in tables])


@contextmanager
def no_warnings() -> Iterator[None]:
    """Strange objects are told; the tests look at what is done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
