"""Datasets of the hub: which one is meant, which commit it is, what is read of it, and what is said when it is not."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from huggingface_hub import constants

import neurothek
from neurothek.catalog.problems import Failed, Invalid, LimitExceeded, MissingExtra, NotFound, Unavailable, Unreadable
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.sources import hub_datasets
from neurothek.ingest.corpora.sources.hub_datasets import HubDataset
from neurothek.ingest.corpora.sources.source import Source, parse_sources
from neurothek.ingest.corpora.text_memory import TextMemory
from neurothek.ingest.models.tokenizer import load
from tests.support import ingests
from tests.support.hub import COMMIT, Hub
from tests.support.models import build
from tests.support.tokenizers import make_tokenizer

CARD = """---
configs:
- config_name: prose
  default: true
  data_files:
  - split: train
    path: prose/train-*
  - split: validation
    path: prose/validation-*
- config_name: code
  data_files:
  - split: train
    path: code/*
---
"""

# A dataset written by someone else may bring a script: it is never run.
SCRIPT = "raise SystemExit('this was run')\n"

STORIES = ["one two three", "", "four five six seven"]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A dataset's files as its authors lay them out: two configurations, two splits."""
    folder = tmp_path / "words"
    for name in ("prose", "code"):
        (folder / name).mkdir(parents=True)
    (folder / "README.md").write_text(CARD)
    pl.DataFrame({"id": [1, 2, 3], "text": STORIES, "title": ["a", "b", "c"]}).write_parquet(
        folder / "prose" / "train-00000-of-00001.parquet"
    )
    rows = pl.DataFrame({"id": [4, 5], "text": ["eight nine ten", None], "title": [None, "ten"]})
    rows.write_parquet(folder / "prose" / "validation-00000-of-00001.parquet")
    pl.DataFrame({"body": ["def total"]}).write_parquet(folder / "code" / "all.parquet")
    return folder


class DatasetHub(Hub):
    """Says which commit a dataset's main branch is at."""

    def answer(self, path: str) -> bytes | None:
        if path in (f"/api/datasets/{self.repo}", f"/api/datasets/{self.repo}/revision/main"):
            return json.dumps({"id": self.repo, "sha": COMMIT}).encode()
        return super().answer(path)


@pytest.fixture
def online(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub that answers for org/words, whose files the library reads from this disk."""
    (tmp_path / "files").mkdir()
    server = DatasetHub("org/words", tmp_path / "files")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    monkeypatch.setattr(hub_datasets, "_place", lambda dataset: str(published))
    yield
    server.shutdown()
    server.server_close()


def read(location: str) -> list[str]:
    dataset = HubDataset.parse("words", location)
    assert dataset is not None
    return list(dataset.texts())


def test_what_is_left_out_is_the_usual() -> None:
    assert HubDataset.parse("words", "hub:org/words") == HubDataset("org/words", None, None, "train", "text")
    whole = HubDataset("org/words", "v1.0", "prose", "validation", "body")
    assert HubDataset.parse("words", "hub:org/words@v1.0:prose:validation:body") == whole
    assert HubDataset.parse("words", whole.location) == whole
    assert HubDataset.parse("words", "hub:words::test") == HubDataset("words", None, None, "test", "text")
    assert HubDataset.parse("words", "hub.txt") is None
    assert HubDataset.parse("words", "/data/hub:words") is None


def test_what_is_no_dataset_is_refused(subtests: pytest.Subtests) -> None:
    for location in ["hub:", "hub:a/b/c", "hub:org/words:a:b:c:d", "hub:org words", "hub:../words"]:
        with subtests.test(location=location), pytest.raises(Invalid, match=r"write NAME=hub:ORG/DATASET"):
            parse_sources([f"x={location}"])


def test_configurations_splits_and_columns(online: None) -> None:
    # The empty row is no document.
    assert read(f"hub:org/words@{COMMIT}") == ["one two three", "four five six seven"]
    assert read(f"hub:org/words@{COMMIT}:prose:validation") == ["eight nine ten"]
    assert read(f"hub:org/words@{COMMIT}:prose:validation:title") == ["ten"]
    assert read(f"hub:org/words@{COMMIT}:code::body") == ["def total"]


def test_rows_without_text_are_kept_where_they_are_asked_for(online: None) -> None:
    dataset = HubDataset("org/words", config="prose")
    assert list(dataset.texts(empty=True)) == STORIES
    validation = HubDataset("org/words", config="prose", split="validation")
    assert list(validation.texts(empty=True)) == ["eight nine ten", ""]


def test_what_the_dataset_does_not_have_is_named(online: None) -> None:
    with pytest.raises(NotFound, match="its text columns are text, title: write"):
        read(f"hub:org/words@{COMMIT}:prose:train:id")
    with pytest.raises(Failed, match="latin"):
        read(f"hub:org/words@{COMMIT}:latin")
    with pytest.raises(Failed, match="test"):
        read(f"hub:org/words@{COMMIT}:prose:test")


def test_a_datasets_own_code_is_never_run(online: None, published: Path) -> None:
    (published / "words.py").write_text(SCRIPT)
    with pytest.raises(Failed, match=r"scripts are no longer supported, but found words\.py"):
        read(f"hub:org/words@{COMMIT}")


def test_a_split_without_text_is_empty(online: None, published: Path) -> None:
    pl.DataFrame({"body": [""]}).write_parquet(published / "code" / "all.parquet")
    with pytest.raises(Unreadable, match="has no documents"):
        read(f"hub:org/words@{COMMIT}:code:train:body")


def test_the_commit_of_now_is_pinned(online: None) -> None:
    pinned = Source("words", "hub:org/words").pinned()
    assert pinned.location == f"hub:org/words@{COMMIT}::train:text"
    assert pinned.pinned() == pinned
    with pytest.raises(Unavailable, match="there is none of that name"):
        Source("other", "hub:org/other").pinned()
    with pytest.raises(Unavailable, match="no revision 'v9'"):
        Source("words", "hub:org/words@v9").pinned()


def test_being_offline_is_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    started = time.monotonic()
    with pytest.raises(Unavailable, match="HF_HUB_OFFLINE is set"):
        HubDataset("org/words").pinned()
    with pytest.raises(Unavailable, match="HF_HUB_OFFLINE is set"):
        read(f"hub:org/words@{COMMIT}")
    # The library takes seconds to import, the answer none.
    assert time.monotonic() - started < 10


def test_without_the_extra_it_is_named(online: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtra, match=r"pip install 'neurothek\[hub\]'"):
        read(f"hub:org/words@{COMMIT}")


def test_the_library_is_imported_only_when_asked_for() -> None:
    code = "import sys, neurothek.ingest.corpora.sources.hub_datasets; sys.exit('datasets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_what_is_needed_is_streamed(online: None, published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = published / "prose" / "train-00000-of-00001.parquet"
    pl.DataFrame({"text": ["one two three four five"] * 60_000}).write_parquet(path, row_group_size=100)
    arrived: list[str] = []
    original = HubDataset.texts

    def counted(self: HubDataset) -> Iterator[str]:
        for text in original(self):
            arrived.append(text)
            yield text

    monkeypatch.setattr(HubDataset, "texts", counted)
    folder = published.parent / "tokenizer"
    make_tokenizer("opt", 392).save_pretrained(folder)
    made = corpora.recipe([Source("words", "hub:org/words")], sequence_length=16, tokens_per_domain=100)
    corpus = corpora.prepare(made, load(folder))
    assert 100 <= corpus.n_counted < 120
    # The tokenizer takes some thousand documents at once.
    assert len(arrived) < 20_000
    (said,) = json.loads(corpus.recipe)["sources"]
    assert said["location"] == f"hub:org/words@{COMMIT}::train:text"


def test_from_the_command_to_the_warehouse_and_again_offline(
    online: None, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = build(tmp_path / "tiny", "opt", d_ffn=8)
    text = " ".join(ingests.WORDS * 40)
    pl.DataFrame({"text": [text]}).write_parquet(published / "prose" / "train-00000-of-00001.parquet")
    warehouse = tmp_path / "w.duckdb"

    def run(corpus: str, name: str) -> str:
        arguments = ["ingest", f"{name}={model}", "--corpus", corpus, "--job", "activity", "--warehouse"]
        result = CliRunner().invoke(neurothek.main, [*arguments, str(warehouse)], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stderr

    assert "tokens of words" in run("words=hub:org/words", "one")
    (row,) = ingests.table(ingests.open_warehouse(warehouse), "corpora").to_dicts()
    assert COMMIT in row["recipe"]
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    # What the warehouse keeps needs no hub: by its name, or by its commit.
    run("words", "two")
    run(f"words=hub:org/words@{COMMIT}", "three")
    assert ingests.table(ingests.open_warehouse(warehouse), "corpora").height == 1


def test_a_row_is_as_long_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = TextMemory(1_000_000_000)
    long = "word " * (memory.longest_record // 5)
    source = Source("news", "hub:org/news")
    rows = [{"text": "short"}, {"text": long}]
    monkeypatch.setattr(HubDataset, "_rows", lambda _: iter(rows))
    assert ["".join(document.blocks) for document in source.text.documents("measure", memory)] == ["short", long]
    rows[1] = {"text": long + "wordword"}
    with pytest.raises(
        LimitExceeded, match=r"a row of hub:org/news:\S+ has more than .* that --memory 1\.00 GB allows"
    ):
        list(source.text.documents("measure", memory))
