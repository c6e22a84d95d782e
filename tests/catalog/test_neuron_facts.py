"""The flat rows that publishing rebuilds, against the loops that made the warehouse."""

from pathlib import Path

import duckdb
from polars.testing import assert_frame_equal

from catalog.publish import rebuild_facts
from tests.support import warehouse as made

QUERY = "select * from store.neuron_facts order by model_id, layer, neuron"


def test_rebuilt_facts_are_those_computed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "full.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        by_hand = connection.sql(QUERY).pl()
        for model_id in range(len(made.MODELS)):
            rebuild_facts(connection, model_id)
        # Sums of a few dozen doubles in another order.
        assert_frame_equal(connection.sql(QUERY).pl(), by_hand, rel_tol=1e-12)
