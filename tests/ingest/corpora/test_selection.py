"""Which corpus a request means: one of the warehouse without reading the text again, or one made from its sources."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from neurothek.catalog.problems import Invalid, LimitExceeded, NeurothekError, NotFound, Unreadable
from neurothek.catalog.progress import Silent
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.ingest.corpora import corpus as corpora
from neurothek.ingest.corpora.corpus import Corpus, Recipe
from neurothek.ingest.corpora.selection import choose_corpus, lacks_text, stored_corpus, tokenized_again
from neurothek.ingest.models.tokenizer import Tokenizer, load
from neurothek.ingest.request import TextRequest
from tests.support import ingests
from tests.support.models import build

# One worker measures the model once; every test works on a copy.
pytestmark = pytest.mark.xdist_group("texts")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {
        "opt": build(root / "opt", "opt", d_ffn=8, context_length=32),
        "longer": build(root / "longer", "opt", d_ffn=8, context_length=64, seed=1),
        "shorter": build(root / "shorter", "opt", d_ffn=8, context_length=16, seed=2),
        "gpt2": build(root / "gpt2", "gpt2", d_ffn=8, context_length=32),
    }


@pytest.fixture(scope="module")
def tokenizers(models: dict[str, Path]) -> dict[str, Tokenizer]:
    return {name: load(folder) for name, folder in models.items()}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, models: dict[str, Path]) -> Path:
    """A folder with a text and the warehouse of a model that read it under the name `words`."""
    folder = tmp_path_factory.mktemp("measured")
    asked = ingests.request(ingests.write_corpus(folder), text={"name": "words"}, jobs=("activity",))
    ingests.measure(ingests.open_warehouse(folder / "w.duckdb"), models["opt"], asked)
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """A copy; the stored recipe names the files of the original, which no test may touch."""
    return shutil.copytree(measured, tmp_path / "copy")


@pytest.fixture
def warehouse(folder: Path) -> Warehouse:
    return ingests.open_warehouse(folder / "w.duckdb")


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """The recipes that are carried out from now on: text that is tokenized."""
    found: list[Recipe] = []
    original = corpora.prepare

    def noted(recipe: Recipe, tokenizer: Tokenizer, **options: Any) -> Corpus:
        found.append(recipe)
        return original(recipe, tokenizer, **options)

    monkeypatch.setattr(corpora, "prepare", noted)
    return found


def choose(warehouse: Warehouse, tokenizer: Tokenizer, context_length: int = 32, **asked: Any) -> Corpus:
    request = TextRequest(**asked)
    return choose_corpus(warehouse, request, tokenizer, context_length=context_length, progress=Silent())


def specs(folder: Path) -> tuple[str, ...]:
    return (f"long={folder / 'long.txt'}", f"short={folder / 'short'}")


def assert_stored(corpus: Corpus, warehouse: Warehouse) -> None:
    (row,) = ingests.table(warehouse, "corpora").to_dicts()
    rows = ingests.table(warehouse, "sequences")
    assert (corpus.name, corpus.sha256, corpus.recipe) == (row["name"], row["sha256"], row["recipe"])
    assert [corpus.sequence(i).tolist() for i in range(corpus.n_sequences)] == rows["tokens"].to_list()
    assert [corpus.domains[index] for index in corpus.domain_of] == rows["domain"].to_list()
    assert corpus.starts_document.tolist() == rows["starts_document"].to_list()
    assert corpus.n_counted == row["n_tokens"]


def test_a_known_text_is_found_by_its_source(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    # The files lie elsewhere now: what stands in them decides.
    assert_stored(choose(warehouse, tokenizers["opt"], corpora=specs(folder)), warehouse)
    assert prepared == []


def test_a_known_corpus_is_found_by_its_name_even_without_its_files(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    (folder / "long.txt").unlink()
    assert_stored(choose(warehouse, tokenizers["opt"], corpora=("words",)), warehouse)
    # A model with a longer context reads the stored sequences too, so that the two can be compared.
    assert_stored(choose(warehouse, tokenizers["longer"], 64, corpora=("words",)), warehouse)
    assert prepared == []


def test_a_text_that_stayed_at_home_is_read_again(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    """A catalog that was published without texts has sequences without ids: nothing may be measured on these."""
    (row,) = ingests.table(warehouse, "corpora").to_dicts()
    whole = stored_corpus(warehouse, row["corpus_id"], tokenizers["opt"])
    assert not lacks_text(warehouse, row["corpus_id"])
    with warehouse.writer() as connection:
        connection.execute("update store.sequences set tokens = []")
    assert lacks_text(warehouse, row["corpus_id"])
    found = (
        choose(warehouse, tokenizers["opt"], corpora=specs(folder)),
        choose(warehouse, tokenizers["opt"], corpora=("words",)),
        stored_corpus(warehouse, row["corpus_id"], tokenizers["opt"]),
    )
    assert len(prepared) == len(found)
    for again in found:
        assert again.sha256 == row["sha256"]
        assert again.tokens.tolist() == whole.tokens.tolist()
    # Of files of another machine only their names are published.
    recipe = row["recipe"].replace(str(Path(json.loads(row["recipe"])["sources"][0]["location"]).parent) + "/", "gone/")
    with warehouse.writer() as connection:
        connection.execute("update store.corpora set recipe = ?", [recipe])
    with pytest.raises(NeurothekError):
        choose(warehouse, tokenizers["opt"], corpora=("words",))


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens_per_domain": 100},
        {"sequence_length": 20},
        {"packing": False},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_same_text_otherwise_cut_is_another_corpus(
    warehouse: Warehouse,
    folder: Path,
    tokenizers: dict[str, Tokenizer],
    prepared: list[Recipe],
    changes: dict[str, Any],
) -> None:
    corpus = choose(warehouse, tokenizers["opt"], corpora=specs(folder), **changes)
    (row,) = ingests.table(warehouse, "corpora").to_dicts()
    assert len(prepared) == 1
    assert corpus.sha256 != row["sha256"]
    assert corpus.text_sha256 == row["text_sha256"]
    assert corpus.name == "long+short"


def test_another_text_in_the_same_files_is_another_corpus(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    (folder / "long.txt").write_text("the school has a new roof")
    corpus = choose(warehouse, tokenizers["opt"], corpora=specs(folder))
    assert len(prepared) == 1
    assert corpus.text_sha256 != ingests.table(warehouse, "corpora")["text_sha256"][0]


def test_another_tokenizer_reads_the_named_corpus_again(
    warehouse: Warehouse, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    corpus = choose(warehouse, tokenizers["gpt2"], corpora=("words",))
    (row,) = ingests.table(warehouse, "corpora").to_dicts()
    assert len(prepared) == 1
    assert corpus.name == "words"
    assert corpus.tokenizer_sha256 == tokenizers["gpt2"].sha256
    # The same text under the same name, in other ids: what `compare` pairs models by.
    assert corpus.text_sha256 == row["text_sha256"]
    assert corpus.sha256 != row["sha256"]
    assert corpus.sequence_length == row["sequence_length"]


def test_both_tokenizers_corpora_are_kept_under_one_name(
    warehouse: Warehouse, models: dict[str, Path], tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    for name in ("gpt2", "longer"):
        ingests.measure(warehouse, models[name], ingests.request(("words",), jobs=("activity",)))
    rows = ingests.table(warehouse, "corpora")
    assert rows["name"].to_list() == ["words", "words"]
    assert rows["tokenizer_id"].n_unique() == 2
    assert len(prepared) == 1
    # Each tokenizer finds its own now.
    for name in ("opt", "gpt2"):
        found = choose(warehouse, tokenizers[name], corpora=("words",))
        assert found.tokenizer_sha256 == tokenizers[name].sha256
    assert len(prepared) == 1


def test_a_corpus_is_found_by_its_number(
    warehouse: Warehouse, models: dict[str, Path], tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    ingests.measure(warehouse, models["gpt2"], ingests.request(("words",), jobs=("activity",)))
    prepared.clear()
    rows = ingests.table(warehouse, "corpora").sort("corpus_id").to_dicts()
    for row, name, other in zip(rows, ("opt", "gpt2"), ("gpt2", "opt"), strict=True):
        number = row["corpus_id"]
        for found in (
            choose(warehouse, tokenizers[name], corpus_id=number),
            stored_corpus(warehouse, number, tokenizers[name]),
        ):
            assert (found.name, found.sha256) == ("words", row["sha256"])
        assert prepared == []
        # In the ids of another tokenizer, and anew in its own.
        again = choose(warehouse, tokenizers[other], corpus_id=number)
        assert (again.name, again.tokenizer_sha256) == ("words", tokenizers[other].sha256)
        assert len(prepared) == 1
        own = tokenized_again(warehouse, number, tokenizers[name], progress=Silent())
        assert (own.name, own.sha256) == ("words", row["sha256"])
        assert len(prepared) == 2
        prepared.clear()


def test_a_shorter_context_reads_the_named_corpus_again(
    warehouse: Warehouse, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    corpus = choose(warehouse, tokenizers["shorter"], 16, corpora=("words",))
    assert (corpus.name, corpus.sequence_length, len(prepared)) == ("words", 16, 1)


def test_a_text_that_changed_is_not_read_again_under_the_old_name(
    folder: Path, warehouse: Warehouse, models: dict[str, Path], tokenizers: dict[str, Tokenizer]
) -> None:
    asked = ingests.request((f"mine={folder / 'long.txt'}",), jobs=("activity",))
    ingests.measure(warehouse, models["opt"], asked)
    (folder / "long.txt").write_text("something else")
    assert choose(warehouse, tokenizers["opt"], corpora=("mine",)).name == "mine"
    with pytest.raises(Unreadable, match="the corpus mine must be read again"):
        choose(warehouse, tokenizers["gpt2"], corpora=("mine",))
    (folder / "long.txt").unlink()
    with pytest.raises(NotFound, match=r"nothing exists at .*long\.txt; check the path"):
        choose(warehouse, tokenizers["gpt2"], corpora=("mine",))


def test_a_relative_path_means_the_same_file_from_everywhere(
    folder: Path,
    warehouse: Warehouse,
    models: dict[str, Path],
    tokenizers: dict[str, Tokenizer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    ingests.measure(warehouse, models["opt"], ingests.request(("mine=long.txt",), jobs=("activity",)))
    monkeypatch.chdir("/")
    assert choose(warehouse, tokenizers["gpt2"], corpora=("mine",)).name == "mine"


def test_a_tokenizer_that_prepends_no_bos_does_not_take_the_ids_of_one_that_does(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    plain = dataclasses.replace(tokenizers["opt"], bos_id=None)
    corpus = choose(warehouse, plain, corpora=specs(folder))
    assert (corpus.has_bos, len(prepared)) == (False, 1)
    bos_id = tokenizers["opt"].bos_id
    assert bos_id is not None
    assert not (corpus.tokens[corpus.offsets[:-1]] == bos_id).any()


@pytest.mark.parametrize("name", ["builtin", "with space", "a=b", ""])
def test_a_name_that_could_not_be_asked_for_again_is_refused(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer], name: str
) -> None:
    with pytest.raises(Invalid, match="cannot be named"):
        choose(warehouse, tokenizers["opt"], corpora=specs(folder), name=name)


@pytest.mark.parametrize("corpora", [("wrods",), ("words", "builtin"), ("words", "more=words.txt")])
def test_an_unknown_name_and_a_name_beside_others_are_refused(
    warehouse: Warehouse, tokenizers: dict[str, Tokenizer], corpora: tuple[str, ...]
) -> None:
    with pytest.raises(NotFound, match=r"the warehouse has words: .* NAME=hub:ORG/NAME"):
        choose(warehouse, tokenizers["opt"], corpora=corpora)


def test_a_name_without_a_warehouse_is_refused(tmp_path: Path, tokenizers: dict[str, Tokenizer]) -> None:
    with pytest.raises(NotFound, match="the warehouse has none yet"):
        choose(ingests.open_warehouse(tmp_path / "none.duckdb"), tokenizers["opt"], corpora=("words",))
    assert list(tmp_path.iterdir()) == []


def test_longer_sequences_than_the_model_takes_are_refused(
    warehouse: Warehouse, folder: Path, tokenizers: dict[str, Tokenizer]
) -> None:
    with pytest.raises(LimitExceeded, match="of 33 tokens are too long for a model that reads 32"):
        choose(warehouse, tokenizers["opt"], corpora=specs(folder), sequence_length=33)


def test_the_builtin_text_is_found_again_too(
    tmp_path: Path, models: dict[str, Path], tokenizers: dict[str, Tokenizer], prepared: list[Recipe]
) -> None:
    warehouse = ingests.open_warehouse(tmp_path / "w.duckdb")
    small: dict[str, Any] = {"corpora": ("builtin",), "tokens_per_domain": 300}
    with ingests.small_library(tmp_path / "library"):
        ingests.measure(warehouse, models["opt"], ingests.request(("builtin",), text=small, jobs=("activity",)))
        corpus = choose(warehouse, tokenizers["opt"], **small)
        assert (corpus.name, corpus.domains, len(prepared)) == ("builtin", ("code", "math", "prose"), 1)
        assert "python" in json.loads(corpus.recipe)
        assert_stored(corpus, warehouse)
        # One of its three domains is no part of it that could be mistaken for the whole.
        assert choose(warehouse, tokenizers["opt"], corpora=("builtin:code",), tokens_per_domain=300).name == "code"
