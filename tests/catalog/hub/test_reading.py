"""What is fetched of a catalog: the files that a question needs, each part of them once."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek.catalog.hub import catalog
from neurothek.catalog.hub.file_system import CatalogFiles
from neurothek.catalog.hub.lines import rows_of_group
from tests.support.counted import CountedStore

pytestmark = pytest.mark.long


def files_read() -> list[str]:
    return [path.partition("/there/")[2] for kind, path, _ in CountedStore.requests if kind == "read"]


def test_a_question_fetches_what_it_needs_and_once(
    bare: Path, in_memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory.put(str(bare), "/there", recursive=True)
    monkeypatch.setattr(catalog, "_OPENED", {})
    CountedStore.requests.clear()
    found = neurothek.open("counted://there").search("school")
    assert found.neurons.height
    read = files_read()
    assert read.count("manifest.json") == 1
    assert {"tables/postings/rows.parquet", "neuron_lines/rows.parquet"} < set(read)
    others = ("tables/activity", "tables/neuron_facts", "tables/projections", "neurons", "promotions")
    assert not {f"{name}/rows.parquet" for name in others} & set(read)
    assert len(CountedStore.requests) < 20
    CountedStore.requests.clear()
    assert neurothek.open("counted://there").search("school").neurons.equals(found.neurons)
    assert CountedStore.requests == []
    # Another process finds the parts in the cache folder, and asks whether the manifest is still the same.
    monkeypatch.setattr(catalog, "_OPENED", {})
    assert neurothek.open("counted://there").search("school").neurons.equals(found.neurons)
    assert files_read() == ["manifest.json"]
    assert len(CountedStore.requests) == 1


def test_a_file_that_was_replaced_is_not_mixed_with_what_was_kept(
    bare: Path, in_memory: MemoryFileSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_memory.put(str(bare), "/there", recursive=True)
    monkeypatch.setattr(catalog, "_OPENED", {})
    neurothek.open("counted://there").search("school")
    content = (bare / "tables/activity/rows.parquet").read_bytes()
    in_memory.pipe_file("/there/tables/activity/rows.parquet", content[:-1])
    with pytest.raises(neurothek.NeurothekError, match="is not as long as its manifest says"):
        neurothek.open("counted://there").sql("select count(*) from store.activity where n_active > 0")


def test_a_catalog_without_lines_of_neurons_answers_alike(
    bare: Path, local: neurothek.Neurothek, tmp_path: Path
) -> None:
    folder = shutil.copytree(bare, tmp_path / "without")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    del manifest["catalog"]["views"]["neuron_lines"], manifest["catalog"]["files"]["neuron_lines/rows.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    shutil.rmtree(folder / "neuron_lines")
    expected = local.search("school")
    assert expected.neurons.height
    for place in (bare, folder):
        found = neurothek.open(place).search("school")
        assert found.neurons.equals(expected.neurons)
        # The others say where weights were looked for.
        assert [note for note in found.notes if "rank" in note] == [note for note in expected.notes if "rank" in note]
    assert any("complete to rank" in note for note in expected.notes)


def test_groups_of_lines_are_as_many_as_ten_searches_may_ask_for() -> None:
    assert [rows_of_group(n) for n in (0, 5, 46_080, 262_144, 300_000, 1_000_000, 5_000_000)] == [
        *(1024, 1024, 1024, 1024),
        *(2048, 4096, 4096),
    ]


def test_threads_that_share_a_file_read_where_each_of_them_is() -> None:
    """DuckDB seeks and reads in two calls, between which another thread may do the same."""

    class Numbers:
        def read(self, path: str, start: int, end: int) -> bytes:
            return bytes(range(start, end))

    file = CatalogFiles(Numbers(), {"rows": ("rows", 200)}, {}).open("catalog://rows")
    file.seek(4)
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: (file.seek(100), file.read(3), file.tell())).result() == (100, b"def", 103)
    assert file.read(3) == bytes([4, 5, 6])
    assert file.tell() == 7
