"""Tables of interventions: which neurons of a model were changed, and what that did to what it says."""

import polars as pl

from neurothek.catalog.tables.table import (
    BIG,
    CORPUS,
    DOUBLE,
    FLAG,
    INTEGER,
    INTERVENTION,
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

# A divergence is a cross-entropy less an entropy at every token, each about as large as the loss; that their errors do
# not depend on each other lets a sum of them err by the root of its length.
ENTROPIES = pl.col("nll_untouched") / pl.col("n_tokens").sqrt()

LEAST_SETS = 20
"""A percentile among fewer random neurons, or sets of them, is not shown [ours]; `least_sets` in views."""

INTERVENTIONS = Table(
    "interventions",
    "One row per model, corpus and intervention: neurons that were changed together, and how.",
    scope="model_corpus",
    key=("intervention",),
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus on which the effects were measured.", is_given=True),
        "intervention": INTERVENTION,
        "asked": Column(TEXT, "How the neurons were chosen: a condition, words, or a file."),
        "kind": Column(
            TEXT,
            "The kind of neurons that was turned off; null where the neurons were chosen in another way.",
            nullable=True,
        ),
        "how": Column(
            TEXT,
            "set: to the value; scale: their own values times the value; mean: to each neuron's mean over the corpus.",
        ),
        "value": Column(DOUBLE, "What the neurons were set to, or multiplied by; null for mean.", nullable=True),
        "moment": Column(TEXT, "before or after the non-linearity."),
        "n_neurons": Column(INTEGER, "Neurons that were changed."),
        "n_sets": Column(
            SMALL, "Random sets of as many neurons, matched by layer and frequency, that were changed in the same way."
        ),
        "seed": Column(INTEGER, "Seed of the random sets."),
        "run_id": RUN,
        "watched": Column(
            TEXT,
            "Tokens whose probability was asked for, a JSON list of their exact texts; null for none.",
            nullable=True,
        ),
        "positions": Column(
            TEXT,
            "Positions of every sequence at which the neurons were changed, such as 0-7; null for all.",
            nullable=True,
        ),
    },
)

INTERVENTION_NEURONS = Table(
    "intervention_neurons",
    "One row per model, corpus, intervention, set and neuron: the neurons that were changed together.",
    scope="model_corpus",
    key=("intervention", "set_number", "layer", "neuron"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "intervention": INTERVENTION,
        "set_number": Column(SMALL, "0: the neurons that were asked for; from 1: random sets."),
        "layer": LAYER,
        "neuron": NEURON,
        "run_id": RUN,
    },
)

INTERVENTION_EFFECTS = Table(
    "intervention_effects",
    "One row per model, corpus, intervention, set, domain and range of positions: what the changed model says of "
    "the tokens there, beside the untouched one. All numbers are sums over tokens.",
    scope="model_corpus",
    key=("intervention", "set_number", "domain", "position_from"),
    columns={
        "model_id": MODEL,
        "corpus_id": CORPUS,
        "intervention": INTERVENTION,
        "set_number": Column(SMALL, "0: the neurons that were asked for; from 1: random sets."),
        "domain": Column(TEXT, "Domain of the text."),
        "position_from": Column(
            INTEGER, "First position of the range: 0, 1, 8, 64 or 512; it ends before the next of these."
        ),
        "n_tokens": Column(BIG, "Tokens that were predicted from these positions."),
        "nll": Column(DOUBLE, "Negative log-likelihood of these tokens in the changed model, nats."),
        "nll_untouched": Column(DOUBLE, "The same in the untouched model."),
        "kl": Column(DOUBLE, "Divergence KL(untouched || changed) of the predictions, nats.", terms=ENTROPIES),
        "mass_promoted": Column(
            DOUBLE,
            "Probability, in the changed model, of the 50 tokens that the neurons asked for promote most together.",
        ),
        "mass_promoted_untouched": Column(DOUBLE, "The same in the untouched model."),
        "mass_suppressed": Column(
            DOUBLE,
            "Probability, in the changed model, of the 50 tokens that the neurons asked for suppress most together.",
        ),
        "mass_suppressed_untouched": Column(DOUBLE, "The same in the untouched model."),
        "run_id": RUN,
        "window_weight": Column(
            DOUBLE,
            "The tokens, each counted n/(n - 1) times, n the ids of its sequence; null where version 1 of the "
            "job measured it.",
            nullable=True,
        ),
        "nll_windows": Column(
            DOUBLE,
            "nll with every token counted n/(n - 1) times, from which Geva et al. compute perplexity; null likewise.",
            nullable=True,
        ),
        "nll_windows_untouched": Column(DOUBLE, "The same in the untouched model; null likewise.", nullable=True),
        "mass_watched": Column(
            DOUBLE,
            "Probability, in the changed model, of the tokens that were asked for; null where none were.",
            nullable=True,
        ),
        "mass_watched_untouched": Column(DOUBLE, "The same in the untouched model; null likewise.", nullable=True),
    },
)

CONTINUATIONS = Table(
    "continuations",
    "One row per model, corpus, intervention, method, set and prompt: how the model goes on.",
    scope="model_corpus",
    key=("intervention", "method", "set_number", "prompt_number"),
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus by whose frequencies the random sets were drawn.", is_given=True),
        "intervention": INTERVENTION,
        "method": Column(
            TEXT, "untouched, changed (the neurons asked for), random (a random set), word_filter or self_debiasing."
        ),
        "set_number": Column(SMALL, "From 1: the random set, as in store.intervention_neurons; 0 for other methods."),
        "prompt_number": Column(INTEGER, "Number of the prompt, from 1."),
        "prompt": Column(TEXT, "The prompt."),
        "continuation": Column(TEXT, "What the model wrote after it."),
        "n_tokens": Column(INTEGER, "Tokens of the continuation."),
        "run_id": RUN,
    },
)

ATTRIBUTE_SCORES = Table(
    "attribute_scores",
    "One row per continuation and attribute: how much of it a scorer finds.",
    scope="model_corpus",
    key=("intervention", "method", "set_number", "prompt_number", "scorer", "attribute"),
    columns={
        "model_id": MODEL,
        "corpus_id": Column(INTEGER, "The corpus, as in store.continuations.", is_given=True),
        "intervention": INTERVENTION,
        "method": Column(TEXT, "How the continuation came about, as in store.continuations."),
        "set_number": Column(SMALL, "From 1: the random set; 0 for other methods."),
        "prompt_number": Column(INTEGER, "Number of the prompt, from 1."),
        "scorer": Column(TEXT, "What scored it, as it was asked for."),
        "attribute": Column(TEXT, "The attribute."),
        "score": Column(DOUBLE, "From 0 to 1; a continuation has the attribute from 0.5."),
        "run_id": RUN,
    },
)

NEURON_EFFECTS = Table(
    "neuron_effects",
    "One row per model, corpus and neuron that was turned off alone (0 after the non-linearity). Losses and "
    "divergences are sums over tokens.",
    scope="set_corpus",
    key=("layer", "neuron"),
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "is_control": Column(
            FLAG, "Whether it is one of the up to 20 random neurons of its layer that others are compared with."
        ),
        "n_tokens": Column(BIG, "Tokens that were predicted."),
        "nll": Column(DOUBLE, "Negative log-likelihood of these tokens without the neuron, nats."),
        "nll_untouched": Column(DOUBLE, "The same in the untouched model."),
        "kl": Column(DOUBLE, "Divergence KL(untouched || changed) of the predictions, nats.", terms=ENTROPIES),
        "run_id": RUN,
    },
)

NEURON_EFFECTS_BY_DOMAIN = Table(
    "neuron_effects_by_domain",
    "One row per model, corpus, neuron that was turned off alone, and domain of the text: the parts of neuron_effects.",
    scope="set_corpus",
    key=("layer", "neuron", "domain"),
    is_later=True,
    since=40,
    columns={
        "set_id": SET,
        "corpus_id": CORPUS,
        "layer": LAYER,
        "neuron": NEURON,
        "domain": Column(TEXT, "Domain of the text."),
        "n_tokens": Column(BIG, "Its tokens that were predicted."),
        "nll": Column(DOUBLE, "Negative log-likelihood of these tokens without the neuron, nats."),
        "nll_untouched": Column(DOUBLE, "The same in the untouched model."),
        "kl": Column(DOUBLE, "Divergence KL(untouched || changed) of the predictions, nats.", terms=ENTROPIES),
        "run_id": RUN,
    },
)

JOB_TABLES = {
    "interventions": (INTERVENTIONS, INTERVENTION_NEURONS, INTERVENTION_EFFECTS),
    "continuations": (CONTINUATIONS, ATTRIBUTE_SCORES),
    "neuron_effects": (NEURON_EFFECTS, NEURON_EFFECTS_BY_DOMAIN),
}
