"""Tables of what neurons read: the tokens whose embeddings their keys like most, and random keys beside them."""

from neurothek.catalog.tables.table import (
    DOUBLE,
    FLOAT,
    IDS,
    INTEGER,
    LAYER,
    MODEL,
    NEURON,
    RUN,
    SCORES,
    SET,
    SMALL,
    TEXT,
    Column,
    Order,
    Table,
)
from neurothek.catalog.tables.weights import PROJECTIONS

READERS = ("key", "gate", "up")
_READER = Column(
    TEXT,
    "key: the row of the FFN's input matrix; in a gated FFN gate and up: the rows of its two input matrices.",
    values=READERS,
)

_MOMENTS = ("score_mean", "score_sd", "score_skewness", "score_kurtosis", "score_negative_share")

# In the order of the columns of `projections`.
_SCORED = {
    "reading_norm": Column(DOUBLE, "L2 norm of the vector that reads: the key times the gain of the norm before it."),
    **{name: PROJECTIONS.columns[name] for name in _MOMENTS},
    "top_token_ids": Column(IDS, "Ids of the tokens it likes most, best first, ties by id.", order=Order("top_scores")),
    "top_scores": Column(SCORES, "Their raw scores."),
    "bottom_token_ids": Column(
        IDS, "Ids of the tokens it likes least, lowest first, ties by id.", order=Order("bottom_scores")
    ),
    "bottom_scores": Column(SCORES, "Their raw scores."),
}

KEY_PROJECTIONS = Table(
    "key_projections",
    "One row per neuron and reader: the scores of the input embeddings in its key (ours). The score of a token is the "
    "product of its embedding, as it enters the first block, with the key times the gain of the norm before the FFN; "
    "the norm's divisor, mean and bias are left out.",
    scope="set",
    key=("layer", "neuron", "reader"),
    since=31,
    columns={
        "set_id": SET,
        "layer": LAYER,
        "neuron": NEURON,
        "reader": _READER,
        **_SCORED,
        "run_id": RUN,
    },
)

KEY_POSTINGS = Table(
    "key_postings",
    "One row per neuron, reader and token that it reads: the inverted lists that answer a search for readers of a "
    "token.",
    scope="set",
    key=("token_id", "reader", "pole", "layer", "neuron"),
    # By (token, reader, pole, rank, layer, neuron), packed into two integers, see `postings`.
    order=(
        "(token_id::bigint * 8 + (reader = 'gate')::bigint * 2 + (reader = 'up')::bigint * 4"
        " + (pole = 'negative')::bigint) * 128 + rank",
        "layer::bigint * 1048576 + neuron",
    ),
    since=31,
    columns={
        "set_id": SET,
        "token_id": Column(INTEGER, "The token."),
        "reader": _READER,
        "pole": Column(
            TEXT,
            "positive: it is among the tokens of the highest scores; negative, only of up: among those of the lowest, "
            "at which an open gate gives a coefficient below 0.",
            values=("positive", "negative"),
        ),
        "layer": LAYER,
        "neuron": NEURON,
        "rank": Column(
            SMALL,
            "Place of the token in the list, 1-based.",
            order=Order("score", within=("reader", "pole", "layer", "neuron")),
        ),
        "score": Column(FLOAT, "Raw score of the token: its embedding times the vector that reads."),
        "z_score": Column(
            FLOAT,
            "Score less the mean score of the neuron's reader, over their standard deviation: comparable between "
            "neurons and models.",
        ),
        "run_id": RUN,
    },
)

KEY_CONTROLS = Table(
    "key_controls",
    "One row per random key: what a vector that is no neuron's reads; coordinates drawn with the mean and spread of "
    "the layer's vectors that read, of up, whose sign is a convention, with the mean 0.",
    scope="model",
    key=("layer", "reader", "control_id"),
    since=31,
    columns={
        "model_id": MODEL,
        "layer": LAYER,
        "reader": _READER,
        "control_id": Column(INTEGER, "Number of the random key within its layer and reader, 0-based."),
        **_SCORED,
        "run_id": RUN,
    },
)

_GATED = "null in models without gates, and where a vector is 0."
_COSINES = {
    "key_value": Column(DOUBLE, "Cosine of the key with the value vector; null in gated models.", nullable=True),
    "up_value": Column(DOUBLE, f"Cosine of up with the value vector; {_GATED}", nullable=True),
    "gate_value": Column(DOUBLE, f"Cosine of the gate with the value vector; {_GATED}", nullable=True),
    "gate_up": Column(DOUBLE, f"Cosine of the gate with up; {_GATED}", nullable=True),
}

INPUT_OUTPUT = Table(
    "input_output",
    "One row per neuron: how its vectors that read, times the gain of the norm before the FFN, lie to the one that it "
    "writes (Gerstner and Schuetze 2025).",
    scope="set",
    key=("layer", "neuron"),
    since=31,
    columns={"set_id": SET, "layer": LAYER, "neuron": NEURON, **_COSINES, "run_id": RUN},
)

INPUT_OUTPUT_CONTROLS = Table(
    "input_output_controls",
    "One row per random neuron: the same of vectors drawn like those that read and are written in the layer (ours).",
    scope="model",
    key=("layer", "control_id"),
    since=31,
    columns={
        "model_id": MODEL,
        "layer": LAYER,
        "control_id": Column(INTEGER, "Number of the random neuron within its layer, 0-based."),
        **_COSINES,
        "run_id": RUN,
    },
)

JOB_TABLES = {"keys": (KEY_PROJECTIONS, KEY_POSTINGS, KEY_CONTROLS, INPUT_OUTPUT, INPUT_OUTPUT_CONTROLS)}
