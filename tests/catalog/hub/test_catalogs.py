"""Catalogs: published, opened where they lie and copied back, with the answers of the warehouse that they are of."""

import json
import math
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek import Neurothek
from neurothek.catalog.exchange.exports import store_tables
from neurothek.catalog.problems import Conflict, Invalid, NotFound, Refused, Unavailable
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.views.install import all_views

pytestmark = pytest.mark.long

OF_PATHS = (("models", "source"), ("corpora", "recipe"))
"""Columns of which no more than the last part of a path is published."""


def rows_in(warehouse: Neurothek, view: str) -> list[tuple[Any, ...]]:
    left_out = [column for name, column in OF_PATHS if name == view]
    rows = f"* exclude ({', '.join(left_out)})" if left_out else "*"
    with warehouse.reader() as connection:
        order = ", ".join(all_views()[view].key)
        return connection.execute(f"select {rows} from {view} order by {order}").fetchall()


def is_same_row(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return is_same(list(one), list(other))


def is_same(one: object, other: object) -> bool:
    """Equal, but for the last digits of sums, which several threads add up in any order."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


def differing(one: Neurothek, other: Neurothek) -> list[str]:
    """Views whose rows are others."""
    found = []
    for name in all_views():
        rows, there = rows_in(one, name), rows_in(other, name)
        if len(rows) != len(there) or not all(map(is_same_row, rows, there)):
            found.append(name)
    return found


def test_every_view_of_a_catalog_has_the_rows_of_the_warehouse(
    local: Neurothek, whole: Path, in_memory: MemoryFileSystem
) -> None:
    in_memory.put(str(whole), "/there", recursive=True)
    assert differing(local, neurothek.open(whole)) == []
    assert differing(local, neurothek.open("memory://there")) == []


def test_every_table_of_a_catalog_has_the_rows_of_the_warehouse(local: Neurothek, whole: Path) -> None:
    there = neurothek.open(whole)
    with local.reader() as connection:
        tables = store_tables(connection)
    assert len(tables) > 60
    for name, columns in tables.items():
        chosen = ", ".join(f'"{one}"' for one in columns if (name, one) not in OF_PATHS)
        with local.reader() as ours, there.reader() as theirs:
            expected = ours.execute(f"select {chosen} from store.{name} order by all").fetchall()
            assert theirs.execute(f"select {chosen} from store.{name} order by all").fetchall() == expected, name
    assert Warehouse(local.path).maps.exists() is False


def test_searches_and_pages_of_neurons_are_the_same(local: Neurothek, whole: Path) -> None:
    there = neurothek.open(whole)
    questions: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
        (("school",), {}),
        (("school", "bus"), {"side": "both"}),
        (("school",), {"where": "layer = 0"}),
    )
    for words, options in questions:
        ours, theirs = local.search(*words, **options, limit=20), there.search(*words, **options, limit=20)
        assert theirs.neurons.equals(ours.neurons)
        assert theirs.n_found == ours.n_found
        assert ours.neurons.height
    (address,) = local.search("school", limit=1).neurons["address"]
    assert repr(there.neuron(address)) == repr(local.neuron(address))
    assert there.search(like=address).neurons.equals(local.search(like=address).neurons)
    assert there.models().equals(local.models().with_columns(source=pl.col("source").str.split("/").list.last()))
    assert repr(there.compare()) == repr(local.compare())


def test_sql_of_people_answers_in_its_own_process(local: Neurothek, whole: Path, in_memory: MemoryFileSystem) -> None:
    in_memory.put(str(whole), "/there", recursive=True)
    for query in (
        "select address, top_tokens, frequency from neurons order by address",
        "select * from store.projections order by all",
    ):
        expected = local.ask(query).frame
        assert expected.height
        for place in (str(whole), "memory://there"):
            assert neurothek.open(place).ask(query).frame.equals(expected)


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_parquet('catalog://postings')",
        "select * from numbered.projections",
        "from 'catalog://postings'",
        "select * from read_text('/etc/hostname')",
        "from '/etc/hostname'",
        "from 'memory://there/manifest.json'",
        "copy (select 1) to 'catalog://postings'",
        "attach ':memory:' as other",
        "install httpfs",
        "set memory_limit = '1GB'",
        "select * from duckdb_settings()",
        "create table mine as select 1",
    ],
)
def test_sql_of_people_reads_nothing_but_the_catalog(query: str, whole: Path) -> None:
    with pytest.raises(neurothek.NeurothekError):
        neurothek.open(whole).ask(query)


def test_our_own_connection_reads_nothing_else_either(whole: Path, tmp_path: Path) -> None:
    """Not even where a statement of ours were a stranger's."""
    (tmp_path / "secret.csv").write_text("a\n1\n")
    for query in (
        f"from '{tmp_path / 'secret.csv'}'",
        f"from read_text('{whole / 'manifest.json'}')",
        "set global enable_external_access = true",
        "copy (select 1 as a) to 'catalog://postings'",
        f"copy (select 1 as a) to '{tmp_path / 'out.csv'}'",
        "from 'memory://there/manifest.json'",
        "create table main.mine as select 1",
    ):
        with pytest.raises(neurothek.NeurothekError), neurothek.open(whole).reader() as connection:
            connection.execute(query)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]


def test_a_copy_passes_every_check_and_answers_alike(local: Neurothek, whole: Path, bare: Path, tmp_path: Path) -> None:
    for folder in (whole, bare):
        copied = tmp_path / f"{folder.parent.name}.duckdb"
        neurothek.open(folder).copy(copied)
        report = neurothek.open(copied).check()
        before = {finding.law for finding in local.check().findings}
        assert [finding for finding in report.findings if finding.law not in before] == []
        assert differing(neurothek.open(folder), neurothek.open(copied)) == []


def test_what_writes_says_that_a_catalog_is_only_read(whole: Path, tmp_path: Path, local: Neurothek) -> None:
    there = neurothek.open(whole)
    model, corpus = there.runs().filter(pl.col("corpus").is_not_null())["model", "corpus"].row(0)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in whole.rglob("*"))
    calls = (
        lambda: there.pin(model, corpus=corpus),
        lambda: there.label(model, family="other"),
        lambda: there.rename(model, "other"),
        lambda: there.remove(model),
        lambda: there.export(tmp_path / "out"),
        lambda: there.import_(whole),
        lambda: there.import_foreign(whole, "neuronpedia"),
        lambda: there.merge(local.path),
        there.check,
        lambda: there.publish(to=tmp_path / "again"),
        lambda: there.annotate([{"address": f"{model}/L0N0", "concept": None}], annotator="anna"),
        lambda: there.ingest("mini-opt-0.7m", job="projections"),
        lambda: neurothek.open(local.path).merge(whole),
    )
    for call in calls:
        with pytest.raises(
            Refused, match=r"is a published catalog, which is only read; bring it into a file of your own"
        ):
            call()
    assert sorted((path.name, path.stat().st_mtime_ns) for path in whole.rglob("*")) == before
    assert list(tmp_path.iterdir()) == []


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_warehouse_makes_the_same_bytes(local: Neurothek, whole: Path, tmp_path: Path) -> None:
    local.publish(to=tmp_path / "again", with_texts=True, license="cc-by-4.0")
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file())
    assert files == sorted(
        path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file()
    )
    assert [
        str(file) for file in files if (whole / file).read_bytes() != (tmp_path / "again" / file).read_bytes()
    ] == []


def test_one_model_alone(local: Neurothek, tmp_path: Path) -> None:
    chosen = local.models()["model"][0]
    published = local.publish(to=tmp_path / "one", models=chosen, with_texts=True)
    assert published.models == (chosen,)
    there = neurothek.open(tmp_path / "one")
    assert there.models()["model"].to_list() == [chosen]
    assert set(there.sql("select distinct model from neurons")["model"]) == {chosen}
    assert there.runs().height == local.runs().filter(pl.col("model") == chosen, pl.col("other_model").is_null()).height
    neurothek.open(tmp_path / "one").copy(tmp_path / "one.duckdb")
    before = {finding.law for finding in local.check().findings}
    assert [one for one in neurothek.open(tmp_path / "one.duckdb").check().findings if one.law not in before] == []
    with pytest.raises(NotFound, match="there is no model tiny-9m"):
        local.publish(to=tmp_path / "none", models="tiny-9m")
    assert not (tmp_path / "none").exists()


def test_duckdb_alone_reads_the_tables_for_people(local: Neurothek, whole: Path) -> None:
    with duckdb.connect() as connection:
        n_rows = connection.execute(f"select count(*) from '{whole}/neurons/*.parquet'").fetchone()
        assert n_rows == (local.sql("select count(*) as n from neurons").item(),)
        words = connection.execute(
            f"select address from '{whole}/promotions/*.parquet' where word = 'school'"
        ).fetchall()
    assert len(words) == local.sql("select * from promotions where word = 'school'").height


def test_a_place_is_named_once_and_rightly(local: Neurothek, whole: Path, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="nothing says where to publish to"):
        local.publish()
    with pytest.raises(Invalid, match="both a dataset and --to"):
        local.publish("org/name", to=tmp_path / "out")
    with pytest.raises(Invalid, match="is no name of a dataset"):
        local.publish("name")
    with pytest.raises(Conflict, match="already exists and is not empty; choose a new folder for the catalog"):
        local.publish(to=whole)
    with pytest.raises(Invalid, match="only a dataset of the hub can be private"):
        local.publish(to=tmp_path / "out", private=True)
    with pytest.raises(Invalid, match="is no published catalog"):
        local.copy(tmp_path / "copy.duckdb")
    for wrong in ("hf://models/a/b", "hf://datasets/a", "s3://user:word@host/x", "zip://a::s3://b", "https://a@b/c"):
        with pytest.raises(Invalid, match="is no address of a catalog"):
            neurothek.open(wrong)
    with pytest.raises(Unavailable, match="there is no catalog at memory://nowhere"):
        neurothek.open("memory://nowhere").models()
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_measures_and_leaves_nothing(local: Neurothek, tmp_path: Path) -> None:
    before = sorted(path.name for path in local.path.parent.iterdir())
    published = local.publish("org/name", dry_run=True)
    assert published.n_bytes > 10_000
    assert sorted(path.name for path in local.path.parent.iterdir()) == before


def test_the_manifest_of_an_export_is_in_it(whole: Path) -> None:
    content = json.loads((whole / "manifest.json").read_text("utf-8"))
    assert content["format"] == "neurothek export"
    files = content["catalog"]["files"]
    assert {path.relative_to(whole).as_posix() for path in whole.rglob("*.parquet")} == files.keys()
    assert all(file["n_bytes"] == (whole / path).stat().st_size == file["ends"][-1] for path, file in files.items())


def test_views_and_tables_are_listed_alike(local: Neurothek, bare: Path) -> None:
    assert neurothek.open(bare).schema().equals(local.schema())
