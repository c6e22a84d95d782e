"""What a browser draws of a cell of a trace: its sentence, and its neurons with their numbers, links and tokens."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from neurothek.dashboards.live.cell import added_little, cell_data, cell_sentence
from neurothek.queries.trace.grid import CELL_COLUMNS, CELL_NEURON_COLUMNS, GridPage

CELL: Mapping[str, Any] = {
    "predicted": " yes",
    "probability": 0.25,
    "final": " yes",
    "final_rank": 1,
    "before": " yes",
}


def neurons(**changed: Any) -> pl.DataFrame:
    row = {
        "layer": 0,
        "position": 0,
        "rank": 1,
        "neuron": 3,
        "address": "tiny/L0N3",
        "coefficient": 1.25,
        "share": 0.125,
        "centred_final": 0.75,
        "direct_final": -0.375,
        "writes": [" <script>", "\n"],
        "frequency": 0.015,
        "kind": "token detector",
        "n_tokens_seen": 4096,
        "corpus": "builtin",
    }
    return pl.DataFrame([row | changed], schema=dict(CELL_NEURON_COLUMNS))


def page(rows: pl.DataFrame) -> GridPage:
    cells = [
        (layer, 0, "<i>", word, 0.5, [word, " no"], [0.5, 0.25], " no", " yes", rank)
        for layer, word, rank in ((0, " no", 1234), (1, " yes", 1))
    ]
    return GridPage("tiny", "id", ("<i>",), 0, pl.DataFrame(cells, schema=dict(CELL_COLUMNS), orient="row"), rows)


def test_a_cell_says_what_it_predicts_and_what_the_ten_hold() -> None:
    held = " These ten neurons hold 27.0% of the layer's summed |m|·‖v‖."
    assert cell_sentence(CELL, 0.5, 0.27) == f"Predicts “·yes” (25.0%), as the whole model does.{held}"
    other = {**CELL, "predicted": " no", "final_rank": 1234}
    assert cell_sentence(other, 0.5, 0.27) == (
        "Predicts “·no” (25.0%); “·yes”, predicted in the end (50.0%), has rank 1,234 here. "
        "Before the FFN it was “·yes”."
        f"{held}"
    )
    assert cell_sentence({**CELL, "before": None}, 0.5, None) == "Predicts “·yes” (25.0%), as the whole model does."


def test_a_neuron_has_its_numbers_and_its_tokens_lead_to_the_search() -> None:
    found = cell_data(page(neurons()), 0, 0, pale=["\n"])
    assert found["title"] == "Layer 0, position 0, after “<i>”"
    assert "“·yes”, predicted in the end (50.0%), has rank 1,234 here" in found["sentence"]
    (row,) = found["rows"]
    numbers = {"neuron": 3, "share": 0.125, "coefficient": 1.25, "added": -0.375, "kind": "token detector"}
    assert numbers.items() <= row.items()
    assert row["place"] == "L0N3"
    assert row["frequency"] == pytest.approx(0.015)
    # Tokens are texts: the browser sets them as such.
    assert [(one["token"], one["is_pale"]) for one in row["writes"]] == [("·<script>", False), ("↵", True)]
    assert row["writes"][0]["href"].startswith("/search?words=")
    assert [one["token"] for one in found["links"]] == ["·no", "·yes"]
    names = {key: name for key, name, _ in found["columns"]}
    assert (names["adds"], names["writes"]) == ("adds to “·yes”", "promotes")
    assert "4,096 tokens of the built-in text" in {key: title for key, _, title in found["columns"]}["frequency"]


@pytest.mark.parametrize("coefficient", [1.25, -1.25])
def test_what_a_neuron_promotes_hangs_on_the_sign_of_its_activation(coefficient: float) -> None:
    """At an activation below 0 that is the bottom of its list, which hovering tells."""
    found = cell_data(page(neurons(coefficient=coefficient)), 0, 0)
    ((name, title),) = [(name, title) for key, name, title in found["columns"] if key == "writes"]
    assert name == "promotes"
    assert ("at an activation below 0" in title) == (coefficient < 0)


@pytest.mark.parametrize("is_gated", [False, True])
def test_what_all_rows_say_is_said_once(*, is_gated: bool) -> None:
    def of(*frequencies: float | None) -> Mapping[str, Any]:
        rows = pl.concat(neurons(frequency=share, neuron=n) for n, share in enumerate(frequencies))
        return cell_data(page(rows), 0, 0, is_gated=is_gated)

    said = (
        "The gate of each is open at 100.0% of 4,096 tokens." if is_gated else "Each fires on 100.0% of 4,096 tokens."
    )
    assert said in of(1.0, 0.9996)["note"]
    assert "frequency" not in [key for key, _, _ in of(1.0, 0.9996)["columns"]]
    for apart in ((1.0,), (1.0, 0.99), (1.0, None), (None, None)):
        found = of(*apart)
        assert "4,096" not in found["note"]
        assert "frequency" in [key for key, _, _ in found["columns"]]


@pytest.mark.parametrize(("is_gated", "name"), [(False, "fires on"), (True, "gate open")])
def test_a_gate_that_is_open_is_not_called_firing(name: str, *, is_gated: bool) -> None:
    found = cell_data(page(neurons()), 0, 0, is_gated=is_gated)
    (column,) = [column for column in found["columns"] if column[0] == "frequency"]
    assert column[1] == name
    assert ("gate is open" in column[2]) == is_gated
    (adds,) = [title for key, _, title in found["columns"] if key == "adds"]
    assert "to its logit at this position" in adds
    assert "through the final norm" in adds


@pytest.mark.parametrize("missing", ["share", "frequency", "writes", "n_tokens_seen"])
def test_what_is_not_known_is_null_or_left_out(missing: str) -> None:
    found = cell_data(page(neurons(**{missing: None})), 0, 0)
    (row,) = found["rows"]
    assert "None" not in str(found["sentence"]) + str(found["columns"])
    if missing == "writes":
        assert row["writes"] == []
    elif missing == "n_tokens_seen":
        assert {key: title for key, _, title in found["columns"]}["frequency"] == "not measured"
    else:
        assert row[missing] is None
    assert ("hold" in found["sentence"]) == (missing != "share")


def test_another_token_has_other_numbers_and_its_name() -> None:
    chosen = neurons().with_columns(added=pl.lit(2.5))
    found = cell_data(page(neurons()), 0, 0, neurons=chosen, token=" <b>")
    assert found["rows"][0]["added"] == 2.5
    assert {key: name for key, name, _ in found["columns"]}["adds"] == "adds to “·<b>”"
    assert [one["token"] for one in found["links"]] == ["·no", "·<b>"]


def test_neurons_that_add_little_are_said_to() -> None:
    some = pl.DataFrame({"added": [-0.5, 0.25, 0.0625]})
    assert added_little(some, " yes") == ""
    assert (
        added_little(some.head(1), " yes")
        == "None of the ten adds more than 0.1 to the logit of “·yes”: the most is -0.500."
    )
    assert added_little(some.clear(), " yes") == ""


def test_what_the_neurons_of_all_layers_add_at_a_position_is_listed_best_first() -> None:
    places = [(layer, position, neuron) for layer in range(2) for position in range(2) for neuron in range(10)]
    added = {place: (37 * n % 41 - 20) / 8 for n, place in enumerate(places)}
    rows = pl.concat(
        neurons(layer=layer, position=position, neuron=neuron, rank=1 + neuron, address=f"tiny/L{layer}N{neuron}")
        for layer, position, neuron in places
    ).with_columns(direct_final=pl.Series([added[place] for place in places], dtype=pl.Float32))
    found = cell_data(page(rows), 1, 0)["raising"]
    here = [(layer, neuron, added[layer, 0, neuron]) for layer in range(2) for neuron in range(10)]
    best = sorted((one for one in here if one[2] > 0), key=lambda one: -one[2])[:8]
    assert [(row["place"], row["added"]) for row in found["rows"]] == [(f"L{a}N{b}", c) for a, b, c in best]
    assert found["title"] == "What all layers add to “·yes” here"
    above, below = sum(c for *_, c in here if c > 0), sum(c for *_, c in here if c < 0)
    assert found["sentence"] == (
        f"The ten dominant neurons of each layer, 20 in all, add {above:+.2f} and {below:+.2f} to its logit; "
        "those that add most:"
    )
    # The list of the cell has its own layer's alone.
    assert [row["place"] for row in cell_data(page(rows), 1, 0)["rows"]] == [f"L1N{n}" for n in range(10)]


def test_where_nothing_raises_the_token_there_is_no_list() -> None:
    found = cell_data(page(neurons(direct_final=-0.5)), 0, 0)["raising"]
    assert found["rows"] == []
    assert found["sentence"] == ("The ten dominant neurons of each layer, 1 in all, add +0.00 and -0.50 to its logit.")
