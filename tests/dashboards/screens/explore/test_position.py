"""The page of positions: a row of the heat map opens its neuron, and what is said of teams is a row's numbers."""

import zlib
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
from streamlit.testing.v1 import AppTest
from streamlit.util import AttributeDictionary

from dashboards.widgets.figures import statement
from queries.ask.one_query import run_query
from queries.ask.statements import filled

Opener = Callable[..., AppTest]


def text(page: AppTest) -> str:
    parts = [*page.title, *page.markdown, *page.caption, *page.info]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def positional(path: Path) -> tuple[str, pl.DataFrame]:
    """A model with positional neurons, and these."""
    with duckdb.connect(str(path), read_only=True) as connection:
        counted = (
            "select model from positions_by_layer group by model order by sum(n_positional) desc nulls last, model"
        )
        ((model,), *_) = connection.sql(counted).fetchall()
        return model, run_query(connection, statement("positional_of_model"), {"model": model, "n": 1000})


def test_a_click_on_a_row_opens_its_neuron(page: Opener, full_path: Path) -> None:
    model, found = positional(full_path)
    assert found.height
    opened = page(full_path, "position", model=model)
    assert not opened.exception
    places = {"layers": found["layer"].to_list()[:120], "neurons": found["neuron"].to_list()[:120]}
    sql = filled(statement("position_profiles"), {"model": model, **places})
    key = f"chart-position_profiles-Where in a sequence they fire-{zlib.crc32(sql.encode())}"
    address = found["address"][0]
    opened.session_state[key] = AttributeDictionary({"selection": {"chosen": [{"address": address}]}})
    opened.run()
    assert opened.title[0].value.replace("\\", "") == address


def test_the_sentence_counts_what_was_found(page: Opener, full_path: Path) -> None:
    model, found = positional(full_path)
    shown = text(page(full_path, "position", model=model))
    assert f"{found.height:,} of " in shown
    most = found.group_by("layer").len().sort("len", "layer", descending=[True, False]).row(0)
    held = f"all of them in layer {most[0]}" if most[1] == found.height else f"{most[1]} of them in layer {most[0]}"
    assert held in shown
