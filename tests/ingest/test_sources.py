"""Text sources: which documents come in which order, and one sentence for each way they cannot be read."""

import json
from pathlib import Path

import polars as pl
import pytest

from ingest.sources import Source, documents, files, parse_sources, source_sha256
from ingest.text_errors import (
    ColumnUnknown,
    SourceEmpty,
    SourceMisnamed,
    SourceMissing,
    SourceNotText,
    SourceUnreadable,
)

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
    assert found[1].path == tmp_path / "a=1.txt"
    assert found[2].builtin_domain == "math"


@pytest.mark.parametrize("spec", ["books", "books=", "=x.txt", "a b=x.txt", "a/b=x.txt", "builtin:latin"])
def test_a_specification_that_says_nothing_is_refused(spec: str) -> None:
    with pytest.raises(SourceMisnamed, match="NAME=PATH"):
        parse_sources([spec])


def test_two_domains_of_one_name_are_refused() -> None:
    with pytest.raises(SourceMisnamed, match="given twice"):
        parse_sources(["builtin", "math=builtin:math"])


def test_the_name_of_pooled_rows_is_no_domain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(SourceMisnamed, match="'all', which stands for all domains together"):
        parse_sources([f"all={tmp_path / 'a.txt'}"])


def test_the_name_of_the_built_in_text_is_no_domain(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for location in (tmp_path / "a.txt", "builtin:code"):
        with pytest.raises(SourceMisnamed, match="'builtin', which stands for the text that comes with neurothek"):
            parse_sources([f"builtin={location}"])


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="nothing lies at"):
        parse_sources([f"x={tmp_path / 'none.txt'}"])
    with pytest.raises(SourceMissing, match="nothing lies at"):
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


def test_an_unknown_column_names_the_columns_of_text(tmp_path: Path) -> None:
    pl.DataFrame({"n": [1], "body": ["x"]}).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"n": 1, "body": "x"}\n')
    for location in (tmp_path / "a.parquet", f"{tmp_path / 'a.parquet'}:n", f"{tmp_path / 'a.jsonl'}:n"):
        with pytest.raises(ColumnUnknown, match="body"):
            read(location)


def test_only_text_is_text(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes("caf\u00e9".encode("latin-1"))
    (tmp_path / "picture.txt").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "broken.jsonl").write_text('{"text": "a"}\nnot json\n')
    (tmp_path / "list.jsonl").write_text('["a"]\n')
    with pytest.raises(SourceNotText, match="byte 3 is not UTF-8"):
        read(tmp_path / "latin.txt")
    with pytest.raises(SourceNotText, match="binary"):
        read(tmp_path / "picture.txt")
    with pytest.raises(SourceNotText, match="line 2 is not JSON"):
        read(tmp_path / "broken.jsonl")
    with pytest.raises(SourceNotText, match="line 1 is not a JSON object"):
        read(tmp_path / "list.jsonl")


def test_a_broken_parquet_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(SourceUnreadable, match="cannot be read"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["empty.txt", "empty.jsonl"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(SourceEmpty, match="no document"):
        read(tmp_path / name)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceEmpty, match="no document"):
        files(Source("x", str(tmp_path)))


def test_the_hash_follows_bytes_names_and_column(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a")
    whole = Source("x", str(tmp_path / "in"))
    before = source_sha256(whole)
    assert source_sha256(Source("y", str(tmp_path / "in"))) == before
    (tmp_path / "in" / "a.txt").write_text("b")
    after = source_sha256(whole)
    (tmp_path / "in" / "a.txt").rename(tmp_path / "in" / "b.txt")
    assert len({before, after, source_sha256(whole)}) == 3
    (tmp_path / "a.jsonl").write_text('{"text": "a", "body": "b"}\n')
    assert source_sha256(Source("x", f"{tmp_path / 'a.jsonl'}:body")) != source_sha256(
        Source("x", str(tmp_path / "a.jsonl"))
    )
