"""The page Search: every condition of the command, kept in the address, and the same neurons as the command finds."""

import inspect
import re
import shutil
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

import neurothek
from neurothek.cli.search import search
from neurothek.dashboards.parts import search_fields
from neurothek.dashboards.parts.search_fields import words_of
from neurothek.dashboards.widgets.html import plain
from neurothek.queries.search.question import parse_depth, parse_layers
from tests.support import detectors, ingests, tiny
from tests.support.models import build

MOST_BESIDE = 20

Opener = Callable[..., AppTest]


def addresses(page: AppTest, place: int = 0) -> list[str]:
    """Addresses of the rows that the page shows, or those of one model of a grid."""
    shown = "".join(part.proto.body for part in page.get("html"))
    if 'class="nt-grid"' in shown:
        lines = [re.findall(r"<td>(.*?)</td>", line) for line in re.findall(r"<tr>(.*?)</tr>", shown)[1:]]
        shown = "".join(line[place] for line in lines)
    return [unquote(unescape(found)) for found in re.findall(r'nt-row"[^>]* href="/neuron\?neuron=([^"&]+)', shown)]


def models(page: AppTest) -> list[str]:
    """Names of the models that stand beside each other."""
    return [unescape(name) for part in page.get("html") for name in re.findall(r"<th>([^<]+)</th>", part.proto.body)]


def in_order(page: AppTest) -> None:
    assert [error.message for error in page.exception] == []
    assert [error.value for error in page.error] == []


# What stands in the address, and the same in Python.
CONDITIONS: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "words": ({"words": "school coffee"}, {}),
    "side": ({"words": "school", "side": "suppressed"}, {"side": "suppressed"}),
    "either": ({"words": "school", "side": "both"}, {"side": "both"}),
    "suppresses": ({"words": "coffee", "suppresses": "dog"}, {"suppresses": ("dog",)}),
    "without": ({"words": "school", "without": "coffee cat"}, {"without": ("coffee", "cat")}),
    "models": ({"words": "school", "models": "tiny-1m,gelu-1m"}, {"models": ("tiny-1m", "gelu-1m")}),
    "layers": ({"words": "school", "layers": "0-1"}, {"layers": parse_layers("0-1")}),
    "depth": ({"words": "school", "depth": "0.5-1"}, {"depth": parse_depth("0.5-1")}),
    "where": ({"words": "school", "where": "kurtosis > 0"}, {"where": "kurtosis > 0"}),
    "min_count": ({"words": "school", "min_count": "2"}, {"min_count": 2}),
    "limit": ({"words": "school", "limit": "3"}, {"limit": 3}),
    "all": ({"words": "school coffee", "match_all": "yes"}, {"match_all": True}),
    "exact": ({"words": '" school"', "exact": "yes"}, {"exact": True}),
    "alive": ({"words": "school", "alive": "yes"}, {"alive": True}),
    "variants": ({"words": "school", "variants": "yes"}, {"variants": True}),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_condition_of_the_address_is_asked_and_stays_there(page: Opener, full_path: Path, name: str) -> None:
    typed, conditions = CONDITIONS[name]
    opened = page(full_path, "search", **typed)
    in_order(opened)
    words = words_of(typed["words"])
    found = neurothek.open(full_path).search(*words, **{"limit": 100, **conditions}).neurons
    assert addresses(opened) == found.get_column("address").to_list()
    assert dict(opened.query_params) == typed
    # It narrows: another answer than that of the words alone, but for those that all neurons here meet.
    if conditions and name not in ("alive", "min_count", "where"):
        assert addresses(opened) != addresses(page(full_path, "search", words=typed["words"]))


def test_variants_that_are_left_out_are_said(page: Opener, full_path: Path) -> None:
    told = plain("left out the variant tiny-2m-nopos; the switch Include variants adds them.")
    for more in ({}, {"beside": "yes"}):
        sizes = page(full_path, "search", words="school", **more)
        assert any(told in caption.value.replace("Left out", "left out") for caption in sizes.caption), more
        asked = page(full_path, "search", words="school", variants="yes", **more)
        assert not any("left out" in caption.value.casefold() for caption in asked.caption)
        names = [
            address.partition("/")[0] for place in range(len(models(asked)) or 1) for address in addresses(asked, place)
        ]
        assert "tiny-2m-nopos" in names


def test_every_option_of_the_command_has_its_field() -> None:
    source = inspect.getsource(search_fields)
    elsewhere = {"words", "layer", "weights", "output_format"}
    options = {str(option.name) for option in search.params if option.expose_value} - elsewhere
    assert [name for name in options if f'"{name}"' not in source] == []


def test_what_reads_a_word(page: Opener, tmp_path: Path) -> None:
    model, warehouse = build(tmp_path / "tiny", "llama", d_ffn=16), ingests.open_warehouse(tmp_path / "w.duckdb")
    ingests.measure(warehouse, model, ingests.request((), jobs=("projections", "keys")))
    opened = page(warehouse.path, "search", words="school", reads="yes")
    in_order(opened)
    expected = neurothek.open(warehouse.path).search("school", reads=True, limit=100).neurons
    shown = opened.dataframe[0].value["address"].to_list()
    assert shown == expected.get_column("address").to_list() != []


def test_like_a_neuron(page: Opener, full_path: Path) -> None:
    address = tiny.address((0, 0, 0))
    opened = page(full_path, "search", like=address)
    in_order(opened)
    expected = neurothek.open(full_path).search(like=address, limit=100).neurons
    assert addresses(opened) == expected.get_column("address").to_list()


def test_what_fires_on_a_word(page: Opener, tmp_path: Path) -> None:
    path = tmp_path / "detectors.duckdb"
    detectors.publish(path)
    word = neurothek.open(path).sql("select detected_tokens[1] as token from token_detectors limit 1").item().strip()
    opened = page(path, "search", triggered_by=word)
    in_order(opened)
    expected = neurothek.open(path).search(triggered_by=(word,), limit=100).neurons
    assert addresses(opened) == expected.get_column("address").to_list() != []
    assert "of its activations" in "".join(part.proto.body for part in opened.get("html"))


def test_models_stand_side_by_side(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", words="school", beside="yes")
    in_order(opened)
    names = models(opened)
    sizes = "select model from models where variant is null order by size, model"
    assert names == neurothek.open(full_path).sql(sizes).to_series().to_list()
    for place, name in enumerate(names):
        found = neurothek.open(full_path).search("school", models=(name,), limit=100).neurons
        assert addresses(opened, place) == found.get_column("address").to_list()[:MOST_BESIDE]


def test_a_table_holds_the_same_neurons(page: Opener, full_path: Path) -> None:
    rows = page(full_path, "search", words="school")
    opened = page(full_path, "search", words="school", table="yes")
    in_order(opened)
    (table,) = [table.value for table in opened.dataframe]
    assert list(table["address"]) == addresses(rows) != []


def test_an_empty_page_offers_words_that_are_tokens(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search")
    in_order(opened)
    shown = "".join(part.proto.body for part in opened.get("html"))
    offered = re.findall(r'href="/search\?words=(\w+)"', shown)
    assert offered == ["school"]
    assert addresses(page(full_path, "search", words=offered[0]))


def test_a_chip_that_is_taken_out_narrows_the_concept(page: Opener, full_path: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(full_path, tmp_path / "w.duckdb"))
    near = {" coffee": 0.75, " bus": 0.5}
    with duckdb.connect(str(path)) as connection:
        for rank, (token, cosine) in enumerate(near.items(), start=1):
            ids = [tiny.ENGLISH.index(one) for one in (" tea", token)]
            connection.execute(
                "insert into store.token_neighbours (model_id, token_id, rank, neighbour_id, cosine, run_id)"
                " select model_id, ?, ?, ?, ?, 0 from store.models where tokenizer_id = 0",
                [ids[0], rank, ids[1], cosine],
            )
    opened = page(path, "search", words="tea", concept="yes")
    in_order(opened)
    (chips,) = [group for group in opened.button_group if str(group.key).startswith("chips")]
    assert (chips.options, chips.value) == (["coffee", "bus"], ["coffee", "bus"])
    door = neurothek.open(path)
    wide = door.search("tea", concept=True, limit=100).neurons.get_column("address").to_list()
    assert addresses(opened) == wide
    chips.set_value(["bus"])
    opened.run()
    in_order(opened)
    assert opened.query_params["left_out"] == "coffee"
    narrow = door.search("tea", concept=True, left_out=("coffee",), limit=100).neurons.get_column("address").to_list()
    assert addresses(opened) == narrow != wide
    # A reload has the chip as it was left; another click brings it back.
    again = page(path, "search", words="tea", concept="yes", left_out="coffee")
    (chips,) = [group for group in again.button_group if str(group.key).startswith("chips")]
    assert (chips.options, chips.value) == (["coffee", "bus"], ["bus"])
    chips.set_value(["coffee", "bus"])
    again.run()
    assert "left_out" not in again.query_params
    assert addresses(again) == wide


def test_the_usual_name_of_words_is_read(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "search", q="school")
    in_order(opened)
    assert dict(opened.query_params) == {"words": "school"}
    assert addresses(opened) == addresses(page(full_path, "search", words="school")) != []


def test_of_one_model_nothing_is_offered_in_each_size(page: Opener, full_path: Path, tmp_path: Path) -> None:
    def offered(shown: AppTest) -> str:
        texts = [one.proto.body for one in shown.get("html")] + [one.value for one in shown.caption]
        assert not shown.exception
        return "\n".join(texts)

    assert offered(page(full_path, "search")).count("in each size") == 2
    path = tmp_path / "one.duckdb"
    shutil.copyfile(full_path, path)
    door = neurothek.open(path)
    *others, name = door.models()["model"].to_list()
    for other in others:
        door.remove(other)
    alone = page(path, "search")
    assert "in each size" not in offered(alone)
    (like,) = [field for field in alone.text_input if field.label == "Like the neuron"]
    assert like.placeholder == f"{name}/L3N17"


def test_the_empty_page_says_what_each_kind_of_search_does(page: Opener, full_path: Path) -> None:
    told = [caption.value for caption in page(full_path, "search").caption]
    (kinds,) = [caption for caption in told if "near words" in caption]
    assert all(kind in kinds for kind in ("Promote", "suppress", "in each size", "fires on", "like a neuron"))
