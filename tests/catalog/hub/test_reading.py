"""What is fetched of a catalog: the files that a question needs, each part of them once."""

from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

import neurothek
from neurothek.catalog.hub import catalog
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
    assert {"tables/postings/rows.parquet", "tables/neuron_facts/rows.parquet"} < set(read)
    assert not {"tables/activity/rows.parquet", "neurons/rows.parquet", "promotions/rows.parquet"} & set(read)
    assert len(CountedStore.requests) < 40
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
