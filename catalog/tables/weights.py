"""Tables of what is measured from weights alone: scores of tokens, clusters, counterparts, random vectors."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    DOUBLE,
    FLAG,
    FLOAT,
    IDS,
    INTEGER,
    LAYER,
    MODEL,
    NEURON,
    OTHER_SET,
    RUN,
    SCORES,
    SET,
    SMALL,
    TEXT,
    Column,
    Order,
    Table,
)

# Moments of z-scores: the mean of |z|^3 is at most the root of that of z^4, which is the excess kurtosis and 3.
SPREAD = pl.col("score_sd")
FOURTH_MOMENT = pl.col("score_kurtosis") + 3
THIRD_MOMENT = FOURTH_MOMENT.sqrt()
BY_COSINE = Order("cosine", within=("layer", "neuron"))

PROJECTIONS = Table(
    "projections",
    "One row per neuron: its value vector projected to the vocabulary (Geva et al. 2022, sections 3 and 4).",
    scope="set",
    key=("layer", "neuron"),
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "value_norm": Column(DOUBLE, "L2 norm of the value vector."),
        "score_mean": Column(DOUBLE, "Mean raw score over the tokenizer's ids.", terms=SPREAD),
        "score_sd": Column(DOUBLE, "Standard deviation of the raw scores (population)."),
        "score_skewness": Column(
            DOUBLE,
            "Skewness of the raw scores; null where they are all equal.",
            nullable=True,
            terms=THIRD_MOMENT,
        ),
        "score_kurtosis": Column(
            DOUBLE,
            "Excess kurtosis of the raw scores; null where they are all equal.",
            nullable=True,
            terms=FOURTH_MOMENT,
        ),
        "score_negative_share": Column(DOUBLE, "Share of the tokens whose raw score is below 0."),
        "top_token_ids": Column(
            IDS, "Ids of the tokens it promotes most, best first, ties by id.", order=Order("top_scores")
        ),
        "top_scores": Column(SCORES, "Their raw scores."),
        "bottom_token_ids": Column(
            IDS, "Ids of the tokens it suppresses most, lowest first, ties by id.", order=Order("bottom_scores")
        ),
        "bottom_scores": Column(SCORES, "Their raw scores."),
        "preactivation_bound": Column(
            DOUBLE,
            "What no input can lift the pre-activation above, of a gated FFN the gate's; below 0 a ReLU neuron "
            "is dead on every text. Null for post-norm blocks.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

POSTINGS = Table(
    "postings",
    "One row per neuron and token of its top or bottom list: the inverted lists that answer a search by token.",
    scope="set",
    key=("token_id", "side", "layer", "neuron"),
    # By (side, token, rank, layer, neuron), packed into two integers: sorting five columns takes 2.5 times as long.
    # With one side to a stretch, scores of one sign lie together, and a search of one side reads nothing of the other.
    order=(
        "((side = 'suppressed')::bigint * 4294967296 + token_id) * 128 + rank",
        "layer::bigint * 1048576 + neuron",
    ),
    columns={
        "set_id": SET,
        "token_id": Column(INTEGER, "The token."),
        "side": Column(TEXT, "promoted or suppressed.", values=("promoted", "suppressed")),
        "layer": LAYER,
        "neuron": NEURON,
        "rank": Column(
            SMALL,
            "Place of the token in the neuron's list, 1-based.",
            order=Order("score", within=("side", "layer", "neuron")),
        ),
        "score": Column(FLOAT, "Raw score of the token: unembedding row times value vector."),
        "z_score": Column(
            FLOAT,
            "Score less the neuron's mean score, over its standard deviation: comparable between neurons and models.",
        ),
        "run_id": RUN,
    },
)

TOKEN_NEIGHBOURS = Table(
    "token_neighbours",
    "One row per token and near token: nearest by cosine in the model's own unembedding.",
    scope="model",
    key=("token_id", "rank"),
    columns={
        "model_id": MODEL,
        "token_id": Column(INTEGER, "The token."),
        "rank": Column(SMALL, "Place among its nearest, 1-based."),
        "neighbour_id": Column(INTEGER, "The near token.", order=Order("cosine", within=("token_id",))),
        "cosine": Column(FLOAT, "Cosine of their unembedding rows."),
        "run_id": RUN,
    },
)

CLUSTERINGS = Table(
    "clusterings",
    "One row per clustering of a model's value vectors: agglomerative, by cosine distance, over all layers (Geva "
    "et al. 2022, section 5.2; complete linkage as the code that they link to has it; the number of clusters "
    "unless it was asked for, and the scalable method are ours).",
    scope="set",
    key=("clustering_id",),
    serial="clustering_id",
    columns={
        "clustering_id": Column(INTEGER, "Number of the clustering in this file."),
        "set_id": SET,
        "method": Column(
            TEXT,
            "exact: complete linkage over all pairs; scalable: the first merges within parts of the vectors, "
            "the rest over all pairs.",
        ),
        "linkage": Column(TEXT, "complete: two clusters are as far apart as their two most distant members."),
        "n_clusters_asked": Column(
            INTEGER,
            "Clusters asked for: unless a person did, min(10,000, N/10) for N neurons, or min(200, max(20, "
            "N/100)) for early exit (ours; the paper has 10,000, and which vectors its clusters for early exit "
            "were made of is open).",
        ),
        "n_clusters": Column(INTEGER, "Clusters obtained: fewer than asked where merges tie."),
        "run_id": RUN,
    },
)

CLUSTERS = Table(
    "clusters",
    "One row per clustering and neuron: the cluster that its value vector belongs to.",
    scope="set",
    key=("clustering_id", "layer", "neuron"),
    serial="clustering_id",
    columns={
        "clustering_id": Column(INTEGER, "The clustering."),
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "cluster_id": Column(INTEGER, "Cluster within the clustering, 0-based, in the order of first members."),
        "centre_cosine": Column(
            DOUBLE,
            "Cosine of the value vector with the sum of its cluster's unit vectors; null for a vector shorter "
            "than 1e-6.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

NEIGHBOURS = Table(
    "neighbours",
    "One row per neuron and near neuron: the value vectors of largest cosine in the whole model.",
    scope="set",
    key=("layer", "neuron", "rank"),
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "rank": Column(SMALL, "Place among its nearest, 1-based; ties by layer, then neuron."),
        "other_layer": Column(SMALL, "Layer of the near neuron.", order=BY_COSINE),
        "other_neuron": Column(INTEGER, "Near neuron within its layer.", order=BY_COSINE),
        "cosine": Column(FLOAT, "Cosine of the two value vectors; 0 where one is shorter than 1e-6."),
        "run_id": RUN,
    },
)

CLUSTER_CONTROLS = Table(
    "cluster_controls",
    "One row per clustering of a model: how tight clusters of random directions are. As many directions as there are "
    "neurons are drawn evenly from the sphere, linked in the same way, and cut into as many clusters. Runs of the job "
    "clusters by releases before this table have no rows.",
    scope="set",
    key=("n_clusters_asked",),
    is_later=True,
    since=42,
    columns={
        "set_id": SET,
        "n_clusters_asked": Column(INTEGER, "Clusters asked for, of the neurons and of the random directions."),
        "n_clusters": Column(INTEGER, "Random clusters obtained."),
        "n_several": Column(INTEGER, "Of these, clusters of at least two directions: those that have a cohesion."),
        "median_cohesion": Column(
            DOUBLE, "Median of their cohesions: mean cosine of pairs; null without any.", nullable=True
        ),
        "p95_cohesion": Column(DOUBLE, "Their 95% quantile, interpolated; null without any.", nullable=True),
        "max_cohesion": Column(DOUBLE, "The largest; null without any.", nullable=True),
        "run_id": RUN,
    },
)

COUNTERPARTS = Table(
    "counterparts",
    "One row per neuron, other model and rank: the neurons of the other model, of the same tokenizer, whose lists "
    "of tokens overlap most with its own.",
    scope="pair",
    key=("layer", "neuron", "rank"),
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "other_set_id": OTHER_SET,
        "rank": Column(
            SMALL,
            "Place among its best in the other model, 1-based, at most 5; ties by layer, then neuron. Neurons "
            "that share no listed token are none.",
        ),
        "other_layer": Column(SMALL, "Layer of the other model's neuron."),
        "other_neuron": Column(INTEGER, "The other model's neuron within its layer."),
        "overlap": Column(
            DOUBLE,
            "Weight that both neurons give to the tokens of their lists over the weight that either gives; a "
            "token at rank r weighs 1 / log2(1 + r). 1 for equal lists, 0 for disjoint ones.",
        ),
        "null_99": Column(
            DOUBLE,
            "Overlap that 99 percent of 500 random vectors like the layer's value vectors do not exceed with "
            "their best neuron of the other model.",
        ),
        "is_mutual": Column(FLAG, "Whether each of the two is the other's first."),
        "run_id": RUN,
    },
)

CONTROLS = Table(
    "controls",
    "One row per control vector: what a vector that is no neuron says in the vocabulary.",
    scope="model",
    key=("layer", "kind", "control_id"),
    part="kind",
    columns={
        "model_id": MODEL,
        "layer": LAYER,
        "kind": Column(
            TEXT,
            "random: coordinates drawn with the mean and spread of the layer's value vectors; ffn_update: the "
            "output of the layer's FFN at the end of an example.",
        ),
        "control_id": Column(INTEGER, "Number of the control within its layer and kind, 0-based."),
        "value_norm": Column(DOUBLE, "L2 norm of the vector."),
        "score_mean": Column(DOUBLE, "Mean raw score over the unmasked vocabulary.", terms=SPREAD),
        "score_sd": Column(DOUBLE, "Standard deviation of the raw scores."),
        "score_skewness": Column(
            DOUBLE, "Skewness of the raw scores; null where all are equal.", nullable=True, terms=THIRD_MOMENT
        ),
        "score_kurtosis": Column(
            DOUBLE, "Excess kurtosis of the raw scores; null where all are equal.", nullable=True, terms=FOURTH_MOMENT
        ),
        "score_negative_share": Column(DOUBLE, "Share of negative raw scores."),
        "top_token_ids": Column(
            IDS, "Tokens of the highest scores, best first; ties by id.", order=Order("top_scores")
        ),
        "top_scores": Column(SCORES, "Their raw scores."),
        "bottom_token_ids": Column(
            IDS, "Tokens of the lowest scores, lowest first; ties by id.", order=Order("bottom_scores")
        ),
        "bottom_scores": Column(SCORES, "Their raw scores."),
        "run_id": RUN,
    },
)

NORM_OVERLAPS = Table(
    "norm_overlaps",
    "One row per layer and kind of vector: how far the final norm changes which tokens a vector promotes (Geva et "
    "al. 2022, appendix A.1; that the final norm is meant, random vectors and the norm without its bias are "
    "ours).",
    scope="model",
    key=("layer", "kind"),
    columns={
        "model_id": MODEL,
        "layer": LAYER,
        "kind": Column(TEXT, "value: the layer's value vectors; random: its random vectors."),
        "norm_overlap": Column(
            DOUBLE,
            "Mean share (intersection over union) of the 30 highest tokens without and with the final norm; "
            "null for models without one.",
            nullable=True,
        ),
        "norm_overlap_without_bias": Column(DOUBLE, "The same with the final norm's bias left out.", nullable=True),
        "n": Column(BIG, "Vectors behind the means."),
        "run_id": RUN,
    },
)

LOGIT_HISTOGRAMS = Table(
    "logit_histograms",
    "One row per model, layer and neuron: how many tokens of the vocabulary have a raw score in each bin, in "
    "standard deviations of the neuron's scores from their mean. Runs of the job projections by releases before "
    "this table have no rows.",
    scope="set",
    key=("layer", "neuron"),
    is_later=True,
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "counts": Column(
            IDS,
            "Tokens in each of 66 bins: the first holds z-scores below -8, the last those of 8 or more, the "
            "others are 0.25 wide and hold their lower edge; where all scores are equal, z is 0. Their sum is "
            "the vocabulary.",
        ),
        "run_id": RUN,
    },
)

TOKEN_INDICATORS = Table(
    "token_indicators",
    "One row per model and token: how near its row of the unembedding is to the rows that no text trains. Runs of "
    "the job projections by releases before this table have no rows.",
    scope="model",
    key=("token_id",),
    is_later=True,
    columns={
        "model_id": MODEL,
        "token_id": Column(INTEGER, "The token."),
        "row_norm": Column(DOUBLE, "L2 norm of its row of the unembedding."),
        "unused_distance": Column(
            DOUBLE,
            "Cosine distance of its row from the mean of the rows that are known to be unused, of one of these "
            "from the mean of the others; null where fewer than three are known, or its row is zero.",
            nullable=True,
        ),
        "unused_limit": Column(
            DOUBLE,
            "Twice the largest distance of an unused row from the mean of the others, but at most half the "
            "median distance of all tokens; null where fewer than three are known. The same for all tokens of a "
            "model.",
            nullable=True,
        ),
        "is_unused": Column(
            FLAG,
            "Whether it is one of the tokens known to be unused: bytes that UTF-8 has no use for, or pieces "
            "called unused.",
        ),
        "is_byte": Column(
            FLAG,
            "Whether it stands for bytes that are no whole characters, or for one byte that a tokenizer falls back on.",
        ),
        "run_id": RUN,
    },
)
