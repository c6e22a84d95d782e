"""Files that a stranger made: an honest warehouse with one object of every kind that DuckDB's catalog knows."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

SECRET = "what-no-warehouse-holds"


@dataclass(frozen=True)
class Canary:
    """A folder that must stay as it was: nothing in it is read, and nothing is written to it."""

    folder: Path

    @property
    def secret(self) -> Path:
        """A file whose content no answer may hold."""
        return self.folder / "secret.txt"

    def make(self) -> None:
        self.folder.mkdir()
        self.secret.write_text(SECRET)
        self._age()

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
    left = [one for kind, statements in kinds.items() if kind not in REFUSED | HEALED for one in statements]
    return {**alone, "healed": healed, "left alone": left}


def strangers(honest: Path, path: Path, statements: Sequence[str]) -> Path:
    """A copy of a warehouse in which somebody ran statements."""
    path.write_bytes(honest.read_bytes())
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@contextmanager
def no_warnings() -> Iterator[None]:
    """Strange objects are told; the tests look at what is done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
