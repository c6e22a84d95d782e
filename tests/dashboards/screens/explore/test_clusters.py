"""The page of clusters: cards that lead to neurons, a field for a token, one cluster at a time."""

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
from streamlit.testing.v1 import AppTest

from neurothek.catalog.publishing import summaries
from tests.support import relatives, tiny
from tests.support import warehouse as made

Opener = Callable[..., AppTest]
ONE = {"model": "tiny-2m"}


def text(page: AppTest) -> str:
    parts = [*page.title, *page.header, *page.markdown, *page.caption, *page.info, *page.warning]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def cards(page: AppTest) -> list[str]:
    bodies = [element.proto.body for element in page.get("html") if '<div class="nt-cards">' in element.proto.body]
    return [card for body in bodies for card in body.split('<div class="nt-card">')[1:]]


def test_the_tightest_cluster_comes_first(page: Opener, full_path: Path) -> None:
    shown = page(full_path, "clusters", model="tiny-2m")
    assert not shown.exception
    with duckdb.connect(str(full_path), read_only=True) as connection:
        rows = connection.sql(
            "select cluster_id from clusters_summary where model = 'tiny-2m' and is_shown "
            "order by cohesion desc nulls last, size desc, cluster_id"
        ).fetchall()
    assert [card.split("cluster=")[1].split('"')[0] for card in cards(shown)] == [str(one) for (one,) in rows]
    assert "neurons in" in text(shown)


def test_clusters_stand_beside_those_of_random_directions(page: Opener, full_path: Path) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        row = connection.sql("select n_beyond_null, n_several from clusterings where model = 'tiny-2m' and is_shown")
        ((n_beyond, n_several),) = row.fetchall()
        query = "select is_beyond_null from clusters_summary where model = 'tiny-2m' and is_shown and size > 1"
        beyond = [one for (one,) in connection.sql(query).fetchall()]
    shown = page(full_path, "clusters", **ONE)
    assert sum(beyond) == n_beyond
    assert "random directions the median cohesion is 0.250, 95% have at most 0.750, the tightest has 0.875" in text(
        shown
    )
    assert f"{n_beyond} of the model's {n_several} clusters of several neurons are beyond these 95%" in text(shown)
    assert not [one for one in shown.code if "ingest" in one.value]
    told = "".join(cards(shown))
    assert told.count("beyond chance") == n_beyond
    assert told.count("within chance") == n_several - n_beyond


def test_where_no_random_directions_were_clustered_the_command_stands(page: Opener, full_path: Path) -> None:
    name = tiny.MODELS[relatives.WITHOUT_RANDOM_CLUSTERS].name
    shown = page(full_path, "clusters", model=name)
    assert "Chance was not measured: an earlier release clustered this model" in text(shown)
    assert f"neurothek ingest {name} --job clusters --clusters 4 --clusters 2 --force" in "".join(
        one.value for one in shown.code
    )
    assert "chance" not in "".join(cards(shown))


def test_a_cluster_shows_its_neurons(page: Opener, full_path: Path) -> None:
    shown = page(full_path, "clusters", model="tiny-2m", cluster="1")
    assert "neurons of cluster 1" in text(shown).lower()
    with duckdb.connect(str(full_path), read_only=True) as connection:
        rows = connection.sql(
            "select address from cluster_members where model = 'tiny-2m' and is_shown and cluster_id = 1"
        ).fetchall()
    (table,) = [one.value for one in shown.dataframe if "centre_cosine" in one.value.columns]
    assert set(table["address"]) == {address for (address,) in rows}
    assert not cards(shown)


def test_the_next_cluster_is_the_next_tightest(page: Opener, full_path: Path) -> None:
    every = [card.split("cluster=")[1].split('"')[0] for card in cards(page(full_path, "clusters", model="tiny-2m"))]
    shown = page(full_path, "clusters", model="tiny-2m", cluster=every[0])
    assert shown.button(key="previous").disabled
    for cluster in every[1:]:
        shown.button(key="next").click().run()
        assert shown.query_params["cluster"] == cluster
        assert f"neurons of cluster {cluster}" in text(shown).lower()
    assert shown.button(key="next").disabled


def test_a_token_narrows_the_clusters_and_stays_in_the_address(page: Opener, full_path: Path) -> None:
    every = page(full_path, "clusters", model="tiny-2m")
    every.text_input(key="token").set_value("coffee").run()
    assert every.query_params["token"] == "coffee"
    assert "clusters with neurons that promote coffee" in text(every)
    assert cards(every)
    assert all("list “coffee”" in card for card in cards(every))
    none = page(full_path, "clusters", model="tiny-2m", token="no such token")
    assert "No neuron of tiny-2m lists no such token among the first ten" in text(none)
    assert not cards(none)


def test_the_order_is_kept_in_the_address(page: Opener, full_path: Path) -> None:
    shown = page(full_path, "clusters", model="tiny-2m", order="size")
    assert shown.query_params["order"] == "size"
    sizes = [int(re.findall(r"(\d+) neuron", card)[0]) for card in cards(shown)]
    assert sizes == sorted(sizes, reverse=True)
    assert "order" not in page(full_path, "clusters", model="tiny-2m", order="cohesion").query_params


def test_tokens_are_held_against_the_corpus_that_was_read(page: Opener, full_path: Path) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        ((corpus, n_tokens),) = connection.sql(
            "select corpus, n_tokens from measured_corpora where model = 'tiny-2m' and is_shown"
        ).fetchall()
    assert f"more often than the {n_tokens:,} tokens of {corpus} hold them" in text(page(full_path, "clusters", **ONE))


def test_without_a_text_tokens_are_held_against_other_neurons(page: Opener, tmp_path: Path) -> None:
    path = tmp_path / "untold.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        ((model_id,),) = connection.sql("select model_id from store.models where name = 'tiny-2m'").fetchall()
        connection.execute("delete from store.runs where corpus_id is not null and model_id = ?", [model_id])
        summaries.refresh(connection, model_id)
    shown = page(path, "clusters", **ONE)
    assert "Tokens that tell a cluster from the model's other neurons, since it read no corpus yet" in text(shown)
    assert "of all" in "".join(cards(shown))
    assert "the mark: of all neurons" in text(page(path, "clusters", **ONE, cluster="1"))
