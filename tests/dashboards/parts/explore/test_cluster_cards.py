"""Clusters as cards: distinctive tokens and clusters of a token against loops over the lists of all neurons."""

import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from neurothek.dashboards.parts.explore.cluster_cards import (
    cards_html,
    clusters_headline,
    cohesion_text,
    in_order,
    layers_text,
    names_of,
    null_text,
    reads,
    share_text,
    shares_html,
    size_text,
)
from neurothek.dashboards.parts.muted import Muted
from neurothek.dashboards.widgets.figures import statement
from neurothek.queries.ask.one_query import run_query
from neurothek.queries.names.models import shown_corpora
from tests.support import warehouse as made

Place = tuple[int, int]


def lists_of(
    connection: duckdb.DuckDBPyConnection, model: str
) -> tuple[dict[Place, list[int]], dict[int, list[Place]]]:
    """The first ten tokens of every neuron, and the neurons of every cluster of the shown clustering."""
    tops = connection.execute(
        "select layer, neuron, top_token_ids from store.projections inner join store.models on model_id = set_id "
        "where name = ?",
        [model],
    ).fetchall()
    members: dict[int, list[Place]] = defaultdict(list)
    rows = connection.execute(
        "select cluster_id, layer, neuron from cluster_members where model = ? and is_shown", [model]
    ).fetchall()
    for cluster, layer, neuron in rows:
        members[cluster].append((layer, neuron))
    return {(layer, neuron): ids[:10] for layer, neuron, ids in tops}, members


@pytest.mark.parametrize("model", ["tiny-1m", "tiny-2m"])
@pytest.mark.parametrize("n", [1, 3, 100])
def test_distinctive_tokens_are_those_of_a_loop(full_path: Path, model: str, n: int) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        tops, members = lists_of(connection, model)
        ((clustering,),) = connection.execute(
            "select distinct clustering_id from cluster_members where model = ? and is_shown", [model]
        ).fetchall()
        asked = sorted(members)[1:]
        values = {"model": model, "clustering_id": clustering, "cluster_ids": asked, "n": n}
        found = run_query(connection, statement("distinctive_tokens"), values).to_dicts()
        texts = dict(
            connection.execute(
                "select token_id, text from store.tokens inner join store.models using (tokenizer_id) where name = ?",
                [model],
            ).fetchall()
        )
    everywhere = Counter(token for tokens in tops.values() for token in set(tokens))
    expected = []
    for cluster in asked:
        inside = Counter(token for place in members[cluster] for token in set(tops[place]))
        size = len(members[cluster])
        scored = []
        for token, count in inside.items():
            p, q = count / size, everywhere[token] / len(tops)
            if count >= 2 and p > q:
                scored.append((-p * math.log(p / q), token, count, p, q))
        for place, (_, token, count, p, q) in enumerate(sorted(scored)[:n], start=1):
            expected.append((cluster, place, texts[token], count, size, pytest.approx(p), pytest.approx(q)))
    names = ("cluster_id", "place", "token", "n_inside", "n_members", "share_inside", "share_expected")
    assert [tuple(row[name] for name in names) for row in found] == expected
    assert expected or model == "tiny-1m"


MOST = {" the": 600, " dog": 250, "er": 90, " cat": 30, " tea": 9, "un": 3, " school": 1}
"""What a text is made to hold: the rest of the tokens never occurs."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Neurons of a cluster that list what the text has often, what it has seldom, and what it lacks.

    All list " the", which is common in the text; all but one " school", two " coffee", one alone " Café".
    """
    path = tmp_path_factory.mktemp("planted") / "planted.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        ((model_id, tokenizer_id, corpus_id),) = connection.execute(
            "select model_id, tokenizer_id, corpus_id from store.models inner join measured_corpora using (model_id) "
            "where name = 'tiny-2m' and is_shown"
        ).fetchall()
        ids = dict(
            connection.execute(
                "select text, token_id from store.tokens where tokenizer_id = ?", [tokenizer_id]
            ).fetchall()
        )
        connection.execute("delete from store.token_counts where corpus_id = ?", [corpus_id])
        rows = [(corpus_id, domain, ids[text], n) for text, n in MOST.items() for domain in ("code", "prose")]
        connection.executemany("insert into store.token_counts values (?, ?, ?, ?)", rows)
        _, members = lists_of(connection, "tiny-2m")
        places = max(members.values(), key=len)
        rest = [ids[text] for text in (" dog", "er", " cat", " tea", "un", "ing", " bus", "bus", " s")]
        for place, (layer, neuron) in enumerate(places):
            own = [ids[" the"], *rest]
            own[place % 5 + 2] = ids[" school"] if place else ids[" Café"]
            own[8] = ids[" coffee"] if place < 2 else ids[" teach"] if place == 2 else ids["School"]
            connection.execute(
                "update store.projections set top_token_ids = ? where set_id = ? and layer = ? and neuron = ?",
                [own, model_id, layer, neuron],
            )
    return path


def against_a_corpus(path: Path, n: int) -> list[dict[str, Any]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        _, members = lists_of(connection, "tiny-2m")
        (corpus,) = shown_corpora(connection, ["tiny-2m"]).values()
        ((clustering,),) = connection.execute(
            "select distinct clustering_id from cluster_members where model = 'tiny-2m' and is_shown"
        ).fetchall()
        values: dict[str, Any] = {"model": "tiny-2m", "clustering_id": clustering, "corpus_id": corpus.corpus_id}
        values |= {"cluster_ids": sorted(members), "n": n}
        return run_query(connection, statement("distinctive_tokens_by_corpus"), values).to_dicts()


@pytest.mark.parametrize("n", [2, 100])
def test_tokens_against_a_corpus_are_those_of_a_loop(planted: Path, n: int) -> None:
    with duckdb.connect(str(planted), read_only=True) as connection:
        tops, members = lists_of(connection, "tiny-2m")
        texts = dict(
            connection.execute(
                "select token_id, text from store.tokens inner join store.models using (tokenizer_id) "
                "where name = 'tiny-2m'"
            ).fetchall()
        )
    n_positions = 2 * sum(MOST.values())
    expected = []
    for cluster, places in sorted(members.items()):
        listed = [token for place in places for token in tops[place]]
        scored = []
        for token in sorted(set(listed)):
            inside, corpus = listed.count(token), 2 * MOST.get(texts[token], 0)
            cells = [inside, len(listed) - inside, corpus, n_positions - corpus]
            a, b, c, d = (cell + 0.5 for cell in cells)
            z = math.log(a * d / (b * c)) / math.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
            if inside >= 2 and z > 1.96:
                scored.append((-z, token, inside, inside / len(listed), corpus, corpus / n_positions))
        for place, (z, token, inside, listing, corpus, share) in enumerate(sorted(scored)[:n], start=1):
            approximate = (pytest.approx(number) for number in (-z, inside / len(places), listing, share))
            expected.append((cluster, place, texts[token], inside, len(places), corpus, *approximate))
    names = ("cluster_id", "place", "token", "n_inside", "n_members", "n_occurrences")
    numbers = ("z", "share_inside", "share_of_lists", "share_of_corpus")
    found = against_a_corpus(planted, n)
    assert [tuple(row[name] for name in (*names, *numbers)) for row in found] == expected
    assert expected


def test_what_is_common_in_the_text_tells_no_cluster(planted: Path) -> None:
    """Though every neuron lists it; what the text has seldom does, unless one neuron alone lists it."""
    with duckdb.connect(str(planted), read_only=True) as connection:
        _, members = lists_of(connection, "tiny-2m")
    largest = max(members, key=lambda cluster: len(members[cluster]))
    assert len(members[largest]) >= 4
    found = {row["token"]: row for row in against_a_corpus(planted, 100) if row["cluster_id"] == largest}
    assert found[" school"]["n_inside"] == len(members[largest]) - 1
    assert found[" coffee"]["n_occurrences"] == 0
    assert found[" school"]["place"] < found[" coffee"]["place"]
    assert not found.keys() & {" the", " dog", " Café", " teach"}
    # Expected of ten draws from the text, and never more than all neurons.
    assert all(row["share_expected"] == pytest.approx(min(1, 10 * row["share_of_corpus"])) for row in found.values())


def test_clusters_of_a_token_are_those_whose_neurons_list_it(full_path: Path) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        tops, members = lists_of(connection, "tiny-2m")
        tokens = connection.execute(
            "select token_id, text, word from store.tokens inner join store.models using (tokenizer_id) "
            "where name = 'tiny-2m'"
        ).fetchall()
        ((clustering,),) = connection.execute(
            "select distinct clustering_id from cluster_members where model = 'tiny-2m' and is_shown"
        ).fetchall()
        n_found = 0
        for _, text, word in tokens[:60]:
            for asked in ({"word": word, "token": word}, {"word": "no such word", "token": text}):
                values = {"model": "tiny-2m", "clustering_id": clustering, **asked}
                found = run_query(connection, statement("clusters_of_token"), values)
                ids = {one for one, exact, other in tokens if exact == asked["token"] or other == asked["word"]}
                expected = {
                    cluster: sum(bool(ids & set(tops[place])) for place in places)
                    for cluster, places in sorted(members.items())
                }
                assert dict(found.rows()) == {cluster: n for cluster, n in expected.items() if n}
                n_found += found.height
    assert n_found


CLUSTERS = pl.DataFrame(
    {
        "cluster_id": [0, 1, 2, 3],
        "size": [4, 2, 9, 1],
        "n_layers": [2, 1, 3, 1],
        "first_layer": [0, 1, 0, 2],
        "last_layer": [1, 1, 2, 2],
        "cohesion": [0.25, 0.5, 0.125, None],
        "is_beyond_null": [True, False, None, None],
        "n_listing": [1, 2, 3, 1],
    }
)


def test_clusters_stand_in_the_order_that_is_asked_for() -> None:
    assert in_order(CLUSTERS, "cohesion")["cluster_id"].to_list() == [1, 0, 2, 3]
    assert in_order(CLUSTERS, "size")["cluster_id"].to_list() == [2, 0, 1, 3]
    assert in_order(CLUSTERS, "share with the token")["cluster_id"].to_list() == [1, 3, 2, 0]
    # Without a token there is no such share.
    bare = CLUSTERS.drop("n_listing")
    assert in_order(bare, "share with the token").equals(in_order(bare, "cohesion"))


def test_all_clusters_are_told_in_a_sentence() -> None:
    assert clusters_headline(CLUSTERS) == (
        "16 neurons in 4 clusters. The median cluster has 4 neurons and a cohesion of 0.250, the tightest 0.500. 67% "
        "of them reach over several layers."
    )
    assert "5 neurons in 2 clusters. The median cluster has 4 neurons" in clusters_headline(CLUSTERS[[0, 3]])
    assert clusters_headline(CLUSTERS[3:]) == "1 neurons in 1 clusters, each of one neuron."


NULL = {"n_several": 40, "median_cohesion": 0.25, "n_null": 50, "null_median": 0.125}
NULL |= {"null_95": 0.5, "null_max": 0.75, "n_beyond_null": 10}


def test_random_clusters_are_told_in_a_sentence() -> None:
    assert null_text(NULL) == (
        "Of 50 clusters of as many random directions the median cohesion is 0.125, 95% have at most 0.500, the "
        "tightest has 0.750. 10 of the model's 40 clusters of several neurons are beyond these 95% (25%, by chance "
        "5%); its median cluster, 0.250, is within chance."
    )
    assert null_text(NULL | {"median_cohesion": 0.625}).endswith("its median cluster, 0.625, is beyond them, too.")
    assert not null_text(NULL | {"null_95": None, "n_beyond_null": None})
    assert not null_text(NULL | {"n_several": 0, "median_cohesion": None})


def tokens(*rows: tuple[int, str, int, int, float]) -> pl.DataFrame:
    made: list[dict[str, Any]] = [
        {
            "cluster_id": cluster,
            "place": 1,
            "token": token,
            "n_inside": n,
            "n_members": size,
            "share_inside": n / size,
            "share_expected": share,
        }
        for cluster, token, n, size, share in rows
    ]
    return pl.DataFrame(made)


TOKENS = tokens((0, " <b>", 3, 4, 0.01), (2, " tea", 2, 9, 0.5))


def test_a_card_tells_size_layers_and_tokens_and_leads_to_its_neurons() -> None:
    drawn = cards_html(CLUSTERS.to_dicts(), TOKENS, {"model": "m"}, "tea")
    first, second, third, last = drawn.split('<div class="nt-card">')[1:]
    assert 'href="/clusters?model=m&amp;cluster=0"' in first
    assert "4 neurons, layers 0 to 1" in first
    assert "cohesion\xa00.250, beyond chance; 1 of 4 list “tea”" in first
    assert "cohesion\xa00.500, within chance; 2 of 2 list “tea”" in second
    assert "cohesion\xa00.125; 3 of 9 list “tea”" in third
    assert 'title="3 of 4 neurons; 1.0% of all"' in first
    assert "<b>" not in first.split("</header>")[1]
    assert "no distinctive token" in second
    assert "·tea" in third
    assert "nt-asked" in third
    assert "nt-asked" not in first
    assert "one neuron alone" in last


def test_a_token_that_was_asked_for_is_known(subtests: pytest.Subtests) -> None:
    for token, word, expected in [
        (" Tea", "tea", True),
        (" tea", "·tea", True),
        ("tea", "·tea", False),
        (" teas", "tea", False),
        (" tea", None, False),
    ]:
        with subtests.test(token=token, word=word, expected=expected):
            assert reads(token, word) is expected


def test_bars_are_as_long_as_the_shares() -> None:
    drawn = shares_html(TOKENS[:1], "#123456")
    assert '<b style="width: 75.0%">' in drawn
    assert '<u style="width: 1.0%">' in drawn
    assert "3 of 4 neurons; 1.0% of all" in drawn


def test_what_is_told_of_one_is_in_the_singular() -> None:
    one = CLUSTERS.row(3, named=True)
    assert (size_text(one), layers_text(one), cohesion_text(one)) == ("1 neuron", "layer 2", "one neuron alone")
    assert share_text(TOKENS.row(1, named=True)) == "2 of 9 neurons; 50.0% of all"


def test_a_token_that_the_corpus_lacks_is_said_to_be_missing() -> None:
    row = TOKENS.row(0, named=True) | {"share_of_lists": 0.0823, "n_occurrences": 7, "share_of_corpus": 0.00123}
    assert share_text(row) == "3 of 4 neurons; 8.2% of their lists, 0.12% of the corpus"
    assert share_text(row | {"n_occurrences": 0}) == "3 of 4 neurons; 8.2% of their lists, not in the corpus"


def test_a_cluster_is_named_after_tokens_that_most_of_its_neurons_list() -> None:
    counts = {" a": 3, "\n": 9, " b": 5, "pale": 8, " c": 5, " d": 1}
    rows = [{"token": token, "n_inside": n} for token, n in counts.items()]
    # Those that as many list stay in the order of the rows; what is blank or pale names nothing.
    assert names_of(rows, Muted({"pale": "a byte"})) == [" b", " c", " a"]
    assert names_of(rows) == ["pale", " b", " c"]
    assert names_of([]) == []
