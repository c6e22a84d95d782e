"""Tables of what is measured from weights alone: scores of tokens, clusters, counterparts, random vectors."""

from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, FLOAT, IDS, INTEGER, SCORES, SMALL, TEXT, Table

PROJECTIONS = Table(
    name="projections",
    scope="model",
    key=("layer", "neuron"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "value_norm": DOUBLE,
        "score_mean": DOUBLE,
        "score_sd": DOUBLE,
        "score_skewness": DOUBLE,
        "score_kurtosis": DOUBLE,
        "score_negative_share": DOUBLE,
        "top_token_ids": IDS,
        "top_scores": SCORES,
        "bottom_token_ids": IDS,
        "bottom_scores": SCORES,
        "preactivation_bound": DOUBLE,
    },
    # Moments of a constant row of scores (a zero value vector) are undefined; the bound needs a norm before the FFN.
    nullable=frozenset({"score_skewness", "score_kurtosis", "preactivation_bound"}),
)

POSTINGS = Table(
    name="postings",
    scope="model",
    key=("token_id", "side", "layer", "neuron"),
    # By (side, token, rank, layer, neuron), packed into two integers: sorting five columns takes 2.5 times as long.
    # With one side to a stretch, scores of one sign lie together, and a search of one side reads nothing of the other.
    order=(
        "((side = 'suppressed')::bigint * 4294967296 + token_id) * 128 + rank",
        "layer::bigint * 1048576 + neuron",
    ),
    columns={
        "token_id": INTEGER,
        "side": TEXT,  # in the file an enumeration
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "score": FLOAT,
        "z_score": FLOAT,
    },
)

TOKEN_NEIGHBOURS = Table(
    name="token_neighbours",
    scope="model",
    key=("token_id", "rank"),
    columns={"token_id": INTEGER, "rank": SMALL, "neighbour_id": INTEGER, "cosine": FLOAT},
)

CLUSTERINGS = Table(
    name="clusterings",
    scope="model",
    key=("clustering_id",),
    serial="clustering_id",
    columns={
        "clustering_id": INTEGER,
        "method": TEXT,
        "linkage": TEXT,
        "n_clusters_asked": INTEGER,
        "n_clusters": INTEGER,
    },
)

CLUSTERS = Table(
    name="clusters",
    scope="model",
    key=("clustering_id", "layer", "neuron"),
    serial="clustering_id",
    columns={
        "clustering_id": INTEGER,
        "layer": SMALL,
        "neuron": INTEGER,
        "cluster_id": INTEGER,
        "centre_cosine": DOUBLE,
    },
    # A vector without length has no direction.
    nullable=frozenset({"centre_cosine"}),
)

NEIGHBOURS = Table(
    name="neighbours",
    scope="model",
    key=("layer", "neuron", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "other_layer": SMALL,
        "other_neuron": INTEGER,
        "cosine": FLOAT,
    },
)

COUNTERPARTS = Table(
    name="counterparts",
    scope="pair",
    key=("layer", "neuron", "rank"),
    columns={
        "layer": SMALL,
        "neuron": INTEGER,
        "rank": SMALL,
        "other_layer": SMALL,
        "other_neuron": INTEGER,
        "overlap": DOUBLE,
        "null_99": DOUBLE,
        "is_mutual": FLAG,
    },
)

CONTROLS = Table(
    name="controls",
    scope="model",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={
        "layer": SMALL,
        "kind": TEXT,
        "control_id": INTEGER,
        "value_norm": DOUBLE,
        "score_mean": DOUBLE,
        "score_sd": DOUBLE,
        "score_skewness": DOUBLE,
        "score_kurtosis": DOUBLE,
        "score_negative_share": DOUBLE,
        "top_token_ids": IDS,
        "top_scores": SCORES,
        "bottom_token_ids": IDS,
        "bottom_scores": SCORES,
    },
    nullable=frozenset({"score_skewness", "score_kurtosis"}),
)

NORM_OVERLAPS = Table(
    name="norm_overlaps",
    scope="model",
    key=("layer", "kind"),
    columns={
        "layer": SMALL,
        "kind": TEXT,
        "norm_overlap": DOUBLE,
        "norm_overlap_without_bias": DOUBLE,
        "n": BIG,
    },
    # Models without a final norm have none to compare with.
    nullable=frozenset({"norm_overlap", "norm_overlap_without_bias"}),
)

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
