"""Catalogs of strangers: nothing runs, nothing is read or asked outside, and what is wrong is one sentence."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import neurothek
from neurothek import Neurothek
from neurothek.catalog.hub import catalog
from neurothek.catalog.hub.published import MOST_BYTES
from neurothek.catalog.problems import NeurothekError, Unreadable
from neurothek.queries.names.models import choose_models
from neurothek.queries.sql.processes import Limits

pytestmark = pytest.mark.long

POSTINGS = "tables/postings/rows.parquet"


@pytest.fixture
def theirs(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A catalog to change; nothing is remembered of one that lay at the same path before."""
    monkeypatch.setattr(catalog, "_OPENED", {})
    return shutil.copytree(whole, tmp_path / "theirs")


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = folder / "manifest.json"
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


def put(folder: Path, path: str, content: bytes) -> None:
    """Another file in the place of one, with a manifest that fits."""
    (folder / path).write_bytes(content)

    def fit(manifest: dict[str, Any]) -> None:
        manifest["catalog"]["files"][path] |= {"n_bytes": len(content), "ends": [len(content)]}

    changed(folder, fit)


def rename_path(to: str) -> Callable[[dict[str, Any]], None]:
    def change(manifest: dict[str, Any]) -> None:
        manifest["tables"]["postings"]["files"][0]["path"] = to
        manifest["catalog"]["files"][to] = manifest["catalog"]["files"][POSTINGS]

    return change


def set_part(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest["catalog"]["files"][POSTINGS].update(fields)


def replace_by(**fields: object) -> Callable[[dict[str, Any]], None]:
    return lambda manifest: manifest.update(fields)


MANIFESTS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "an absolute path": rename_path("/etc/hostname"),
    "a path out of the folder": rename_path("../../etc/hostname"),
    "another host": rename_path("https://127.0.0.1:9/rows.parquet"),
    "another table's file": rename_path("tables/models/rows.parquet"),
    "a pattern": rename_path("tables/*/rows.parquet"),
    "a size of a billion billion": set_part(n_bytes=10**18, ends=[10**18]),
    "a size below none": set_part(n_bytes=-1, ends=[-1]),
    "parts beyond the end": set_part(ends=[10**9]),
    "parts that go back": set_part(ends=[50, 20]),
    "parts of text": set_part(ends="1"),
    "rows of a billion billion billion": lambda manifest: manifest["tables"]["postings"].update(n_rows=10**27),
    "rows without a file": lambda manifest: manifest["tables"]["postings"].update(files=[]),
    "no tables": replace_by(tables=[]),
    "no files": lambda manifest: manifest["catalog"].update(files={}),
    "a name that is SQL": lambda manifest: manifest["tables"].update(
        {"x'; drop table y; --": manifest["tables"]["postings"]}
    ),
    "a matrix elsewhere": replace_by(maps=["shortcuts/../../../etc/hostname"]),
    "a model that is no text": lambda manifest: manifest["catalog"].update(models=[{}]),
    "something else": replace_by(format="something else"),
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_a_manifest_that_is_not_ours_is_refused(kind: str, theirs: Path, tmp_path: Path) -> None:
    changed(theirs, MANIFESTS[kind])
    with pytest.raises(Unreadable, match=r"cannot be read as a catalog: its manifest.json is (damaged|of something)"):
        neurothek.open(theirs).models()
    with pytest.raises(NeurothekError):
        neurothek.open(theirs).copy(tmp_path / "copy.duckdb")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["theirs"]


def test_a_manifest_without_end_or_bottom_is_refused(theirs: Path) -> None:
    for text in (b"[" * 100_000, b"x" * (MOST_BYTES + 2), b"\xff", b"{}", b'{"schema_version": NaN}'):
        (theirs / "manifest.json").write_bytes(text)
        with pytest.raises(Unreadable, match="cannot be read as a catalog: its manifest"):
            neurothek.open(theirs).models()


@pytest.mark.parametrize(("version", "what"), [(10_000, "a newer neurothek"), (1, "an earlier neurothek")])
def test_another_schema_is_told(version: int, what: str, theirs: Path) -> None:
    changed(theirs, replace_by(schema_version=version))
    with pytest.raises(Unreadable, match=what):
        neurothek.open(theirs).models()


def test_links_lead_nowhere(theirs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.parquet"
    shutil.copyfile(theirs / POSTINGS, secret)
    (theirs / POSTINGS).unlink()
    (theirs / POSTINGS).symlink_to(secret)
    with pytest.raises(Unreadable, match=f"its {POSTINGS} is a link"):
        neurothek.open(theirs).sql("select count(*) from store.postings")
    shutil.move(theirs / "tables" / "models", tmp_path / "models")
    (theirs / "tables" / "models").symlink_to(tmp_path / "models")
    with pytest.raises(Unreadable, match="is a link, or lies behind one"):
        neurothek.open(theirs).models()


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(theirs: Path) -> None:
    (theirs / POSTINGS).unlink()
    os.mkfifo(theirs / POSTINGS)
    with pytest.raises(Unreadable, match=f"its {POSTINGS} is no file"):
        neurothek.open(theirs).search("school")


def test_a_missing_file_is_named(theirs: Path, tmp_path: Path) -> None:
    (theirs / POSTINGS).unlink()
    assert neurothek.open(theirs).models().height
    asks: tuple[Callable[[Neurothek], object], ...] = (
        lambda there: there.search("school"),
        lambda there: there.ask("select * from promotions"),
        lambda there: there.copy(tmp_path / "copy.duckdb"),
    )
    for ask in asks:
        with pytest.raises(Unreadable, match=f"its {POSTINGS} is missing"):
            ask(neurothek.open(theirs))
    assert not (tmp_path / "copy.duckdb").exists()


def test_a_copy_of_what_is_damaged_names_the_catalog(theirs: Path, tmp_path: Path) -> None:
    path = theirs / "tables/models/rows.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Unreadable) as told:
        neurothek.open(theirs).copy(tmp_path / "copy.duckdb")
    assert str(told.value).startswith(f"{theirs} cannot be read as a catalog: tables/models/rows.parquet was changed")
    assert not (tmp_path / "copy.duckdb").exists()


def test_damage_is_not_blamed_on_a_query(theirs: Path, tmp_path: Path) -> None:
    content = (theirs / POSTINGS).read_bytes()
    refusals = []
    for number, place in enumerate([0.02, 0.1, 0.3, 0.5, 0.7, 0.9]):
        folder = shutil.copytree(theirs, tmp_path / f"damaged-{number}")
        damaged = bytearray(content)
        begin = 4 + int(place * (len(content) - 2_000))
        damaged[begin : begin + 1_500] = random.Random(number).randbytes(1_500)
        (folder / POSTINGS).write_bytes(damaged)
        # Other bytes may be other numbers of a file that is whole.
        with contextlib.suppress(Unreadable):
            neurothek.open(folder).ask("select max(columns(*)) from store.postings")
            continue
        with pytest.raises(Unreadable, match=f"^{folder} cannot be read as a catalog: .*damaged") as told:
            neurothek.open(folder).ask("select max(columns(*)) from store.postings")
        refusals.append(str(told.value))
    assert len(refusals) >= 3


def test_words_of_a_query_are_no_damage(theirs: Path, local: Neurothek) -> None:
    for there in (neurothek.open(theirs), local):
        for words in (
            "don't know what type",
            "Parquet file is likely corrupted",
            'Failed to read file "catalog://models"',
        ):
            written = words.replace("'", "''")
            for query in (
                f"select '{written}'::int",
                f"select address from neurons where address::int = '{written}'::int",
            ):
                with pytest.raises(NeurothekError, match=r"^the query failed: "):
                    there.ask(query)


def test_a_file_of_another_size_is_told(theirs: Path) -> None:
    with (theirs / POSTINGS).open("ab") as file:
        file.write(b"more")
    with pytest.raises(Unreadable, match="is not as long as its manifest says"):
        neurothek.open(theirs).search("school")


def test_files_that_are_no_tables_are_told(theirs: Path) -> None:
    for content in (b"PAR1" + b"\0" * 100 + b"PAR1", b"x" * 500, (theirs / "tables/models/rows.parquet").read_bytes()):
        put(theirs, POSTINGS, content)
        for ask in ASKS:
            with pytest.raises(NeurothekError) as told:
                ask(neurothek.open(theirs))
            assert "Traceback" not in str(told.value)
            assert 'File "' not in str(told.value)


def test_columns_of_other_types_are_told(theirs: Path) -> None:
    rows = pq.read_table(theirs / POSTINGS)
    changed_rows = rows.set_column(0, "set_id", rows["set_id"].cast(pa.string()))
    pq.write_table(changed_rows, theirs / "new.parquet")
    put(theirs, POSTINGS, (theirs / "new.parquet").read_bytes())
    with pytest.raises(Unreadable, match="cannot be read as a catalog"):
        neurothek.open(theirs).search("school")


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("/etc/weights", "weights"),
        ("../../outside/weights", "weights"),
        ("~/weights", "weights"),
        ("C:\\\\weights", "weights"),
        ("..", ""),
        ("mini-opt-2m", "mini-opt-2m"),
        ("facebook/opt-125m", "facebook/opt-125m"),
    ],
)
def test_no_place_of_the_machine_that_reads_is_named(source: str, shown: str, theirs: Path) -> None:
    rows = pq.read_table(theirs / "tables/models/rows.parquet")
    place = rows.schema.get_field_index("source")
    changed_rows = rows.set_column(place, "source", pa.array([source] * rows.num_rows))
    pq.write_table(changed_rows, theirs / "new.parquet")
    put(theirs, "tables/models/rows.parquet", (theirs / "new.parquet").read_bytes())
    catalog = neurothek.open(theirs)
    assert set(catalog.models()["source"]) == {shown}
    with catalog.reader() as connection:
        assert {model.source for model in choose_models(connection)} == {shown}


def test_a_list_without_end_is_bounded(theirs: Path) -> None:
    """A few thousand bytes that stand for a list of forty million ids: more than a query may hold."""
    path = theirs / "tables/projections/rows.parquet"
    rows = pq.read_table(path)
    endless = pa.ListArray.from_arrays(pa.array([0, 40_000_000], pa.int32()), pa.array(np.zeros(40_000_000, np.int32)))
    place = rows.schema.get_field_index("top_token_ids")
    pq.write_table(rows.slice(0, 1).set_column(place, "top_token_ids", endless), theirs / "new.parquet")
    put(theirs, "tables/projections/rows.parquet", (theirs / "new.parquet").read_bytes())
    assert path.stat().st_size < 100_000
    limits = Limits(memory_bytes=10**8, seconds=20.0)
    with pytest.raises(NeurothekError):
        neurothek.open(theirs).ask("select top_token_ids from store.projections", limits=limits)
    with pytest.raises(NeurothekError):
        neurothek.open(theirs).ask(
            "select unnest(top_token_ids) as i from store.projections order by i desc",
            limits=Limits(memory_bytes=10**8, seconds=20.0),
        )


LINES = "neuron_lines/rows.parquet"


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("top_tokens", pa.array(["[1, ["]), "Malformed JSON"),
        ("top_tokens", pa.array(['{"a": 1}']), None),
        ("top_tokens", pa.array([7]), None),
        ("activation_max", pa.array(["much"]), "cannot be read as a catalog"),
        ("top_tokens", pa.array([f"[{'1,' * 200_000}1]"]), None),
        ("label", pa.array(["\x1b[2J'; drop table x; --"]), None),
        ("n_active", pa.array([2**62]), None),
    ],
)
def test_lines_of_neurons_that_are_something_else(
    column: str, values: "pa.Array[Any]", message: str | None, theirs: Path
) -> None:
    rows = pq.read_table(theirs / LINES)
    repeated = pa.chunked_array([pa.concat_arrays([values] * rows.num_rows)])
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, repeated), theirs / "new.parquet")
    put(theirs, LINES, (theirs / "new.parquet").read_bytes())
    if message is not None:
        with pytest.raises(Unreadable, match=message):
            neurothek.open(theirs).search("school")
        return
    found = neurothek.open(theirs).search("school")
    assert all(len(tokens) <= 10 for tokens in found.neurons["neighbours"])
    assert "\x1b" not in CliRunner().invoke(neurothek.main, ["search", "school", "--warehouse", str(theirs)]).stdout


ASKS: tuple[Callable[[Neurothek], object], ...] = (
    lambda there: there.search("school"),
    lambda there: there.ask("from store.postings"),
)

SQL_FILES = ("duckdb.sql", "views.sql", "views/neurons.sql", "tables/postings/view.sql", "load.py", "neurons.sql")


def test_what_else_lies_in_the_folder_is_not_run(theirs: Path, tmp_path: Path) -> None:
    for name in SQL_FILES:
        (theirs / name).parent.mkdir(exist_ok=True)
        (theirs / name).write_text(f"copy (select 1) to '{tmp_path / 'ran.csv'}'")
    changed(theirs, replace_by(views={"neurons": "select 1"}, sql="select 1"))
    assert neurothek.open(theirs).search("school").neurons.height
    assert not (tmp_path / "ran.csv").exists()


def test_flipped_bytes_are_answers_or_sentences(theirs: Path) -> None:
    """Statistics, encodings and lengths that are anything: in a process of its own, whose crash would be seen."""
    found = subprocess.run(
        [sys.executable, "-c", _FLIPS, str(theirs)], capture_output=True, text=True, check=False, timeout=250
    )
    assert found.returncode == 0, found.stderr[-2000:]
    assert int(found.stdout.split()[-1]) == 60


_FLIPS = """
import random, sys
from pathlib import Path
import neurothek
folder = Path(sys.argv[1])
chosen, n = random.Random(3), 0
for name in ("tables/postings", "neuron_lines", "tables/models"):
    path = folder / name / "rows.parquet"
    whole = path.read_bytes()
    for _ in range(20):
        content = bytearray(whole)
        for _ in range(3):
            content[chosen.randrange(len(content) // 2, len(content))] = chosen.randrange(256)
        path.write_bytes(content)
        try:
            neurothek.open(folder).search("school", limit=3)
        except neurothek.NeurothekError as error:
            assert len(str(error)) < 2000
        n += 1
    path.write_bytes(whole)
print(n)
"""


def test_the_card_shows_text_as_text(local: Neurothek, tmp_path: Path) -> None:
    name = "<script>alert(1)</script> | [x](https://127.0.0.1:9) ```sh `rm`\x1b[2J"
    copied = tmp_path / "copy.duckdb"
    shutil.copyfile(local.path, copied)
    with duckdb.connect(str(copied)) as connection:
        connection.execute("update store.corpora set name = ?", [name])
    neurothek.open(copied).publish(to=tmp_path / "out", license="<b>")
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "alert" in card
    for raw in ("<script", "[x](", "\x1b", "`rm`", "<b>."):
        assert raw not in card
