"""Exact scores of tokens, handed from where the weights are to where they are joined with the warehouse."""

from catalog.tables.table import DOUBLE, FLOAT, INTEGER, SMALL, Table

TOKEN_SCORES = Table(
    name="token_scores",
    scope="none",
    is_fact=False,
    key=("layer", "neuron", "token_id"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "token_id": INTEGER,
        "score": FLOAT,
        "z_score": DOUBLE,
        "rank": INTEGER,
        "rank_from_bottom": INTEGER,
    },
)
