"""Tables about the two signs of a coefficient: how often, how strongly, where, and how much it matters."""

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLOAT,
    INTEGER,
    LAYER,
    NEURON,
    RUN,
    SET,
    SMALL,
    TEXT,
    Column,
    Table,
)

SINCE = 31
"""The version of the schema that brought them."""

POLE_NAMES = ("positive", "negative")

STRONG = 3.0
"""A coefficient is strong where |m| is more than so many times its neuron's root mean square."""

_SET = Column(SET.dtype, SET.meaning, is_given=True)
_POLE = Column(
    TEXT,
    "Sign of the coefficient m: positive (m > 0, writes m v) or negative (m < 0, writes -|m| v).",
    values=POLE_NAMES,
)

POLE_ACTIVITY = Table(
    "pole_activity",
    "One row per neuron, domain and pole: how often and how strongly its coefficient has that sign (ours).",
    scope="set_corpus",
    key=("layer", "neuron", "domain", "pole"),
    since=SINCE,
    columns={
        "set_id": _SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "domain": Column(TEXT, "Domain of the corpus; sums over domains are the whole."),
        "pole": _POLE,
        "n_active": Column(BIG, "Counted positions at which the coefficient has that sign."),
        "n_strong": Column(BIG, "Those of them with |m| > 3 r: r is the root mean square of the table contributions."),
        "abs_sum": Column(DOUBLE, "Sum of |m| over them."),
        "square_sum": Column(DOUBLE, "Sum of m squared over them."),
        "largest": Column(FLOAT, "The largest |m| among them; 0 if there is none."),
        "run_id": RUN,
    },
)

GATE_CASES = Table(
    "gate_cases",
    "One row per neuron of a gated FFN and case: how often the gate's pre-activation and the up projection have which "
    "signs (Gerstner and Schuetze 2025; a case is told from the gate and the coefficient, which has the sign of both).",
    scope="set_corpus",
    key=("layer", "neuron", "gate_case"),
    since=SINCE,
    columns={
        "set_id": _SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "gate_case": Column(
            TEXT,
            "g+u+, g+u-, g-u+ or g-u-: the signs of the gate's pre-activation and of up.",
            values=("g+u+", "g+u-", "g-u+", "g-u-"),
        ),
        "n_positions": Column(BIG, "Counted positions of the case; those where the coefficient is 0 are in none."),
        "abs_sum": Column(DOUBLE, "Sum of |m| over them."),
        "run_id": RUN,
    },
)

POLE_CONTEXTS = Table(
    "pole_contexts",
    "One row per neuron, pole and place of strongest activation of that sign, at most one a sequence (ours).",
    scope="set_corpus",
    key=("layer", "neuron", "pole", "rank"),
    since=SINCE,
    columns={
        "set_id": _SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "pole": _POLE,
        "rank": Column(SMALL, "Place by |m| within the pole, 1-based; ties by sequence, then position."),
        "activation": Column(FLOAT, "The coefficient m there, sign kept."),
        "sequence_id": Column(INTEGER, "Sequence of the corpus."),
        "position": Column(INTEGER, "Position in the sequence, 0-based."),
        "run_id": RUN,
    },
)

CONTRIBUTIONS = Table(
    "contributions",
    "One row per neuron: which share of what its FFN adds it has, |m| ||v|| over the norm of the FFN's output at the "
    "position (CETT, Song et al. 2024), and how large its coefficient is.",
    scope="set_corpus",
    key=("layer", "neuron"),
    since=SINCE,
    columns={
        "set_id": _SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n_positions": Column(BIG, "Counted positions."),
        "root_mean_square": Column(
            FLOAT, "r: of m over the first counted positions of every domain, 2,048 in all; 3 r is where strong begins."
        ),
        "contribution_mean": Column(DOUBLE, "Mean share over the counted positions."),
        "contribution_max": Column(FLOAT, "Largest share."),
        "contribution_mean_later": Column(
            DOUBLE,
            "Mean share without position 0, which carries massive activations in many models; null where there is no "
            "other position.",
            nullable=True,
        ),
        "contribution_max_later": Column(FLOAT, "Largest share without position 0; null likewise.", nullable=True),
        "run_id": RUN,
    },
)

JOB_TABLES = {"poles": (POLE_ACTIVITY, GATE_CASES, POLE_CONTEXTS, CONTRIBUTIONS)}
"""The tables that each of these jobs fills."""
