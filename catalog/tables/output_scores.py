"""The table of output scores: how far a model says what a neuron promotes once the neuron is turned up."""

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
    TEXT,
    Column,
    Table,
)

OUTPUT_SCORES = Table(
    "output_scores",
    "One row per model, corpus and sampled neuron: what becomes of the 20 tokens that it promotes when it is set to "
    "ten times its largest activation at the last position of a neutral prompt (Arad et al. 2025).",
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
            BIG, "How many tokens are more probable than the most probable of those that it promotes; 0: none."
        ),
        "max_probability": Column(DOUBLE, "Probability of that one."),
        "output_score": Column(DOUBLE, "(1 - rank_best / W) * max_probability, W the unmasked vocabulary."),
        "untouched_score": Column(DOUBLE, "The same of the same tokens in the model as it is."),
        "other_neuron": Column(
            INTEGER, "A random neuron of the layer; null where no other is ever active.", nullable=True
        ),
        "other_score": Column(
            DOUBLE,
            "The same as output_score of the tokens that this one promotes, at the sign of its largest activation; "
            "null likewise.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

JOB_TABLES = {"output_scores": (OUTPUT_SCORES,)}
