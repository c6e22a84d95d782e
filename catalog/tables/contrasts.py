"""Tables of contrasts: two sets of prompts, and how far each neuron's activations on them lie apart."""

from dataclasses import dataclass

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

SINCE = 33

SIGNIFICANT = 0.05
"""A neuron tells two sets of prompts apart where its q is at most this [ours]; `largest_q` in views."""

ALWAYS_ON = 0.5
"""A neuron is always on where its effective frequency is above this [ours]; `always_on_frequency` in views."""

CONTRAST = Column(TEXT, "Name of the contrast.")

CONTRASTS = Table(
    "contrasts",
    "One row per model, corpus and contrast: two sets of prompts, A and B, and how many neurons tell them apart (CNA).",
    scope="model_corpus",
    key=("contrast",),
    since=SINCE,
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus that says which neurons are always on.", is_given=True),
        "contrast": CONTRAST,
        "prompts_a": Column(TEXT, "What the prompts of A are: a file, or a set that comes with the package."),
        "prompts_b": Column(TEXT, "What those of B are."),
        "positions": Column(
            TEXT, "last: activations at the last own token of a prompt; all: their mean over its own tokens."
        ),
        "n_a": Column(INTEGER, "Prompts of A."),
        "n_b": Column(INTEGER, "Prompts of B."),
        "n_shuffles": Column(INTEGER, "Shuffles of the labels that p is taken from."),
        "seed": Column(INTEGER, "Seed of the shuffles."),
        "n_tested": Column(BIG, "Neurons whose activation differs between prompts; the others have no z."),
        "n_significant": Column(BIG, "Those of them with q of at most 0.05."),
        "n_controls": Column(SMALL, "Further shuffles, each taken for the true labels."),
        "n_significant_shuffled": Column(
            DOUBLE, "Neurons with q of at most 0.05 then, the mean over these.", step=1 / pl.col("n_controls")
        ),
        "n_significant_shuffled_most": Column(BIG, "The most of one of these."),
        "run_id": RUN,
    },
)

CONTRAST_PROMPTS = Table(
    "contrast_prompts",
    "One row per model, corpus, contrast and prompt, in the order in which they were given.",
    scope="model_corpus",
    key=("contrast", "side", "prompt_number"),
    since=SINCE,
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "contrast": CONTRAST,
        "side": Column(TEXT, "a or b: the set that the prompt is of."),
        "prompt_number": Column(INTEGER, "Number of the prompt in its set, from 1."),
        "prompt": Column(TEXT, "The prompt."),
        "n_tokens": Column(INTEGER, "Its own tokens, without BOS."),
        "run_id": RUN,
    },
)

CONTRAST_NEURONS = Table(
    "contrast_neurons",
    "One row per model, corpus, contrast and neuron: how far its activations on A and B lie apart (CNA; p and q ours).",
    scope="set_corpus",
    key=("contrast", "layer", "neuron"),
    since=SINCE,
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "contrast": CONTRAST,
        "layer": LAYER,
        "neuron": NEURON,
        "mean_a": Column(FLOAT, "Mean activation on the prompts of A, each prompt counting once."),
        "mean_b": Column(FLOAT, "Mean activation on those of B."),
        "z": Column(
            DOUBLE,
            "(mean_a - mean_b) / (s sqrt(1 / n_a + 1 / n_b)), s the standard deviation over all prompts: in standard "
            "deviations of the difference over all labelings; null where the activation is the same on all prompts.",
            nullable=True,
        ),
        "p": Column(
            DOUBLE,
            "Share of all neurons' z under shuffled labels whose size, cut to two decimals, is at least this one's; "
            "null likewise.",
            nullable=True,
        ),
        "q": Column(DOUBLE, "p after Benjamini and Hochberg, over the neurons with a z; null likewise.", nullable=True),
        "run_id": RUN,
    },
)

JOB_TABLES = {"contrasts": (CONTRASTS, CONTRAST_PROMPTS, CONTRAST_NEURONS)}


@dataclass(frozen=True)
class Contrasted:
    """Two sets of prompts as a model's neurons tell them apart."""

    n_tokens_a: tuple[int, ...]  # own tokens of each prompt of A
    n_tokens_b: tuple[int, ...]  # those of B
    # layer, neuron, mean_a, mean_b, z, p and q, as in CONTRAST_NEURONS, by layer, then neuron
    neurons: pl.DataFrame
    n_significant_shuffled: tuple[int, ...]  # neurons with a q of at most 0.05, by shuffle taken for the true labels

    @property
    def n_tested(self) -> int:
        """Neurons with a z."""
        return self.neurons.height - self.neurons["z"].null_count()

    @property
    def n_significant(self) -> int:
        """Neurons with a q of at most 0.05."""
        return int((self.neurons["q"] <= SIGNIFICANT).sum())
