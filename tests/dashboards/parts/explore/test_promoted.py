"""What neurons promote, beside their rows: as the view says, in the order of the rows, doubled where a row is."""

from pathlib import Path

import duckdb
import polars as pl

from neurothek.dashboards.parts.explore.promoted import (
    PROMOTED,
    columns_of,
    packed_places,
    with_promoted,
    with_promoted_at_pole,
)
from neurothek.dashboards.widgets.reading import Reading
from neurothek.queries.names.models import choose_model


def test_tokens_are_those_of_the_view_in_the_order_of_the_rows(full_path: Path) -> None:
    with duckdb.connect(str(full_path), read_only=True) as connection:
        rows = connection.sql("select layer, neuron, top_tokens from neurons where model = 'tiny-2m'").fetchall()
        expected = {(layer, neuron): tokens for layer, neuron, tokens in rows}
        model = choose_model(connection, "tiny-2m")
        places = [*sorted(expected, reverse=True), (0, 0), (0, 0)]
        neurons = pl.DataFrame(places, schema={"layer": pl.Int16, "neuron": pl.Int32}, orient="row")
        found = columns_of(connection, model, packed_places(neurons), PROMOTED)
        assert {(layer, neuron): tokens for layer, neuron, tokens, _ in found.rows()} == expected
        with Reading(connection, ["tiny-2m"], None) as reader:
            whole = with_promoted(reader, model, neurons)
            # Without gates there is no pole.
            at_pole = with_promoted_at_pole(reader, model, neurons)
            assert at_pole["pole"].is_null().all()
            assert at_pole.drop("pole").equals(whole.drop("bottom_tokens"))
        assert whole.select("layer", "neuron").rows() == places
        assert whole["top_tokens"].to_list() == [expected[place] for place in places]
        assert with_promoted(connection, model, neurons.clear()).is_empty()
