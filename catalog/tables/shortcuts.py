"""Tables of linear shortcuts: how well one state predicts another, and what a model predicts through it."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLAG,
    IDS,
    INTEGER,
    LAYER,
    MODEL,
    RUN,
    SMALL,
    TEXT,
    Column,
    Order,
    Table,
)

_FIT = {"r2": DOUBLE, "condition": DOUBLE, "rank": INTEGER, "n_fit": BIG, "n_validation": BIG}

# r2 is 1 less a ratio; minus a logarithm rounds by what its argument does relative to itself.
_UNEXPLAINED = 1 + (1 - pl.col("r2")).abs()
_ONE_NAT = pl.lit(1.0)
_ONE_SENTENCE = 1 / pl.col("n")

SHORTCUTS = Table(
    "shortcuts",
    "One row per model, corpus, method, source state and target state: how well the source predicts the target at "
    "one position of each sentence.",
    scope="model_corpus",
    key=("method", "source_state", "target_state"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "method": Column(
            TEXT, "id: the source itself; mat: the least-squares map of the source, without an intercept."
        ),
        "source_state": Column(SMALL, "State s: 0 the embeddings, s what leaves block s - 1, before the final norm."),
        "target_state": Column(SMALL, "State above the source."),
        "r2": Column(
            DOUBLE,
            "Coefficient of determination on the validation sentences: of each coordinate, with its own mean, "
            "averaged uniformly; may be far below 0.",
            terms=_UNEXPLAINED,
        ),
        "condition": Column(
            DOUBLE,
            "Largest over smallest singular value of the source states that were fitted on, of those that "
            "count; null for id.",
            nullable=True,
        ),
        "rank": Column(
            INTEGER,
            "Singular values that count: above 2^-23 of the largest; below d_model the map is the one of least "
            "norm; null for id.",
            nullable=True,
        ),
        "n_fit": Column(BIG, "Sentences it was fitted on."),
        "n_validation": Column(BIG, "Sentences it is judged by."),
        "run_id": RUN,
    },
)

SUB_MODULE_FITS = Table(
    "sub_module_fits",
    "One row per model, corpus, layer and sub-module: how well a linear map of what it reads predicts what it "
    "returns, without the residual, at one position of each sentence.",
    scope="model_corpus",
    key=("layer", "sub_module"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "sub_module": Column(TEXT, "attention, ffn, norm_1 (the one of the attention) or norm_2 (the one of the FFN)."),
        "r2": Column(
            DOUBLE,
            "Coefficient of determination on the validation sentences: of each coordinate, with its own mean, "
            "averaged uniformly; may be far below 0.",
            terms=_UNEXPLAINED,
        ),
        "condition": Column(
            DOUBLE,
            "Largest over smallest singular value of what it reads, of those that count: above 2^-23 of the largest.",
            nullable=True,
        ),
        "rank": Column(INTEGER, "Singular values that count; below d_model the map is the one of least norm."),
        "n_fit": Column(BIG, "Sentences it was fitted on."),
        "n_validation": Column(BIG, "Sentences it is judged by."),
        "run_id": RUN,
    },
)

SHORTCUT_SENTENCES = Table(
    "shortcut_sentences",
    "One row per model, corpus and sentence whose states linear shortcuts were fitted on or judged by: what the "
    "model read, and the position that is looked at.",
    scope="model_corpus",
    key=("sentence_id",),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "sentence_id": Column(
            INTEGER, "The sentence, 0-based, in a seeded random order; the first three of four are to fit on."
        ),
        "domain": Column(TEXT, "Its domain."),
        "is_validation": Column(FLAG, "Whether it is one to validate on."),
        "tokens": Column(
            IDS,
            "The ids that the model read, a prepended BOS included: a causal model up to the position, a masked "
            "one the whole sentence with a mask at the position.",
        ),
        "position": Column(INTEGER, "The position looked at, 0-based, among these ids."),
        "own_position": Column(INTEGER, "The same among the sentence's own ids."),
        "text": Column(TEXT, "Text of these ids without the special ones, but for a mask."),
        "run_id": RUN,
    },
)

SHORTCUT_READINGS = Table(
    "shortcut_readings",
    "One row per model, corpus, validation sentence, method and state: what the model's head says of the state's "
    "substitute for the last one.",
    scope="model_corpus",
    key=("sentence_id", "method", "state"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "sentence_id": Column(INTEGER, "The sentence."),
        "method": Column(
            TEXT,
            "id: the state itself; mat: its least-squares map to the last state; mat_attn, mat_ffn, "
            "mat_ln1_ln2: the last state, where linear maps stand for attention, FFN or both norms in every "
            "block above the state.",
        ),
        "state": Column(
            SMALL, "The state that the shortcut starts from; from the last one every method is the model itself."
        ),
        "top_token": Column(INTEGER, "Token with the largest logit, ties to the lowest id."),
        "top_probability": Column(DOUBLE, "Its probability."),
        "second_probability": Column(DOUBLE, "The second largest probability."),
        "rank_in_model": Column(
            INTEGER, "1 + the tokens to which the whole model gives a strictly larger logit than to this one."
        ),
        "surprisal": Column(
            DOUBLE, "Minus the logarithm of the probability that the whole model gives it, nats.", terms=_ONE_NAT
        ),
        "run_id": RUN,
    },
)

SHORTCUT_TOPS = Table(
    "shortcut_tops",
    "One row per model, corpus, sentence, method, state and rank, for the first 50 validation sentences and the "
    "methods id and mat: the tokens put first.",
    scope="model_corpus",
    key=("sentence_id", "method", "state", "rank"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "sentence_id": Column(INTEGER, "The sentence."),
        "method": Column(TEXT, "id or mat."),
        "state": Column(SMALL, "The state that the shortcut starts from."),
        "rank": Column(SMALL, "1 to 5, ties by id."),
        "token_id": Column(
            INTEGER, "The token.", order=Order("probability", within=("sentence_id", "method", "state"))
        ),
        "probability": Column(DOUBLE, "Its probability."),
        "run_id": RUN,
    },
)


def _with_interval(name: str) -> dict[str, pl.DataType]:
    return {name: DOUBLE, f"{name}_low": DOUBLE, f"{name}_high": DOUBLE}


SHORTCUT_PREDICTIONS = Table(
    "shortcut_predictions",
    "One row per model, corpus, method and state: how often a shortcut from the state says what the model says.",
    scope="model_corpus",
    key=("method", "state"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "method": Column(TEXT, "As in shortcut_readings."),
        "state": Column(SMALL, "The state that the shortcut starts from."),
        "n": Column(BIG, "Validation sentences."),
        "precision_1": Column(
            DOUBLE, "Share of sentences whose top token is the model's top token.", step=_ONE_SENTENCE
        ),
        "precision_1_low": Column(DOUBLE, "Lower end of its Wilson 95% interval.", step=_ONE_SENTENCE),
        "precision_1_high": Column(DOUBLE, "Upper end.", step=_ONE_SENTENCE),
        "precision_5": Column(
            DOUBLE, "Share of sentences whose top token is among the model's 5 first.", step=_ONE_SENTENCE
        ),
        "precision_5_low": Column(DOUBLE, "Lower end of its Wilson 95% interval.", step=_ONE_SENTENCE),
        "precision_5_high": Column(DOUBLE, "Upper end.", step=_ONE_SENTENCE),
        "precision_10": Column(
            DOUBLE, "Share of sentences whose top token is among the model's 10 first.", step=_ONE_SENTENCE
        ),
        "precision_10_low": Column(DOUBLE, "Lower end of its Wilson 95% interval.", step=_ONE_SENTENCE),
        "precision_10_high": Column(DOUBLE, "Upper end.", step=_ONE_SENTENCE),
        "surprisal": Column(DOUBLE, "Mean surprisal of the top token under the model, nats.", terms=_ONE_NAT),
        "surprisal_low": Column(DOUBLE, "Mean - 1.96 sd / sqrt(n).", terms=_ONE_NAT),
        "surprisal_high": Column(DOUBLE, "Mean + 1.96 sd / sqrt(n).", terms=_ONE_NAT),
        "run_id": RUN,
    },
)

SHORTCUT_MAPS = Table(
    "shortcut_maps",
    "One row per model, corpus, source state and target state whose matrix is kept beside the warehouse: in "
    "WAREHOUSE.shortcuts/RUN_KEY/SOURCE-TARGET.safetensors.",
    scope="model_corpus",
    key=("source_state", "target_state"),
    # Another processor rounds otherwise, and one bit makes another hash.
    is_repeatable=False,
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "source_state": Column(SMALL, "State that the matrix is applied to, h -> A h."),
        "target_state": Column(SMALL, "State that A h stands for."),
        "sha256": Column(TEXT, "Fingerprint of the safetensors file."),
        "n_bytes": Column(BIG, "Size of the file."),
        "run_id": RUN,
    },
)
