"""Tables of linear shortcuts: how well one state predicts another, and what a model predicts through it."""

import polars as pl

from neurothek.catalog.tables.table import BIG, DOUBLE, FLAG, IDS, INTEGER, SMALL, TEXT, Table

_FIT = {"r2": DOUBLE, "condition": DOUBLE, "rank": INTEGER, "n_fit": BIG, "n_validation": BIG}

SHORTCUTS = Table(
    name="shortcuts",
    scope="model_corpus",
    key=("method", "source_state", "target_state"),
    columns={"method": TEXT, "source_state": SMALL, "target_state": SMALL, **_FIT},
    # The identity is not fitted; states that are all 0 have no condition.
    nullable=frozenset({"condition", "rank"}),
)

SUB_MODULE_FITS = Table(
    name="sub_module_fits",
    scope="model_corpus",
    key=("layer", "sub_module"),
    columns={"layer": SMALL, "sub_module": TEXT, **_FIT},
    nullable=frozenset({"condition"}),
)

SHORTCUT_SENTENCES = Table(
    name="shortcut_sentences",
    scope="model_corpus",
    key=("sentence_id",),
    columns={
        "sentence_id": INTEGER,
        "domain": TEXT,
        "is_validation": FLAG,
        "tokens": IDS,
        "position": INTEGER,
        "own_position": INTEGER,
        "text": TEXT,
    },
)

SHORTCUT_READINGS = Table(
    name="shortcut_readings",
    scope="model_corpus",
    key=("sentence_id", "method", "state"),
    columns={
        "sentence_id": INTEGER,
        "method": TEXT,
        "state": SMALL,
        "top_token": INTEGER,
        "top_probability": DOUBLE,
        "second_probability": DOUBLE,
        "rank_in_model": INTEGER,
        "surprisal": DOUBLE,
    },
)

SHORTCUT_TOPS = Table(
    name="shortcut_tops",
    scope="model_corpus",
    key=("sentence_id", "method", "state", "rank"),
    columns={
        "sentence_id": INTEGER,
        "method": TEXT,
        "state": SMALL,
        "rank": SMALL,
        "token_id": INTEGER,
        "probability": DOUBLE,
    },
)


def _with_interval(name: str) -> dict[str, pl.DataType]:
    return {name: DOUBLE, f"{name}_low": DOUBLE, f"{name}_high": DOUBLE}


SHORTCUT_PREDICTIONS = Table(
    name="shortcut_predictions",
    scope="model_corpus",
    key=("method", "state"),
    columns={
        "method": TEXT,
        "state": SMALL,
        "n": BIG,
        **_with_interval("precision_1"),
        **_with_interval("precision_5"),
        **_with_interval("precision_10"),
        **_with_interval("surprisal"),
    },
)

SHORTCUT_MAPS = Table(
    name="shortcut_maps",
    scope="model_corpus",
    key=("source_state", "target_state"),
    columns={"source_state": SMALL, "target_state": SMALL, "sha256": TEXT, "n_bytes": BIG},
    # Another processor rounds otherwise, and one bit makes another hash.
    is_repeatable=False,
)
