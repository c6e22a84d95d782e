"""Kept matrices: brought all or none, taken only if they are the ones, and made again by the command that made them."""

import hashlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import duckdb
import pytest

from neurothek.catalog.store.matrices import (
    StoredMatrix,
    bring,
    file_name,
    is_unchanged,
    missing_matrices,
    stored_matrices,
    take,
    tidy,
)

KEY, OTHER_KEY = "a" * 64, "b" * 64


def kept(content: bytes = b"matrix", *, source: int = 0, target: int = 1, key: str = KEY) -> StoredMatrix:
    return StoredMatrix(
        model="tiny",
        corpus="builtin",
        corpus_id=0,
        recipe=json.dumps({"sequence_length": 128, "tokens_per_domain": 5000}),
        run_key=key,
        parameters="{}",
        dtype="float32",
        source_state=source,
        target_state=target,
        sha256=hashlib.sha256(content).hexdigest(),
        n_bytes=len(content),
    )


def put(one: StoredMatrix, folder: Path, content: bytes = b"matrix") -> Path:
    path = one.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_file_is_named_by_its_states_so_that_names_sort_as_numbers() -> None:
    names = [file_name(source, target) for source in (0, 2, 10, 120) for target in (source + 1, source + 11)]
    assert names == sorted(names)
    assert kept(source=3, target=12).path(PurePosixPath("maps")) == PurePosixPath(f"maps/{KEY}/0003-0012.safetensors")


def test_the_command_that_makes_it_again_says_what_was_asked(subtests: pytest.Subtests) -> None:
    for parameters, recipe, changed, words in [
        ({}, {}, {}, ["--tokens", "5000", "--sequence-length", "128"]),
        ({}, {"tokens_per_domain": None}, {}, ["--sequence-length", "128"]),
        ({}, {}, {"corpus": "my text"}, ["--sequence-length", "128"]),
        ({"keep": "all"}, {}, {}, ["--tokens", "5000", "--sequence-length", "128", "--keep", "all"]),
        ({"keep": "first"}, {}, {}, ["--tokens", "5000", "--sequence-length", "128"]),
        (
            {"domains": ["a b", "c"], "n_fit": 9, "n_validation": 0},
            {},
            {"dtype": "bfloat16"},
            [
                *("--tokens", "5000", "--sequence-length", "128", "--domain", "a b", "--domain", "c"),
                *("--fit", "9", "--validate", "0", "--dtype", "bfloat16"),
            ],
        ),
    ]:
        with subtests.test(parameters=parameters, recipe=recipe, changed=changed, words=words):
            one = kept()
            one = replace(one, parameters=json.dumps(parameters), recipe=json.dumps(json.loads(one.recipe) | recipe))
            one = StoredMatrix(**(vars(one) | changed))
            expected = ["neurothek", "ingest", "tiny", "--job", "shortcuts", "--corpus", one.corpus, *words]
            assert shlex.split(one.again()) == expected


@pytest.mark.parametrize("content", [b"matrix", b"", b"Matrix", b"matrix "])
def test_only_the_very_bytes_are_the_ones_that_were_kept(tmp_path: Path, content: bytes) -> None:
    one = kept()
    assert not is_unchanged(one, tmp_path)
    assert missing_matrices([one], tmp_path) == [one]
    put(one, tmp_path, content)
    assert is_unchanged(one, tmp_path) == (content == b"matrix")
    assert missing_matrices([one], tmp_path) == []


def test_matrices_are_taken_where_they_are_the_ones(tmp_path: Path) -> None:
    source, folder = tmp_path / "theirs", tmp_path / "ours"
    there, spoilt, nowhere, here = (kept(source=number, target=number + 1) for number in range(4))
    put(there, source)
    put(spoilt, source, b"spoilt")
    ours = put(here, folder)
    put(here, source, b"theirs is spoilt")
    assert take([there, spoilt, nowhere, here], source, folder) == [spoilt, nowhere]
    assert is_unchanged(there, folder)
    assert ours.read_bytes() == b"matrix"
    assert sorted(path.name for path in folder.rglob("*")) == sorted([KEY, file_name(0, 1), file_name(3, 4)])
    assert take([], source, tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_what_is_damaged_here_is_replaced_by_what_is_whole_there(tmp_path: Path) -> None:
    one = kept()
    put(one, tmp_path / "theirs")
    put(one, tmp_path / "ours", b"spoilt")
    assert take([one], tmp_path / "theirs", tmp_path / "ours") == []
    assert is_unchanged(one, tmp_path / "ours")


def test_a_run_replaces_what_an_earlier_attempt_left(tmp_path: Path) -> None:
    staged, folder = tmp_path / "staged", tmp_path / "maps"
    staged.mkdir()
    for number in range(2):
        (staged / file_name(number, number + 1)).write_bytes(bytes([number]))
    (staged / "manifest.json").write_text("{}")
    for leftover in (folder / KEY, folder / f".{KEY}"):
        leftover.mkdir(parents=True)
        (leftover / file_name(8, 9)).write_bytes(b"old")
    put(kept(key=OTHER_KEY), folder)
    bring(staged, folder, KEY)
    bring(staged, folder, KEY)
    assert {path.name: path.read_bytes() for path in (folder / KEY).iterdir()} == {
        file_name(0, 1): b"\0",
        file_name(1, 2): b"\1",
    }
    assert sorted(path.name for path in folder.iterdir()) == [KEY, OTHER_KEY]
    assert len(list(staged.iterdir())) == 3, "they stay staged until their rows are published"


def test_where_a_file_cannot_have_two_names_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged" / file_name(0, 1)).write_bytes(b"matrix")
    bring(tmp_path / "staged", tmp_path / "maps", KEY)
    assert is_unchanged(kept(), tmp_path / "maps")


@pytest.fixture
def catalogue() -> Iterator[duckdb.DuckDBPyConnection]:
    """Run 2 and run 1 with a matrix or two, and a run of another maker, whose key is none of ours."""
    with duckdb.connect() as connection:
        connection.execute("create schema store")
        connection.execute(f"""
            create table store.models as select 0 as model_id, 'tiny' as name;
            create table store.corpora as select 3 as corpus_id, 'text' as name, '{{}}' as recipe;
            create table store.runs as
                select unnest([2, 1, 5]) as run_id, unnest(['{KEY}', '{OTHER_KEY}', '../elsewhere']) as run_key,
                    '{{}}' as parameters, 'float32' as dtype;
            create table store.shortcut_maps as
                select run_id, 0 as model_id, 3 as corpus_id, source_state, target_state, 'f' as sha256, 9 as n_bytes
                from (values (2, 1, 2), (2, 0, 2), (1, 0, 1), (5, 0, 1)) as t(run_id, source_state, target_state);
        """)
        yield connection


def test_the_table_names_them_run_by_run(catalogue: duckdb.DuckDBPyConnection) -> None:
    found = stored_matrices(catalogue)
    assert [(one.run_key, one.source_state, one.target_state) for one in found] == [
        (OTHER_KEY, 0, 1),
        (KEY, 0, 2),
        (KEY, 1, 2),
    ]
    assert {(one.model, one.corpus, one.corpus_id) for one in found} == {("tiny", "text", 3)}
    assert stored_matrices(catalogue, KEY) == found[1:]
    assert stored_matrices(catalogue, "../elsewhere") == stored_matrices(catalogue, "") == []


def test_what_belongs_to_no_run_is_deleted_and_what_is_not_ours_stays(
    catalogue: duckdb.DuckDBPyConnection, tmp_path: Path
) -> None:
    folder = tmp_path / "maps"
    tidy(catalogue, folder)
    for name in (KEY, "c" * 64, f".{'d' * 64}", "notes", "C" * 64):
        (folder / name).mkdir(parents=True)
    tidy(catalogue, folder)
    assert {path.name for path in folder.iterdir()} == {KEY, "notes", "C" * 64}


def test_a_folder_in_which_nothing_is_left_goes(catalogue: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    folder = tmp_path / "maps"
    put(kept(key="c" * 64), folder)
    tidy(catalogue, folder)
    assert not folder.exists()
