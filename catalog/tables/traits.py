"""Tables of what sets neurons apart: entropy of the prediction, domains, and massive activations."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLOAT,
    INTEGER,
    LAYER,
    MODEL,
    NEURON,
    RUN,
    SET,
    SMALL,
    TEXT,
    Column,
    Table,
)

SINCE = 34

N_RANDOM = 500
"""Random vectors a layer that value vectors are held against: as many as of other controls."""

_ONE_VECTOR = pl.lit(100 / N_RANDOM)

_PERCENTILE = "of the layer's random vectors, in percent; equal ones count half; null for a vector without length"

ENTROPY = Table(
    "entropy",
    "One row per neuron and corpus: how little its value vector says in the vocabulary for its length, and how much it "
    "follows token frequency (Stolfo et al. 2024; Gurnee et al. 2024; random vectors ours).",
    scope="set_corpus",
    key=("layer", "neuron"),
    since=SINCE,
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "logit_variance": Column(
            DOUBLE,
            "Variance over the vocabulary of the cosines of its value vector with the rows of the unembedding, the "
            "final norm's gain taken in; null for a vector without length.",
            nullable=True,
        ),
        "logit_variance_percentile": Column(
            DOUBLE, f"Share with a smaller one {_PERCENTILE}.", nullable=True, step=_ONE_VECTOR
        ),
        "null_share": Column(
            DOUBLE,
            "Share of its squared length in the directions that hold the smallest 1% of the squared norm of the "
            "unembedding, centred over tokens: what moves no logit against another; null likewise.",
            nullable=True,
        ),
        "null_share_percentile": Column(
            DOUBLE, f"Share with a smaller one {_PERCENTILE}.", nullable=True, step=_ONE_VECTOR
        ),
        "count_correlation": Column(
            DOUBLE,
            "Pearson correlation over the vocabulary of its scores through the final norm's gain with ln(1 + corpus "
            "count); null where either is the same for all tokens.",
            nullable=True,
        ),
        "count_correlation_percentile": Column(
            DOUBLE, f"Share with a weaker one, whatever its sign, {_PERCENTILE}.", nullable=True, step=_ONE_VECTOR
        ),
        "run_id": RUN,
    },
)

N_SHUFFLES = 200
"""Shuffles of the sequences' domains that entropies are held against: as many as of a contrast's labels."""

N_CONTROLS = 20
"""Further shuffles that are taken for the true domains."""

SELECTIVE = 0.01
"""A neuron is selective where its entropy is below the first percentile of shuffled domains [LAPE]; `largest_p`."""

SELECTIVITY = Table(
    "selectivity",
    "One row per neuron and corpus: how unevenly it is active over domains (LAPE), against shuffled domains (ours).",
    scope="set_corpus",
    key=("layer", "neuron"),
    since=SINCE,
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "n_active": Column(BIG, "Counted positions at which it is active: strongly, where there are no exact zeros."),
        "domain": Column(
            TEXT, "The domain in which it is active most often; ties to the first; null if it never is.", nullable=True
        ),
        "domain_share": Column(
            DOUBLE, "Its frequency there over the sum of its frequencies in all domains; null likewise.", nullable=True
        ),
        "entropy": Column(
            DOUBLE,
            "Entropy of these shares over the logarithm of the number of domains: 0 in one domain alone, 1 in all "
            "alike; null likewise, and where the corpus has one domain.",
            nullable=True,
        ),
        "p": Column(
            DOUBLE,
            "Share of 200 shuffles of the sequences' domains, and itself, in which its entropy is at most as large; "
            "null likewise.",
            nullable=True,
        ),
        "n_shuffled_selective": Column(
            SMALL,
            "Of 20 more shuffles, each taken for the true domains, how many have a p of at most 0.01; null likewise.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)


def _place(what: str) -> dict[str, Column]:
    return {
        f"{what}_sequence_id": Column(INTEGER, "Sequence of that place."),
        f"{what}_position": Column(INTEGER, "Position in it, 0-based, a prepended BOS included."),
        f"{what}_mean": Column(DOUBLE, "Mean size over all positions."),
    }


MASSIVE_ACTIVATIONS = Table(
    "massive_activations",
    "One row per model, corpus and layer: the largest number that goes into the FFN's second matrix and that comes out "
    "of it, and the weight that joins both (Sun et al. 2024; Yu et al. 2024).",
    scope="model_corpus",
    key=("layer",),
    since=SINCE,
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "input_largest": Column(FLOAT, "The coefficient m that is farthest from 0, at any position."),
        "input_neuron": Column(INTEGER, "The neuron whose it is."),
        **_place("input"),
        "output_largest": Column(FLOAT, "The coordinate of what the FFN adds that is farthest from 0."),
        "output_channel": Column(SMALL, "Which coordinate of the stream it is, 0-based."),
        **_place("output"),
        "weight": Column(FLOAT, "That coordinate of that neuron's value vector."),
        "weight_share": Column(
            DOUBLE,
            "What this weight adds at the output's place, over the output there; null where that is 0.",
            nullable=True,
        ),
        "run_id": RUN,
    },
)

JOB_TABLES = {"entropy": (ENTROPY,), "selectivity": (SELECTIVITY,), "massive": (MASSIVE_ACTIVATIONS,)}
