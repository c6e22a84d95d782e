"""Words near to those that were asked for, against a loop over the stored cosines."""

from pathlib import Path

import duckdb
import pytest

from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.names.models import KnownModel, choose_models
from neurothek.queries.names.words import find_terms
from neurothek.queries.search.one_word import Neighbour, neighbours_of, remarks
from tests.support.known import known_model
from tests.support.tiny import SPECIAL, TEXTS

# Of coffee and of tea; in the first model alone.
NEAR = {
    " coffee": [(" tea", 0.9), (" coffee", 0.8), ("</s>", 0.7), (" bus", 0.6), ("bus", 0.65), (" cat", 0.5)],
    " tea": [(" coffee", 0.9), (" cat", 0.75), ("School", 0.5), (" school", 0.4), ("\n", 0.3)],
}


@pytest.fixture(scope="module")
def near_path(full_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("near") / "near.duckdb"
    path.write_bytes(full_path.read_bytes())
    texts = TEXTS[0]
    rows = [
        (0, texts.index(asked), rank, texts.index(text), cosine, 0)
        for asked, near in NEAR.items()
        for rank, (text, cosine) in enumerate(near, start=1)
    ]
    with duckdb.connect(str(path)) as connection:
        connection.executemany(
            "insert into store.token_neighbours (model_id, token_id, rank, neighbour_id, cosine, run_id)"
            " values (?, ?, ?, ?, ?, ?)",
            rows,
        )
    return path


def by_a_loop(words: list[str], limit: int, without: set[str]) -> list[tuple[str, str, float]]:
    """(word, the word that it is near to, cosine), the nearest first."""
    found: dict[str, tuple[str, float]] = {}
    for asked in words:
        best: dict[str, float] = {}
        for text, cosine in NEAR.get(f" {asked}", []):
            word = text.strip().casefold()
            if word and text not in SPECIAL and word not in {*words, *without}:
                best[word] = max(cosine, best.get(word, -1.0))
        for word, cosine in sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]:
            if word not in found or cosine > found[word][1]:
                found[word] = (asked, cosine)
    return sorted(((w, a, c) for w, (a, c) in found.items()), key=lambda row: (-row[2], row[0]))


@pytest.mark.parametrize("words", [["coffee"], ["tea"], ["coffee", "tea"], ["school"]])
@pytest.mark.parametrize("limit", [0, 1, 2, 9])
@pytest.mark.parametrize("without", [set(), {"bus"}])
def test_near_words_are_those_of_the_loop(near_path: Path, words: list[str], limit: int, without: set[str]) -> None:
    with Warehouse(near_path).reader() as connection:
        models = choose_models(connection, ["tiny-1m", "tiny-2m", "gelu-1m"])
        terms = find_terms(connection, words, [0, 1], exact=False)
        near = neighbours_of(connection, models, terms, limit=limit, without=sorted(without))
    assert [model.model_id for model in models] == [0, 3, 1]
    expected = by_a_loop(words, limit, without)
    assert [(one.word, one.near) for one in near[0]] == [(word, asked) for word, asked, _ in expected]
    # Cosines are stored as float32.
    assert [one.cosine for one in near[0]] == pytest.approx([cosine for _, _, cosine in expected], abs=1e-6)
    # Nothing was stored of the other two, of which one has the same tokens.
    assert near[1] == near[3] == []


def test_a_near_word_stands_with_all_its_spellings(near_path: Path) -> None:
    with Warehouse(near_path).reader() as connection:
        models = choose_models(connection, ["tiny-1m"])
        terms = find_terms(connection, ["coffee"], [0], exact=False)
        near = {one.word: one for one in neighbours_of(connection, models, terms, limit=9)[0]}
    assert sorted(token.text for token in near["bus"].tokens) == [" bus", "bus"]


def test_a_word_that_is_no_token_is_not_widened(near_path: Path) -> None:
    with Warehouse(near_path).reader() as connection:
        models = choose_models(connection, ["tiny-1m"])
        terms = find_terms(connection, ["teaching"], [0], exact=False)
        assert terms[0].is_split
        assert neighbours_of(connection, models, terms, limit=9) == {0: []}
        assert neighbours_of(connection, models, [], limit=9) == {0: []}


def near(word: str, cosine: float) -> Neighbour:
    return Neighbour(word, "tea", cosine, ())


MODELS: list[KnownModel] = [known_model(model_id=number, name=name) for number, name in enumerate("abc")]


def test_models_that_added_the_same_share_a_sentence() -> None:
    one, other = [near("cup", 0.567), near("mug", 0.5)], [near("cup", 0.5)]
    assert remarks(MODELS, {0: one, 1: other, 2: one}, 5) == [
        "widened in a, c with cup (0.57), mug (0.50)",
        "widened in b with cup (0.50)",
    ]
    assert remarks(MODELS, {0: [], 1: other, 2: []}, 5)[0] == "widened in a, c with nothing"


@pytest.mark.parametrize(
    ("limit", "why"),
    [(5, "no nearest tokens are stored"), (0, "as asked for")],
)
def test_where_nothing_is_added_it_is_said_why(limit: int, why: str) -> None:
    (said,) = remarks(MODELS, {0: [], 1: [], 2: []}, limit)
    assert why in said


def test_what_a_concept_is_widened_with_cannot_move_the_cursor() -> None:
    model = known_model()
    near = {0: [Neighbour("\x1b[2J", "tea", 0.5, ())]}
    assert remarks([model], near, 5) == [r"widened in m with \x1b[2J (0.50)"]
