"""The page of a model: a click on its map opens a neuron, and what colours the map stands in the address."""

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.util import AttributeDictionary

from neurothek.dashboards.charts.maps.neuron_map import cells_of_a_row
from neurothek.dashboards.parts.explore.measured_jobs import JOBS
from neurothek.dashboards.widgets.figures import statement
from neurothek.queries.ask.statements import filled
from tests.support import sign_rows
from tests.support import warehouse as made

Opener = Callable[..., AppTest]


def map_key(model: str, n_layers: int, by: str = "kind") -> str:
    """The name of the drawing that the page of a model shows."""
    values = {"model": model, "layer": None, "by": by, "n_cells": cells_of_a_row(n_layers)}
    sql = filled(statement("neuron_map"), values)
    return f"chart-neuron_map-All of its neurons-{zlib.crc32(sql.encode())}"


def clicked(address: str) -> AttributeDictionary:
    return AttributeDictionary({"selection": {"chosen": [{"address": address}]}})


def text(page: AppTest) -> str:
    parts = [*page.title, *page.markdown, *page.caption, *page.info, *page.error, *page.warning, *page.code]
    return "\n".join(str(part.value) for part in parts).replace("\\", "")


def test_a_click_on_a_cell_opens_its_neuron(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "model", model="tiny-2m")
    opened.session_state[map_key("tiny-2m", 3)] = clicked("tiny-2m/L1N2")
    opened.run()
    assert [error.message for error in opened.exception] == []
    assert opened.query_params["neuron"] == "tiny-2m/L1N2"
    assert "tiny-2m/L1N2" in opened.title[0].value.replace("\\", "")


def test_what_is_not_drawn_is_not_opened(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "model", model="tiny-2m")
    opened.session_state[map_key("tiny-2m", 3)] = clicked("elsewhere/L1N2")
    opened.run()
    assert "All of its neurons" in text(opened)
    assert "neuron" not in opened.query_params


@pytest.mark.parametrize("by", ["frequency", "first firing", "kurtosis"])
def test_what_colours_the_map_is_kept_in_the_address(page: Opener, full_path: Path, by: str) -> None:
    opened = page(full_path, "model", model="tiny-2m", colour=by)
    assert opened.query_params["colour"] == by
    told = {"frequency": "from the most to the least active", "first firing": "first fired", "kurtosis": "flattest"}
    assert told[by] in text(opened)
    assert "colour" not in page(full_path, "model", model="tiny-2m").query_params


def test_the_map_of_a_model_without_exact_zeros_says_active(page: Opener, full_path: Path) -> None:
    opened = page(full_path, "model", model="gelu-1m", colour="first firing")
    assert "first active" in text(opened)
    assert "first fired" not in text(opened)
    chips = {
        name: "".join(str(one.proto.body) for one in shown.get("html"))
        for name, shown in (
            ("gelu-1m", opened),
            ("tiny-2m", page(full_path, "model", model="tiny-2m")),
        )
    }
    assert "how active each neuron is, by domain" in chips["gelu-1m"]
    assert "and which are dead" not in chips["gelu-1m"]
    assert "how often each neuron fires, and which are dead" in chips["tiny-2m"]
    assert opened.query_params["colour"] == "first firing"


def drawn(opened: AppTest) -> list[dict[str, Any]]:
    """The rows that the only chart of a page draws."""
    (chart,) = opened.get("vega_lite_chart")
    (data,) = chart.proto.datasets
    rows: list[dict[str, Any]] = pa.ipc.open_stream(data.data.data).read_all().to_pylist()
    return rows


def test_without_a_text_the_map_is_of_the_weights(page: Opener, weights_path: Path) -> None:
    """Every neuron has its cell, in the order of its kurtosis; what it takes to know more is said in a line."""
    opened = page(weights_path, "model", model="tiny-2m")
    with duckdb.connect(str(weights_path), read_only=True) as connection:
        found = connection.sql("select layer, address, kurtosis from neurons where model = 'tiny-2m'").fetchall()
    cells = drawn(opened)
    assert {cell["address"]: cell["number"] for cell in cells} == {address: known for _, address, known in found}
    for layer in range(3):
        row = sorted((cell for cell in cells if cell["layer"] == layer), key=lambda cell: cell["cell_from"])
        numbers = [cell["number"] for cell in row]
        assert len(numbers) == 6
        assert numbers == sorted(numbers, reverse=True)
    shown = text(opened)
    assert shown.index("All of its neurons") < shown.index("token scores stand out")
    assert shown.count("The activity of this model has not been measured yet.") == 1


@pytest.mark.parametrize("has_facts", [False, True])
def test_where_nothing_is_known_of_its_neurons_there_is_no_map(
    page: Opener, tmp_path: Path, *, has_facts: bool
) -> None:
    """Neither an empty drawing nor its title and caption, but the command that lists what its neurons promote."""
    path = tmp_path / "bare.duckdb"
    made.create(path, tables=frozenset({"models", "tokenizers", "tokens"}))
    if has_facts:
        facts = [row for row in made.hand_made().rows["neuron_facts"] if row["model_id"] == 1]
        with duckdb.connect(str(path)) as connection:
            needed = connection.sql(
                "select column_name from information_schema.columns "
                "where table_name = 'neuron_facts' and is_nullable = 'NO'"
            ).fetchall()
            names = ["model_id" if name == "set_id" else name for (name,) in needed]
            made.insert(connection, "neuron_facts", [{name: row[name] for name in names} for row in facts])
    opened = page(path, "model", model="tiny-2m")
    assert [error.message for error in opened.exception] == []
    assert not opened.get("vega_lite_chart")
    shown = text(opened)
    said = (
        "The tokens that the neurons of this model promote have not been measured yet."
        if has_facts
        else "Nothing has been measured"
    )
    assert said in shown
    assert "neurothek ingest tiny-2m --job projections" in shown
    assert "All of its neurons" not in shown
    assert "a cell is a neuron" not in shown


def test_what_is_missing_is_told_with_its_command(page: Opener, weights_path: Path) -> None:
    opened = page(weights_path, "model", model="tiny-2m")
    shown = text(opened)
    assert "**positions**: positional neurons" in shown
    assert "neurothek ingest tiny-2m --job activity --job contexts" in shown
    (line,) = [element.proto.body for element in opened.get("html") if 'class="nt-jobs"' in element.proto.body]
    absent = set(re.findall(r"<span [^>]*>([^<]+)</span>", line.partition("Not measured: ")[2]))
    assert absent == {name.replace("_", " ") for name in JOBS} - {"projections", "poles"}


def test_readers_and_writers_are_drawn_where_they_were_measured(page: Opener, full_path: Path, tmp_path: Path) -> None:
    assert "Readers and writers" not in [one.label for one in page(full_path, "model", model="gelu-1m").toggle]
    path = tmp_path / "w.duckdb"
    path.write_bytes(full_path.read_bytes())
    with duckdb.connect(str(path)) as connection:
        sign_rows.insert(connection)
        # Of those that a person chose no share is taken.
        connection.execute("update store.output_scores set is_sampled = false where neuron = 2")
        query = """
            from output_scores
            where model = 'gelu-1m' and is_sampled and is_reader is not null and is_writer is not null
        """
        rows = connection.sql(query).pl().to_dicts()
    assert "are strongest at tokens" not in text(page(path, "model", model="gelu-1m"))
    opened = page(path, "model", model="gelu-1m", readers="yes")
    assert [error.message for error in opened.exception] == []
    readers, writers = (sum(row[name] for row in rows) for name in ("is_reader", "is_writer"))
    both = sum(row["is_reader"] and row["is_writer"] for row in rows)
    assert writers > 0
    shown = text(opened)
    assert f"Of {len(rows)} random neurons {readers} are strongest at tokens that they promote more often" in shown
    assert f"Once turned up, {writers} make the model say theirs" in shown
    assert f"by chance; {both} do both." in shown
    assert f"{both} neurons that read and write their tokens" in "".join(one.value for one in opened.header)
    assert "from output_scores" in "".join(str(one.value) for one in opened.code)
