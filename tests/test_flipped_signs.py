"""The same gated model with some signs turned: no logit changes, and no answer but the named poles."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import torch

import neurothek
from ingest.models.checkpoints import find
from ingest.models.transformer import open_transformer
from queries.search.by_likeness import AlikeResult
from queries.search.question import SIDES, Question
from tests.support.flipped import flip
from tests.support.ingests import compare, measure, open_warehouse, request, write_corpus
from tests.support.models import build

JOBS = ("projections", "activity", "ngrams", "clusters")
OTHERS = {"pole", "pole_activation"}


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> tuple[neurothek.Neurothek, neurothek.Neurothek]:
    """A warehouse of two tiny Llamas, and one in which signs of the first are turned."""
    folder = tmp_path_factory.mktemp("signs")
    corpora = write_corpus(folder)
    plain = build(folder / "one", "llama", d_ffn=48)
    turned = flip(plain, folder / "turned")
    others = [build(folder / "two", "llama", d_ffn=48, seed=5)]
    doors = []
    for number, first in enumerate((plain, turned)):
        warehouse = open_warehouse(folder / f"{number}.duckdb")
        measure(warehouse, f"one={first}", request(corpora, jobs=JOBS, clusters=(8, 30)))
        for other in others:
            measure(warehouse, other, request(corpora, jobs=("projections",)))
        compare(warehouse, "one", "two")
        doors.append(neurothek.open(warehouse.path))
    return doors[0], doors[1]


@pytest.fixture(scope="module")
def signs(doors: tuple[neurothek.Neurothek, neurothek.Neurothek]) -> Mapping[str, int]:
    """Address -> -1 where the sign is turned."""
    frames = [door.sql("select address, score_mean from neurons where model = 'one'") for door in doors]
    means = [dict(frame.rows()) for frame in frames]
    signs = {address: 1 if mean == pytest.approx(means[1][address]) else -1 for address, mean in means[0].items()}
    assert 20 < sum(sign < 0 for sign in signs.values()) < 76
    return signs


def same(one: pl.DataFrame, other: pl.DataFrame, what: object) -> None:
    """Everything but the poles, which are turned with the signs; floats as far as sums in another order go."""
    assert one.columns == other.columns
    assert one.height == other.height > 0, what
    for name in one.columns:
        first, second = one[name], other[name]
        if name == "pole_activation":
            first, second = first.abs(), second.abs()
        if name == "pole":
            continue
        if first.dtype.is_float():
            assert first.to_list() == pytest.approx(second.to_list(), rel=1e-5, abs=1e-6), (what, name)
        elif first.dtype == pl.List(pl.Float64):
            pairs = zip(first.to_list(), second.to_list(), strict=True)
            assert all(a == pytest.approx(b, rel=1e-5, abs=1e-6) for a, b in pairs), (what, name)
        else:
            assert first.to_list() == second.to_list(), (what, name)


def poles_turn(one: pl.DataFrame, other: pl.DataFrame, signs: Mapping[str, int], what: object) -> None:
    for address, first, second in zip(one["address"], one["pole"], other["pole"], strict=True):
        assert (first == second) == (signs.get(address, 1) > 0), (what, address)


def test_no_logit_changes(doors: tuple[neurothek.Neurothek, ...]) -> None:
    ids = torch.arange(4, 30)[None]
    logits = []
    for door in doors:
        source = door.sql("select source from store.models where name = 'one'").item()
        transformer = open_transformer(find(source))
        stream = transformer.embed(ids)
        for layer in range(2):
            with transformer.block(layer) as block:
                stream = block(stream).stream
        logits.append(transformer.logits(stream))
    torch.testing.assert_close(logits[0], logits[1])


QUESTIONS: tuple[dict[str, Any], ...] = (
    {"words": ("0",)},
    {"words": ("0",), "side": "suppressed"},
    {"words": ("0",), "side": "both"},
    {"words": ("0",), "min_count": 1},
    {"words": ("0",), "side": "suppressed", "min_count": 1},
    {"words": ("0",), "side": "both", "min_count": 1},
    {"words": ("0", "1"), "where": "layer = 1"},
    {"words": ("0", "1", "2"), "side": "both"},
    {"words": ("0", "1", "2"), "side": "suppressed"},
    {"words": ("0", "1"), "match_all": True},
    {"words": ("0",), "suppresses": ("1",)},
    {"words": ("0",), "without": ("1", "2")},
    {"words": ("0",), "concept": True},
)


@pytest.fixture(scope="module")
def words(doors: tuple[neurothek.Neurothek, ...]) -> tuple[str, ...]:
    """Words that many neurons list."""
    query = """
        select word from promotions where model = 'one' and regexp_matches(token, '^ [a-z]{2,}$') and corpus_count > 0
        group by word order by count(*) desc, word limit 3
    """
    return tuple(doors[0].sql(query)["word"])


def with_words(asked: Any, words: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever a search is asked
    """What is asked, with words in place of their numbers."""
    return tuple(words[int(one)] for one in asked) if isinstance(asked, tuple) else asked


def test_searches_find_the_same_neurons(
    doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int], words: tuple[str, ...]
) -> None:
    for question in QUESTIONS:
        asked = {name: with_words(value, words) for name, value in question.items() if name != "words"}
        spoken = with_words(question["words"], words)
        one, other = (door.search(*spoken, limit=40, model="one", **asked) for door in doors)
        assert one.title == other.title
        same(one.neurons, other.neurons, question)
        poles_turn(one.neurons, other.neurons, signs, question)
    first, second = (door.score(words[0], limit=96, model="one").neurons for door in doors)
    same(first, second, "score")
    poles_turn(first, second, signs, "score")


def test_stored_lists_find_the_same_neurons_in_both_ways(
    doors: tuple[neurothek.Neurothek, ...],
    signs: Mapping[str, int],
    words: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("neurothek.opened.MOST_BYTES", 0)
    for side in SIDES:
        asked = Question(words=words[:1], side=side, models=("one",), limit=96)
        ways = [
            [door.answer(question).neurons for door in doors] for question in (asked, replace(asked, layers=(0, 1)))
        ]
        for one, other in ways:
            same(one, other, side)
            poles_turn(one, other, signs, side)
        same(ways[0][0], ways[1][0], side)


def test_likeness_is_the_same(doors: tuple[neurothek.Neurothek, ...], signs: Mapping[str, int]) -> None:
    for address in [*list(signs)[:12], "two/L0N3"]:
        one, other = (door.search(like=address, limit=60) for door in doors)
        assert isinstance(one, AlikeResult)
        assert isinstance(other, AlikeResult)
        same(one.neurons, other.neurons, address)
        # What the asked neuron does at its strongest pole: the others' poles turn with their own signs alone.
        poles_turn(one.neurons, other.neurons, signs, address)
        assert (one.pole == other.pole) == (signs.get(address, 1) > 0)
        assert set(one.neurons["model"]) == {"one", "two"}


@pytest.mark.parametrize("view", ["counterparts", "neighbours", "clusters_summary", "cluster_members"])
def test_views_are_the_same(doors: tuple[neurothek.Neurothek, ...], view: str, signs: Mapping[str, int]) -> None:
    turned = {"top_tokens", "bottom_tokens", "other_top_tokens", "other_bottom_tokens", "cosine", "centre_cosine"}
    frames = [door.sql(f"select * from {view} order by all") for door in doors]
    keys = [name for name in frames[0].columns if name not in turned and name != "pole"]
    one, other = (frame.select(keys).sort(keys[:-1] if len(keys) > 1 else keys) for frame in frames)
    same(one, other, view)
    if view == "neighbours":
        cosines = [door.sql("select address, rank, abs(cosine) as c from neighbours order by all") for door in doors]
        same(cosines[0], cosines[1], view)


def test_suppression_is_the_same(doors: tuple[neurothek.Neurothek, ...]) -> None:
    facts = "select address, suppresses_triggers, abs(trigger_z) as z from neurons where model = 'one' order by address"
    same(doors[0].sql(facts), doors[1].sql(facts), "neurons")
