"""Tables of weights: postings lie by side, token and rank, however large the model that they are of."""

import duckdb
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from neurothek.catalog.tables import weights
from neurothek.catalog.tables.table import Table
from neurothek.catalog.tables.weights import CLUSTERINGS, CLUSTERS, POSTINGS

TABLES = {name: value for name, value in vars(weights).items() if isinstance(value, Table)}

# As large as models are: a vocabulary of a million tokens, 200 layers of 200,000 neurons, lists of a hundred tokens.
PLACES = st.tuples(
    st.sampled_from(("promoted", "suppressed")),
    st.integers(0, 1_000_000),
    st.integers(1, 100),
    st.integers(0, 200),
    st.integers(0, 200_000),
)
LARGEST = [("promoted", 1_000_000, 100, 200, 200_000), ("suppressed", 0, 1, 0, 0), ("promoted", 0, 1, 200, 0)]


@settings(max_examples=30)
@given(places=st.lists(PLACES, max_size=9, unique=True))
def test_two_packed_numbers_sort_as_the_five_columns_do(places: list[tuple[str, int, int, int, int]]) -> None:
    rows = [*places, *(place for place in LARGEST if place not in places)]
    frame = pl.DataFrame(rows, schema=["side", "token_id", "rank", "layer", "neuron"], orient="row")
    types = {name: dtype for name, dtype in POSTINGS.schema.items() if name in frame.columns}
    postings = frame.cast(types)  # type: ignore[arg-type]  # polars asks for more than a mapping of names to types
    with duckdb.connect() as connection:
        connection.register("postings", postings.to_arrow())
        found = connection.execute(
            f"select side, token_id, rank, layer, neuron from postings order by {', '.join(POSTINGS.order)}"
        ).fetchall()
    assert found == sorted(rows)


def test_clusters_are_numbered_with_their_clusterings() -> None:
    assert CLUSTERS.serial == CLUSTERINGS.serial == "clustering_id"
    assert "clustering_id" in {*CLUSTERS.key} & {*CLUSTERINGS.key}


def test_weights_alone_have_no_corpus() -> None:
    assert {table.scope for table in TABLES.values()} == {"model", "set", "pair"}
    assert all("domain" not in table.schema and "corpus_id" not in table.schema for table in TABLES.values())


def test_lists_of_tokens_have_scores_beside_them() -> None:
    for table in TABLES.values():
        for name in table.schema:
            if name.endswith("_token_ids"):
                assert name.replace("_token_ids", "_scores") in table.schema, (table.name, name)
                assert name not in table.rows.nullable, "an empty list stands for none"
