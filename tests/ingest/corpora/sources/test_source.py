"""Text sources: which documents come in which order, and one sentence for each way they cannot be read."""

import csv
import gzip
import hashlib
import io
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neurothek.catalog.problems import Invalid, LimitExceeded, NeurothekError, NotFound, Unreadable
from neurothek.ingest.corpora.sources import document
from neurothek.ingest.corpora.sources.local_files import LocalFiles
from neurothek.ingest.corpora.sources.source import Source, documents, parse_sources
from neurothek.ingest.corpora.text_memory import UNBOUNDED, TextMemory

TEXTS = ["one\ntwo", "dr\u00e4i", " four "]


def read(location: object) -> list[str]:
    return list(documents(Source("x", str(location))))


def test_builtin_is_three_domains() -> None:
    assert parse_sources(["builtin"]) == [
        Source("code", "builtin:code"),
        Source("math", "builtin:math"),
        Source("prose", "builtin:prose"),
    ]
    assert parse_sources(["builtin:math"]) == [Source("math", "builtin:math")]


def test_named_sources_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "a=1.txt").write_text("a")
    found = parse_sources([f"z={tmp_path / 'b.txt'}", f"y={tmp_path / 'a=1.txt'}", "sums=builtin:math"])
    assert [source.domain for source in found] == ["z", "y", "sums"]
    assert found[1].text == LocalFiles("y", str(tmp_path / "a=1.txt"))
    assert found[2].builtin_domain == "math"


def test_a_specification_that_says_nothing_is_refused(subtests: pytest.Subtests) -> None:
    for spec in ["books", "books=", "=x.txt", "a b=x.txt", "a/b=x.txt", "builtin:latin"]:
        with subtests.test(spec=spec), pytest.raises(Invalid, match="NAME=PATH"):
            parse_sources([spec])


def test_two_domains_of_one_name_are_refused() -> None:
    with pytest.raises(Invalid, match="given twice"):
        parse_sources(["builtin", "math=builtin:math"])


def test_a_name_of_more_than_200_characters_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    assert len(parse_sources([f"{'x' * 200}={tmp_path / 'a.txt'}"])) == 1
    with pytest.raises(Invalid, match=r"'x{40}\.\.\.' has a name of 201 characters, and 200 are allowed"):
        parse_sources([f"{'x' * 201}={tmp_path / 'a.txt'}"])


def test_the_name_of_pooled_rows_is_no_domain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(Invalid, match="'all', which stands for all domains together"):
        parse_sources([f"all={tmp_path / 'a.txt'}"])


def test_the_name_of_the_built_in_text_is_no_domain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for location in (tmp_path / "a.txt", "builtin:code"):
        with pytest.raises(Invalid, match="'builtin', which stands for the text that comes with neurothek"):
            parse_sources([f"builtin={location}"])


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing exists at"):
        parse_sources([f"x={tmp_path / 'none.txt'}"])
    with pytest.raises(NotFound, match="nothing exists at"):
        read(tmp_path / "none.jsonl:body")


def test_a_text_file_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("first\n\nsecond\n")
    assert read(tmp_path / "a.txt") == ["first\n\nsecond\n"]


def test_line_ends_and_byte_order_marks_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "dos.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read(tmp_path / "dos.txt") == ["one\ntwo\n"]


def test_a_folder_is_read_sorted_and_recursively_without_hidden_files(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.txt", "a.txt", ".hidden/x.txt", ".DS_Store", "c/d/e.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert read(tmp_path) == ["a/z.txt", "a.txt", "b.txt", "c/d/e.md"]


def test_rows_of_jsonl_and_parquet_are_the_same_documents(tmp_path: Path) -> None:
    rows = [*TEXTS, None, ""]
    written = "".join(json.dumps({"text": row, "body": "-", "n": 1}) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(written + "\n", encoding="utf-8")
    pl.DataFrame({"n": range(5), "text": rows, "body": "-"}).write_parquet(tmp_path / "a.parquet")
    assert read(tmp_path / "a.jsonl") == read(tmp_path / "a.parquet") == TEXTS
    assert read(f"{tmp_path / 'a.jsonl'}:body") == read(f"{tmp_path / 'a.parquet'}:body") == ["-"] * 5


def write_table(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as the name of the file says, packed if it says so, with the csv and json of Python's library."""
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    out = io.StringIO(newline="")
    if suffix in (".csv", ".tsv", ".tab"):
        table = csv.DictWriter(out, list(rows[0]), delimiter="," if suffix == ".csv" else "\t")
        table.writeheader()
        table.writerows(rows)
    elif suffix == ".json":
        json.dump(rows, out, indent=1)
    else:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    if suffix in (".parquet", ".pq"):
        pl.DataFrame(rows).write_parquet(path)
    else:
        written = out.getvalue().encode()
        path.write_bytes(gzip.compress(written) if path.name.lower().endswith(".gz") else written)


def test_a_table_of_any_kind_gives_the_texts_of_its_column(tmp_path: Path) -> None:
    """Whatever the file is called; its first column and its markup are no part of the text."""
    texts = ['one, "two"\tthree', "a line\n\nand another", "dr\u00e4i \U0001f600"]
    rows = [{"n": str(n), "text": text, "body": f"body {n}"} for n, text in enumerate([*texts, ""])]
    names = ("a.jsonl", "b.JSONL", "c.ndjson", "d.json", "e.csv", "f.CSV", "g.tsv", "h.Tab", "i.Parquet", "j.pq")
    wrong = []
    for name in (*names, "k.jsonl.gz", "l.csv.gz", "m.JSON.GZ", "n.tsv.gz"):
        write_table(tmp_path / name, rows)
        for column, expected in (("", texts), (":text", texts), (":body", [f"body {n}" for n in range(4)])):
            if read(f"{tmp_path / name}{column}") != expected:
                wrong.append(name + column)
        if "has no column 'none'; its text columns are" not in sentence_of(f"{tmp_path / name}:none"):
            wrong.append(f"{name}:none")
    assert wrong == []
    folder = tmp_path / "in"
    folder.mkdir()
    write_table(folder / "a.csv", rows)
    write_table(folder / "b.json", rows)
    assert read(f"{folder}:body") == [f"body {n}" for n in range(4)] * 2


def test_tables_in_the_forms_that_programs_write(tmp_path: Path) -> None:
    cases = {
        "semicolons.csv": ("n;text\r\n1;a, b\r\n2;c\r\n", ["a, b", "c"]),
        "mark.csv": ("\ufefftext\none\n\ntwo\n", ["one", "two"]),
        "one.json": ('{"text": "alone", "n": [1, {"text": "no"}]}', ["alone"]),
        "lines.json": ('{"text": "a"}\n{"text": "b"}\n', ["a", "b"]),
        "none.json": (' [ {"text": null}, {"text": "b"} ] \n', ["b"]),
        "packed.txt.gz": ("plain\r\ntext", ["plain\ntext"]),
    }
    for name, (written, _) in cases.items():
        raw = written.encode()
        (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    assert {name: read(tmp_path / name) for name in cases} == {name: texts for name, (_, texts) in cases.items()}


@pytest.mark.parametrize("block", [1, 7])
def test_an_object_that_lies_across_blocks_is_read(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "BLOCK_BYTES", block)
    rows = [{"text": f"{'x' * n}, [{{ \u20ac", "n": [n, {"m": n}]} for n in range(20)]
    write_table(tmp_path / "a.json", rows)
    assert read(tmp_path / "a.json") == [row["text"] for row in rows]


def test_what_looks_like_a_table_and_is_none_is_refused_with_what_to_do(tmp_path: Path) -> None:
    cases = {
        "squad.json": ('{"data": [{"text": "a"}], "version": "1"}', "its text columns are version"),
        "texts.json": ('["a", "b"]', "object 1 is not a JSON object"),
        "cut.json": ('[{"text": "a"}, {"text": "b"', "object 2 is not JSON"),
        "open.json": ('[{"text": "a"}', "it is not JSON after object 1"),
        "more.json": ('[{"text": "a"}] [{"text": "b"}]', "it is not JSON after object 1"),
        "nameless.csv": ("a,b\nc,d\n", "its text columns are a, b: write"),
        "twice.csv": ("text,text,n\na,b,c\n", "its text columns are n: write"),
        "ragged.csv": ("n,text\n1,a\n2,b,c\n", "line 3 has 3 fields and the first row names 2 columns"),
        "open.tsv": ('n\ttext\n1\t"a\n2\tb\n', "line 3 is not a row of a table"),
        "quoted.csv": ('n,text\n1,"a" b\n', "line 2 is not a row of a table"),
        "book.ipynb": ('{"cells": []}', "it is a notebook; convert it with `jupyter nbconvert --to markdown`"),
        "page.HTML": ("<p>text</p>", "it is markup; extract its text, or rename it to .txt"),
        "feed.xml.gz": ("<p>text</p>", "it is markup; extract its text, or rename it to .txt"),
        "paper.pdf": ("%PDF-1.4 text", "it is a formatted document; save it as plain text"),
        "sheet.xlsx": ("PK", "it is a spreadsheet; save it as .csv"),
        "lines.jsonl.zst": ("x", "it is packed, and only .gz is unpacked; unpack it"),
        "all.tar.gz": ("x", "it is packed, and only .gz is unpacked; unpack it"),
        "rows.parquet.gz": ("x", "it is packed, and such a table has to lie there unpacked; unpack it"),
        "film.srt": ("1\n00:00 --> 00:01\nHi\n", "extract its text"),
        "cut.txt.gz": (gzip.compress(b"text" * 99)[:-9].decode("latin-1"), "cannot be read"),
    }
    wrong = {}
    for name, (written, said) in cases.items():
        raw = written.encode("latin-1")
        (tmp_path / name).write_bytes(raw if name == "cut.txt.gz" or not name.endswith(".gz") else gzip.compress(raw))
        found = sentence_of(tmp_path / name)
        if said not in found or str(tmp_path / name) not in found:
            wrong[name] = found
    assert wrong == {}


def test_what_describes_a_text_is_no_part_of_it(tmp_path: Path) -> None:
    """Where it looks like the texts it is one of them; a folder of nothing else is what it is."""
    cases = {
        "tables": (("a.jsonl", "README.md", "LICENSE", "dataset_infos.json"), ["a.jsonl"]),
        "texts": (("a.txt", "README.md", "citation.cff", "b/readme"), ["a.txt"]),
        "documentation": (("guide.md", "README.md", "LICENSE"), ["README.md", "guide.md"]),
        "alone": (("README.md",), ["README.md"]),
    }
    for folder, (names, expected) in cases.items():
        for name in names:
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text('{"text": "x"}\n')
        text = LocalFiles("x", str(tmp_path / folder))
        assert [path.name for path in text.files()] == expected
        assert len(text.left_out()) == len(names) - len(expected)
    (tmp_path / "texts" / "page.html").write_text("<p>")
    assert "page.html cannot be read as text: it is markup" in sentence_of(tmp_path / "texts")


def test_a_home_folder_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.txt").write_text("a")
    write_table(tmp_path / "a.jsonl", [{"body": "b"}])
    (source, table) = parse_sources(["x=~/a.txt", "y=~/a.jsonl:body"])
    assert (list(documents(source)), list(documents(table))) == (["a"], ["b"])
    assert source.pinned().location == str(tmp_path / "a.txt")


def test_hashes_of_texts_stay_and_those_of_tables_that_were_read_as_prose_change(tmp_path: Path) -> None:
    """Written out as releases before computed them: column, then name or suffix, NUL and the hash of the bytes."""
    differ = {}
    for name in ("a.txt", "b", "c.md", "d.jsonl", "e.parquet", "f.csv", "g.JSONL", "h.json", "i.ndjson"):
        path = tmp_path / name
        path.write_bytes(b"text")
        content = hashlib.sha256(b"text").digest()
        before = hashlib.sha256(b"text" + path.suffix.encode() + b"\0" + content).hexdigest()
        text = LocalFiles("x", str(path))
        differ[name] = (text.sha256() != before, text.read_as)
    changed = {"f.csv": "csv", "g.JSONL": "jsonl", "h.json": "json", "i.ndjson": "jsonl"}
    assert differ == {name: (name in changed, changed.get(name)) for name in differ}


def sentence_of(location: object) -> str:
    with pytest.raises(NeurothekError) as caught:
        read(location)
    return str(caught.value)


def test_an_unknown_column_names_the_columns_of_text(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"n": [1], "body": ["x"]}).write_parquet(path)
    assert sentence_of(path) == (f"{path} has no column 'text'; its text columns are body: write {path}:COLUMN")


def test_a_line_without_the_column_is_named_with_the_columns_that_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "x"}\n\n{"body": "y", "n": 1, "title": "z"}\n')
    assert sentence_of(path) == (
        f"line 3 of {path} has no column 'text'; its text columns are"
        f" body, title: write {path}:COLUMN, or fix that line"
    )


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("1", "a number"),
        ("1" * 5_000, "a number"),
        ("NaN", "NaN"),
        ("true", "true"),
        ('{"a": "b"}', "an object"),
        ('["a"]', "a list"),
    ],
)
def test_a_column_that_holds_something_else_in_a_line_says_what(tmp_path: Path, written: str, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "x"}}\n{{"text": {written}, "body": "y"}}\n')
    assert sentence_of(path) == (
        f"the column 'text' of {path} is not text but {said} in line 2; its text columns are body: write {path}:COLUMN"
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1], "whole numbers"),
        ([1.5], "numbers"),
        ([True], "truth values"),
        ([{"a": "b"}], "structs"),
        ([["a"]], "lists"),
        ([date(2026, 1, 1)], "dates"),
        ([datetime(2026, 1, 1, tzinfo=UTC)], "times"),
        ([b"a"], "bytes"),
        ([None], "nothing"),
    ],
)
def test_a_column_of_parquet_that_is_no_text_says_what_it_holds(tmp_path: Path, values: list[Any], said: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": pa.array(values), "n": [1]}), path)
    assert sentence_of(path) == (
        f"the column 'text' of {path} is not text but {said}; it has no text columns: give another file"
    )


def test_a_long_integer_beside_a_text_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"text": "x", "n": {"1" * 5_000}}}\n')
    assert read(tmp_path / "a.jsonl") == ["x"]


def test_a_byte_order_mark_is_no_part_of_a_text(tmp_path: Path) -> None:
    mark = b"\xef\xbb\xbf"
    (tmp_path / "a.txt").write_bytes(mark + b"one\r\ntwo\r")
    (tmp_path / "b.jsonl").write_bytes(mark + b'{"text": "one"}\n' + mark + b'{"text": "two"}\n')
    assert read(tmp_path / "a.txt") == ["one\ntwo\r"]
    assert read(tmp_path / "b.jsonl") == ["one", "two"]


@pytest.mark.parametrize("block", [1, 2, 3, 7])
def test_a_text_that_is_read_in_blocks_is_the_text(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Characters of four bytes, line ends and the byte order mark lie across blocks."""
    raw = "\ufeffa\r\n\r\r\n\U0001f600b\u20ac\r\nc\r".encode()
    (tmp_path / "a.txt").write_bytes(raw)
    monkeypatch.setattr(document, "BLOCK_BYTES", max(block, 3))
    (found,) = Source("x", str(tmp_path / "a.txt")).text.documents("measure", UNBOUNDED)
    text = "".join(found.blocks)
    assert text == raw.decode("utf-8-sig").replace("\r\n", "\n")
    assert found.n_bytes == len(text.encode())
    (tmp_path / "a.txt").write_bytes(raw + b"\xff")
    assert f"byte {len(raw)} is not UTF-8" in sentence_of(tmp_path / "a.txt")


def test_what_memory_does_not_allow_of_one_line_or_row_is_refused(tmp_path: Path) -> None:
    texts = ["short", "x" * 80_000]
    rows = [{"text": text} for text in texts]
    cases = {
        "a.jsonl": ("line 2", "0.02 MB", 6_000_000),
        "a.json": ("object 2", "0.02 MB", 6_000_000),
        "a.csv": ("the row at line 3", "0.02 MB", 6_000_000),
        "a.jsonl.gz": ("line 2", "0.02 MB", 6_000_000),
        "a.parquet": ("row 2", "0.06 MB", 2_000_000),
    }
    for name, (place, most, enough) in cases.items():
        write_table(tmp_path / name, rows)
        source = Source("x", str(tmp_path / name))
        with pytest.raises(LimitExceeded) as caught:
            list(source.text.documents("measure", TextMemory(1_000_000)))
        assert str(caught.value).startswith(
            f"{place} of {tmp_path / name} has more than {most}, the most that --memory"
        )
        assert len(list(source.text.documents("measure", TextMemory(enough)))) == 2


BOMBS = """
import sys
from pathlib import Path
import pyarrow.parquet
from neurothek.catalog.problems import NeurothekError
from neurothek.ingest.corpora.sources.source import Source
from neurothek.ingest.corpora.text_memory import TextMemory

def resident(what):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))

for path in sorted(Path(sys.argv[1]).iterdir()):
    pyarrow.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    try:
        found = sum(d.n_bytes for d in Source("x", str(path)).text.documents("measure", TextMemory(int(sys.argv[2]))))
    except NeurothekError as error:
        found = type(error).__name__
    print(path.name, found, resident("VmHWM") - before)
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks are read from Linux's /proc")
def test_small_files_that_unpack_to_large_ones_stay_within_memory(tmp_path: Path) -> None:
    """Refused before they are unpacked or parsed, or read in pieces; what is just short enough stays within, too."""
    memory = 64_000_000
    text = "x" * 48_000_000

    def parquet(name: str, values: list[str], **options: Any) -> None:
        table = pa.table({"text": pa.array(values, pa.large_string())})
        pq.write_table(table, tmp_path / name, compression="zstd", write_statistics=False, **options)

    parquet("1 plain.parquet", [text], use_dictionary=False)
    parquet("2 dictionary.parquet", [text] * 3)
    several = [text[:1_000_000] + str(n) for n in range(100)]
    parquet("3 differences.parquet", several, use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"})
    parquet("4 long enough.parquet", ["\u4e00" * 1_300_000] * 3)
    lists = '{"text": "a", "n": [' + ("[" * 400 + "]" * 400 + ",") * 1_200 + "0]}"
    (tmp_path / "5 lists.jsonl").write_text(lists + "\n")
    (tmp_path / "6 lists.json").write_text(lists)
    (tmp_path / "7 longer.jsonl").write_text(lists.replace("0]}", ("[" * 400 + "]" * 400 + ",") * 2_000 + "0]}"))
    (tmp_path / "8 packed.jsonl.gz").write_bytes(gzip.compress(b'{"text": "' + text.encode() + b'"}\n'))
    (tmp_path / "9 packed.txt.gz").write_bytes(gzip.compress(text.encode()))
    command = [sys.executable, "-c", BOMBS, str(tmp_path), str(memory)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {name: (what, int(peak)) for name, what, peak in (line.rsplit(" ", 2) for line in done.stdout.splitlines())}
    assert {name: what for name, (what, _) in found.items()} == {
        "1 plain.parquet": "LimitExceeded",
        "2 dictionary.parquet": "LimitExceeded",
        "3 differences.parquet": str(sum(map(len, several))),
        "4 long enough.parquet": str(3 * 3 * 1_300_000),
        "5 lists.jsonl": "1",
        "6 lists.json": "1",
        "7 longer.jsonl": "LimitExceeded",
        "8 packed.jsonl.gz": "LimitExceeded",
        "9 packed.txt.gz": str(len(text)),
    }, done.stderr
    assert {name: peak for name, (_, peak) in found.items() if peak > memory} == {}


def test_what_is_no_page_of_a_parquet_file_is_refused(tmp_path: Path) -> None:
    """One byte in five of a file is changed in turn: it is read or refused, and never a traceback."""
    path = tmp_path / "a.parquet"
    pl.DataFrame({"text": ["some text", "more"], "n": [1, 2]}).write_parquet(path)
    whole = path.read_bytes()
    for place in range(4, len(whole) - 8, 5):
        changed = (0xFF, 0x00, whole[place] ^ 0x10)[place % 3]
        path.write_bytes(whole[:place] + bytes([changed]) + whole[place + 1 :])
        with suppress(NeurothekError):
            read(path)


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def _circle(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a folder"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.parquet"])
@pytest.mark.parametrize(
    ("put", "said"),
    [
        (_pipe, "it is neither a file nor a folder but a named pipe"),
        (_device, "it is neither a file nor a folder but a device"),
        (_socket, "it is neither a file nor a folder but a socket"),
        (_circle, "cannot be read (Too many levels of symbolic links)"),
    ],
)
def test_what_is_no_file_is_refused_unopened(
    short_path: Path, put: Callable[[Path], None], said: str, name: str, inside: bool
) -> None:
    (short_path / "b.txt").write_text("text")
    put(short_path / name)
    location = short_path if inside else short_path / name
    for ask in (read, lambda location: Source("x", str(location)).text.sha256()):
        with pytest.raises(NeurothekError) as caught:
            ask(location)
        assert str(short_path / name) in str(caught.value)
        assert said in str(caught.value)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path a socket's address has room for."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def test_only_text_is_text(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("caf\u00e9".encode("latin-1"))
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "broken.jsonl").write_text('{"text": "a"}\nnot json\n')
    (tmp_path / "list.jsonl").write_text('["a"]\n')
    with pytest.raises(Unreadable, match="byte 3 is not UTF-8"):
        read(tmp_path / "latin.txt")
    with pytest.raises(Unreadable, match="binary"):
        read(tmp_path / "picture.txt")
    with pytest.raises(Unreadable, match="line 2 is not JSON"):
        read(tmp_path / "broken.jsonl")
    with pytest.raises(Unreadable, match="line 1 is not a JSON object"):
        read(tmp_path / "list.jsonl")


def test_a_broken_parquet_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(Unreadable, match="cannot be read"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["empty.txt", "empty.jsonl"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(Unreadable, match="no document"):
        read(tmp_path / name)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="no document"):
        LocalFiles("x", str(tmp_path)).files()


def test_the_hash_follows_bytes_names_and_column(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    whole = Source("x", str(tmp_path / "in"))
    before = whole.text.sha256()
    assert Source("y", str(tmp_path / "in")).text.sha256() == before
    (tmp_path / "in" / "a.txt").write_text("b")
    after = whole.text.sha256()
    (tmp_path / "in" / "a.txt").rename(tmp_path / "in" / "b.txt")
    assert len({before, after, whole.text.sha256()}) == 3
    (tmp_path / "a.jsonl").write_text('{"text": "a", "body": "b"}\n')
    body, text = (Source("x", f"{tmp_path / 'a.jsonl'}{column}") for column in (":body", ""))
    assert body.text.sha256() != text.text.sha256()
