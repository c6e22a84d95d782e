"""The flat rows that publishing rebuilds, against the loops that made the warehouse."""

from importlib import resources
from pathlib import Path

import duckdb
import sqlglot
from polars.testing import assert_frame_equal

from neurothek.catalog.publishing.facts import rebuild_facts
from neurothek.queries.views.thresholds import thresholds
from tests.support import tiny
from tests.support import warehouse as made

QUERY = "select * from store.neuron_facts order by model_id, layer, neuron"


def test_rebuilt_facts_are_those_computed_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "full.duckdb"
    made.create(path)
    with duckdb.connect(str(path)) as connection:
        by_hand = connection.sql(QUERY).pl()
        for model_id in range(len(tiny.MODELS)):
            rebuild_facts(connection, model_id)
        # Sums of a few dozen doubles in another order.
        assert_frame_equal(connection.sql(QUERY).pl(), by_hand, rel_tol=1e-12)


def test_the_constants_are_those_of_the_views() -> None:
    """What is decided while publishing cannot be moved in `neurons`: it must be what the views of detectors say."""
    script = resources.files("neurothek.catalog.publishing").joinpath("neuron_facts.sql").read_text("utf-8")
    (constants,) = [
        cte.this
        for cte in sqlglot.parse_one(script, dialect="duckdb").find_all(sqlglot.exp.CTE)
        if cte.alias == "thresholds"
    ]
    (values,) = duckdb.execute(constants.sql(dialect="duckdb")).fetchall()
    ngrams = thresholds("corpus_ngrams")["min_occurrences"], thresholds("detected_ngrams")["least_recall"]
    assert tuple(map(float, values)) == (*ngrams, thresholds("neuron_effects")["least_sets"])
