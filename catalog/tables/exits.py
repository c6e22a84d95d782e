"""The table of what leaving a model early costs and saves."""

import polars as pl

from neurothek.catalog.tables.table import BIG, CORPUS, DOUBLE, INTEGER, MODEL, RUN, TEXT, Column, Table

EXITS = Table(
    "exits",
    "One row per model, corpus, method, parameter and seed: how often an example that is left early already has "
    "the model's own prediction, and how many layers that saves.",
    scope="model_corpus",
    key=("method", "parameter", "seed"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "method": Column(
            TEXT,
            "cluster_ranks, cluster_sets: by the clusters of the dominant sub-updates, compared place by place "
            "or as sets; logistic_stream, logistic_ffn, logistic_sum: by a classifier a layer, on the stream "
            "before the FFN, the FFN's output, their sum; mat, id: by the confidence of a shortcut; fixed_mat, "
            "fixed_id: at one state whatever it says.",
        ),
        "parameter": Column(
            DOUBLE,
            "Clusters asked for; the bound lambda of the confidence; the state; 0 of classifiers, which choose "
            "their own.",
        ),
        "seed": Column(
            INTEGER, "Seed of the split into examples to learn from and to try, or of the draw of the sentences."
        ),
        "n": Column(BIG, "Examples tried."),
        "n_correct": Column(BIG, "Those whose prediction at the exit is the model's own."),
        "n_exited": Column(BIG, "Those that were left before the last layer; the others are correct."),
        "accuracy": Column(DOUBLE, "n_correct / n: for shortcuts, precision@1.", step=1 / pl.col("n")),
        "layers_run": Column(DOUBLE, "Mean number of layers that ran."),
        "layers_run_sd": Column(
            DOUBLE, "Its standard deviation over the examples (sample); null for a single one.", nullable=True
        ),
        "layers_saved": Column(DOUBLE, "Mean number of layers that did not run, n_layers - layers_run."),
        "layers_saved_correct": Column(
            DOUBLE, "The same over the correct examples; null where none is.", nullable=True
        ),
        "run_id": RUN,
    },
)
