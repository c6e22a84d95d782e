"""Tables about the whole vocabulary: how scores spread over it, and which of its tokens were hardly trained."""

from catalog.tables.table import DOUBLE, FLAG, IDS, INTEGER, SMALL, Table

LOGIT_HISTOGRAMS = Table(
    name="logit_histograms",
    scope="model",
    key=("layer", "neuron"),
    columns={"layer": SMALL, "neuron": INTEGER, "counts": IDS},
    is_later=True,
)

TOKEN_INDICATORS = Table(
    name="token_indicators",
    scope="model",
    key=("token_id",),
    columns={
        "token_id": INTEGER,
        "row_norm": DOUBLE,
        "unused_distance": DOUBLE,
        "unused_limit": DOUBLE,
        "is_unused": FLAG,
        "is_byte": FLAG,
    },
    # Where too few tokens are known to be unused, there is nothing to be near to; a zero row has no direction.
    nullable=frozenset({"unused_distance", "unused_limit"}),
    is_later=True,
)
