"""The page of a layer: steps to the next and the one before, and what stands out with its number."""

from collections.abc import Callable
from pathlib import Path

import duckdb
from streamlit.testing.v1 import AppTest

Opener = Callable[..., AppTest]


def bodies(page: AppTest, mark: str) -> list[str]:
    return [element.proto.body for element in page.get("html") if mark in element.proto.body]


def test_the_next_layer_and_back(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "layer", model="tiny-2m", layer="1")
    opened.button(key="next").click().run()
    assert opened.query_params["layer"] == "2"
    assert opened.button(key="next").disabled
    opened.button(key="previous").click().run()
    opened.button(key="previous").click().run()
    assert opened.query_params["layer"] == "0"
    assert opened.button(key="previous").disabled
    assert not opened.exception


def test_what_stands_out_leads_to_its_neuron(page: Opener, full_path: Path) -> None:
    (cards,) = bodies(page(full_path, "layer", model="tiny-2m", layer="1"), 'class="nt-card"')
    with duckdb.connect(str(full_path), read_only=True) as connection:
        (best,) = connection.execute(
            "select neuron from neurons where model = 'tiny-2m' and layer = 1 and n_active <> 0 "
            "order by kurtosis desc, neuron limit 1"
        ).fetchone() or (None,)
    assert f'href="/neuron?neuron=tiny-2m/L1N{best}"' in cards
    assert "most peaked scores" in cards


def test_dead_neurons_have_a_bar_of_their_own(page: Opener, full_path: Path) -> None:
    captions = [
        caption.value.replace("\\", "") for caption in page(full_path, "layer", model="tiny-2m", layer="2").caption
    ]
    assert any("At the left: 1 dead neurons." in caption for caption in captions)
