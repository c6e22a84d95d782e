"""A manifest comes back as it was written; what is no manifest of ours is told in one sentence."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.exchange.manifest import (
    MANIFEST,
    ExportedColumn,
    ExportedFile,
    ExportedTable,
    Manifest,
    read_manifest,
)
from neurothek.catalog.problems import Unreadable

COLUMNS = {
    "token_id": ExportedColumn("INTEGER", "a token", is_nullable=False),
    "text": ExportedColumn("VARCHAR", "é 😀\n\u2028", is_nullable=True),
}
FILES = (ExportedFile("tables/tokens/a.parquet", 2, "0" * 64), ExportedFile("tables/tokens/b.parquet", 0, "f" * 64))
WHOLE = Manifest(
    schema_version=7,
    tables={"tokens": ExportedTable("One row a token.", 2, COLUMNS, FILES), "empty": ExportedTable("", 0, {}, ())},
    maps=("shortcuts/k/0000-0001.safetensors",),
    missing_maps=("shortcuts/k/0000-0002.safetensors",),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / MANIFEST).write_text(WHOLE.text(), "utf-8")
    return tmp_path


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((folder / MANIFEST).read_text("utf-8"))
    change(content)
    (folder / MANIFEST).write_text(json.dumps(content), "utf-8")


def test_a_manifest_comes_back_as_it_was_written(folder: Path) -> None:
    back = read_manifest(folder)
    assert back == WHOLE
    assert [list(table.columns) for table in back.tables.values()] == [["token_id", "text"], []]
    assert (back.n_rows, Manifest(1, {}).n_rows) == (2, 0)


def test_an_export_of_an_earlier_release_has_no_matrices(folder: Path) -> None:
    edit(folder, lambda content: [content.pop(name) for name in ("maps", "missing_maps")])
    assert (read_manifest(folder).maps, read_manifest(folder).missing_maps) == ((), ())


OTHERS = ", or say with --from whose catalog of neurons it is"


def told(folder: Path) -> str:
    with pytest.raises(Unreadable) as refused:
        read_manifest(folder)
    sentence, command = (
        str(refused.value).removesuffix(OTHERS).removesuffix("`").split("; export the warehouse again with `")
    )
    assert shlex.split(command) == ["neurothek", "export", "NEW_FOLDER", "--warehouse", "FILE"]
    assert sentence.startswith(f"{folder} cannot be imported: ")
    return sentence.removeprefix(f"{folder} cannot be imported: ")


def test_a_folder_without_a_manifest_and_no_folder_are_told_apart(tmp_path: Path) -> None:
    assert told(tmp_path) == "there is no manifest.json in it"
    with pytest.raises(Unreadable, match=f"{OTHERS}$"):
        read_manifest(tmp_path)
    assert told(tmp_path / "none") == "there is no such folder"
    (tmp_path / MANIFEST).mkdir()
    assert told(tmp_path) == "there is no manifest.json in it"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff\xfe", b"[1]", b"null", b'"text"', b"{}", b"[" * 100_000, b"{" * 99 + b'"' * 9],
    ids=["empty", "broken off", "no text", "list", "null", "text", "no format", "deep", "deep and broken"],
)
def test_what_is_no_manifest_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(content)
    assert told(tmp_path) == "its manifest.json is damaged"


def test_a_manifest_of_another_program_is_of_something_else(folder: Path) -> None:
    edit(folder, lambda content: content.update(format="a browser's extension"))
    assert told(folder) == "its manifest.json is of something else"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("schema_version"),
        lambda c: c.update(schema_version="seven"),
        lambda c: c.update(schema_version=None),
        lambda c: c.pop("tables"),
        lambda c: c.update(tables=[]),
        lambda c: c["tables"].update(tokens=None),
        lambda c: c["tables"]["tokens"].pop("n_rows"),
        lambda c: c["tables"]["tokens"]["columns"]["text"].pop("is_nullable"),
        lambda c: c["tables"]["tokens"]["columns"]["text"].update(unknown=1),
        lambda c: c["tables"]["tokens"]["files"][0].pop("sha256"),
        lambda c: c.update(maps=3),
    ],
)
def test_a_part_that_is_missing_or_of_another_kind_is_damage(
    folder: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    edit(folder, change)
    assert told(folder) == "its manifest.json is damaged"


@pytest.mark.parametrize("path", ["/etc/passwd", "../other.parquet", "tables/../../other.parquet", "tables/.."])
def test_a_file_outside_the_folder_is_refused(folder: Path, path: str) -> None:
    edit(folder, lambda content: content["tables"]["tokens"]["files"][1].update(path=path))
    assert told(folder) == f"its manifest.json names {path}, which lies outside the folder"


def test_two_dots_within_a_name_are_a_name(folder: Path) -> None:
    edit(folder, lambda content: content["tables"]["tokens"]["files"][1].update(path="tables/a..b/..c.parquet"))
    assert read_manifest(folder).tables["tokens"].files[1].path == "tables/a..b/..c.parquet"


def test_files_elsewhere_and_files_named_twice_are_told_by_their_names(folder: Path) -> None:
    outside = folder.with_name(f"{folder.name}-outside")
    outside.mkdir()
    (outside / "a.parquet").write_bytes(b"PAR1")
    (folder / "tables").mkdir()
    (folder / "tables" / "link").symlink_to(outside)
    (folder / "tables" / "own.parquet").write_bytes(b"PAR1")
    (folder / "tables" / "same.parquet").symlink_to(folder / "tables" / "own.parquet")
    whole = (folder / MANIFEST).read_text("utf-8")
    elsewhere = "which lies outside the folder"
    wrong = []
    for first, second, said in (
        ("../a.parquet", "b", f"names ../a.parquet, {elsewhere}"),
        (str(outside / "a.parquet"), "b", elsewhere),
        ("tables/../../a.parquet", "b", elsewhere),
        ("tables/link/a.parquet", "b", f"names tables/link/a.parquet, {elsewhere}"),
        ("a\0b", "b", elsewhere),
        ("a\x1b[2J/../../b", "b", "a\\x1b[2J/../../b"),
        ("tables/own.parquet", "tables/own.parquet", "names tables/own.parquet twice"),
        ("tables/own.parquet", "tables/./own.parquet", "twice"),
        ("tables/own.parquet", "tables/same.parquet", "names tables/same.parquet twice"),
    ):
        (folder / MANIFEST).write_text(whole, "utf-8")

        def name(content: dict[str, Any], paths: tuple[str, str] = (first, second)) -> None:
            for file, path in zip(content["tables"]["tokens"]["files"], paths, strict=True):
                file["path"] = path

        edit(folder, name)
        if said not in (sentence := told(folder)):
            wrong.append(f"{first!r}: {sentence}")
        edit(folder, lambda content: content.update(maps=[content["tables"]["tokens"]["files"][0]["path"]]))
        told(folder)
    assert wrong == []


def test_what_is_no_number_of_rows_is_damage(folder: Path) -> None:
    whole = (folder / MANIFEST).read_text("utf-8")
    assert '"n_rows": 2' in whole
    numbers = ("Infinity", "-Infinity", "NaN", "-1", "1e400", "2.0", '"2"', "true", "null", str(2**63), "9" * 5000)
    wrong = []
    for number in numbers:
        for place in ('"n_rows": 2', '"schema_version": 7'):
            (folder / MANIFEST).write_text(whole.replace(place, f"{place.split(':')[0]}: {number}"), "utf-8")
            if told(folder) != f"its {MANIFEST} is damaged":
                wrong.append((number, place))
    assert wrong == []
