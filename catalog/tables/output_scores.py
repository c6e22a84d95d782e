"""The table of output scores: how far a model says what a neuron promotes once the neuron is turned up."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLAG,
    FLOAT,
    INTEGER,
    LAYER,
    NEURON,
    RUN,
    SET,
    TEXT,
    Column,
    Table,
)

N_OTHERS = 50
"""Other neurons of a layer whose tokens are held against a neuron's own, at most."""

OUTPUT_SCORES = Table(
    "output_scores",
    "One row per model, corpus and neuron that was drawn or chosen: what becomes of the 20 tokens it promotes when "
    "it is set to ten times its largest activation at the last position of a neutral prompt (Arad et al. 2025).",
    scope="set_corpus",
    key=("layer", "neuron"),
    since=37,
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "pole": Column(
            TEXT, "Sign of the activation that is largest by size, at which it is set: positive where not gated."
        ),
        "value": Column(FLOAT, "What it is set to: ten times its largest activation of that sign on the corpus."),
        "rank_best": Column(
            BIG,
            "How many tokens are more probable than the most probable of those that it promotes; 0: none; null where "
            "the model so changed says no number, like the columns after it but untouched_score and n_others.",
            nullable=True,
        ),
        "max_probability": Column(DOUBLE, "Probability of that one.", nullable=True),
        "output_score": Column(
            DOUBLE, "(1 - rank_best / W) * max_probability, W the unmasked vocabulary.", nullable=True
        ),
        "untouched_score": Column(DOUBLE, "The same of the same tokens in the model as it is."),
        "n_others": Column(
            INTEGER,
            f"Random other neurons of its layer that are ever active: {N_OTHERS}, one less, or all there are.",
        ),
        "other_score": Column(
            DOUBLE,
            "Mean of the output scores of the tokens that these promote, each at the sign of its largest activation, "
            "with this neuron set; null where there are none.",
            nullable=True,
        ),
        "other_percentile": Column(
            DOUBLE,
            "Share of them with a smaller one, in percent; equal ones count half; null likewise.",
            nullable=True,
            step=100 / pl.col("n_others"),
        ),
        "run_id": RUN,
        "is_sampled": Column(
            FLAG,
            "Whether it is one of the random neurons of its layer; others were chosen by a condition.",
            default="true",
            since=40,
        ),
    },
)

JOB_TABLES = {"output_scores": (OUTPUT_SCORES,)}
